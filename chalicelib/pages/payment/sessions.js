// Sessions of connected wallets: chain, signatures, receipts. wallets.js documents the interface.

import { CONNECT_MS, READ_MS, SEND_MS, WalletError, believe, isLike, shortText, within } from "./link.js";

const [SETTLE_MS, SETTLE_TRIES, BROADCAST_TRIES] = [300, 6, 3];
const VALID_MS = 120_000; // lifetime of a Tron transaction; VALID of follow.js is the same
const DETAIL_LENGTH = 200;
const STATUS = { "0x0": "failed", "0x1": "success" };
const EVM_HASH = /^0x[0-9a-f]{64}$/i;
const TRON_HASH = /^[0-9a-f]{64}$/i;

function quantity(text) {
  believe(isLike(text, /^0x[0-9a-f]{1,13}$/i), "not a number");
  return Number(text);
}

function hashOf(text, form = EVM_HASH) {
  believe(isLike(text, form), "not a hash");
  return text.toLowerCase();
}

// The service writes a value as 0, as hexadecimal text, or as a BigNumber of ethers.
const unitsOf = (value) => BigInt(value?.type === "BigNumber" ? value.hex : (value ?? 0));

// Marks errors of `work` as isUnasked: the wallet was not asked to sign, so nothing was sent.
async function beforeAsking(work) {
  try {
    return await work();
  } catch (error) {
    throw Object.assign(error, { isUnasked: true });
  }
}

async function demandChain(chainId, chain) {
  if ((await chainId()) !== chain.chainId) throw new WalletError("wrong-chain");
}

// Asks the wallet to switch its chain; `add`, if given, adds a chain that it does not know. Then reads its chain again.
async function switchChain(ask, chainId, chain, add) {
  if ((await chainId()) === chain.chainId) return;
  const target = [{ chainId: "0x" + chain.chainId.toString(16) }];
  const change = () => ask("wallet_switchEthereumChain", target, CONNECT_MS);
  try {
    await change();
  } catch (error) {
    if (error.code !== "wrong-chain" || !add) throw error;
    await add(target[0]);
    if ((await chainId()) !== chain.chainId) await change();
  }
  // Some wallets respond before they have switched.
  for (let tries = 1; tries < SETTLE_TRIES; tries++) {
    if ((await chainId()) === chain.chainId) return;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
  await demandChain(chainId, chain);
}

function watch(provider, address, callback) {
  const isOther = (accounts) => String(accounts?.[0]).toLowerCase() !== address.toLowerCase();
  const listeners = Object.entries({
    accountsChanged: (accounts) => isOther(accounts) && callback("account"),
    chainChanged: () => callback("chain"),
    disconnect: () => callback("disconnect"),
  });
  listeners.forEach(([event, handler]) => provider.on?.(event, handler));
  return () => listeners.forEach(([event, handler]) => provider.removeListener?.(event, handler));
}

export function evmSession(ask, provider, address) {
  const chainId = async () => quantity(await ask("eth_chainId"));
  const send = async ({ to, data, value }, chain) => {
    const chainIdText = "0x" + chain.chainId.toString(16);
    const request = { from: address, to, data, value: "0x" + unitsOf(value).toString(16), chainId: chainIdText };
    await beforeAsking(async () => {
      const accounts = await ask("eth_accounts");
      if (String(accounts?.[0]).toLowerCase() !== address) throw new WalletError("account");
      await demandChain(chainId, chain);
    });
    return hashOf(await ask("eth_sendTransaction", [request], SEND_MS));
  };
  return {
    ...{ address, family: "evm", chainId, send },
    onChange: (callback) => watch(provider, address, callback),
    ensureChain: (chain) => switchChain(ask, chainId, chain, (target) => addChain(ask, target, chain)),
    nonce: async (block = "latest") => quantity(await ask("eth_getTransactionCount", [address, block])),
    sent: (transaction) => findSent(ask, address, transaction),
    hasCode: async () => (await ask("eth_getCode", [address, "latest"])) !== "0x",
    ...reading(ask, chainId),
  };
}

/** The hash of a transaction of the account, if its node shows it in the newest block or among those that wait. */
async function findSent(ask, address, { to, data }) {
  const isIt = (each) => [each?.from, each?.to, each?.input].join().toLowerCase() === [address, to, data].join().toLowerCase();
  for (const name of ["pending", "latest"]) {
    const block = await ask("eth_getBlockByNumber", [name, true]).catch(() => null);
    const found = Array.isArray(block?.transactions) && block.transactions.find(isIt);
    if (found) return hashOf(found.hash);
  }
  return null;
}

async function addChain(ask, target, chain) {
  const { name, publicRpcUrls, nativeCurrency, explorerUrl } = chain;
  const { name: coin, symbol, decimals } = nativeCurrency;
  const facts = { chainName: name, rpcUrls: publicRpcUrls, nativeCurrency: { name: coin, symbol, decimals } };
  const explorer = URL.canParse(explorerUrl) ? { blockExplorerUrls: [new URL(explorerUrl).origin] } : {};
  try {
    await ask("wallet_addEthereumChain", [{ ...target, ...facts, ...explorer }], CONNECT_MS);
  } catch (error) {
    throw ["timeout", "busy"].includes(error.code) ? error : new WalletError("add-chain-refused", error.detail);
  }
}

function reading(ask, chainId) {
  return {
    isKnown: async (hash) => Boolean(await ask("eth_getTransactionByHash", [hash])),
    async receipt(hash, chain) {
      await demandChain(chainId, chain); // on another chain the transaction is unknown and would count as lost
      const receipt = await ask("eth_getTransactionReceipt", [hash]);
      if (!receipt?.blockNumber) return null;
      believe(hashOf(receipt.transactionHash) === hash.toLowerCase(), "another receipt");
      believe(Object.hasOwn(STATUS, receipt.status), "no status");
      const block = quantity(receipt.blockNumber);
      const head = quantity(await ask("eth_blockNumber"));
      return { status: STATUS[receipt.status], block, confirmations: Math.max(0, head - block) + 1 };
    },
    async call({ to, data }) {
      const output = await ask("eth_call", [{ to, data }, "latest"]);
      believe(isLike(output, /^0x(?:[0-9a-f]{2})*$/i), "not hexadecimal");
      return output;
    },
  };
}

// --- Tron ---

export function tronSession(wallet, address) {
  const { ask, web, isOld, provider } = wallet;
  const read = (work) => within(READ_MS, () => work(web()));
  const chainId = () => tronChainId(wallet);
  return {
    address,
    family: "tron",
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
      return quantity(await ask("eth_chainId"));
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
  return broadcast(web, signed, hashOf(signed.txID, TRON_HASH));
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
  const { demandCall } = await import("./tron.js").catch((error) => {
    throw Object.assign(error, { kind: "away" });
  });
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
    else if (web().defaultAddress?.base58 !== address) callback("account");
  };
  window.addEventListener("message", onMessage);
  return () => window.removeEventListener("message", onMessage);
}

// --- Safe ---

export function safeSession(ask, info, address) {
  const chainId = async () => (await info()).chainId;
  const send = async (transactions, chain) => {
    await beforeAsking(async () => {
      if ((await info()).address !== address) throw new WalletError("account");
      await demandChain(chainId, chain);
    });
    const txs = transactions.map(({ to, data, value }) => ({ to, data, value: String(unitsOf(value)) }));
    const result = await ask("sendTransactions", { txs }, SEND_MS);
    return { safeTxHash: hashOf(result?.safeTxHash) };
  };
  return {
    ...{ address, family: "safe", chainId, send },
    onChange: () => () => {}, // Safe's app reloads the page for another Safe or chain
    ensureChain: (chain) => demandChain(chainId, chain),
    nonce: async () => null,
    ...reading((method, params) => ask("rpcCall", { call: method, params }), chainId),
  };
}
