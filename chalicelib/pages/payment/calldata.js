// Decodes the transactions that a wallet is to sign and compares them with what the page shows.
//
// checkTransactions(transactions, expected) returns { ok: true, batchFee, steps } or { ok: false, reason, index };
//   index -1 stands for the list as a whole.
// expected: { network, kind, wallet, eoaWallet, payments: [{ payee, token, amount, fee, feeAddress, reference, conversion }] }
//   amounts are BigInt base units; token null is the native coin. With a conversion, which the contracts make, they are in
//   units of the invoice currency. conversion: { from, most, age }: the hash of that currency, the most base units of the
//   token to take, and the highest age of the rate in seconds, as BigInt; null or missing if there is none.
// step: { kind: "fund" | "reset" | "approve" | "pay", index, call, spender, token, amount, payments, transaction }
//   call names contract and function, for tokens the function only; spender is the contract that gets the allowance;
//   token and amount are missing if several currencies are paid;
//   payments are positions in expected.payments; transaction is the one that was decoded and is to be sent.
// reason: "contract" | "function" | "payee" | "token" | "amount" | "fee" | "reference" | "rate" | "value" | "shape"
//
// Calldata is accepted only if it equals, byte for byte, what the service's encoders write.

import { ADDRESS, BYTES, UINT, array, decode, demand } from "./abi.js";
import { addressDigits } from "./addresses.js";
import { CONTRACTS, USD } from "./contracts.js";

const ZERO = "0".repeat(40);
const DEAD = "000000000000000000000000000000000000dead";
const BASIS = 10_000n;
const HIGHEST_BATCH_FEE = 100; // basis points: fee of the batch contract, which its owner may change
const HIGHEST_FEE_LIMIT = 15_000_000_000; // sun, on Tron
const HIGHEST_RATE_AGE = 172_800n; // seconds

const PATH = array(ADDRESS);
const DETAILS = array([ADDRESS, UINT, PATH, BYTES, UINT, UINT, UINT]);
const PATHS = array(PATH);
const UINTS = array(UINT);

// By selector: contract (null: a token), kind of link that uses it, argument types, function that reads the arguments.
const FUNCTIONS = {
  "095ea7b3": [null, "all", [ADDRESS, UINT], readApprove],
  "23b872dd": [null, "all", [ADDRESS, ADDRESS, UINT], readFunding],
  c219a14d: ["erc20", "single", [ADDRESS, ADDRESS, UINT, BYTES, UINT, ADDRESS], readTokenPayment],
  b868980b: ["native", "single", [ADDRESS, BYTES, UINT, ADDRESS], readNativePayment],
  "3af2c012": ["conversion", "single", [ADDRESS, UINT, PATH, BYTES, UINT, ADDRESS, UINT, UINT], readConvertedCall],
  ac473c8a: ["coinConversion", "single", [ADDRESS, UINT, PATH, BYTES, UINT, ADDRESS, UINT], readCoinConversion],
  "9af8a581": ["batch", "batch", [DETAILS, PATHS, ADDRESS], readBatchOfOneToken],
  "92cddb91": ["batch", "batch", [array([UINT, DETAILS]), PATHS, ADDRESS], readBatchOfGroups],
  c6e6d98b: ["batch", "tron", [ADDRESS, PATH, UINTS, array(BYTES), UINTS, ADDRESS], readTronBatch],
};
const NAMES = {
  "095ea7b3": "approve",
  "23b872dd": "transferFrom",
  c219a14d: "ERC20FeeProxy.transferFromWithReferenceAndFee",
  b868980b: "EthereumFeeProxy.transferWithReferenceAndFee",
  "3af2c012": "Erc20ConversionProxy.transferFromWithReferenceAndFee",
  ac473c8a: "EthConversionProxy.transferWithReferenceAndFee",
  "9af8a581": "BatchConversionPayments.batchERC20Payments",
  "92cddb91": "BatchConversionPayments.batchPayments",
  c6e6d98b: "ERC20BatchPayments.batchERC20PaymentsWithReference",
};

/** What the transactions do if they pay exactly what is expected; else why they must not be signed. */
export function checkTransactions(transactions, expected) {
  let index = -1;
  try {
    const plan = planOf(expected);
    const calls = transactions.map((transaction, at) => {
      index = at;
      return readCall(plan, transaction, at);
    });
    index = -1;
    demandOrder(plan, calls);
    demandEveryPayment(plan, calls);
    const batchFee = batchFeeOf(plan, calls);
    return { ok: true, batchFee, steps: stepsOf(plan, calls, batchFee) };
  } catch (error) {
    // Any error, also an unexpected one, means that the transactions must not be signed.
    return { ok: false, reason: error.reason ?? "shape", index: error.index ?? index };
  }
}

// Addresses become 40 lower-case hexadecimal digits, as in calldata.
function planOf(expected) {
  const { network, kind, eoaWallet = null, wallet = null, payments } = expected;
  demand(Object.hasOwn(CONTRACTS, network) && ["single", "batch", "multicall"].includes(kind));
  const tron = network === "tron";
  const digits = (text) => addressDigits(text, tron);
  const { chainId, ...deployed } = CONTRACTS[network];
  const contracts = Object.fromEntries(Object.entries(deployed).map(([name, at]) => [name, at && digits(at)]));
  const dues = payments.map((payment) => dueOf(payment, digits));
  const single = kind === "single";
  const spender = single ? (dues[0]?.conversion ? "conversion" : "erc20") : "batch";
  demand(dues.length > 0 && (!single || dues.length === 1));
  demand(eoaWallet === null || !tron);
  return {
    tron,
    single,
    links: single ? "single" : tron ? "tron" : "batch",
    contracts,
    digits,
    dues,
    spender: contracts[spender],
    spenderText: deployed[spender],
    tokenTexts: new Map(dues.map((due, at) => [due.token, payments[at].token])),
    owner: eoaWallet === null ? null : digits(eoaWallet),
    wallet: eoaWallet === null ? null : digits(wallet),
  };
}

function dueOf({ payee, token, amount, fee, feeAddress, reference, conversion }, digits) {
  demand(typeof amount === "bigint" && amount > 0n && typeof fee === "bigint" && fee >= 0n);
  demand(/^0x[0-9a-f]{16}$/i.test(reference));
  const receiver = fee ? digits(feeAddress) : null;
  demand(receiver !== ZERO);
  return {
    payee: digits(payee),
    token: token === null ? null : digits(token),
    amount,
    fee,
    receiver,
    reference: reference.slice(2).toLowerCase(),
    conversion: conversion ? limitsOf(conversion, digits) : null,
  };
}

function limitsOf({ from, most, age }, digits) {
  demand(typeof most === "bigint" && most > 0n && typeof age === "bigint" && age > 0n && age <= HIGHEST_RATE_AGE);
  return { from: digits(from), most, age };
}

function readCall(plan, { to, data, value, feeLimit }, index) {
  demand(typeof data === "string" && /^0x(?:[0-9a-f]{2})*$/i.test(data));
  const hex = data.slice(2).toLowerCase();
  const called = plan.digits(to);
  const selector = hex.slice(0, 8);
  demand(Object.hasOwn(FUNCTIONS, selector), "function");
  const [contract, links, kinds, read] = FUNCTIONS[selector];
  demand(links === "all" || links === plan.links, "function");
  if (contract === null) demand(plan.tokenTexts.has(called), "token");
  else demand(called === plan.contracts[contract], "contract");
  const units = valueUnits(value);
  const isFeeLimit = Number.isSafeInteger(feeLimit) && feeLimit > 0 && feeLimit <= HIGHEST_FEE_LIMIT;
  demand(feeLimit === undefined || (plan.tron && isFeeLimit));
  const call = read(plan, decode(kinds, hex.slice(8)), called, units);
  demand(units === 0n || call.payments?.some((each) => each.token === null), "value");
  const limit = feeLimit === undefined ? {} : { feeLimit };
  const transaction = Object.freeze({ to, data: "0x" + hex, value: "0x" + units.toString(16), ...limit });
  return { ...call, index, name: NAMES[selector], value: units, transaction };
}

// The service writes a value as 0, as hexadecimal text, or as a BigNumber of ethers.
function valueUnits(value) {
  const text = value?.type === "BigNumber" ? value.hex : value;
  const isValid = typeof text === "string" ? /^0x[0-9a-f]{1,64}$/i.test(text) : Number.isSafeInteger(text) && text >= 0;
  demand(isValid, "value");
  return BigInt(text);
}

function readApprove(plan, [spender, amount], token) {
  demand(spender === plan.spender, "contract");
  return { kind: amount ? "approve" : "reset", token, amount };
}

function readFunding(plan, [owner, recipient, amount], token) {
  demand(plan.owner !== null, "function");
  demand(owner === plan.owner && recipient === plan.wallet, "payee");
  return { kind: "fund", token, amount };
}

function readTokenPayment(plan, [token, payee, amount, reference, fee, receiver]) {
  return { kind: "pay", receiver, payments: [{ payee, token, amount, fee, reference }] };
}

function readNativePayment(plan, [payee, reference, fee, receiver], to, value) {
  return { kind: "pay", receiver, payments: [{ payee, token: null, amount: value - fee, fee, reference }] };
}

function readConvertedCall(plan, [payee, amount, path, reference, fee, receiver, most, age]) {
  const conversion = along(plan, path, most, age);
  return { kind: "pay", receiver, payments: [{ payee, token: path.at(-1), amount, fee, reference, conversion }] };
}

function readCoinConversion(plan, [payee, amount, path, reference, fee, receiver, age], to, value) {
  demand(path.at(-1) === plan.contracts.coin, "token");
  const conversion = along(plan, path, value, age);
  return { kind: "pay", receiver, payments: [{ payee, token: null, amount, fee, reference, conversion }] };
}

// The feeds of a path lead from the invoice currency to the token, with US dollars or the coin between.
function along(plan, [from, ...path], most, age) {
  demand(path.length < 4 && path.slice(0, -1).every((each) => [USD, plan.contracts.coin].includes(each)), "rate");
  return { from, most, age };
}

function readBatchOfOneToken(plan, [details, paths, receiver]) {
  demand(paths.length === 0);
  const payments = details.map((detail) => readDetail(plan, detail));
  demand(payments.every(({ token }) => token === payments[0].token), "token");
  return { kind: "pay", receiver, payments };
}

// Groups are numbered by the batch contract: 2 pays tokens, 3 the native coin; 0 and 4 do so with a conversion.
function readBatchOfGroups(plan, [groups, paths, receiver]) {
  const numbers = groups.map(([number]) => Number(number));
  demand(paths.length === 0);
  demand(numbers.every((number, at) => [0, 2, 3, 4].includes(number) && !(numbers[at - 1] >= number)));
  const payments = groups.flatMap(([number, details]) => {
    demand(details.length > 0);
    return details.map((detail) => {
      const payment = readDetail(plan, detail, number === 0n || number === 4n);
      if (number <= 2n) return payment;
      demand(payment.token === plan.contracts.coin, "token");
      return { ...payment, token: null };
    });
  });
  // A batch of one token has to use batchERC20Payments.
  const isOther = ({ token, conversion }) => conversion || token === null || token !== payments[0].token;
  demand(payments.some(isOther), "function");
  return { kind: "pay", receiver, payments };
}

function readDetail(plan, [payee, amount, path, reference, fee, most, age], isConverted) {
  demand(isConverted ? path.length > 1 : path.length === 1 && !most && !age);
  const conversion = isConverted ? along(plan, path, most, age) : null;
  return { payee, token: path.at(-1), amount, fee, reference, conversion };
}

function readTronBatch(plan, [token, payees, amounts, references, fees, receiver]) {
  demand([amounts, references, fees].every((column) => column.length === payees.length));
  const payments = payees.map((payee, row) => {
    return { payee, token, amount: amounts[row], fee: fees[row], reference: references[row] };
  });
  return { kind: "pay", receiver, payments };
}

// --- checks of all calls together ---

// The order is funding, approvals, payments; each at most once per token; a reset comes directly before its approval.
// If another wallet funds, it funds every currency owed; the native coin cannot be funded, as no function here moves it.
function demandOrder(plan, calls) {
  const phases = { fund: 0, reset: 1, approve: 1, pay: 2 };
  const kinds = new Set();
  calls.forEach(({ kind, token, index }, at) => {
    const next = calls[at + 1];
    demand(at === 0 || phases[calls[at - 1].kind] <= phases[kind], "shape", index);
    if (kind === "pay") return;
    demand(!kinds.has(kind + token), "shape", index);
    kinds.add(kind + token);
    demand(kind !== "reset" || (next?.kind === "approve" && next.token === token), "shape", index);
  });
  demand(plan.owner === null || [...plan.tokenTexts.keys()].every((token) => kinds.has("fund" + token)));
}

// The calls make each payment owed once, and no other payment.
function demandEveryPayment(plan, calls) {
  const unpaid = new Set(plan.dues.keys());
  for (const call of calls) {
    if (call.kind !== "pay") continue;
    demand(call.payments.length > 0, "shape", call.index);
    call.paid = call.payments.map((payment) => {
      const position = [...unpaid].find((at) => plan.dues[at].reference === payment.reference);
      demand(position !== undefined, "reference", call.index);
      for (const part of ["payee", "token", "amount", "fee"]) {
        demand(payment[part] === plan.dues[position][part], part, call.index);
      }
      demand(limits(payment) === limits(plan.dues[position]), "rate", call.index);
      unpaid.delete(position);
      return position;
    });
    const receivers = call.paid.map((at) => plan.dues[at].receiver ?? call.receiver);
    if (call.payments.every(({ fee }) => !fee)) receivers.push(plan.single ? ZERO : DEAD);
    demand(receivers.every((receiver) => receiver === call.receiver), "fee", call.index);
  }
  demand(unpaid.size === 0);
}

const limits = ({ conversion }) => (conversion ? [conversion.from, conversion.most, conversion.age].join() : "");

// Returns the lowest batch fee, in basis points, with which every amount and value is right.
function batchFeeOf(plan, calls) {
  let fees = plan.single || plan.tron ? [0] : [...Array(HIGHEST_BATCH_FEE + 1).keys()];
  for (const call of calls) {
    if (call.kind === "reset") continue;
    const reason = call.kind === "pay" ? "value" : "amount";
    const [paying, token, units] = call.kind === "pay" ? [[call], null, call.value] : [calls, call.token, call.amount];
    fees = fees.filter((fee) => debitOf(paying, token, fee) === units);
    demand(fees.length > 0, reason, call.index);
  }
  return fees[0];
}

function debitOf(calls, token, batchFee) {
  let debit = 0n;
  for (const { payments = [] } of calls) {
    const inToken = payments.filter((payment) => payment.token === token);
    const amounts = inToken.reduce((sum, { amount, conversion }) => sum + (conversion?.most ?? amount), 0n);
    const fees = inToken.reduce((sum, { fee, conversion }) => sum + (conversion ? 0n : fee), 0n);
    debit += amounts + fees + (amounts * BigInt(batchFee)) / BASIS;
  }
  return debit;
}

function stepsOf(plan, calls, batchFee) {
  return calls.map((call) => {
    const { kind, index, name, transaction, payments, paid = [] } = call;
    const allowance = ["approve", "reset"].includes(kind) ? { spender: plan.spenderText } : {};
    const [token, ...others] = payments ? new Set(payments.map((payment) => payment.token)) : [call.token];
    const amount = payments ? debitOf([call], token, batchFee) : call.amount;
    const debit = others.length ? {} : { token: plan.tokenTexts.get(token), amount };
    return { kind, index, call: name, ...allowance, ...debit, payments: paid, transaction };
  });
}
