// Payments that were not as asked for or failed, as events tell of them: in words, and what is left to be done.

import { amount, clean, short, t, word } from "./text.js";

/** @param {any} event Whether it tells of a payment that came late and is as asked for else. It counts: nothing is left to be done. */
export const isOnlyLate = ({ body }) => (body.labels ?? []).join() === "late";

/** @param {any} event @param {any[]} refunds Whether one of these events of refunds is of what the event tells of: of its request, later, and of the whole amount or of what was too much. Of a payment that was converted these are not known in its token, so any amount counts. */
export function isReturned({ body, createdAt }, refunds) {
  const amounts = body.receivedAmount ? [body.receivedAmount] : body.convertedAmountSource ? null : [body.excessAmount, body.amount];
  return refunds.some((each) => each.body.requestId === body.requestId && each.createdAt > createdAt && (amounts?.includes(each.body.refundAmount) ?? true));
}

/** @param {any} body What was moved, and what it counts for if that is in another currency. */
export function amountsOf({ amount: value, currency, receivedAmount, convertedAmountSource, paymentCurrency }) {
  const moved = receivedAmount ?? convertedAmountSource;
  if (!moved) return { of: value, currency, counted: null };
  return { of: moved, currency: paymentCurrency, counted: currency !== paymentCurrency && Number(value) ? `${amount(value)} ${clean(currency)}` : null };
}

/** @param {any} body The same in words. */
export function moneyOf(body) {
  const { of, currency, counted } = amountsOf(body);
  const moved = `${amount(of)} ${clean(currency)}`;
  return counted ? t("attention.counts", { moved, counted }) : moved;
}

/** @param {any} event What was not as asked for, by the first of its labels, and its other labels. */
export function mispaymentOf({ body }) {
  const [first, ...others] = body.labels ?? [];
  const values = { money: moneyOf(body), excess: `${amount(body.excessAmount)} ${clean(body.currency)}`, reference: body.reference ?? short(body.requestId) };
  const said = t(`attention.${first ?? "unexpected"}`, values);
  return others.length ? t("attention.also", { said, labels: others.map((/** @type {string} */ label) => word("label", label)).join(", ") }) : said;
}

/** @param {any} event Which payment failed and why, as far as the event says. */
export const failureOf = ({ body }) => t(body.offrampId ? "attention.bank" : body.recurringPayment ? "attention.paused" : "attention.payment.failed", {
  money: moneyOf(body), why: word("cause", body.failureReason || "none"), reference: short(body.requestId),
});
