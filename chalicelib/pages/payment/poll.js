// Asking again and again, politely: with growing pauses, and not while nobody looks.

/** Calls `task` after growing pauses until it gives true; not while the page is hidden. Returns how to stop it. */
export function poll(task, { first, most }) {
  let pause = first;
  let timer = 0;
  let isOver = false;
  let isAsking = false;
  const wait = () => {
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(turn, pause * (0.85 + Math.random() * 0.3));
  };
  const turn = async () => {
    if (document.hidden || isAsking) return; // coming back, or the answer, starts it again
    isAsking = true;
    pause = Math.min(pause * 1.5, Math.max(most, first));
    const done = await task().catch(({ wait = 0 }) => void (pause = Math.max(pause, wait)));
    isAsking = false;
    if (done) stop();
    else wait();
  };
  const wake = () => {
    pause = first;
    if (!document.hidden && !isOver) void (clearTimeout(timer), (timer = setTimeout(turn, 300)));
  };
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", wake);
  };
  document.addEventListener("visibilitychange", wake);
  wait();
  return stop;
}

/** Looks now and then whether the link was paid, changed or ended elsewhere, as long as nothing is being paid here. */
export function watch(app) {
  if (app.end) return;
  app.stopWatch();
  const look = async () => {
    const before = app.link;
    return (await app.look()) || unblock(app, before);
  };
  app.stopWatch = poll(async () => !app.paying && look(), { first: 10_000, most: 60_000 });
}

/** What could not be paid is offered once it can, and shown anew when it is for another reason that it cannot. */
async function unblock(app, before) {
  const { link, payment } = app;
  const facts = ({ canPay, blocked }) => JSON.stringify([canPay, blocked]);
  if (document.getElementById("main").dataset.state !== "blocked" || facts(link) === facts(before)) return;
  if (!link.canPay) (await app.asset("ends.js")).blocked(app);
  else void (payment ? payment.start() : (app.choose(), app.resume()));
}
