// Sessions of Tron wallets, loaded for them alone: chain, signatures, receipts. sessions.js documents the interface.

import { addressDigits } from "./addresses.js";
import { energyOf } from "./energy.js";
import { READ_MS, SEND_MS, WalletError, believe, isLike, shortText, within } from "./link.js";
import { beforeAsking, chainNumber, demandChain, hashOf, switchChain, unitsOf, watch } from "./sessions.js";

const BROADCAST_TRIES = 3;
const VALID_MS = 120_000; // lifetime of a transaction; VALID of follow.js is the same
const DETAIL_LENGTH = 200;
const HASH = /^[0-9a-f]{64}$/i;
const TYPE = "TriggerSmartContract";
const KEYS = ["owner_address", "contract_address", "data", "call_value"];

export function tronSession(wallet, address) {
  const { ask, web, isOld, provider } = wallet;
  const read = (work) => within(READ_MS, () => work(web()));
  const chainId = () => tronChainId(wallet);
  return {
    address,
    family: "tron",
    energyOf,
    chainId,
    send: (transaction, chain) => tronSend(wallet, address, transaction, chain),
    onChange: (callback) => (isOld ? watchTronLink(web, address, callback) : watch(provider, address, callback)),
    ensureChain: (chain) => (isOld ? demandChain(chainId, chain) : switchChain(ask, chainId, chain)),
    nonce: async () => null,
    isKnown: async () => false,
    async receipt(hash, chain) {
      await demandChain(chainId, chain);
      const solid = await read(({ trx }) => trx.getTransactionInfo(hash));
      const info = solid?.id ? solid : await read(({ trx }) => trx.getUnconfirmedTransactionInfo(hash));
      if (!info?.id) return null;
      const block = Number(info.blockNumber);
      believe(info.id === hash && Number.isSafeInteger(block), "another receipt");
      const failed = info.result === "FAILED" || (info.receipt?.result ?? "SUCCESS") !== "SUCCESS";
      return { status: failed ? "failed" : "success", block, confirmations: info === solid ? chain.confirmations : 0 };
    },
    async call({ to, data }) {
      const options = { input: data.slice(2) };
      const ask = ({ transactionBuilder: build }) => build.triggerConstantContract(to, "", options, [], address);
      const result = (await read(ask))?.constant_result?.[0];
      believe(isLike(result, /^(?:[0-9a-f]{2})*$/i), "not hexadecimal");
      return "0x" + result;
    },
  };
}

// The chain id by the wallet, or by its node: it is the last four bytes of the first block's id.
async function tronChainId({ ask, web, isOld }) {
  if (!isOld) {
    try {
      return chainNumber(await ask("eth_chainId"));
    } catch (error) {
      if (["lied", "timeout"].includes(error.code)) throw error;
    }
  }
  const first = await within(READ_MS, () => web().trx.getBlockByNumber(0));
  believe(isLike(first?.blockID, /^0{16}[0-9a-f]{48}$/), "not a block");
  return parseInt(first.blockID.slice(-8), 16);
}

async function tronSend(wallet, address, transaction, chain) {
  const web = wallet.web();
  const { built, demand } = await beforeAsking(() => tronBuild(wallet, web, address, transaction, chain));
  const signed = await within(SEND_MS, () => web.trx.sign(built), true);
  await demand(signed);
  believe(Array.isArray(signed.signature), "not signed");
  return broadcast(web, signed, hashOf(signed.txID, HASH));
}

// Returns the transaction to be signed, and a function that throws unless a transaction is the call that was requested: the
// node builds the transaction and the wallet may change it.
async function tronBuild(wallet, web, address, { to, data, value, feeLimit }, chain) {
  if (web.defaultAddress?.base58 !== address) throw new WalletError("account");
  await demandChain(() => tronChainId(wallet), chain);
  const options = { input: data.slice(2), callValue: Number(unitsOf(value)), ...(feeLimit ? { feeLimit } : {}) };
  const builder = web.transactionBuilder;
  const head = (await within(READ_MS, () => web.trx.getCurrentBlock()))?.block_header?.raw_data;
  believe(Number.isSafeInteger(head?.timestamp), "not a block");
  const until = Math.max(head.timestamp, Date.now()) + VALID_MS; // the payer's clock may be slow
  const built = await within(READ_MS, () => builder.triggerSmartContract(to, "", options, [], address));
  const demand = (each) => demandCall(each, address, to, options, until);
  await demand(built?.transaction);
  return { built: built.transaction, demand };
}

// Sending the same bytes again is safe: the network accepts them once, until they expire. After a timeout a refusal does
// not show that nothing was sent: the earlier attempt may have succeeded.
async function broadcast(web, signed, hash) {
  for (let tries = 1; ; tries++) {
    let sent;
    try {
      sent = await within(READ_MS, () => web.trx.sendRawTransaction(signed));
    } catch (error) {
      if (tries === BROADCAST_TRIES) throw new WalletError("timeout", error.detail, hash);
      continue;
    }
    if (sent?.result === true || sent?.code === "DUP_TRANSACTION_ERROR") return hash;
    throw new WalletError(tries > 1 ? "timeout" : "failed", shortText(sent?.code, DETAIL_LENGTH), hash);
  }
}

function watchTronLink(web, address, callback) {
  const onMessage = ({ source, data }) => {
    if (source !== window || !data?.isTronLink) return;
    if (data.message?.action === "setNode") callback("chain");
    else if (web().defaultAddress?.base58 !== address) callback(web().defaultAddress?.base58 ? "account" : "disconnect");
  };
  window.addEventListener("message", onMessage);
  return () => window.removeEventListener("message", onMessage);
}

// --- the bytes ---
//
// Checks a Tron transaction, as JSON and as the bytes of which its id is the hash. The node builds it and the wallet may
// change it: both forms have to be the requested contract call and nothing else.
//
// The bytes are protobuf; fields of 0 or of no bytes are left out; fields are in the order of their numbers:
//
//   raw        1 ref_block_bytes | 4 ref_block_hash | 8 expiration | 11 contract | 14 timestamp | 18 fee_limit
//   contract   1 type: 31 | 2 parameter | 5 permission id
//   parameter  1 type URL | 2 trigger
//   trigger    1 owner | 2 contract | 3 call_value | 4 data

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
  believe(isLike(bytes, /./) && bytes.toLowerCase() === encodeRaw(raw, trigger), "other bytes");
  believe(isLike(txID, /^[0-9a-f]{64}$/i) && (await isIdOf(bytes, txID.toLowerCase())), "another id");
}

function encodeRaw(raw, trigger) {
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
