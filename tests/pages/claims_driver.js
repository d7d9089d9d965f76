// Runs the page's keepClaim of claims.js by a clock of its own. Input: scenes; output: for each the seconds at which the
// service was asked to prolong the claim, and whether the claim was lost.
// A scene: { until, answers: [status], stops: second }; the claim is of 300 seconds, a prolonged one of 300 more.
const fs = require("fs");
const path = require("path");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const source = (name) => fs.readFileSync(path.join(PAGES, name), "utf8");
const url = (text) => `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;

let now = 0;
let timers = [];
globalThis.setInterval = (task, pause) => {
  const timer = { at: now + pause, task, pause };
  timers.push(timer);
  return timer;
};
globalThis.clearInterval = (timer) => (timers = timers.filter((each) => each !== timer));

async function played(keepClaim, { until, answers = [200], stops = Infinity }) {
  [now, timers] = [0, []];
  const asked = [];
  let isLost = false;
  const app = {
    now: () => now,
    token: "A",
    stored: { get: () => null, set: () => true },
    ask: async (where, { calls }) => {
      if (where !== "/signing" || calls !== "0x12") throw new Error("odd");
      asked.push(now / 1_000);
      const status = answers[Math.min(asked.length, answers.length) - 1];
      if (status >= 500) throw new Error("away");
      return { status, body: status === 200 ? { signingEndsAt: now / 1_000 + 300 } : {} };
    },
  };
  const stop = keepClaim(app, { claim: { calls: "0x12", until: 300_000 } }, () => (isLost = true));
  while (timers.length > 0 && timers[0].at <= until * 1_000) {
    const [timer] = timers;
    now = timer.at;
    if (now >= stops * 1_000) stop();
    timer.at += timer.pause;
    if (timers.includes(timer)) timer.task();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { asked, isLost };
}

async function main() {
  const link = url(source("link.js"));
  const text = source("claims.js").replace('"./link.js"', JSON.stringify(link)).replace('"./poll.js"', JSON.stringify(url(source("poll.js"))));
  const { keepClaim } = await import(url(text));
  const answers = [];
  for (const scene of JSON.parse(fs.readFileSync(0))) answers.push(await played(keepClaim, scene));
  process.stdout.write(JSON.stringify(answers));
}

void main();
