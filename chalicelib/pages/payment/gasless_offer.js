// What the service offers to be signed for a payment without gas, compared with the link and with the page's own account.

import { keccak256 } from "./keccak.js";
import { hexOf, isLike } from "./link.js";

const TYPES = [
  { name: "from", type: "address" }, { name: "to", type: "address" }, { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" }, { name: "validBefore", type: "uint256" }, { name: "nonce", type: "bytes32" },
];
const DOMAIN = [
  { name: "name", type: "string" }, { name: "version", type: "string" }, { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
];
const NAME = "ReceiveWithAuthorization";
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const LONGEST = 1_800_000; // milliseconds for which a signature is valid at most

/** The service's account of gasless payments on a network, as the page itself names it; undefined if it names none. */
function accountOn(network) {
  const named = document.querySelector('meta[name="gasless"]')?.content.split(",") ?? [];
  return named.map((each) => each.split(" ")).find(([name]) => name === network)?.[1];
}

const same = (one, other) => String(one).toLowerCase() === String(other).toLowerCase();

// `refusal` is why it must not be signed, as the end of a message key: it goes to another account than the page's own, so to
// anybody, or its nonce is that of another payment, which the service would make with it. Else null.
/** What the service offers to be signed, made anew of what was checked; throws Trouble if it is not the link's payment. */
export function readOffer({ app, chain, address }, raw) {
  const { need, units, link } = app;
  const [payment] = link.payments;
  const { left, fee, token, decimals, symbol, id } = payment;
  const [amount, platform, network, total] = ["amount", "platformFee", "networkFee", "total"].map((name) => units(raw[name], decimals));
  need(raw.currency === id && amount === left && platform === fee && network <= amount && total === amount + platform + network);
  need(isLike(raw.gaslessPaymentId, /^[0-9A-Z]{10,64}$/) && isLike(raw.typedData, /^\{/));
  const { domain, types, values } = parse(app, raw.typedData);
  need(JSON.stringify(types) === JSON.stringify({ [NAME]: TYPES }));
  need(domain.chainId === chain.chainId && same(domain.verifyingContract, token));
  need([domain.name, domain.version].every((each) => isLike(each, /^.{1,50}$/u)) && isLike(values.nonce, /^0x[0-9a-f]{64}$/));
  need(same(values.from, address) && [values.to, payment.payee].every((each) => isLike(each, ADDRESS)));
  need(values.value === String(total) && values.validAfter === "0" && isLike(values.validBefore, /^\d{10}$/));
  const endsAt = 1_000 * values.validBefore;
  need(endsAt > app.now() && endsAt < app.now() + LONGEST);
  const { name, version, chainId, verifyingContract } = domain;
  const { from, to, value, validAfter, validBefore, nonce } = values;
  const typed = {
    types: { EIP712Domain: DOMAIN, [NAME]: TYPES }, primaryType: NAME,
    domain: { name, version, chainId, verifyingContract }, message: { from, to, value, validAfter, validBefore, nonce },
  };
  const terms = { ...payment, chainId, from, to, network, validBefore, id: raw.gaslessPaymentId };
  const refusal = !same(to, accountOn(link.network)) ? "payee" : nonce !== nonceOf(terms) ? "reference" : null;
  return { id: raw.gaslessPaymentId, amount, network, total, decimals, symbol, account: to, endsAt, typed, refusal };
}

// Of the words of chalicelib/gasless/rules.py, terms_hash. So a signature is for no other payment that the service makes.
/** The nonce of the payment of a link: the hash of all that is paid, by whom and to whom. */
function nonceOf({ chainId, token, from, to, payee, left, reference, fee, feeAddress, network, validBefore, id }) {
  const word = (value) => BigInt(value).toString(16).padStart(64, "0");
  const name = hexOf(keccak256(new TextEncoder().encode(id)));
  const first = [chainId, token, from, to, payee, left].map(word);
  const digits = [...first, reference.slice(2).padEnd(64, "0"), ...[fee, fee > 0n ? feeAddress : 0, network, validBefore].map(word), name].join("");
  return `0x${hexOf(keccak256(Uint8Array.from(digits.match(/../g), (each) => parseInt(each, 16))))}`;
}

function parse(app, text) {
  try {
    const read = JSON.parse(text);
    app.need(read.domain && read.types && read.values);
    return read;
  } catch {
    throw new app.Trouble("odd");
  }
}
