// WalletConnect: pairs with a wallet in another app or on another device, and asks it over the relay. Only the page that was
// opened with it has this file. What goes to the wallet is encrypted for the wallet alone. The wallet answers no questions
// about the chain, so that a public node of the network is asked; what it says is a hint, as what any wallet's node says.

import { copyField } from "./outcomes.js";
import { chainOf } from "./identity.js";
import { READ_MS, WalletError, isLike, shortText, within } from "./link.js";
import { evmSession } from "./sessions.js";
import { SignClient, generate } from "./walletconnect_vendor.js";

const RELAY_MS = 15_000;
const PAIRING_MS = 300_000; // the relay keeps a proposal for so long
const LIVE_MS = 1_500; // for the wallet to say what it can do; what it said when it was paired is used then
const REQUEST_SECONDS = 600; // as long as the page waits for a person
const NAME_LENGTH = 40;
const QUIET = 4; // modules around a QR code
const SVG = "http://www.w3.org/2000/svg";
const DISCONNECTED = { code: 6000, message: "User disconnected." };
const PAYS = "eth_sendTransaction";
const SIGNS = "eth_signTypedData_v4";
const METHODS = [PAYS, SIGNS, "wallet_sendCalls", "wallet_getCallsStatus", "wallet_getCapabilities"];
const READS = [
  ...["eth_blockNumber", "eth_call", "eth_getBlockByNumber", "eth_getCode", "eth_getTransactionByHash"],
  ...["eth_getTransactionCount", "eth_getTransactionReceipt"],
];

/** Throws an error with a message of its own in the words of the page. */
function refuse(words) {
  throw Object.assign(new WalletError("failed"), { words });
}

// ---- the relay

let opened = null;
let isAsked = false; // the first time goes on with the wallet that is paired

/** The client, connected with the relay; throws if the relay does not answer in time. */
async function client(app) {
  try {
    return await within(RELAY_MS, async () => {
      const found = await (opened ??= open(app));
      if (!found.core.relayer.connected) await found.core.relayer.transportOpen();
      return found;
    });
  } catch {
    void opened.then(({ core }) => core.relayer.transportClose()).catch(() => (opened = null)); // or it would go on trying
    return refuse("walletconnect.down");
  }
}

const open = ({ t }) =>
  SignClient.init({
    projectId: document.querySelector('meta[name="walletconnect"]').content,
    relayUrl: document.querySelector('meta[name="walletconnect-relay"]').content,
    metadata: { name: t("service"), description: document.title, url: location.origin, icons: [] },
    ...{ telemetryEnabled: false, logger: "silent" },
  }).then(reticent);

/** Keeps the client from telling anybody else of a request, and the relay what it is about. */
function reticent(made) {
  made.core.verify.register = async () => undefined; // would load a frame from a third host
  made.core.verify.resolve = async () => undefined; // would ask it about what a wallet proposes to the page
  made.engine.getTVFParams = () => ({}); // method, contract and hash in plain text
  return made;
}

// ---- sessions

const paysOn = (session, { chainId }) => {
  const keys = ["eip155", `eip155:${chainId}`];
  const granted = Object.entries(session.namespaces).filter(([key]) => keys.includes(key)).map(([, each]) => each);
  const start = `eip155:${chainId}:`;
  const accounts = granted.flatMap((each) => each.accounts).filter((each) => each.startsWith(start));
  const addresses = accounts.map((each) => each.slice(start.length)).filter((each) => isLike(each, /^0x[0-9a-f]{40}$/i));
  return { address: addresses[0]?.toLowerCase() ?? null, methods: granted.flatMap((each) => each.methods) };
};

/** The account that the wallet can be asked to pay from on the chain, or null. */
function payerOn(session, chain) {
  const { address, methods } = paysOn(session, chain);
  return methods.includes(PAYS) ? address : null;
}

/** The newest session by which the wallet can be asked for payments on the chain, or null. */
function pairedOn({ session }, chain) {
  const isUsable = (each) => each.expiry * 1_000 > Date.now() && payerOn(each, chain);
  return session.getAll().filter(isUsable).at(-1) ?? null;
}

const nameOf = ({ peer }) => shortText(peer.metadata.name, NAME_LENGTH) || "WalletConnect";
const disconnect = (found, { topic }) => found.disconnect({ topic, reason: DISCONNECTED }).catch(() => {});

/** A session of the page, as wallets.js documents it; with `wallet`, under the name that the peer gives itself. */
function sessionOf(app, found, paired, chain) {
  const { address, methods } = paysOn(paired, chain);
  const provider = providerOf(found, paired.topic, chain);
  const ask = (method, params = [], limit = READ_MS) => within(limit, () => provider.request({ method, params }));
  const resume = async () => {
    const again = pairedOn(found, chain);
    return again && sessionOf(app, found, again, chain);
  };
  const name = nameOf(paired);
  const wallet = { id: "walletconnect", name, icon: null, family: "evm", resume };
  return { ...evmSession(ask, provider, address), isOnOneChain: true, signs: methods.includes(SIGNS), wallet };
}

/** A provider by EIP-1193 of what a session grants on a chain. */
function providerOf(found, topic, chain) {
  const { address } = paysOn(found.session.get(topic), chain);
  const isGranted = (method) => paysOn(found.session.get(topic), chain).methods.includes(method); // as the wallet has it now
  const handlers = { accountsChanged: new Set(), chainChanged: new Set(), disconnect: new Set() };
  const emit = (event, value) => handlers[event].forEach((each) => each(value));
  const ours = (tell) => (event) => event.topic === topic && tell();
  found.on("session_delete", ours(() => emit("disconnect")));
  found.on("session_expire", ours(() => emit("disconnect")));
  found.on("session_update", ours(() => emit("accountsChanged", [payerOn(found.session.get(topic), chain)].filter(Boolean))));
  // An error of the library itself, which has no code, is no word of the wallet's: what it was asked may have arrived.
  const unanswered = (error) => Promise.reject(Number.isInteger(error?.code) ? error : new WalletError("timeout"));
  const askWallet = (request) =>
    found.request({ topic, chainId: `eip155:${chain.chainId}`, request, expiry: REQUEST_SECONDS }).catch(unanswered);
  const own = {
    eth_accounts: () => [address],
    eth_chainId: () => `0x${chain.chainId.toString(16)}`,
    wallet_getCapabilities: (request) => {
      const stated = () => statedCapabilities(found.session.get(topic), chain, address);
      const live = isGranted(request.method) ? within(LIVE_MS, () => askWallet(request)) : Promise.reject();
      return live.catch(stated);
    },
  };
  const request = async ({ method, params = [] }) => {
    if (own[method]) return own[method]({ method, params });
    if (READS.includes(method)) return askNode(chain, method, params);
    if (!isGranted(method) || !METHODS.includes(method)) throw Object.assign(new Error(method), { code: 4200 });
    return askWallet({ method, params });
  };
  return { request, on: (event, handler) => handlers[event].add(handler), removeListener: (event, handler) => handlers[event].delete(handler) };
}

// As texts or objects, by CAIP-25: for all chains, for this one, or for the account on it; or as one answer to
// wallet_getCapabilities, by address or for all.
/** What the wallet stated of its capabilities when it was paired. */
function statedCapabilities({ sessionProperties, scopedProperties }, { chainId }, address) {
  const read = (raw) => (typeof raw === "string" ? JSON.parse(raw) : raw) ?? {};
  const of = (all, wanted) => read(Object.entries(read(all)).find(([name]) => name.toLowerCase() === wanted)?.[1]);
  const key = `eip155:${chainId}`;
  const [general, scoped] = [read(sessionProperties), of(scopedProperties, key)];
  const whole = read(general.capabilities);
  const found = { ...whole, ...of(whole, address), ...read(scoped.capabilities) };
  const atomic = Object.assign({}, ...[general, scoped, of(scoped, `${key}:${address}`)].map((each) => read(each.atomic)));
  const onChain = { ...found[key], ...(atomic.status && { atomic }) };
  return { ...found, ...((found[key] || atomic.status) && { [`0x${chainId.toString(16)}`]: onChain }) };
}

/** Asks the public nodes of a network, in their order, until one answers. Throws its error. */
async function askNode({ publicRpcUrls }, method, params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const options = { method: "POST", headers: { "content-type": "application/json" }, body, credentials: "omit" };
  const signal = AbortSignal.timeout(READ_MS);
  const ask = async ([url, ...others]) => {
    try {
      return await (await fetch(url, { ...options, signal })).json();
    } catch (error) {
      if (others.length === 0 || signal.aborted) throw error;
      return ask(others);
    }
  };
  const { result, error } = await ask(publicRpcUrls);
  if (error) throw Object.assign(new Error(shortText(error.message, 200)), { code: error.code });
  return result;
}

// ---- pairing

/** Connects with the wallet that is paired, or shows how to pair one; null if the payer has disconnected it. */
export async function connect(app, others = () => []) {
  const { t } = app;
  const [chain, isFirst] = [chainOf(app.link), !isAsked];
  isAsked = true;
  app.show("connecting", () => ({ title: t("connecting.title", { wallet: "WalletConnect" }), tone: "busy", body: others() }));
  const found = await client(app);
  const paired = pairedOn(found, chain);
  if (!paired) return pair(app, found, chain, others);
  if (isFirst || (await wantsToGoOn(app, paired, others))) return sessionOf(app, found, paired, chain);
  await disconnect(found, paired);
  return app.choose(), null;
}

/** Asks whether to go on with the wallet that is paired, or to disconnect it. */
function wantsToGoOn({ t, show, button }, paired, others) {
  const wallet = nameOf(paired);
  return new Promise((resolve) => {
    const goOn = () => button("go-on", t("walletconnect.go-on", { wallet }), () => resolve(true));
    const end = () => button("disconnect", t("walletconnect.disconnect"), () => resolve(false), "quiet");
    const words = () => ({ title: t("walletconnect.paired.title", { wallet }), text: t("walletconnect.paired.text") });
    show("paired", () => ({ ...words(), body: [goOn(), end(), ...others()] }));
  });
}

async function pair(app, found, chain, others) {
  const wanted = { chains: [`eip155:${chain.chainId}`], methods: METHODS, events: ["accountsChanged", "chainChanged"] };
  const proposed = () => found.connect({ optionalNamespaces: { eip155: wanted } });
  const { uri, approval } = await within(RELAY_MS, proposed).catch(() => refuse("walletconnect.down"));
  showCode(app, chain, uri, others);
  const paired = await within(PAIRING_MS, () => approval().catch(unlikeOurs));
  const { address, methods } = paysOn(paired, chain);
  if (address && methods.includes(PAYS)) return sessionOf(app, found, paired, chain);
  await disconnect(found, paired);
  return refuse(address ? "walletconnect.methods" : "walletconnect.network");
}

// By these codes a wallet refuses what the page asks for, and not the page.
function unlikeOurs(error) {
  if ([5002, 5101].includes(error?.code)) refuse("walletconnect.methods");
  if ([5001, 5100, 5103, 5104].includes(error?.code)) refuse("walletconnect.network");
  throw error;
}

// The address has the key of the pairing. It is drawn here and followed by this device alone: a link to a wallet's website,
// or a picture that the service draws, would hand it to somebody else.
/** Shows the address of a pairing: as a QR code, or on a phone as a link into wallet apps; and to copy. */
function showCode(app, chain, uri, others) {
  const { t, el, anchor, paragraph } = app;
  app.show("pairing", () => {
    const code = app.isPhone
      ? anchor(uri, t("walletconnect.open"), { class: "action", id: "open-wallet" })
      : drawn(uri, t("manual.qr", { what: "WalletConnect" }));
    const field = copyField(app, t("walletconnect.address"), uri, "pairing");
    return {
      title: t("connecting.title", { wallet: "WalletConnect" }),
      text: t(app.isPhone ? "walletconnect.phone" : "walletconnect.scan", { network: chain.name }),
      body: [el("div", { class: "beside" }, code, el("div", {}, field)), paragraph(t("walletconnect.private"), "note"), ...others()],
    };
  });
}

function drawn(text, title) {
  const code = generate(text);
  const size = code.size + 2 * QUIET;
  const places = Array.from({ length: code.size }, (each, at) => at);
  const dark = places.flatMap((y) => places.filter((x) => code.get(x, y)).map((x) => `M${x + QUIET} ${y + QUIET}h1v1h-1z`));
  const make = (name, attributes) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const picture = make("svg", { class: "qr", role: "img", "aria-label": title, viewBox: `0 0 ${size} ${size}`, "shape-rendering": "crispEdges" });
  picture.append(make("path", { d: dark.join(""), fill: "#000" }));
  return picture;
}
