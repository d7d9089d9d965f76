// Finds, offers and connects the wallets of this browser; everything they return is checked before it is used.
//
// discover(onChange) -> { list(): Wallet[], stop() }
// Wallet: { id, name, icon: data URI | null, family: "evm" | "tron" | "safe", connect(), resume() }
//   connect and resume return a Session (sessions.js); resume never prompts: it returns null if a prompt would be needed;
//   id is the same in the next visit.

import { asset } from "./files.js";
import { CONNECT_MS, READ_MS, WalletError, believe, isLike, shortText, within } from "./link.js";
import { Notes } from "./notes.js";

const SAFE_MS = 5_000;
const LATE_MS = [500, 3_000]; // some wallets are injected after the page has loaded, without an announcement
const REMOTE = "walletconnect";
const [ICON_LENGTH, NAME_LENGTH] = [65_536, 40];
const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const TRON_ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;

export function discover(onChange) {
  const found = new Map();
  const ended = new AbortController();
  const { signal } = ended;
  let reported = "";
  const list = () => [...found.values(), ...walletsInWindow(found)];
  const report = () => {
    const ids = list().map(({ id }) => id).join(" ");
    if (ids === reported || signal.aborted) return;
    reported = ids;
    queueMicrotask(onChange); // the first wallets are found before `discover` returns
  };
  const add = (wallet) => {
    if (wallet && !found.has(wallet.id)) found.set(wallet.id, wallet);
    report();
  };
  const listen = (event, listener) => window.addEventListener(event, listener, { signal });
  listen("eip6963:announceProvider", ({ detail }) => add(announcedWallet(detail, "evm", evmWallet)));
  listen("TIP6963:announceProvider", ({ detail }) => add(announcedWallet(detail, "tron", tronWallet)));
  for (const name of ["ethereum", "tron", "tronLink"]) listen(`${name}#initialized`, report);
  for (const name of ["eip6963", "TIP6963"]) window.dispatchEvent(new Event(`${name}:requestProvider`));
  if (window.parent !== window) safeWallet().then(add, () => {});
  for (const delay of LATE_MS) setTimeout(report, delay);
  return { list, stop: () => ended.abort() };
}

function announcedWallet(detail, family, wallet) {
  const { info, provider } = detail ?? {};
  if (typeof provider?.request !== "function" || !info) return null;
  // rdns identifies the wallet, uuid only this page load; a wallet that announces itself twice is listed once.
  const key = [info.rdns, info.uuid].find((text) => isLike(text, /^[\w.-]{1,100}$/));
  const name = shortText(info.name, NAME_LENGTH);
  if (!key || !name) return null;
  const isIcon = isLike(info.icon, /^data:image\/(?:png|webp|gif|jpeg|svg\+xml)[;,]/);
  const icon = isIcon && info.icon.length <= ICON_LENGTH ? info.icon : null;
  return wallet({ id: `${family}:${key}`, name, icon }, provider);
}

const injected = new WeakMap();

// Wallets found in the window only, for each family of which no wallet was announced.
function walletsInWindow(found) {
  const { ethereum, tron, tronLink, tronWeb } = window;
  const onTron = [tron, tronLink].find((each) => typeof each?.request === "function") ?? tronWeb;
  const offer = (family, provider, name, make) => {
    if (Object(provider) !== provider || [...found.values()].some((wallet) => wallet.family === family)) return [];
    if (!injected.has(provider)) injected.set(provider, make({ id: `${family}:injected`, name, icon: null }, provider));
    return [injected.get(provider)];
  };
  const onEvm = typeof ethereum?.request === "function" ? ethereum : null;
  return [...offer("evm", onEvm, "Ethereum", evmWallet), ...offer("tron", onTron, "TronLink", tronWallet)];
}

// Loaded, with all that paying always needs, when the first wallet is connected; tron.js for Tron wallets alone.
const sessions = () => asset("sessions.js");

const asking = (wallet, isInWords = false) => (method, params = [], limit = READ_MS) =>
  within(limit, () => wallet.request({ method, params }), isInWords);

// The payer did not request a resume, so its errors are not shown.
const quietly = (work) => () => work().catch(() => null);

function evmWallet(info, provider) {
  const ask = asking(provider);
  const session = async (accounts) => {
    believe(Array.isArray(accounts), "no accounts");
    if (accounts.length === 0) throw new WalletError("rejected");
    believe(isLike(accounts[0], EVM_ADDRESS), "not an address");
    return (await sessions()).evmSession(ask, provider, accounts[0].toLowerCase());
  };
  const connect = async () => session(await ask("eth_requestAccounts", [], CONNECT_MS));
  return { ...info, family: "evm", connect, resume: quietly(async () => session(await ask("eth_accounts"))) };
}

// --- Tron: a TIP-1193 provider, TronLink's older interface, or a tronWeb without a provider ---

function tronWallet(info, provider) {
  const isBare = provider === window.tronWeb || typeof provider.request !== "function";
  const isOld = isBare || provider === window.tronLink || typeof provider.on !== "function";
  // Never the tronWeb of another wallet.
  const web = () => provider.tronWeb || (isOld && !isBare && window.tronWeb) || provider;
  const wallet = { ask: asking(provider, true), provider, isOld, web };
  const session = async (address) => {
    if (!address) throw new WalletError("rejected");
    believe(isLike(address, TRON_ADDRESS), "not an address");
    return (await asset("tron.js")).tronSession(wallet, address);
  };
  const current = () => wallet.web().defaultAddress?.base58;
  const connect = async () => {
    const method = isOld ? "tron_requestAccounts" : "eth_requestAccounts";
    const result = isBare ? null : await wallet.ask(method, [], CONNECT_MS);
    const refusal = { 4000: "busy", 4001: "rejected" }[result?.code];
    if (refusal) throw new WalletError(refusal);
    return session(Array.isArray(result) ? result[0] : current());
  };
  const resume = quietly(async () => session(current()));
  return { ...info, family: "tron", connect, resume };
}

// --- Safe's app, when it frames this page: messages of its Apps SDK ---

async function safeWallet() {
  let origin = null;
  let count = 0;
  // The origin of the first response is taken as the Safe's; messages are exchanged with no other from then on.
  const ask = (method, params, milliseconds = READ_MS) => {
    const id = `pay-${Date.now()}-${++count}`;
    let onMessage;
    const response = new Promise((resolve, reject) => {
      onMessage = ({ source, origin: from, data }) => {
        if (source !== window.parent || data?.id !== id || (origin ?? from) !== from) return;
        origin = from;
        if (data.success === true) resolve(data.data);
        else reject(String(data.error ?? "")); // there is no error code, only a text
      };
      window.addEventListener("message", onMessage);
      window.parent.postMessage({ id, method, params, env: { sdkVersion: "9.1.0" } }, origin ?? "*");
    });
    return within(milliseconds, () => response, true).finally(() => window.removeEventListener("message", onMessage));
  };
  const info = async (milliseconds) => {
    const { safeAddress, chainId } = (await ask("getSafeInfo", undefined, milliseconds)) ?? {};
    believe(isLike(safeAddress, EVM_ADDRESS) && isLike(String(chainId), /^[1-9]\d{0,14}$/), "not a Safe");
    return { address: safeAddress.toLowerCase(), chainId: Number(chainId) };
  };
  await info(SAFE_MS);
  const connect = async () => {
    const { address } = await info();
    return (await sessions()).safeSession(ask, info, address);
  };
  return { id: "safe", name: "Safe", icon: null, family: "safe", connect, resume: quietly(connect) };
}

// --- WalletConnect, if the operator has a project with it ---

// Its scripts, and a policy that allows its relay, come with another response of this page.
/** The wallet that is asked by WalletConnect, or null. The choice belongs to this entry of the history, not to the URL. */
function remoteWallet(app) {
  const has = (name) => document.querySelector(`meta[name="${name}"]`);
  if (!has("walletconnect") || app.link.network === "tron") return null;
  const connect = async (others) => {
    if (has("walletconnect-relay")) return (await app.asset("walletconnect.js")).connect(app, others);
    const url = new URL(location.href);
    url.searchParams.set("connect", REMOTE);
    app.stored.set("wallet", REMOTE);
    history.replaceState(REMOTE, "", url);
    location.reload();
    return new Promise(() => {});
  };
  return { id: REMOTE, name: "WalletConnect", icon: null, family: "evm", connect };
}

// --- offering the wallets ---

/** Adds to `app`: `choose`, which offers the wallets found, and `resume`, which reconnects the last one. */
export function offerWallets(app) {
  const { t, el, clean, button, stored } = app;
  const fits = (wallet) => (app.link.network === "tron") === (wallet.family === "tron");
  const isChoosing = () => document.getElementById("main").dataset.state === "choose";
  const wallets = discover(() => isChoosing() && (app.renew(), app.resume()));
  let turn = 0;
  let resumed = null;
  const remote = remoteWallet(app);
  app.notes = new Notes(app);
  // Of a phone: the links that open this page in wallet apps.
  let apps = null;
  const isLost = () => app.isPhone && !wallets.list().some(fits);
  if (isLost()) void asset("apps.js").then((found) => ((apps = found), isChoosing() && app.renew()), () => {});

  // If a payment was requested before, its wallet is needed again to read the outcome.
  app.choose = (trouble = "") =>
    app.show("choose", () => {
      const found = wallets.list().filter(fits);
      const [isOwn, twin] = [app.notes.paying() !== null, app.notes.twin()];
      const inApps = (isLost() && !isOwn && !twin && apps?.appList(app)) || [];
      const none = inApps.length ? "choose.none.phone" : app.link.network === "tron" ? "choose.none.tron" : "choose.none";
      const hint = found.length ? "choose.text" : none;
      const [title, text] = isOwn ? ["found.title", "found.text"] : ["choose.title", hint];
      const note = trouble && el("p", { class: "note bad" }, t(trouble));
      const offers = [...found, remote].filter(Boolean).map((each) => el("li", {}, offer(each)));
      const blocked = !found.length && el("p", { class: "note" }, t("choose.none.script"));
      const body = [note, el("ul", { class: "wallets" }, offers), ...inApps, blocked];
      return { title: t(title), text: t(text), body, manual: !isOwn && !twin && !app.link.isReclaim };
    });

  function offer(wallet) {
    const icon = wallet.icon && el("img", { class: "icon", alt: "", src: wallet.icon });
    return button(`wallet-${wallet.id}`, [icon, clean(wallet.name)], () => connect(wallet), "wallet");
  }

  async function connect(wallet, quietly = false) {
    const thisTurn = (turn += 1); // a wallet that responds after another one was chosen is ignored
    const text = () => wallet !== remote && t("connecting.text"); // there the code or the address comes first
    const words = () => ({ title: t("connecting.title", { wallet: clean(wallet.name) }), text: text() });
    const other = () => [button("other-wallet", t("wallet.other"), () => (turn += 1) && app.choose(), "quiet")];
    if (!quietly) app.show("connecting", () => ({ ...words(), tone: "busy", body: other() }));
    try {
      const session = await (quietly ? wallet.resume() : wallet.connect(other));
      if (!session || thisTurn !== turn) return;
      stored.set("wallet", wallet.id);
      await (await app.asset("payment.js")).begin(app, session.wallet ?? wallet, session);
    } catch (trouble) {
      if (quietly || thisTurn !== turn) return;
      const message = trouble.words ?? `connect.${["rejected", "timeout", "busy"].includes(trouble.code) ? trouble.code : "failed"}`;
      app.choose(message);
      app.say(t(message), true);
    }
  }

  // Connects the last wallet, or the Safe that frames the page, without a prompt; goes on with WalletConnect if it was chosen.
  app.resume = () => {
    const isLast = (each) => each?.family === "safe" || each?.id === stored.get("wallet");
    const last = [...wallets.list().filter(fits), history.state === REMOTE && remote].find(isLast);
    if (!last || !isChoosing() || resumed === last.id) return;
    resumed = last.id;
    void connect(last, last !== remote);
  };
}

// --- branding; in this file because it is loaded with the page ---

const COLOURS = {
  pageBackgroundColor: "--page", cardBackgroundColor: "--card", primaryActionColor: "--action",
  primaryTextColor: "--text", secondaryTextColor: "--muted",
};
const LOGO_MS = 200; // delay, so that the payment is shown first

const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

/** The relative luminance of `#rrggbb`, from 0 to 1 (WCAG). */
function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => channel(parseInt(colour.slice(at, at + 2), 16) / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Applies logo, colours and links of a brand; colours only if the set is complete. */
export function brand({ t, anchor, webAddress }, branding) {
  const root = document.documentElement;
  const colours = Object.entries(COLOURS).map(([name, property]) => [property, branding[name]]);
  if (colours.every(([, colour]) => /^#[0-9a-f]{6}$/i.test(colour))) {
    for (const [property, colour] of colours) root.style.setProperty(property, colour);
    const isBright = luminance(branding.primaryActionColor) > 0.179; // black and white have equal contrast at 0.179
    root.style.setProperty("--on-action", isBright ? "#000000" : "#ffffff");
    root.dataset.theme = luminance(branding.cardBackgroundColor) > 0.179 ? "light" : "dark";
    root.dataset.brand = "own";
    document.getElementById("theme").hidden = true;
  }
  const logo = document.getElementById("logo");
  const isOurs = /^\/pages\/logos\/[\w-]{1,80}(\?v=\w{1,64})?$/.test(branding.logoPath);
  if (isOurs) setTimeout(() => Object.assign(logo, { src: branding.logoPath.slice(1), hidden: false }), LOGO_MS);
  document.getElementById("service").hidden = branding.displayRequestBranding === false;
  for (const name of ["terms", "privacy"]) {
    const href = webAddress(branding[`${name}Path`]);
    if (href) document.getElementById("footer").append(anchor(href, t(name), { target: "_blank", "data-t": name }));
  }
}
