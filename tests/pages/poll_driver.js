// Runs the page's poll.js by a clock of its own. Input, by line: scenes; output: for each the times at which something was asked.
// A scene: { first, most, until, turns: [{ takes, done, wait, shows }], hides: [[from, to]], acts: [time], stops: time };
// milliseconds. A turn takes that long, shows a state, then gives `done` or, with `wait`, fails with that wait; after the last
// one all are as the last. At `acts` the payer presses a key.
const fs = require("fs");
const path = require("path");
const { createInterface } = require("readline");

let now = 0;
let state = "";
let tasks = [];
let listeners = new Map();
const told = (name) => listeners.get(name)?.();

const later = (task, delay) => {
  const timer = { at: now + delay, task };
  tasks.push(timer);
  return timer;
};
globalThis.setTimeout = later;
globalThis.clearTimeout = (timer) => (tasks = tasks.filter((each) => each !== timer));
globalThis.document = {
  hidden: false,
  title: "",
  getElementById: () => ({ dataset: { state } }),
  addEventListener: (name, heard) => listeners.set(name, heard),
  removeEventListener: (name) => listeners.delete(name),
};
Math.random = () => 0.5; // what is added and taken away at random is nothing

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function played(poll, { first, most, until, turns, hides = [], acts = [], stops = null }) {
  [now, state, tasks, listeners] = [0, "", [], new Map()];
  document.hidden = false;
  const asked = [];
  const task = async () => {
    const { takes = 0, done = false, wait, shows = state } = turns[Math.min(asked.length, turns.length - 1)];
    asked.push(now);
    await new Promise((resolve) => later(resolve, takes));
    state = shows;
    if (wait !== undefined) throw Object.assign(new Error("busy"), { wait });
    return done;
  };
  const turned = (hidden) => () => {
    document.hidden = hidden;
    told("visibilitychange");
  };
  for (const [from, to] of hides) void (later(turned(true), from), later(turned(false), to));
  for (const at of acts) later(() => told("keydown"), at);
  const stop = poll(task, { first, most });
  if (stops !== null) later(stop, stops);
  for (;;) {
    await settled();
    const [next] = tasks.toSorted((one, other) => one.at - other.at);
    if (!next || next.at > until) return { asked, isHeard: listeners.size > 0 };
    now = next.at;
    tasks = tasks.filter((each) => each !== next);
    next.task();
  }
}

async function main() {
  const source = fs.readFileSync(path.join(__dirname, "../../chalicelib/pages/payment/poll.js")).toString("base64");
  const { poll } = await import(`data:text/javascript;base64,${source}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const answers = [];
    for (const scene of JSON.parse(line)) answers.push(await played(poll, scene));
    process.stdout.write(JSON.stringify(answers) + "\n");
  }
}

void main();
