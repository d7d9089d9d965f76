// What is to be signed, as the service answered it, and what it has to say, from what the page shows.

import { check } from "./check.js";
import { isKnown } from "./identity.js";
import { totals } from "./link.js";

/** The transactions of an answer of /pay, with their values as hexadecimal text; Trouble when it is none. */
export function readQuote(raw, need) {
  const metadata = raw.metadata ?? {};
  need(Array.isArray(raw.transactions) && raw.transactions.length > 0 && raw.transactions.length <= 64);
  const transactions = raw.transactions.map((each) => {
    const { to, data, value, feeLimit } = each ?? {};
    const units = value?.hex ?? value; // an ethers BigNumber in some deployments
    need(typeof to === "string" && typeof data === "string");
    need(units === 0 || /^0x[0-9a-f]{1,64}$/i.test(units));
    return Object.freeze({ to, data, value: units === 0 ? "0x0" : units, ...(feeLimit ? { feeLimit } : {}) });
  });
  const explanation = Array.isArray(metadata.explanation) ? metadata.explanation : [];
  return { transactions: Object.freeze(transactions), metadata, explanation };
}

/** The payments that are left, as the calldata has to make them. */
export function expected(link, wallet) {
  const owed = link.payments.filter((each) => each.left > 0n);
  const payments = owed.map(({ payee, token, left, fee, feeAddress, reference }) => ({
    payee, token, amount: left, fee, feeAddress, reference,
  }));
  return { network: link.network, kind: link.kind, wallet, eoaWallet: null, payments };
}

/** What the transactions do, as check tells it; nothing is looked at when network or tokens are not what they are called. */
export function verify(link, transactions, owed) {
  return isKnown(link) ? check(transactions, owed) : { ok: false, reason: "identity" };
}

/** The totals with what the batch contract takes for itself, as `extra`; `batchFee` is in hundredths of a per cent. */
export function charged(payments, { batchFee, steps }) {
  const calls = steps.flatMap((step) => totals(step.payments.map((place) => payments[place])));
  const taken = (token) => calls.filter((each) => each.token === token).map(({ left }) => (left * BigInt(batchFee)) / 10_000n);
  return totals(payments).map((each) => ({ ...each, extra: taken(each.token).reduce((sum, fee) => sum + fee, 0n) }));
}

/** Whether a link still asks for just what `steps` pay of what was checked, and lets it be paid. */
export function stands(link, owed, steps) {
  const places = new Set(steps.flatMap((each) => each.payments));
  const payments = owed.payments.filter((_, place) => places.has(place));
  const isStopped = ({ paymentReference }) => payments.some(({ reference }) => reference === paymentReference);
  const now = expected(link, owed.wallet);
  return isKnown(link) && !link.blocked.some(isStopped) && fingerprint(now) === fingerprint({ ...owed, payments });
}

/** The same text for the same payments. */
const fingerprint = (what) =>
  JSON.stringify(what, (name, value) => (typeof value === "bigint" ? String(value) : value));
