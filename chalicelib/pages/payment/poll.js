// Polling with pauses that grow while nothing happens, only while the page is visible.

const ACTS = ["pointerdown", "keydown"];
const shown = () => `${document.getElementById("main").dataset.state} ${document.title}`;

// A pause is `first` again once the page shows something else, is used, or is visible again.
/** Calls `task` after pauses that double, up to `most`, until it returns true. Returns a stop function. */
export function poll(task, { first, most }) {
  let pause = first;
  let least = 0; // the pause that the service has asked for
  let known = shown();
  let timer = 0;
  let isOver = false;
  let isAsking = false;
  const wait = () => {
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(turn, pause * (0.85 + Math.random() * 0.3));
  };
  const turn = async () => {
    if (document.hidden || isAsking) return; // started again when the page is visible, or by the running turn
    isAsking = true;
    pause = Math.min(pause * 2, Math.max(most, first));
    least = 0;
    const done = await task().catch(({ wait = 0 }) => void (least = wait));
    if (shown() !== known) pause = first;
    pause = Math.max(pause, least);
    known = shown();
    isAsking = false;
    if (done) stop();
    else wait();
  };
  const wake = () => {
    pause = first;
    if (!document.hidden && !isOver) void (clearTimeout(timer), (timer = setTimeout(turn, 300)));
  };
  const act = () => {
    if (pause <= Math.max(first, least)) return;
    pause = Math.max(first, least);
    if (!isAsking) wait();
  };
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", wake);
    for (const each of ACTS) document.removeEventListener(each, act);
  };
  document.addEventListener("visibilitychange", wake);
  for (const each of ACTS) document.addEventListener(each, act);
  wait();
  return stop;
}

/** Polls whether the link was paid, changed or ended elsewhere, while nothing is being paid here. */
export function watch(app) {
  if (app.end) return;
  app.stopWatch();
  const check = async () => {
    const before = app.link;
    return (await app.refresh()) || unblock(app, before);
  };
  app.stopWatch = poll(async () => !app.paying && check(), { first: 10_000, most: 120_000 });
}

/** Offers a blocked link once it can be paid; shows it again if the reasons why it is blocked have changed. */
async function unblock(app, before) {
  const { link, payment } = app;
  const facts = ({ canPay, blocked }) => JSON.stringify([canPay, blocked]);
  if (document.getElementById("main").dataset.state !== "blocked" || facts(link) === facts(before)) return;
  if (!link.canPay) (await app.asset("obstacles.js")).showBlocked(app);
  else void (payment ? payment.start() : (app.choose(), app.resume()));
}
