// Sessions of connected EVM wallets and Safes: chain, signatures, receipts.
//
// Session: { address, family, chainId(), onChange(callback) -> stop(), ensureChain(chain), send(transaction, chain),
//            receipt(hash, chain), isKnown(hash), isOwn(note), nonce(block), hasCode(), sent(transaction), call({ to, data }) }
//   callback gets "account", "chain", or "disconnect", also for a wallet that is locked;
//   send returns the hash, or for a Safe's list { safeTxHash };
//   nonce counts transactions in blocks, with "pending" also pending ones; null on Tron and for Safes;
//   of EVM wallets alone: capabilities(), the answer to wallet_getCapabilities; request(method, params), with the
//   wallet's own errors and without a limit of time; demand(chain) throws unless account and chain are as before;
//   signs, false if the wallet signs no typed data, as far as is known; hasCode, whether the account is a contract or may act as one; sent, the hash of a transaction that its node shows in
//   the newest block or among those that wait, or null;
//   isOwn: whether the transaction of a note is its wallet's own with the nonce that was next; not on Tron;
//   isKnown: whether the wallet's node knows a pending transaction; always false on Tron, where they expire soon;
//   receipt: { status: "success" | "failed", block, confirmations } or null; on Tron 0 confirmations until it is final.

import { CONNECT_MS, READ_MS, SEND_MS, WalletError, believe, isLike, shortText, within } from "./link.js";

const [SETTLE_MS, SETTLE_TRIES] = [300, 6];
const CAPABILITIES_MS = 2_000; // the payer may press the button meanwhile
const MAY_ADD = ["wrong-chain", "unsupported", "failed"]; // what wallets say of a chain that they do not know
const STATUS = { "0x0": "failed", "0x1": "success" };
const EVM_HASH = /^0x[0-9a-f]{64}$/i;

export function quantity(text) {
  believe(isLike(text, /^0x[0-9a-f]{1,13}$/i), "not a number");
  return Number(text);
}

/** The chain that a wallet names in hexadecimal, as others do in decimal text or as a number. */
export const chainNumber = (answer) =>
  Number.isSafeInteger(answer) || isLike(answer, /^[1-9]\d{0,14}$/) ? Number(answer) : quantity(answer);

export function hashOf(text, form = EVM_HASH) {
  believe(isLike(text, form), "not a hash");
  return text.toLowerCase();
}

// The service writes a value as 0, as hexadecimal text, or as a BigNumber of ethers.
export const unitsOf = (value) => BigInt(value?.type === "BigNumber" ? value.hex : (value ?? 0));

// Marks errors of `work` as isUnasked: the wallet was not asked to sign, so nothing was sent.
export async function beforeAsking(work) {
  try {
    return await work();
  } catch (error) {
    throw Object.assign(error, { isUnasked: true });
  }
}

export async function demandChain(chainId, chain) {
  if ((await chainId()) !== chain.chainId) throw new WalletError("wrong-chain");
}

// Asks the wallet to switch its chain; `add`, if given, adds a chain that it may not know. Then reads its chain again.
// Who refuses is shown which network to choose by hand, as after an answer that changed nothing.
export async function switchChain(ask, chainId, chain, add) {
  if ((await chainId()) === chain.chainId) return;
  const target = [{ chainId: "0x" + chain.chainId.toString(16) }];
  const change = () => ask("wallet_switchEthereumChain", target, CONNECT_MS).then(() => true, (error) => {
    if (!MAY_ADD.includes(error.code)) throw error.code === "rejected" ? new WalletError("wrong-chain") : error;
    return false;
  });
  if (!(await change()) && add) {
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

export function watch(provider, address, callback) {
  const isOther = (accounts) => String(accounts?.[0]).toLowerCase() !== address.toLowerCase();
  const listeners = Object.entries({
    accountsChanged: (accounts) => isOther(accounts) && callback(accounts?.[0] ? "account" : "disconnect"),
    chainChanged: () => callback("chain"),
    disconnect: () => callback("disconnect"),
  });
  listeners.forEach(([event, handler]) => provider.on?.(event, handler));
  return () => listeners.forEach(([event, handler]) => provider.removeListener?.(event, handler));
}

export function evmSession(ask, provider, address) {
  const chainId = async () => chainNumber(await ask("eth_chainId"));
  const demand = (chain) => beforeAsking(async () => {
    const accounts = await ask("eth_accounts");
    if (String(accounts?.[0]).toLowerCase() !== address) throw new WalletError("account");
    await demandChain(chainId, chain);
  });
  const send = async ({ to, data, value }, chain) => {
    const chainIdText = "0x" + chain.chainId.toString(16);
    const request = { from: address, to, data, value: "0x" + unitsOf(value).toString(16), chainId: chainIdText };
    await demand(chain);
    return hashOf(await ask("eth_sendTransaction", [request], SEND_MS));
  };
  return {
    ...{ address, family: "evm", chainId, send, demand },
    onChange: (callback) => watch(provider, address, callback),
    ensureChain: (chain) => switchChain(ask, chainId, chain, (target) => addChain(ask, target, chain)),
    nonce: async (block = "latest") => quantity(await ask("eth_getTransactionCount", [address, block])),
    sent: (transaction) => findSent(ask, address, transaction),
    capabilities: () => ask("wallet_getCapabilities", [address], CAPABILITIES_MS),
    request: async (method, params) => provider.request({ method, params }),
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
    async isOwn({ txHash, wallet, nonce }) {
      const found = await ask("eth_getTransactionByHash", [txHash]);
      return String(found?.from).toLowerCase() === wallet && Number(found.nonce) === nonce;
    },
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
