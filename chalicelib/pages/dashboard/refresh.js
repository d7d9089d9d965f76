// When a view reads again what may have changed: the later, the longer nothing has. Times are in milliseconds.

const [SOONEST, LATEST, HOUR] = [4_000, 600_000, 3_600_000];

/** @param {number} since @param {number} now @param {number} [most] The pause before what has not changed since then is read again. */
export const pause = (since, now, most = LATEST) => Math.min(Math.max((now - since) / 10, SOONEST), most);

/** @param {any} delivery One on its way. @param {number} now The pause until its next attempt may be over. */
export function nextLook({ nextAttemptAt, attempts, createdAt }, now) {
  const due = Date.parse(nextAttemptAt ?? attempts[attempts.length - 1]?.at ?? createdAt);
  return Math.min(Math.max(due - now, 0), HOUR) + pause(due, now);
}
