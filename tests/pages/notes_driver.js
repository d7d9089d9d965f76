// Runs scenarios over the Notes of the page's notes.js, with a storage of its own. Output: what came of each, by name.
const fs = require("fs");
const path = require("path");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const url = (text) => `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;

async function main() {
  const link = url(fs.readFileSync(path.join(PAGES, "link.js"), "utf8"));
  const source = fs.readFileSync(path.join(PAGES, "notes.js"), "utf8").replace('"./link.js"', JSON.stringify(link));
  const { Notes } = await import(url(source));
  const facts = { wallet: "0x1", chainId: 1, step: "pay", place: 0, references: ["0xaa"] };
  let now = 0; // one more with every look at the clock
  Date.now = () => (now += 1);
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

  const both = async (...claims) => (await Promise.all(claims)).map(Boolean);
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
    "two claim the same": async (kept) => both(notes("A", kept).begin(facts), notes("B", kept).begin(facts)),
    "two claim other requests": async (kept) => {
      return both(notes("A", kept).begin(facts), notes("B", kept, ["0xbb"]).begin(facts));
    },
    "an approval is no claim": async (kept) => {
      return both(notes("A", kept).begin({ ...facts, step: "approve" }), notes("B", kept).begin(facts));
    },
    "an approval pays nothing": async (kept) => {
      const here = notes("A", kept);
      await here.begin({ ...facts, step: "approve" });
      return [here.own().step, here.paying()];
    },
    "the clock is set back": async (kept) => {
      const here = notes("A", kept);
      now = 3_600_000;
      here.release(await here.begin(facts));
      now = 0;
      const note = await here.begin(facts);
      here.write({ ...note, txHash: second.txHash });
      return [note.startedAt, here.own().txHash, (await here.begin(facts)) === null];
    },
    "one is refused after others were given up": async (kept) => {
      const [a, b] = [notes("A", kept), notes("B", kept)];
      await a.begin(facts);
      a.release(a.own());
      await b.begin(facts);
      b.release(b.own());
      await b.begin(facts);
      b.undo(b.own());
      return [a.own().startedAt, b.own().startedAt];
    },
    "one is done after others were given up": async (kept) => {
      const here = notes("A", kept);
      await here.begin(facts);
      here.release(here.own());
      await here.begin(facts);
      here.over(here.own());
      return [here.own(), here.all().map(({ startedAt, isReleased }) => [startedAt, isReleased])];
    },
  };
  const outcomes = {};
  for (const [name, scenario] of Object.entries(scenarios)) {
    now = 0;
    outcomes[name] = await scenario({});
  }
  process.stdout.write(JSON.stringify(outcomes));
}

void main();
