// Reads the transactions that let the escrow take a payment, and the one that takes it back; compares them with the terms
// that the page shows.
//
// checkAuthorization(transactions, terms) and checkReclaim(transactions, terms) return { ok: true, batchFee: 0, steps } or
//   { ok: false, reason, index }, as `check` does.
// terms: { network, escrows, escrow, payer, payee, token, most, capturable, operator, expiries: [paid, captured, refunded],
//   fees: [least, most], feeReceiver, salt, now }: `most` and `capturable` in base units, expiries and now in seconds, fees in
//   1/10000, all BigInt as the salt; feeReceiver is null if the operator names it; escrows as ESCROWS.
// step: { kind: "reset" | "approve" | "pay", index, call, spender, token, amount, payments, transaction }; "pay" is the
//   pre-approval or the reclaim
// reason: "contract" | "function" | "payee" | "token" | "amount" | "fee" | "terms" | "value" | "shape"
//
// Accepted is an allowance of exactly `most` for the collector of pre-approvals, with a reset before it if there is one, or
// none if it is there already; then preApprove of exactly these terms. Or, once nothing can be captured any more, reclaim of
// exactly these terms alone, which the escrow accepts from their payer only, and gives what it holds to that payer.

import { ADDRESS, UINT, decode, demand } from "./abi.js";
import { addressDigits } from "./addresses.js";

/** By network: the escrow, and the collector of pre-approvals, which alone may be allowed to take tokens. */
// Written by `make docs`, up to the next mark: escrows
export const ESCROWS = {
  base: ["0xBdEA0D1bcC5966192B070Fdf62aB4EF5b4420cff", "0x1b77ABd71FCD21fbe2398AE821Aa27D1E6B94bC6"],
};
// Up to here.

const INFO = [ADDRESS, ADDRESS, ADDRESS, ADDRESS, ...Array(6).fill(UINT), ADDRESS, UINT];
const ZERO = "0".repeat(40);
const ALL = 10_000n;
const ORDERS = ["pay", "approve pay", "reset approve pay"];

export const checkAuthorization = (transactions, terms) =>
  checkSteps(transactions, terms, ORDERS, ({ now, expiries }) => now < expiries[0], readStep);

export const checkReclaim = (transactions, terms) =>
  checkSteps(transactions, terms, ["pay"], ({ now, expiries }) => now >= expiries[1], readReclaim);

function checkSteps(transactions, terms, orders, isTime, read) {
  let index = -1;
  try {
    const { network, escrows, escrow } = terms;
    demand(Object.hasOwn(escrows, network), "contract");
    const contracts = escrows[network].map(digits);
    demand(digits(escrow) === contracts[0], "contract");
    const wanted = wordsOf(terms);
    demand(isTime(terms), "terms");
    demand(Array.isArray(transactions) && transactions.length > 0 && transactions.length < 4);
    const steps = transactions.map((each, at) => read(callOf(each, (index = at)), terms, contracts, wanted));
    index = -1;
    demand(orders.includes(steps.map(({ kind }) => kind).join(" ")));
    return { ok: true, batchFee: 0, steps };
  } catch (error) {
    // Any error, also an unexpected one, means that the transactions must not be signed.
    return { ok: false, reason: error.reason ?? "shape", index };
  }
}

const digits = (text) => addressDigits(text, false);

/** The terms in the order of the contract; each with the reason to refuse another value. */
function wordsOf({ payer, payee, token, most, operator, expiries, fees, feeReceiver, salt }) {
  const [paid, captured, refunded] = expiries;
  demand(most > 0n && most < 1n << 120n, "amount");
  demand(paid <= captured && captured <= refunded && refunded < 1n << 48n, "terms");
  demand(0n <= fees[0] && fees[0] <= fees[1] && fees[1] <= ALL, "fee");
  const parties = [[digits(operator), "terms"], [digits(payer), "terms"], [digits(payee), "payee"], [digits(token), "token"]];
  const times = expiries.map((each) => [each, "terms"]);
  const bounds = [...fees, feeReceiver === null ? ZERO : digits(feeReceiver)].map((each) => [each, "fee"]);
  return [...parties, [most, "amount"], ...times, ...bounds, [salt, "terms"]];
}

function callOf({ to, data, value }, index) {
  demand(/^0x(?:[0-9a-f]{2})*$/i.test(data));
  demand(/^0x0{1,64}$/.test(value), "value");
  const hex = data.slice(2).toLowerCase();
  const transaction = Object.freeze({ to, data: `0x${hex}`, value: "0x0" });
  return { called: digits(to), selector: hex.slice(0, 8), words: hex.slice(8), index, transaction };
}

function demandTerms(words, wanted) {
  const given = decode(INFO, words);
  for (const [at, [word, reason]] of wanted.entries()) demand(given[at] === word, reason);
}

function readReclaim({ called, selector, words, ...place }, { token, capturable }, [escrow], wanted) {
  demand(selector === "e1a2a66d", "function");
  demand(called === escrow, "contract");
  demandTerms(words, wanted);
  return { ...place, token, kind: "pay", call: "AuthCaptureEscrow.reclaim", amount: capturable, payments: [0] };
}

function readStep({ called, selector, words, ...place }, { token, most }, [, collector], wanted) {
  const step = { ...place, token, spender: `0x${collector}` };
  if (selector === "095ea7b3") {
    const [spender, amount] = decode([ADDRESS, UINT], words);
    demand(called === digits(token), "token");
    demand(spender === collector, "contract");
    demand(amount === most || amount === 0n, "amount");
    return { ...step, kind: amount ? "approve" : "reset", call: "approve", amount, payments: [] };
  }
  demand(selector === "c6184c2f", "function");
  demand(called === collector, "contract");
  demandTerms(words, wanted);
  const call = "PreApprovalPaymentCollector.preApprove";
  return { ...step, kind: "pay", call, amount: most, payments: [0], spender: undefined };
}
