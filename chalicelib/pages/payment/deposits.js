// Reads what a transaction of a source chain deposits into the bridge, and which payment that leads to on the other chain.
//
// readDeposit(call, { pool, recipients }) returns
//   { call, refunded, recipient, input, output, deposited, taken, brought, chainId, relayer, quotedAt, fillBy, exclusivity,
//     made, approves, fallback }
// call: { to, hex }; pool is the bridge's contract on the source chain, recipients are { handler, receiver } on the other.
//   taken leaves the wallet, of which `deposited` is deposited and the rest are fees; brought is what arrives for it.
//   made are the calls on the other chain, as `check` takes them, and approves whether they begin with their approval; if
//   they are made for another amount, `spent` is that. What is left, or all of it if they fail, goes to the fallback.
// Addresses are 40 lower-case hexadecimal digits. Any other transaction, and any other encoding of these, is refused.
//
// Three calls are read: the bridge's own depositV3, and two of LI.FI's diamond, which deposits for the sender. The second of
// those makes a swap before, and only one is read: forwardERC20Fees, which pays fees out of the token itself.

import { ADDRESS, BYTES, UINT, array, decode, demand } from "./abi.js";
import { addressDigits } from "./addresses.js";

// On every chain that can be paid from.
// Written by `make docs`, up to the next mark: diamond
export const DIAMOND = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE";
// Up to here.

const SWAPS = array([ADDRESS, ADDRESS, ADDRESS, ADDRESS, UINT, BYTES, UINT]);
const BRIDGE_DATA = [UINT, BYTES, BYTES, ADDRESS, ADDRESS, ADDRESS, UINT, UINT, UINT, UINT];
const ACROSS_DATA = [UINT, UINT, UINT, UINT, UINT, UINT, UINT, UINT, UINT, BYTES];
const DEPOSIT = [ADDRESS, ADDRESS, ADDRESS, ADDRESS, UINT, UINT, UINT, ADDRESS, UINT, UINT, UINT, BYTES];
const MULTIPLIED = 10n ** 30n;
const FORWARD_FEES = "332d746b";

// By selector: whether it is the diamond's, its name, argument types, and the function that reads the arguments.
const FUNCTIONS = {
  "7b939232": [false, "AcrossSpokePool.depositV3", DEPOSIT, readPlain],
  df87ec62: [true, "LiFiDiamond.startBridgeTokensViaAcrossV4", [BRIDGE_DATA, ACROSS_DATA], readStart],
  a629fcbf: [true, "LiFiDiamond.swapAndStartBridgeTokensViaAcrossV4", [BRIDGE_DATA, SWAPS, ACROSS_DATA], readSwapAndStart],
};

export function readDeposit({ to, hex }, { pool, recipients }) {
  const selector = hex.slice(0, 8);
  const isDiamond = to === digits(DIAMOND);
  demand(isDiamond || to === digits(pool), "contract");
  demand(Object.hasOwn(FUNCTIONS, selector) && FUNCTIONS[selector][0] === isDiamond, "function");
  const [, call, kinds, read] = FUNCTIONS[selector];
  const { message, ...deposit } = read(decode(kinds, hex.slice(8)));
  demand([deposit.quotedAt, deposit.fillBy, deposit.exclusivity].every((each) => each < 1n << 32n));
  const { handler, receiver } = recipients;
  const isHandled = deposit.recipient === digits(handler);
  demand(isHandled || (receiver && deposit.recipient === digits(receiver)), "contract");
  return { call, ...deposit, ...(isHandled ? readHandled : readReceived)(message, deposit) };
}

export const digits = (address) => addressDigits(address, false);

function readPlain([refunded, recipient, input, output, taken, brought, chainId, relayer, quotedAt, fillBy, exclusivity, message]) {
  const ends = { refunded, recipient, input, output };
  return { ...ends, deposited: taken, taken, brought, chainId, relayer, quotedAt, fillBy, exclusivity, message };
}

function readStart([bridge, across]) {
  const [least, brought] = [bridge[6], across[3]];
  return { ...readDiamond(bridge, across, 0n), deposited: least, taken: least, brought };
}

function readSwapAndStart([bridge, swaps, across]) {
  const [input, least, multiplier] = [bridge[4], bridge[6], across[4]];
  demand(swaps.length === 1);
  const [[target, spender, sent, received, taken, data, isTaken]] = swaps;
  demand(target === spender && isTaken === 1n);
  demand(sent === input && received === input, "token");
  demand(taken - feesOf(data, input) === least, "amount");
  return { ...readDiamond(bridge, across, 1n), deposited: least, taken, brought: (least * multiplier) / MULTIPLIED };
}

/** What both functions say of the deposit; `hasSwaps` is what the first of them has to say of its swaps. */
function readDiamond(bridge, across, hasSwaps) {
  const [, , , , input, , , chainId, isSwapped, isCalled] = bridge;
  const [recipient, refunded, output, , multiplier, relayer, quotedAt, fillBy, exclusivity, message] = across;
  demand(isSwapped === hasSwaps && isCalled === 1n && multiplier >> 128n === 0n);
  const [to, back, brings, alone] = [recipient, refunded, output, relayer].map(addressIn);
  return { refunded: back, recipient: to, input, output: brings, chainId, relayer: alone, quotedAt, fillBy, exclusivity, message };
}

/** The sum that forwardERC20Fees(token, (recipient, amount)[]) pays. */
function feesOf(data, token) {
  demand(data.startsWith(FORWARD_FEES), "function");
  const words = data.slice(FORWARD_FEES.length);
  const [paid, start, count, ...pairs] = decode(Array(Math.floor(words.length / 64)).fill(UINT), words);
  demand(addressIn(paid) === token, "token");
  demand(start === 64n && 2n * count === BigInt(pairs.length));
  return pairs.reduce((sum, word, at) => (at % 2 ? sum + word : (addressIn(word), sum)), 0n);
}

/** The address in a word, as some contracts have them. */
function addressIn(word) {
  demand(word >> 160n === 0n);
  return word.toString(16).padStart(40, "0");
}

/** The message for Across' MulticallHandler: calls, and who gets what is left. */
function readHandled(message) {
  const [[calls, fallback]] = decode([[array([ADDRESS, BYTES, UINT]), ADDRESS]], message);
  demand(calls.every(([, , value]) => value === 0n), "value");
  return { made: calls.map(([to, data]) => callOf(to, data)), approves: true, fallback };
}

/** The message for LI.FI's ReceiverAcrossV4: one call, for which it lets the called contract take an amount. */
function readReceived(message, { output }) {
  const [, swaps, fallback] = decode([UINT, SWAPS, ADDRESS], message);
  demand(swaps.length === 1);
  const [[target, spender, token, left, spent, data, isTaken]] = swaps;
  demand(target === spender, "contract");
  demand(token === output && left === output, "token");
  demand(isTaken <= 1n);
  return { made: [callOf(target, data)], approves: false, spent, fallback };
}

const callOf = (to, data) => ({ to: `0x${to}`, data: `0x${data}`, value: "0x0" });
