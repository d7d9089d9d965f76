// The transactions of /pay, and the payments that they have to make by what the page shows.

import { check } from "./check.js";
import { isKnown } from "./identity.js";
import { totals } from "./link.js";

/** The transactions of a response of /pay, with values as hexadecimal text; throws Trouble if it is invalid. */
export function readQuote(raw, need) {
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
  return { transactions: Object.freeze(transactions), metadata, explanation };
}

/** The payments still owed, in the form that `check` compares the calldata with. */
export function expected(link, wallet) {
  const owed = link.payments.filter((each) => each.left > 0n);
  const payments = owed.map(({ payee, token, left, fee, feeAddress, reference }) => ({
    payee, token, amount: left, fee, feeAddress, reference,
  }));
  return { network: link.network, kind: link.kind, wallet, eoaWallet: null, payments };
}

/** The result of `check`; refuses without it if the link's network or tokens differ from the page's own list. */
export function verify(link, transactions, owed) {
  return isKnown(link) ? check(transactions, owed) : { ok: false, reason: "identity" };
}

/** The totals with the batch contract's own fee as `extra`; `batchFee` is in basis points. */
export function charged(payments, { batchFee, steps }) {
  const calls = steps.flatMap((step) => totals(step.payments.map((position) => payments[position])));
  const inToken = (token) => calls.filter((each) => each.token === token);
  const fees = (token) => inToken(token).map(({ left }) => (left * BigInt(batchFee)) / 10_000n);
  return totals(payments).map((each) => ({ ...each, extra: fees(each.token).reduce((sum, fee) => sum + fee, 0n) }));
}

/** Whether the link still owes exactly the payments of `steps`, out of those in `owed`, and can be paid. */
export function stands(link, owed, steps) {
  const positions = new Set(steps.flatMap((each) => each.payments));
  const payments = owed.payments.filter((_, position) => positions.has(position));
  const isStopped = ({ paymentReference }) => payments.some(({ reference }) => reference === paymentReference);
  const now = expected(link, owed.wallet);
  return isKnown(link) && !link.blocked.some(isStopped) && fingerprint(now) === fingerprint({ ...owed, payments });
}

/** JSON text to compare payments by. */
const fingerprint = (payments) =>
  JSON.stringify(payments, (name, value) => (typeof value === "bigint" ? String(value) : value));
