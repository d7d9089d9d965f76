// Checks a Tron transaction, as JSON and as the bytes of which its id is the hash. The node builds it and the wallet may
// change it: both forms have to be the requested contract call and nothing else.
//
// The bytes are protobuf; fields of 0 or of no bytes are left out; fields are in the order of their numbers:
//
//   raw        1 ref_block_bytes | 4 ref_block_hash | 8 expiration | 11 contract | 14 timestamp | 18 fee_limit
//   contract   1 type: 31 | 2 parameter | 5 permission id
//   parameter  1 type URL | 2 trigger
//   trigger    1 owner | 2 contract | 3 call_value | 4 data

import { addressDigits } from "./check.js";
import { believe, isLike } from "./link.js";

const TYPE = "TriggerSmartContract";
const KEYS = ["owner_address", "contract_address", "data", "call_value"];

/** Throws WalletError unless the transaction is this call, within the fee limit and lifetime, and the id is its hash. */
export async function demandCall(transaction, owner, to, { input, callValue, feeLimit }, until) {
  const { raw_data: raw, raw_data_hex: bytes, txID } = transaction ?? {};
  const isOne = raw?.contract?.length === 1 && raw.contract[0].type === TYPE;
  const call = (isOne && raw.contract[0].parameter?.value) || {};
  const [payer, contract] = [owner, to].map((each) => `41${addressDigits(each, true)}`);
  const isPayer = [payer, owner].includes(call.owner_address);
  const isThere = [contract, to].includes(call.contract_address);
  believe(isPayer && isThere && call.data === input && (call.call_value ?? 0) === callValue, "another transaction");
  believe(Object.keys(call).every((name) => KEYS.includes(name)), "more than was asked for");
  believe(!feeLimit || raw.fee_limit <= feeLimit, "a higher fee limit");
  believe(raw.expiration <= until, "valid for too long");
  const trigger = part(1, payer) + part(2, contract) + number(3, callValue) + part(4, input);
  believe(isLike(bytes, /./) && bytes.toLowerCase() === written(raw, trigger), "other bytes");
  believe(isLike(txID, /^[0-9a-f]{64}$/i) && (await isIdOf(bytes, txID.toLowerCase())), "another id");
}

function written(raw, trigger) {
  const url = [...`type.googleapis.com/protocol.${TYPE}`].map((letter) => hex(letter.charCodeAt())).join("");
  const contract = number(1, 31) + part(2, part(1, url) + part(2, trigger)) + number(5, raw.contract[0].Permission_id);
  const head = part(1, raw.ref_block_bytes) + part(4, raw.ref_block_hash) + number(8, raw.expiration);
  return head + part(11, contract) + number(14, raw.timestamp) + number(18, raw.fee_limit);
}

const hex = (byte) => byte.toString(16).padStart(2, "0");
const number = (field, value = 0) => (value === 0 ? "" : varint(8 * field) + varint(value));
const part = (field, digits = "") => (digits === "" ? "" : varint(8 * field + 2) + varint(digits.length / 2) + digits);

function varint(value) {
  believe(Number.isSafeInteger(value) && value >= 0, "not a number");
  return value < 128 ? hex(value) : hex((value % 128) + 128) + varint(Math.floor(value / 128));
}

// An id is the SHA-256 of the bytes; without https browsers cannot compute it, and true is returned.
async function isIdOf(bytes, id) {
  if (!globalThis.crypto?.subtle) return true;
  const numbers = Uint8Array.from(bytes.match(/../g), (digits) => parseInt(digits, 16));
  return [...new Uint8Array(await crypto.subtle.digest("SHA-256", numbers))].map(hex).join("") === id;
}
