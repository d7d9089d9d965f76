// Fake wallets, as they look from a page: EIP-1193 and EIP-6963, Tron's, and Safe's app around the page.
const { createHash } = require("crypto");
const { utils } = require("tronweb");

const ME = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57";
const OTHER = "0xf17f52151EbEF6C7334FAD080c5704D77216b732";
const HASH = "0x" + "ab".repeat(32);
const OWNER = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7";
const PROXY = "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd";
const PROXY_DIGITS = "411b6ca35d39842cf8fbe49000653a1505412da659";
const OWNER_DIGITS = "4174472e7d35395a6b5add427eecb7f4b62ad2b071";
const TX_ID = "cd".repeat(32);

const icon = "data:image/png;base64,AAAA";
const never = () => new Promise(() => {});
const failing = (code, message = "no", data) => () => Promise.reject(Object.assign(new Error(message), { code, data }));

// An EIP-1193 provider: each method's answers in turn, the last one again and again; functions are called.
function provider(answers) {
  const asked = [];
  const heard = {};
  const all = { eth_requestAccounts: [[ME]], eth_accounts: [[ME]], eth_chainId: ["0x2105"], eth_sendTransaction: [HASH], ...answers };
  const turns = Object.fromEntries(Object.entries(all).map(([method, given]) => [method, [...given]]));
  return {
    asked,
    request: async ({ method, params }) => {
      asked.push([method, params]);
      const turn = turns[method];
      if (!turn) throw Object.assign(new Error("unknown method"), { code: -32601 });
      const answer = turn.length > 1 ? turn.shift() : turn[0];
      return typeof answer === "function" ? answer(params) : answer;
    },
    on: (event, handler) => (heard[event] = handler),
    removeListener: (event) => delete heard[event],
    emit: (event, value) => heard[event]?.(value),
    heard,
  };
}

function announcing(name, detail) {
  const announce = () => window.dispatchEvent(Object.assign(new Event(`${name}:announceProvider`), { detail }));
  window.addEventListener(`${name}:requestProvider`, announce);
  return announce;
}

const info = (name, rdns, uuid = `${rdns}-uuid`) => ({ uuid, name, icon, rdns });

// In JSON, and as npm tronweb writes that in bytes.
function tronBuilt(data, { value, valid = 60_000, feeLimit = 1000, id } = {}) {
  const call = { owner_address: OWNER_DIGITS, contract_address: PROXY_DIGITS, data, ...value };
  const contract = [{ type: "TriggerSmartContract", parameter: { value: call } }];
  const [block, time] = [{ ref_block_bytes: "267e", ref_block_hash: "9a447d222e8de9f2" }, { timestamp: Date.now() }];
  const raw = { ...block, ...time, fee_limit: feeLimit, expiration: Date.now() + valid, contract };
  const written = { ...raw, expiration: raw.expiration || 0 };
  const bytes = utils.transaction.txPbToRawDataHex(utils.transaction.txJsonToPb({ raw_data: written })).toLowerCase();
  return { txID: id ?? createHash("sha256").update(bytes, "hex").digest("hex"), raw_data_hex: bytes, raw_data: raw };
}

function tronWeb(changes = {}) {
  const sent = [];
  const web = {
    sent,
    id: TX_ID, // of what was built last
    defaultAddress: { base58: OWNER },
    transactionBuilder: {
      triggerSmartContract: async (to, name, options, parameters, owner) => {
        sent.push(["build", to, name, options, owner]);
        const transaction = tronBuilt(changes.data ?? options.input, changes);
        web.id = transaction.txID;
        return { transaction };
      },
      triggerConstantContract: async () => ({ constant_result: ["00".repeat(31) + "05"] }),
    },
    trx: {
      getCurrentBlock: async () => ({ block_header: { raw_data: { timestamp: Date.now() + (changes.ahead ?? 0) } } }),
      getBlockByNumber: async () => ({ blockID: "0".repeat(16) + "1ebf88508a03865c71d452e25f4d51194196a1d22b6653dc" }),
      sign: async (transaction) => ({ ...transaction, signature: ["00"] }),
      sendRawTransaction: async (signed) => sent.push(["send", signed.txID]) && { result: true, txid: signed.txID },
      getTransactionInfo: async () => ({}),
      getUnconfirmedTransactionInfo: async () => ({}),
      ...changes.trx,
    },
  };
  return web;
}

// Safe's app: a parent window that answers messages.
function framed(answers, { origin = "https://app.safe.global", source } = {}) {
  const asked = [];
  const parent = {
    postMessage: ({ id, method, params, env }, target) => {
      asked.push([method, params, target, typeof env.sdkVersion]);
      const answer = answers[method];
      if (answer === undefined) return;
      const data = { id, ...(answer instanceof Error ? { success: false, error: answer.message } : { success: true, data: answer }) };
      const message = Object.assign(new Event("message"), { data, origin: typeof origin === "function" ? origin(method) : origin });
      Object.defineProperty(message, "source", { value: source ?? parent });
      setTimeout(() => window.dispatchEvent(message), 1);
    },
  };
  window.parent = parent;
  return asked;
}

module.exports = { ME, OTHER, HASH, OWNER, PROXY, TX_ID, icon, info, never, failing, announcing, framed, provider, tronBuilt, tronWeb };
