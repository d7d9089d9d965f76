// What events tell that somebody has to look at: payments that are not as asked for, and webhooks that fail; and whether that is over.

/** @param {{ status: number | null }} attempt Whether the receiver works: it may refuse what it was sent. */
const isAnswer = ({ status }) => status !== null && status < 500 && status !== 429;

/** @param {any} event Whether it tells of a payment that came late and is as asked for else. It counts: nothing is left to be done. */
export const isOnlyLate = ({ body }) => (body.labels ?? []).join() === "late";

/** @param {any} event @param {any[]} refunds Whether one of these events of refunds is of what the event tells of: of its request, later, and of the whole amount or of what was too much. Of a payment that was converted these are not known in its token, so any amount counts. */
export function isReturned({ body, createdAt }, refunds) {
  const amounts = body.receivedAmount ? [body.receivedAmount] : body.convertedAmountSource ? null : [body.excessAmount, body.amount];
  return refunds.some((each) => each.body.requestId === body.requestId && each.createdAt > createdAt && (amounts?.includes(each.body.refundAmount) ?? true));
}

/** @param {any[]} events Events of failing webhooks, newest first. @param {any[]} webhooks Returns the newest event of each webhook that is still there and on, with its URL. */
export function failing(events, webhooks) {
  const newest = events.filter(({ body }, at) => events.findIndex((each) => each.body.webhookId === body.webhookId) === at);
  return newest.flatMap((event) => webhooks.filter(({ id, isActive }) => id === event.body.webhookId && isActive).map(({ id, url }) => ({ id, url, at: event.createdAt })));
}

/** @param {any[]} deliveries @param {string} since Whether an attempt at one of them was answered after that time. */
export const hasAnswered = (deliveries, since) => deliveries.some(({ attempts }) => attempts.some((/** @type {any} */ each) => each.at > since && isAnswer(each)));
