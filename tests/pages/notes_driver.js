// Runs scenarios over the Notes of the page's link.js, with a storage of its own. Output: what came of each, by name.
const fs = require("fs");
const path = require("path");

async function main() {
  const source = fs.readFileSync(path.join(__dirname, "../../chalicelib/pages/link.js")).toString("base64");
  const { Notes } = await import(`data:text/javascript;base64,${source}`);
  const facts = { wallet: "0x1", chainId: 1, step: "pay", place: 0, references: ["0xaa"] };
  const first = { ...facts, startedAt: 1 };
  const second = { ...facts, startedAt: 2, txHash: `0x${"2".repeat(64)}` };

  /** The notes of a link; `kept` is what the browser has. */
  function notes(token, kept, references = ["0xaa"]) {
    const get = (key) => kept[key] ?? null;
    const set = (key, value) => {
      if (value === null) delete kept[key];
      else kept[key] = value;
      return true;
    };
    const payments = references.map((reference) => ({ reference, left: 1n }));
    return new Notes({ token, link: { payments }, stored: { keys: () => Object.keys(kept), get, set } });
  }

  const scenarios = {
    "an older one ends": (kept) => {
      const here = notes("A", kept);
      here.write({ ...second, token: "A" });
      here.over({ ...first, token: "A" });
      here.write({ ...first, token: "A", isDoubted: true });
      return here.own().startedAt;
    },
    "a hash is learnt elsewhere": (kept) => {
      const here = notes("A", kept);
      here.write({ ...second, token: "A" });
      here.write({ ...second, token: "A", txHash: undefined, isDoubted: true });
      return [here.own().txHash, here.own().isDoubted];
    },
    "two claim the same": async (kept) => [await notes("A", kept).claim(first), await notes("B", kept).claim(second)],
    "two claim other requests": async (kept) => {
      return [await notes("A", kept).claim(first), await notes("B", kept, ["0xbb"]).claim(second)];
    },
    "an approval is no claim": async (kept) => {
      return [await notes("A", kept).claim({ ...first, step: "approve" }), await notes("B", kept).claim(second)];
    },
    "one is refused after others were given up": async (kept) => {
      const [a, b] = [notes("A", kept), notes("B", kept)];
      await a.claim(first);
      a.release(a.own());
      await b.claim(second);
      b.release(b.own());
      await b.claim({ ...facts, startedAt: 3 });
      b.undo(b.own());
      return [a.own().startedAt, b.own().startedAt];
    },
    "one is done after others were given up": async (kept) => {
      const here = notes("A", kept);
      await here.claim(first);
      here.release(here.own());
      await here.claim(second);
      here.over(here.own());
      return [here.own(), here.all().map(({ startedAt, isReleased }) => [startedAt, isReleased])];
    },
  };
  const outcomes = {};
  for (const [name, scenario] of Object.entries(scenarios)) outcomes[name] = await scenario({});
  process.stdout.write(JSON.stringify(outcomes));
}

void main();
