// What a wallet of this browser is asked to sign, one transaction after the other; or what an owner proposes to a Safe.

import { html, useEffect, useState } from "./vendor.js";
import { short, t } from "./text.js";
import { Problem, call, me } from "./api.js";
import { discoverWallets } from "./proofs.js";
import { Copy, Failure, Hash, Loaded, saveFile, useLoad } from "./components.js";

const [LOOK_MS, LOOKS] = [2_000, 150];
const KEPT_MS = 7 * 86_400_000; // after that nobody takes what was sent for what is on its way
/** @typedef {{ to: string, data: string, value: any, feeLimit?: number | null }} Transaction As the API gives it. */
/** @typedef {{ demand: () => Promise<void>, send: (transaction: Transaction) => Promise<string>, state: (hash: string) => Promise<boolean | null> }} Signer `demand` throws unless the wallet has the account and the network; `state` is whether a transaction has succeeded, null if it has not ended. */
/** @type {Record<string, { hash: string, at: number }>} What was sent from this page, and the same of this browser as far as it stores anything: the last transaction, by the account and the bytes that were signed. */
let sentHere = {};

/** What was sent from this browser and may not be seen on its chain yet, also before the page was loaded anew. */
function readSent() {
  let stored = {};
  try {
    stored = JSON.parse(localStorage.getItem("sent") ?? "{}") ?? {};
  } catch {
    // a browser that stores nothing knows what was sent from this page
  }
  return Object.fromEntries(Object.entries({ ...stored, ...sentHere }).filter(([, each]) => each?.at > Date.now() - KEPT_MS));
}

/** @param {string} key @param {string} hash */
function keepSent(key, hash) {
  sentHere = { ...readSent(), [key]: { hash, at: Date.now() } };
  try {
    localStorage.setItem("sent", JSON.stringify(sentHere));
  } catch {
    // as above
  }
}

/** @param {any} props Has transactions signed by `signer`. They are sent once as long as it is shown. `currency` is the id of the token, which says on which network; `children` say what is done, and `sent` what follows. With it the signer has a key of its own, and is no Safe. */
export function Signing({ transactions: given, currency: id, signer, label, again, sent: after, children }) {
  const [transactions] = useState(given); // what was shown is what is signed
  const key = JSON.stringify([me.value.id, transactions.map((/** @type {Transaction} */ { to, data, value }) => [to, data, value])]); // of coins the amount is no part of the data
  const [before] = useState(() => readSent()[key]?.hash);
  const found = useLoad(async () => (await call("GET", "/v2/currencies")).find((/** @type {any} */ each) => each.id === id) ?? null, [id]);
  const currency = found.data;
  const [wallets, setWallets] = useState(/** @type {any[]} */ ([]));
  const [state, setState] = useState("ready");
  const [hashes, setHashes] = useState(/** @type {string[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const family = signer.startsWith("0x") ? "evm" : "tron";
  useEffect(() => discoverWallets((found) => setWallets(found.filter((each) => each.family === family))), []);
  const send = async (/** @type {any} */ wallet) => {
    setState("busy");
    setProblem(null);
    const sent = [...hashes];
    try {
      if (!currency?.chainId) wrong(t("sign.elsewhere"));
      const session = (family === "tron" ? tronSigner : evmSigner)(wallet.provider, signer, currency.chainId);
      await sendAll(session, transactions, sent, () => setHashes([...sent]));
      keepSent(key, sent[sent.length - 1]);
      setState("sent");
    } catch (thrown) {
      setState("ready");
      setProblem(thrown);
    }
  };
  return html`
    ${children}
    <p>${label} <${Copy} text=${signer} /></p>
    ${before && state !== "sent" && html`<div class="note bad"><p>${again}</p><${Copy} text=${before} /></div>`}
    ${state !== "sent" && html`<${Loaded} of=${found}>${() => html`
      <div class="ways">
        ${wallets.map((each) => html`<button type="button" class="way" key=${each.id} aria-disabled=${state === "busy"} onClick=${() => state !== "busy" && send(each)}>${t("by.wallet", { name: each.name })}</button>`)}
        ${wallets.length === 0 && html`<p class="hint">${t("wallet.none")}</p>`}
      </div>
      ${family === "evm" && !after && currency?.chainId && html`
        <details><summary>${t("safe.title")}</summary>
          <div class="ways"><p class="hint">${t("safe.text")}</p>
          <${Proposal} transactions=${transactions} safe=${signer} network=${currency.network} wallets=${wallets} done=${(/** @type {string} */ hash) => keepSent(key, hash)} />
          <p><button type="button" class="quiet" onClick=${() => downloadForSafe(transactions, signer, currency.chainId)}>${t("safe.download")}</button></p></div>
        </details>
      `}
    `}<//>`}
    ${problem && html`<${Failure} problem=${problem} />`}
    <p role="status">${state === "sent" && after ? after : t(state === "busy" ? "sign.busy" : state === "sent" ? "sign.sent" : "sign.once")}</p>
    ${hashes.map((hash) => html`<p key=${hash}>${t("transaction")} <${Hash} of=${hash} network=${currency?.network} /></p>`)}
  `;
}

/** @param {any} props Has an owner of a Safe sign what the API then proposes to the other owners: the same is not proposed twice. */
function Proposal({ transactions, safe, network, wallets, done }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const propose = async (/** @type {any} */ { provider }) => {
    setBusy(true);
    setProblem(null);
    try {
      const [owner] = await provider.request({ method: "eth_requestAccounts" }).catch(refuse);
      const body = { network, safe, owner, transactions: callsOf(transactions) };
      const { nonce, typedData } = await call("POST", "/v2/safe-proposals", { body });
      const signature = await signTyped(provider, owner, JSON.parse(typedData));
      const proposed = await call("POST", "/v2/safe-proposals", { body: { ...body, nonce, signature } });
      setMade(proposed);
      done(proposed.safeTxHash);
    } catch (thrown) {
      setProblem(thrown);
    }
    setBusy(false);
  };
  if (made) return html`<p role="status">${t("safe.proposed", { nonce: made.nonce })}</p><p><${Copy} text=${made.safeTxHash} /></p>`;
  return html`
    <div class="ways">
      ${wallets.map((/** @type {any} */ each) => html`<button type="button" class="way" key=${each.id} aria-disabled=${isBusy} onClick=${() => isBusy || propose(each)}>${t("safe.propose", { name: each.name })}</button>`)}
    </div>
    ${problem && html`<${Failure} problem=${problem} />`}
    <p role="status">${isBusy && t("sign.busy")}</p>
  `;
}

/** @param {Transaction[]} transactions What they do, with their amounts as text. */
const callsOf = (transactions) => transactions.map(({ to, data, value }) => ({ to, value: String(unitsOf(value)), data }));

/** @param {any} value The value of a transaction, in any form of the API. */
const unitsOf = (value) => BigInt(value?.type === "BigNumber" ? value.hex : (value ?? 0));

/** @param {Signer} signer @param {Transaction[]} transactions @param {string[]} sent The hashes of those that are sent already, to which it adds. @param {() => void} onSent Each but the last is awaited, as the next needs it. */
async function sendAll(signer, transactions, sent, onSent) {
  await signer.demand();
  for (const each of transactions.slice(sent.length)) {
    if (sent.length) await waitForSuccess(signer, sent[sent.length - 1]);
    sent.push(await signer.send(each));
    onSent();
  }
}

/** @param {Signer} signer @param {string} hash Waits until a transaction has succeeded; throws if it has failed. */
async function waitForSuccess(signer, hash) {
  for (let look = 0; look < LOOKS; look++) {
    const state = await signer.state(hash);
    if (state) return;
    if (state === false) wrong(t("sign.failed", { hash: short(hash) }));
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
  wrong(t("sign.late", { hash: short(hash) }));
}

/** @param {string} message @returns {never} */
function wrong(message) {
  throw new Problem(400, { message });
}

/** @param {any} provider @param {string} signer @param {number} chain @returns {Signer} By EIP-1193. */
function evmSigner(provider, signer, chain) {
  const ask = (/** @type {string} */ method, /** @type {any[]} */ params = []) => provider.request({ method, params }).catch(refuse);
  const chainId = `0x${Number(chain).toString(16)}`;
  const demand = async () => {
    const [from] = await ask("eth_requestAccounts");
    if (from?.toLowerCase() !== signer.toLowerCase()) wrong(t("sign.account", { signer: short(signer) }));
    if (Number(await ask("eth_chainId")) !== Number(chain)) await ask("wallet_switchEthereumChain", [{ chainId }]);
    if (Number(await ask("eth_chainId")) !== Number(chain)) wrong(t("sign.chain"));
  };
  const send = (/** @type {Transaction} */ { to, data, value }) => ask("eth_sendTransaction", [{ from: signer, to, data, value: `0x${unitsOf(value).toString(16)}`, chainId }]);
  const state = async (/** @type {string} */ hash) => {
    const receipt = await ask("eth_getTransactionReceipt", [hash]);
    return receipt?.status ? receipt.status === "0x1" : null;
  };
  return { demand, send, state };
}

/** @param {any} provider @param {string} signer @param {any} typed What is signed by EIP-712: `domain`, `types` without the one of the domain, and `values`. @returns {Promise<string>} */
export async function signTyped(provider, signer, { domain, types, values }) {
  await evmSigner(provider, signer, domain.chainId).demand();
  const EIP712Domain = Object.keys(domain).map((name) => ({ name, type: /** @type {Record<string, string>} */ ({ chainId: "uint256", verifyingContract: "address" })[name] ?? "string" }));
  const [primaryType] = Object.keys(types);
  const text = JSON.stringify({ domain, types: { EIP712Domain, ...types }, primaryType, message: values });
  return provider.request({ method: "eth_signTypedData_v4", params: [signer, text] }).catch(refuse);
}

/** @param {any} provider @param {string} signer @param {number} chain @returns {Signer} By the wallet's TronWeb, whose node builds what is signed: it has to be the call that was asked for. */
function tronSigner(provider, signer, chain) {
  const web = () => provider.tronWeb ?? /** @type {any} */ (window).tronWeb;
  const firstBlock = async () => `0x${String((await web().trx.getBlockByNumber(0).catch(refuse))?.blockID).slice(-8)}`; // ends with the chain id
  const demand = async () => {
    await provider.request({ method: "eth_requestAccounts" }).catch(() => provider.request({ method: "tron_requestAccounts" }).catch(refuse));
    if (web()?.defaultAddress?.base58 !== signer) wrong(t("sign.account", { signer: short(signer) }));
    if (Number(await provider.request({ method: "eth_chainId" }).catch(firstBlock)) !== Number(chain)) wrong(t("sign.chain"));
  };
  const send = async (/** @type {Transaction} */ { to, data, value, feeLimit }) => {
    const { transactionBuilder, trx, address } = web();
    const options = { input: data.slice(2), callValue: Number(unitsOf(value)), ...(feeLimit && { feeLimit }) };
    const { transaction } = await transactionBuilder.triggerSmartContract(to, "", options, [], signer).catch(refuse);
    const calls = transaction?.raw_data?.contract ?? [];
    const { owner_address: owner, contract_address: contract, data: input, call_value: units = 0 } = calls[0]?.parameter?.value ?? {};
    const [own, target] = [signer, to].map((each) => String(address.toHex(each)).toLowerCase());
    const isCall = calls.length === 1 && calls[0].type === "TriggerSmartContract" && owner?.toLowerCase() === own && contract?.toLowerCase() === target;
    if (!isCall || input !== options.input || units !== options.callValue) wrong(t("sign.changed"));
    const signed = await trx.sign(transaction).catch(refuse);
    if (signed?.txID !== transaction.txID) wrong(t("sign.changed"));
    const sent = await trx.sendRawTransaction(signed).catch(refuse);
    if (sent?.result !== true && sent?.code !== "DUP_TRANSACTION_ERROR") refuse(new Error(String(sent?.code ?? "")));
    return signed.txID;
  };
  const state = async (/** @type {string} */ hash) => {
    const { receipt } = (await web().trx.getUnconfirmedTransactionInfo(hash).catch(refuse)) ?? {};
    return receipt?.result ? receipt.result === "SUCCESS" : null;
  };
  return { demand, send, state };
}

/** @param {any} thrown @returns {never} Why a wallet did not do as it was asked, in words. */
function refuse(thrown) {
  const said = String(thrown?.message ?? thrown);
  if (thrown?.code === 4001 || thrown?.code === 4100 || /declined|cancel/i.test(said)) throw new Error(t("wallet.rejected"));
  throw new Error(t("sign.wallet", { said: said.slice(0, 200) }));
}

/** @param {Transaction[]} transactions @param {string} safe @param {number} chain Downloads them as a batch of Safe's Transaction Builder, where an owner proposes them. */
function downloadForSafe(transactions, safe, chain) {
  const meta = { name: t("safe.name"), description: "", createdFromSafeAddress: safe };
  const batch = { version: "1.0", chainId: String(chain), createdAt: Date.now(), meta, transactions: callsOf(transactions) };
  saveFile([JSON.stringify(batch, null, 2)], "application/json", "safe-transactions.json");
}
