// Payments from another chain: where they can come from, and the check of what is signed there.
//
// checkRoute(transactions, expected) returns what `check` returns; the step of kind "pay" deposits into the bridge. With
//   fillBy: until when it can arrive, in seconds.
// reason: one of check.js, or "bridge"
// expected: { source, network, wallet, payment, decimals, amount, deadline, now }
//   source is what sourceOf returns; network, payment and decimals are those of the link, payment as `check` takes it;
//   amount is what is taken at most, in base units of the source's token, deadline until when the source chain accepts
//   it, now the time of the service, both in seconds.
//
// A route deposits into Across, with a message for its MulticallHandler on the link's chain: to make the call that pays the
// link, and to give the tokens to the payer if that fails. Every byte of both is read.

import { ADDRESS, BYTES, CONTRACTS, Refused, UINT, addressDigits, array, check, decode, demand } from "./check.js";
import { NETWORKS, chainOf } from "./identity.js";

const SYMBOLS = ["USDC", "USDT"];
const BASIS = 10_000n;
// What a route may take beside the amount, as the service allows it by default: basis points of it, and dollars, or once
// more the amount if that is less. One that takes too little is filled by nobody.
const [LEAST, MOST, DOLLARS] = [9_900n, 10_200n, 5n];
// In seconds: how long the source chain accepts a quote; how far its clock may be ahead; how long a deposit can be filled.
const [ACCEPTED, AHEAD, SHORTEST, LONGEST, ALONE] = [3_600n, 120n, 300n, 90_000n, 60n];
const LONGEST_SPAN = 31_536_000n; // above it, the exclusivity of a deposit is a time instead of a number of seconds
const ZERO = "0".repeat(40);
const TETHER = "0xdAC17F958D2ee523a2206206994597C13D831ec7"; // on Ethereum: it changes an allowance through zero only

const [APPROVE, DEPOSIT] = ["095ea7b3", "7b939232"];
const DEPOSIT_KINDS = [ADDRESS, ADDRESS, ADDRESS, ADDRESS, UINT, UINT, UINT, ADDRESS, UINT, UINT, UINT, BYTES];
const MESSAGE_KINDS = [[array([ADDRESS, BYTES, UINT]), ADDRESS]];

const HANDLER = "0x0F7Ae28dE1C8532170AD4ee566B5801485c13a0E";
// By network: label, the bridge's contract that takes tokens, and the one that gets them and pays.
export const BRIDGES = {
  base: ["BASE", "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64", HANDLER],
  optimism: ["OPTIMISM", "0x6f26Bf09B1C792e3228e5467807a900A503c0281", HANDLER],
  "arbitrum-one": ["ARBITRUM", "0xe35e9842fceaCA96570B734083f4a58e8F7C5f2A", HANDLER],
  mainnet: ["ETHEREUM", "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5", HANDLER],
  matic: ["POLYGON", "0x9295ee1d8C5b022Be115A2AD3c30C72E34e7F096", HANDLER],
  bsc: ["BNB", "0x4e8E101924eDE233C13e2D8622DC8aED2872d505", "0xAC537C12fE8f544D712d71ED4376a502EEa944d7"],
};

/** A token that can be paid with from a network, by the page's own list: { network, label, symbol, decimals, token, chain }. */
export function sourceOf(network, symbol) {
  if (!Object.hasOwn(BRIDGES, network) || !SYMBOLS.includes(symbol)) return null;
  const fields = NETWORKS[network].slice(5).map((text) => text.split(" "));
  const found = [symbol, `${symbol}n`].map((key) => fields.find(([name]) => name === key)).find(Boolean);
  if (!found) return null;
  const [label] = BRIDGES[network];
  const [, decimals, token] = found;
  const chain = chainOf({ network, chain: { label, confirmations: NETWORKS[network][4][0] } });
  return { network, label, symbol, decimals: Number(decimals), token, chain };
}

/** The same by the label of a network, as the service names it. */
export function sourceAt(label, symbol) {
  const network = Object.keys(BRIDGES).find((each) => BRIDGES[each][0] === label);
  return network ? sourceOf(network, symbol) : null;
}

/** Whether a link can be paid from another chain: one payment in a token that the bridge brings, not by a contract's rate. */
export function isBridgeable({ kind, network, payments: [payment, ...others] }) {
  return kind === "single" && others.length === 0 && sourceOf(network, payment.tokenSymbol)?.token === payment.token;
}

export function checkRoute(transactions, expected) {
  try {
    const { source } = expected;
    const calls = transactions.map(readCall);
    const last = calls.pop();
    const deposit = readDeposit(last, source);
    demandDeposit(deposit, expected);
    demandTimes(deposit, expected);
    demandMessage(deposit.message, expected);
    demandApprovals(calls, deposit.taken, source);
    const [, pool] = BRIDGES[source.network];
    const approvals = calls.map(({ amount, transaction }, index) => {
      const kind = amount ? "approve" : "reset";
      return { kind, index, call: "approve", spender: pool, token: source.token, amount, payments: [], transaction };
    });
    const paid = { kind: "pay", call: "AcrossSpokePool.depositV3", token: source.token, amount: deposit.taken, payments: [0] };
    const steps = [...approvals, { ...paid, index: calls.length, transaction: last.transaction }];
    return { ok: true, batchFee: 0, steps, fillBy: Number(deposit.fillBy) };
  } catch (error) {
    return { ok: false, reason: error instanceof Refused ? error.reason : "shape", index: -1 };
  }
}

const digits = (address) => addressDigits(address, false);

function readCall({ to, data, value }) {
  demand(typeof data === "string" && /^0x(?:[0-9a-f]{2})*$/i.test(data));
  demand(/^0x0{1,64}$/.test(value), "value");
  const hex = data.slice(2).toLowerCase();
  return { to: digits(to), hex, transaction: Object.freeze({ to, data: `0x${hex}`, value: "0x0" }) };
}

function readDeposit({ to, hex }, { network }) {
  const [, pool] = BRIDGES[network];
  demand(to === digits(pool), "contract");
  demand(hex.startsWith(DEPOSIT), "function");
  const [refunded, recipient, input, output, taken, brought, chainId, relayer, quotedAt, fillBy, exclusivity, message] =
    decode(DEPOSIT_KINDS, hex.slice(DEPOSIT.length));
  demand([quotedAt, fillBy, exclusivity].every((each) => each < 1n << 32n));
  return { refunded, recipient, input, output, taken, brought, chainId, relayer, quotedAt, fillBy, exclusivity, message };
}

/** From the payer's wallet, of the token and not more than is shown; to the link's chain, exactly what is due. */
function demandDeposit({ refunded, recipient, input, output, taken, brought, chainId }, expected) {
  const { source, network, wallet, payment, decimals, amount } = expected;
  const [, , handler] = BRIDGES[network];
  const due = payment.amount + payment.fee;
  demand(source.network !== network && chainId === BigInt(CONTRACTS[network].chainId), "bridge");
  demand(recipient === digits(handler), "contract");
  demand(refunded === digits(wallet), "payee");
  demand(input === digits(source.token) && output === digits(payment.token), "token");
  demand(taken === amount && brought === due, "amount");
  const [unit, other] = [10n ** BigInt(decimals), 10n ** BigInt(source.decimals)];
  const [exact, bound, fixed] = [taken * unit * BASIS, due * other, DOLLARS * other * unit];
  demand(exact >= bound * LEAST && exact <= bound * MOST + (fixed < bound ? fixed : bound) * BASIS, "amount");
}

function demandTimes({ relayer, quotedAt, fillBy, exclusivity }, { deadline, now }) {
  const time = BigInt(now);
  demand(quotedAt + ACCEPTED === BigInt(deadline) && time < quotedAt + ACCEPTED && quotedAt <= time + AHEAD, "bridge");
  demand(time + SHORTEST <= fillBy && fillBy <= time + LONGEST, "bridge");
  const alone = exclusivity > LONGEST_SPAN ? exclusivity - time : exclusivity;
  demand(alone <= ALONE && (exclusivity === 0n) === (relayer === ZERO), "bridge");
}

/** On the link's chain exactly the approval and the payment are made that would be signed there, maybe after one of 0: an
 *  allowance that anybody left would make the payment fail where the token cannot change it. */
function demandMessage(message, { network, wallet, payment }) {
  const [[calls, fallback]] = decode(MESSAGE_KINDS, message);
  demand(fallback === digits(wallet), "payee");
  demand(calls.every(([, , value]) => value === 0n), "value");
  demand(!payment.conversion, "rate");
  const made = calls.map(([to, data]) => ({ to: `0x${to}`, data: `0x${data}`, value: "0x0" }));
  const verdict = check(made, { network, kind: "single", wallet, payments: [payment] });
  demand(verdict.ok, verdict.reason);
  const kinds = String(verdict.steps.map(({ kind }) => kind));
  demand(kinds === "reset,approve,pay" || (kinds === "approve,pay" && digits(payment.token) !== digits(TETHER)));
}

/** The bridge is allowed to take exactly what it takes; before that an earlier allowance may be withdrawn. */
function demandApprovals(calls, taken, { network, token }) {
  const [, pool] = BRIDGES[network];
  for (const call of calls) {
    demand(call.to === digits(token), "token");
    demand(call.hex.startsWith(APPROVE), "function");
    const [spender, amount] = decode([ADDRESS, UINT], call.hex.slice(APPROVE.length));
    demand(spender === digits(pool), "contract");
    call.amount = amount;
  }
  const amounts = calls.map(({ amount }) => amount);
  demand(amounts.at(-1) === taken && amounts.length <= 2 && amounts.slice(0, -1).every((each) => each === 0n), "amount");
}
