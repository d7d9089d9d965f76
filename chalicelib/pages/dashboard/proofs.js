// Wallets and passkeys of this browser, to sign in and to prove presence.

import { call } from "./api.js";
import { t } from "./text.js";

/** @typedef {{ id: string, name: string, family: "evm" | "tron", provider: any }} Wallet */

const [NAME_LENGTH, LATE_MS] = [40, 500];

/** @param {(wallets: Wallet[]) => void} onChange Finds wallets by EIP-6963 and TIP-6963, else in the window; returns what ends it. */
export function discoverWallets(onChange) {
  /** @type {Map<string, Wallet>} */
  const found = new Map();
  const ended = new AbortController();
  const add = (/** @type {"evm" | "tron"} */ family) => (/** @type {any} */ { detail }) => {
    const { info, provider } = detail ?? {};
    if (typeof provider?.request !== "function" || typeof info?.name !== "string") return;
    const id = `${family}:${info.rdns ?? info.uuid}`;
    found.set(id, { id, name: info.name.slice(0, NAME_LENGTH), family, provider });
    onChange([...found.values()]);
  };
  addEventListener("eip6963:announceProvider", add("evm"), { signal: ended.signal });
  addEventListener("TIP6963:announceProvider", add("tron"), { signal: ended.signal });
  for (const name of ["eip6963", "TIP6963"]) dispatchEvent(new Event(`${name}:requestProvider`));
  const timer = setTimeout(() => {
    const { ethereum, tronLink } = /** @type {any} */ (window);
    const families = new Set([...found.values()].map(({ family }) => family));
    if (!families.has("evm") && ethereum?.request) found.set("evm", { id: "evm", name: "Ethereum", family: "evm", provider: ethereum });
    if (!families.has("tron") && tronLink?.request) found.set("tron", { id: "tron", name: "TronLink", family: "tron", provider: tronLink });
    onChange([...found.values()]);
  }, LATE_MS);
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
}

/** @param {Wallet} wallet @param {string} challengePath @param {string} verifyPath Has the wallet sign a challenge of the service. */
export async function signByWallet(wallet, challengePath, verifyPath) {
  const ask = (/** @type {string} */ method, /** @type {any[]} */ params = []) => wallet.provider.request({ method, params });
  try {
    return await (wallet.family === "tron" ? byTron : byEvm)(wallet, ask, challengePath, verifyPath);
  } catch (thrown) {
    const refused = /** @type {any} */ (thrown);
    if (refused?.code === 4001 || refused?.code === 4100) throw new Error(t("wallet.rejected"));
    throw refused instanceof Error ? refused : new Error(String(refused?.message ?? refused));
  }
}

/** @param {Wallet} _ @param {any} ask @param {string} challengePath @param {string} verifyPath */
async function byEvm(_, ask, challengePath, verifyPath) {
  const [address] = await ask("eth_requestAccounts");
  if (!address) throw new Error(t("wallet.rejected"));
  const chainId = Number(await ask("eth_chainId"));
  const challenge = await call("POST", challengePath, { body: { address, chainId }, alone: true });
  const bytes = new TextEncoder().encode(challenge.message);
  const text = `0x${Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("")}`;
  return verified(challenge, await ask("personal_sign", [text, address]), verifyPath);
}

/** @param {Wallet} wallet @param {any} ask @param {string} challengePath @param {string} verifyPath */
async function byTron({ provider }, ask, challengePath, verifyPath) {
  await ask("eth_requestAccounts").catch(() => ask("tron_requestAccounts"));
  const web = provider.tronWeb ?? /** @type {any} */ (window).tronWeb;
  const address = web?.defaultAddress?.base58;
  if (!address) throw new Error(t("wallet.rejected"));
  const challenge = await call("POST", challengePath, { body: { address }, alone: true });
  return verified(challenge, await web.trx.signMessageV2(challenge.message), verifyPath);
}

/** @param {any} challenge @param {string} signature @param {string} path */
const verified = ({ challengeId, nonce, message }, signature, path) =>
  call("POST", path, { body: { challengeId, nonce, message, signature }, alone: true });

export const hasPasskeys = () => "PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential;

/** @param {() => Promise<any>} work What the browser says of a refusal, in words. */
async function byAuthenticator(work) {
  try {
    return await work();
  } catch (thrown) {
    const name = /** @type {any} */ (thrown)?.name;
    if (name === "NotAllowedError" || name === "AbortError") throw new Error(t("passkey.rejected"));
    if (name === "InvalidStateError") throw new Error(t("passkey.known"));
    throw thrown;
  }
}

/** @param {string} path The path of the operation, which has `/options` below it. */
export async function provePasskey(path) {
  const { publicKey } = await call("POST", `${path}/options`, { alone: true });
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
  const credential = /** @type {any} */ (await byAuthenticator(() => navigator.credentials.get({ publicKey: options })));
  return call("POST", path, { body: { credential: credential.toJSON() }, alone: true });
}

/** @param {string} name Makes a passkey of this device for who is signed in. */
export async function addPasskey(name) {
  const { publicKey } = await call("POST", "/v1/passkeys/options");
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey);
  const credential = /** @type {any} */ (await byAuthenticator(() => navigator.credentials.create({ publicKey: options })));
  return call("POST", "/v1/passkeys", { body: { name, credential: credential.toJSON() } });
}
