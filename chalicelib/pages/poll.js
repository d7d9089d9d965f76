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
  app.stopWatch = poll(async () => !app.paying && app.look(), { first: 10_000, most: 60_000 });
}
