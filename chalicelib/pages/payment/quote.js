// The transactions of /pay, and the payments that they have to make by what the page shows.

import { checkTransactions } from "./calldata.js";
import { dueAt, readConversion } from "./conversion.js";
import { currencyHash, isKnown } from "./identity.js";
import { totals } from "./link.js";

// In milliseconds: for how long a route is offered at least, because the service may give one in its last second; and how
// long before the time from which the source chain does not accept it any more it is offered no longer.
const [LEAST_OFFER, OFFER_LEAD] = [5_000, 60_000];

// With a source, which pays from another chain, it has the route to the link's chain.
/** The transactions of a response of /pay, with values as hexadecimal text, and what is due; throws Trouble if it is invalid. */
export function readQuote(raw, app, source = null) {
  const { link, need } = app;
  const metadata = raw.metadata ?? {};
  need(Array.isArray(raw.transactions) && raw.transactions.length > 0 && raw.transactions.length <= 64);
  const transactions = raw.transactions.map((each) => {
    const { to, data, value, feeLimit } = each ?? {};
    const units = value?.hex ?? value; // some deployments write an ethers BigNumber
    need(typeof to === "string" && typeof data === "string");
    need(units === 0 || /^0x[0-9a-f]{1,64}$/i.test(units));
    return Object.freeze({ to, data, value: units === 0 ? "0x0" : units, ...(feeLimit ? { feeLimit } : {}) });
  });
  const explanation = Array.isArray(metadata.explanation) ? metadata.explanation : [];
  const conversions = conversionsOf(link, metadata, app);
  const route = source && readRoute(metadata, source, app);
  const due = duesOf(link, conversions);
  return { transactions: Object.freeze(transactions), metadata, explanation, conversions, due, route };
}

/** What is taken of the source's token in all, until when this is offered, and until when that chain accepts it. */
function readRoute({ routeType, sourceAmount, quoteExpiresAt, executionDeadline }, source, { units, need, now }) {
  need(routeType === "crosschain" && [quoteExpiresAt, executionDeadline].every(Number.isSafeInteger));
  const amount = units(sourceAmount, source.decimals);
  const offered = Math.max(quoteExpiresAt * 1_000, now() + LEAST_OFFER);
  return { source, amount, endsAt: Math.min(offered, executionDeadline * 1_000 - OFFER_LEAD), deadline: executionDeadline };
}

/** The conversions of a response by payment reference: one for each payment that is owed in another currency. */
function conversionsOf(link, { conversion, conversions }, app) {
  const converted = link.payments.filter((each) => each.left > 0n && each.invoice);
  const raws = Array.isArray(conversions) ? conversions : [conversion];
  const rawOf = ({ requestId }) => raws.find((raw) => raw?.requestId === requestId);
  return Object.fromEntries(converted.map((each) => [each.reference, readConversion(rawOf(each), each, app)]));
}

/** The payments still owed, in units of the tokens that are paid. */
function duesOf(link, conversions) {
  const owed = link.payments.filter((each) => each.left > 0n);
  return owed.map((each) => (each.reference in conversions ? dueAt(each, conversions[each.reference]) : each));
}

/** The payments still owed, in the form that `check` compares the calldata with. */
export function expectedPayments(link, { conversions }, wallet) {
  const payments = duesOf(link, conversions).map(({ payee, token, left, fee, feeAddress, reference, invoice, ...due }) => {
    const { most, age } = due.conversion ?? {};
    if (!most) return { payee, token, amount: left, fee, feeAddress, reference };
    const { invoice: id } = link.payments.find((each) => each.reference === reference);
    const conversion = { from: currencyHash(id, due.owed.decimals, link.network), most, age };
    return { payee, token, amount: due.owed.left, fee: due.owed.fee, feeAddress, reference, conversion };
  });
  return { network: link.network, kind: link.kind, wallet, eoaWallet: null, payments };
}

// Without it if the link's network or tokens differ from the page's own list, or if more may be taken than the rate says.
// `checkOther` is `check` of commerce.js for a commerce payment, and `checkRoute` of bridge.js for a route.
/** The result of a check of the transactions of a quote, at the time `now` in milliseconds. */
export function verify(link, { transactions, due, route }, owed, now, checkOther) {
  const reason = !isKnown(link) ? "identity" : due.some((each) => each.isHigh) ? "rate" : null;
  if (reason) return { ok: false, reason };
  if (link.commerce) return checkOther(link, transactions, owed.wallet, now);
  if (!route) return checkTransactions(transactions, owed);
  const [payment] = owed.payments;
  const facts = { network: link.network, wallet: owed.wallet, payment, decimals: due[0].decimals };
  return checkOther(transactions, { ...route, ...facts, now: Math.floor(now / 1_000) });
}

/** The totals with the batch contract's own fee as `extra`; `batchFee` is in basis points. */
export function totalsWithFee(payments, { batchFee, steps }) {
  const calls = steps.flatMap((step) => totals(step.payments.map((position) => payments[position])));
  const inToken = (token) => calls.filter((each) => each.token === token);
  const fees = (token) => inToken(token).map(({ left }) => (left * BigInt(batchFee)) / 10_000n);
  return totals(payments).map((each) => ({ ...each, extra: fees(each.token).reduce((sum, fee) => sum + fee, 0n) }));
}

/** Whether the link still owes exactly the payments of `steps`, out of those in `owed` by a quote, and can be paid. */
export function stands(link, quote, owed, steps) {
  const positions = new Set(steps.flatMap((each) => each.payments));
  const payments = owed.payments.filter((_, position) => positions.has(position));
  const isStopped = ({ paymentReference }) => payments.some(({ reference }) => reference === paymentReference);
  const now = expectedPayments(link, quote, owed.wallet);
  return isKnown(link) && !link.blocked.some(isStopped) && fingerprint(now) === fingerprint({ ...owed, payments });
}

/** JSON text to compare payments by. */
const fingerprint = (payments) =>
  JSON.stringify(payments, (name, value) => (typeof value === "bigint" ? String(value) : value));
