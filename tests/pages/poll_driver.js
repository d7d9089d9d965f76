// Runs the page's poll.js by a clock of its own. Input: scenes; output: for each the times at which something was asked.
// A scene: { first, most, until, turns: [{ takes, done, wait }], hides: [[from, to]], stops: time }; milliseconds. A turn
// takes that long, then gives `done` or, with `wait`, fails with that wait; after the last one all are as the last.
const fs = require("fs");
const path = require("path");

let now = 0;
let tasks = [];
let told = null;

const later = (task, delay) => {
  const timer = { at: now + delay, task };
  tasks.push(timer);
  return timer;
};
globalThis.setTimeout = later;
globalThis.clearTimeout = (timer) => (tasks = tasks.filter((each) => each !== timer));
globalThis.document = {
  hidden: false,
  addEventListener: (name, heard) => (told = heard),
  removeEventListener: () => (told = null),
};
Math.random = () => 0.5; // what is added and taken away at random is nothing

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function played(poll, { first, most, until, turns, hides = [], stops = null }) {
  [now, tasks, told] = [0, [], null];
  document.hidden = false;
  const asked = [];
  const task = async () => {
    const { takes = 0, done = false, wait } = turns[Math.min(asked.length, turns.length - 1)];
    asked.push(now);
    await new Promise((resolve) => later(resolve, takes));
    if (wait !== undefined) throw Object.assign(new Error("busy"), { wait });
    return done;
  };
  const turned = (hidden) => () => {
    document.hidden = hidden;
    told?.();
  };
  for (const [from, to] of hides) void (later(turned(true), from), later(turned(false), to));
  const stop = poll(task, { first, most });
  if (stops !== null) later(stop, stops);
  for (;;) {
    await settled();
    const [next] = tasks.toSorted((one, other) => one.at - other.at);
    if (!next || next.at > until) return { asked, isHeard: told !== null };
    now = next.at;
    tasks = tasks.filter((each) => each !== next);
    next.task();
  }
}

async function main() {
  const source = fs.readFileSync(path.join(__dirname, "../../chalicelib/pages/payment/poll.js")).toString("base64");
  const { poll } = await import(`data:text/javascript;base64,${source}`);
  const answers = [];
  for (const scene of JSON.parse(fs.readFileSync(0))) answers.push(await played(poll, scene));
  process.stdout.write(JSON.stringify(answers));
}

void main();
