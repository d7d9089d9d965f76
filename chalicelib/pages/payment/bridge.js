// The check of a payment from another chain before it is signed.
//
// checkRoute(transactions, expected) returns what `check` returns; the step of kind "pay" deposits into the bridge. With
//   fillBy: until when it can arrive, in seconds.
// reason: one of calldata.js, or "bridge"
// expected: { source, network, wallet, payment, decimals, amount, deadline, now }
//   source is what sourceOf returns; network, payment and decimals are those of the link, payment as `check` takes it;
//   amount is what is taken at most, in base units of the source's token, deadline until when the source chain accepts
//   it, now the time of the service, both in seconds.
//
// A route deposits into Across, with a message for a contract on the link's chain: to make the call that pays the link, and
// to give the tokens to the payer if that fails. Every byte of both is read, by deposits.js.

import { ADDRESS, Refused, UINT, decode, demand } from "./abi.js";
import { checkTransactions } from "./calldata.js";
import { CONTRACTS } from "./contracts.js";
import { digits, readDeposit } from "./deposits.js";
import { BRIDGES } from "./sources.js";

const BASIS = 10_000n;
// What a route may take beside the amount, whatever the service says: basis points of it, and dollars, or once more the
// amount if that is less. What it deposits must be the least part of what arrives: for less nobody brings it.
const [LEAST, MOST, DOLLARS] = [9_900n, 10_200n, 5n];
// In seconds: how long the source chain accepts a quote; how far its clock may be ahead; how long a deposit can be filled.
const [ACCEPTED, AHEAD, SHORTEST, LONGEST, ALONE] = [3_600n, 120n, 300n, 90_000n, 60n];
const LONGEST_SPAN = 31_536_000n; // above it, the exclusivity of a deposit is a time instead of a number of seconds
const ZERO = "0".repeat(40);
const APPROVE = "095ea7b3";
// Tokens of which an allowance can be changed through zero only.
// Written by `make docs`, up to the next mark: resets
const RESETS = ["0xdAC17F958D2ee523a2206206994597C13D831ec7"];
// Up to here.

export function checkRoute(transactions, expected) {
  try {
    const { source, network } = expected;
    const calls = transactions.map(readCall);
    const last = calls.pop();
    const [[, pool], [, , handler, receiver]] = [BRIDGES[source.network], BRIDGES[network]];
    const deposit = readDeposit(last, { pool, recipients: { handler, receiver } });
    demandDeposit(deposit, expected);
    demandTimes(deposit, expected);
    demandPayment(deposit, expected);
    demandApprovals(calls, last.to, deposit.taken, source);
    const approvals = calls.map(({ amount, transaction }, index) => {
      const kind = amount ? "approve" : "reset";
      const spender = last.transaction.to;
      return { kind, index, call: "approve", spender, token: source.token, amount, payments: [], transaction };
    });
    const paid = { kind: "pay", call: deposit.call, token: source.token, amount: deposit.taken, payments: [0] };
    const steps = [...approvals, { ...paid, index: calls.length, transaction: last.transaction }];
    return { ok: true, batchFee: 0, steps, fillBy: Number(deposit.fillBy) };
  } catch (error) {
    return { ok: false, reason: error instanceof Refused ? error.reason : "shape", index: -1 };
  }
}

function readCall({ to, data, value }) {
  demand(typeof data === "string" && /^0x(?:[0-9a-f]{2})*$/i.test(data));
  demand(/^0x0{1,64}$/.test(value), "value");
  const hex = data.slice(2).toLowerCase();
  return { to: digits(to), hex, transaction: Object.freeze({ to, data: `0x${hex}`, value: "0x0" }) };
}

/** From the payer's wallet, of the token and not more than is shown; to the link's chain, what is due. */
function demandDeposit({ refunded, input, output, deposited, taken, brought, chainId, approves }, expected) {
  const { source, network, wallet, payment, decimals, amount } = expected;
  const due = payment.amount + payment.fee;
  demand(source.network !== network && chainId === BigInt(CONTRACTS[network].chainId), "bridge");
  demand(refunded === digits(wallet), "payee");
  demand(input === digits(source.token) && output === digits(payment.token), "token");
  demand(taken === amount && (approves ? brought === due : brought >= due), "amount");
  const [unit, other] = [10n ** BigInt(decimals), 10n ** BigInt(source.decimals)];
  const [bound, fixed] = [due * other, DOLLARS * other * unit];
  demand(deposited * unit * BASIS >= brought * other * LEAST, "amount");
  demand(taken * unit * BASIS <= bound * MOST + (fixed < bound ? fixed : bound) * BASIS, "amount");
}

function demandTimes({ relayer, quotedAt, fillBy, exclusivity }, { deadline, now }) {
  const time = BigInt(now);
  demand(quotedAt + ACCEPTED === BigInt(deadline) && time < quotedAt + ACCEPTED && quotedAt <= time + AHEAD, "bridge");
  demand(time + SHORTEST <= fillBy && fillBy <= time + LONGEST, "bridge");
  const alone = exclusivity > LONGEST_SPAN ? exclusivity - time : exclusivity;
  demand(alone <= ALONE && (exclusivity === 0n) === (relayer === ZERO), "bridge");
}

// The bridge's contract approves the payment itself, and before that maybe 0: an allowance that anybody left there would make
// the payment fail where the token cannot change it. LI.FI's approves by itself.
/** On the link's chain exactly the payment is made that would be signed there, out of what is due. */
function demandPayment({ made, approves, spent, fallback }, { network, wallet, payment }) {
  demand(fallback === digits(wallet), "payee");
  demand(!payment.conversion, "rate");
  const verdict = checkTransactions(made, { network, kind: "single", wallet, payments: [payment] });
  demand(verdict.ok, verdict.reason);
  const kinds = String(verdict.steps.map(({ kind }) => kind));
  const isEnough = kinds === "approve,pay" && !RESETS.some((each) => digits(each) === digits(payment.token));
  demand(approves ? kinds === "reset,approve,pay" || isEnough : kinds === "pay");
  demand(approves || spent === payment.amount + payment.fee, "amount");
}

/** The contract that deposits is allowed to take exactly what it takes; before that an earlier allowance may be withdrawn. */
function demandApprovals(calls, contract, taken, { token }) {
  for (const call of calls) {
    demand(call.to === digits(token), "token");
    demand(call.hex.startsWith(APPROVE), "function");
    const [spender, amount] = decode([ADDRESS, UINT], call.hex.slice(APPROVE.length));
    demand(spender === contract, "contract");
    call.amount = amount;
  }
  const amounts = calls.map(({ amount }) => amount);
  demand(amounts.at(-1) === taken && amounts.length <= 2 && amounts.slice(0, -1).every((each) => each === 0n), "amount");
}
