// Reads the transactions that let the escrow take a payment, and compares them with the terms that the page shows.
//
// checkAuthorization(transactions, terms) returns { ok: true, batchFee: 0, steps } or { ok: false, reason, index }, as
//   `check` does.
// terms: { network, escrows, escrow, payer, payee, token, most, operator, expiries: [paid, captured, refunded],
//   fees: [least, most], feeReceiver, salt, now }: `most` in base units, expiries and now in seconds, fees in 1/10000, all
//   BigInt as the salt; feeReceiver is null if the operator names it; escrows as ESCROWS.
// step: { kind: "reset" | "approve" | "pay", index, call, spender, token, amount, payments, transaction }; "pay" is the
//   pre-approval
// reason: "contract" | "function" | "payee" | "token" | "amount" | "fee" | "terms" | "value" | "shape"
//
// Accepted is an allowance of exactly `most` for the collector of pre-approvals, with a reset before it if there is one, or
// none if it is there already; then preApprove of exactly these terms.

import { ADDRESS, UINT, addressDigits, decode, demand } from "./check.js";

/** By network: the escrow, and the collector of pre-approvals, which alone may be allowed to take tokens. */
export const ESCROWS = {
  base: ["0xBdEA0D1bcC5966192B070Fdf62aB4EF5b4420cff", "0x1b77ABd71FCD21fbe2398AE821Aa27D1E6B94bC6"],
};

const INFO = [ADDRESS, ADDRESS, ADDRESS, ADDRESS, ...Array(6).fill(UINT), ADDRESS, UINT];
const ZERO = "0".repeat(40);
const ALL = 10_000n;
const ORDERS = ["pay", "approve pay", "reset approve pay"];

export function checkAuthorization(transactions, terms) {
  let index = -1;
  try {
    const { network, escrows, escrow } = terms;
    demand(Object.hasOwn(escrows, network), "contract");
    const [known, collector] = escrows[network].map(digits);
    demand(digits(escrow) === known, "contract");
    const wanted = wordsOf(terms);
    demand(Array.isArray(transactions) && transactions.length > 0 && transactions.length < 4);
    const steps = transactions.map((each, at) => readStep(each, (index = at), terms, collector, wanted));
    index = -1;
    demand(ORDERS.includes(steps.map(({ kind }) => kind).join(" ")));
    return { ok: true, batchFee: 0, steps };
  } catch (error) {
    // Any error, also an unexpected one, means that the transactions must not be signed.
    return { ok: false, reason: error.reason ?? "shape", index };
  }
}

const digits = (text) => addressDigits(text, false);

/** The terms in the order of the contract; each with the reason to refuse another value. */
function wordsOf({ payer, payee, token, most, operator, expiries, fees, feeReceiver, salt, now }) {
  const [paid, captured, refunded] = expiries;
  demand(most > 0n && most < 1n << 120n, "amount");
  demand(now < paid && paid <= captured && captured <= refunded && refunded < 1n << 48n, "terms");
  demand(0n <= fees[0] && fees[0] <= fees[1] && fees[1] <= ALL, "fee");
  const parties = [[digits(operator), "terms"], [digits(payer), "terms"], [digits(payee), "payee"], [digits(token), "token"]];
  const times = expiries.map((each) => [each, "terms"]);
  const bounds = [...fees, feeReceiver === null ? ZERO : digits(feeReceiver)].map((each) => [each, "fee"]);
  return [...parties, [most, "amount"], ...times, ...bounds, [salt, "terms"]];
}

function readStep({ to, data, value }, index, { token, most }, collector, wanted) {
  demand(/^0x(?:[0-9a-f]{2})*$/i.test(data));
  demand(/^0x0{1,64}$/.test(value), "value");
  const [hex, called] = [data.slice(2).toLowerCase(), digits(to)];
  const [selector, words] = [hex.slice(0, 8), hex.slice(8)];
  const transaction = Object.freeze({ to, data: `0x${hex}`, value: "0x0" });
  const step = { index, token, spender: `0x${collector}`, transaction };
  if (selector === "095ea7b3") {
    const [spender, amount] = decode([ADDRESS, UINT], words);
    demand(called === digits(token), "token");
    demand(spender === collector, "contract");
    demand(amount === most || amount === 0n, "amount");
    return { ...step, kind: amount ? "approve" : "reset", call: "approve", amount, payments: [] };
  }
  demand(selector === "c6184c2f", "function");
  demand(called === collector, "contract");
  const given = decode(INFO, words);
  for (const [at, [word, reason]] of wanted.entries()) demand(given[at] === word, reason);
  const call = "PreApprovalPaymentCollector.preApprove";
  return { ...step, kind: "pay", call, amount: most, payments: [0], spender: undefined };
}
