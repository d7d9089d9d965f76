// What is left to be done about payments that were not as asked for, as events tell of them.

/** @param {any} event Whether it tells of a payment that came late and is as asked for else. It counts: nothing is left to be done. */
export const isOnlyLate = ({ body }) => (body.labels ?? []).join() === "late";

/** @param {any} event @param {any[]} refunds Whether one of these events of refunds is of what the event tells of: of its request, later, and of the whole amount or of what was too much. Of a payment that was converted these are not known in its token, so any amount counts. */
export function isReturned({ body, createdAt }, refunds) {
  const amounts = body.receivedAmount ? [body.receivedAmount] : body.convertedAmountSource ? null : [body.excessAmount, body.amount];
  return refunds.some((each) => each.body.requestId === body.requestId && each.createdAt > createdAt && (amounts?.includes(each.body.refundAmount) ?? true));
}
