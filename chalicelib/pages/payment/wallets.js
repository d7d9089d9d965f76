// The wallets of this browser: found, offered and connected; what they say is checked before it is used.
//
// discover(onChange) -> { list(): Wallet[], stop() }
// Wallet: { id, name, icon: data URI | null, family: "evm" | "tron" | "safe", connect(), resume() } give a Session
//   id is the same in the next visit; resume asks without a prompt, and gives null where there would be one.
// Session: { address, family, chainId(), onChange(callback) -> off(), ensureChain(chain), send(transaction, chain),
//            receipt(hash, chain), isKnown(hash), nonce(block), call({ to, data }) }
//   callback gets "account", "chain" or "disconnect"; send gives the hash, or of a list, for a Safe, { safeTxHash };
//   nonce counts what is in blocks, or with "pending" also what the wallet's node has heard of; null: there is none;
//   isKnown: whether its node has heard of what is in no block yet; on Tron, where that ends soon, nobody is asked;
//   receipt: { status: "success" | "failed", block, confirmations } or null; on Tron 0 confirmations until it is final.
// WalletError.code: those of CODES, "account" (another one is connected), "wrong-chain", "add-chain-refused",
//   "timeout", "lied", "failed". After these three from send it may be on its way; hash is set where it is known.

import { Notes } from "./link.js";

const SAFE_MS = 5_000;
export const [READ_MS, CONNECT_MS, SEND_MS] = [15_000, 120_000, 600_000]; // in the last two a person reads
const LATE_MS = [500, 3_000]; // some wallets turn up after the page, and announce nothing
const [ICON_LENGTH, NAME_LENGTH, DETAIL_LENGTH] = [65_536, 40, 200];

const CODES = { 4001: "rejected", 4100: "rejected", "-32002": "busy", 4200: "unsupported", "-32601": "unsupported" };
const UNKNOWN_CHAIN = 4902; // inside an error of its own in some wallets
const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const TRON_ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;

export class WalletError extends Error {
  constructor(code, detail = "", hash = null) {
    super(detail || code);
    Object.assign(this, { code, detail, hash });
  }
}

export function discover(onChange) {
  const found = new Map();
  const ended = new AbortController();
  const { signal } = ended;
  let shown = "";
  const list = () => [...found.values(), ...unannounced(found)];
  const tell = () => {
    const now = list().map(({ id }) => id).join(" ");
    if (now === shown || signal.aborted) return;
    shown = now;
    queueMicrotask(onChange); // the first come before the caller has what is returned here
  };
  const add = (wallet) => {
    if (wallet && !found.has(wallet.id)) found.set(wallet.id, wallet);
    tell();
  };
  const listen = (event, heard) => window.addEventListener(event, heard, { signal });
  listen("eip6963:announceProvider", ({ detail }) => add(announced(detail, "evm", evmWallet)));
  listen("TIP6963:announceProvider", ({ detail }) => add(announced(detail, "tron", tronWallet)));
  for (const name of ["ethereum", "tron", "tronLink"]) listen(`${name}#initialized`, tell);
  for (const name of ["eip6963", "TIP6963"]) window.dispatchEvent(new Event(`${name}:requestProvider`));
  if (window.parent !== window) safeWallet().then(add, () => {});
  for (const delay of LATE_MS) setTimeout(tell, delay);
  return { list, stop: () => ended.abort() };
}

function announced(detail, family, wallet) {
  const { info, provider } = detail ?? {};
  if (typeof provider?.request !== "function" || !info) return null;
  // rdns names the wallet, uuid only this visit: the same wallet announced again is one.
  const key = [info.rdns, info.uuid].find((text) => isLike(text, /^[\w.-]{1,100}$/));
  const name = shortText(info.name, NAME_LENGTH);
  if (!key || !name) return null;
  const isIcon = isLike(info.icon, /^data:image\/(?:png|webp|gif|jpeg|svg\+xml)[;,]/);
  const icon = isIcon && info.icon.length <= ICON_LENGTH ? info.icon : null;
  return wallet({ id: `${family}:${key}`, name, icon }, provider);
}

const injected = new WeakMap();

// What is in the window without having been announced, for each family of which nobody was.
function unannounced(found) {
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

export function within(milliseconds, work, isInWords = false) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(reject, milliseconds, new WalletError("timeout"))));
  const failed = (error) => Promise.reject(translated(error, isInWords));
  return Promise.race([late, Promise.resolve().then(work)]).catch(failed).finally(() => clearTimeout(timer));
}

// Fetched when the first wallet has answered, with all that pays with it; held to the hashes in the page.
function sessions(isTron) {
  const needed = isTron ? "" : ':not([data-asset="tron.js"])';
  for (const each of document.querySelectorAll(`link[rel="later"]${needed}`)) each.rel = "modulepreload";
  return import("./sessions.js");
}

const asking = (wallet, isInWords = false) => (method, params = [], limit = READ_MS) =>
  within(limit, () => wallet.request({ method, params }), isInWords);

// Only Tron's wallets and the Safe refuse in words; elsewhere words may be about anything, also about what was sent.
function translated(error, isInWords) {
  if (error instanceof WalletError) return error;
  const codes = [error?.data?.originalError?.code, error?.code].filter(Number.isInteger);
  const detail = shortText(typeof error === "string" ? error : error?.message, DETAIL_LENGTH);
  const known = codes.includes(UNKNOWN_CHAIN) ? "wrong-chain" : codes.map((code) => CODES[code]).find(Boolean);
  const refused = isInWords && codes.length === 0 && /reject|denied|declin|cancel/i.test(detail);
  return new WalletError(known ?? (refused ? "rejected" : "failed"), detail);
}

export function shortText(text, length) {
  return typeof text === "string" ? text.replace(/\p{C}+/gu, " ").trim().slice(0, length) : "";
}

export const isLike = (text, form) => typeof text === "string" && form.test(text);

export function believe(condition, detail) {
  if (!condition) throw new WalletError("lied", detail);
}

// Nobody asked for it, so nobody is told of what went wrong.
const quietly = (work) => () => work().catch(() => null);

function evmWallet(info, provider) {
  const ask = asking(provider);
  const session = async (accounts) => {
    believe(Array.isArray(accounts), "no accounts");
    if (accounts.length === 0) throw new WalletError("rejected");
    believe(isLike(accounts[0], EVM_ADDRESS), "not an address");
    return (await sessions(false)).evmSession(ask, provider, accounts[0].toLowerCase());
  };
  const connect = async () => session(await ask("eth_requestAccounts", [], CONNECT_MS));
  return { ...info, family: "evm", connect, resume: quietly(async () => session(await ask("eth_accounts"))) };
}

// --- Tron: a TIP-1193 provider, what TronLink had before, or a bare tronWeb ---

function tronWallet(info, provider) {
  const isBare = provider === window.tronWeb || typeof provider.request !== "function";
  const isOld = isBare || provider === window.tronLink || typeof provider.on !== "function";
  const web = () => provider.tronWeb || (isOld && !isBare && window.tronWeb) || provider; // never that of another one
  const wallet = { ask: asking(provider, true), provider, isOld, web };
  const session = async (address) => {
    if (!address) throw new WalletError("rejected");
    believe(isLike(address, TRON_ADDRESS), "not an address");
    return (await sessions(true)).tronSession(wallet, address);
  };
  const current = () => wallet.web().defaultAddress?.base58;
  const connect = async () => {
    const method = isOld ? "tron_requestAccounts" : "eth_requestAccounts";
    const answer = isBare ? null : await wallet.ask(method, [], CONNECT_MS);
    const refusal = { 4000: "busy", 4001: "rejected" }[answer?.code];
    if (refusal) throw new WalletError(refusal);
    return session(Array.isArray(answer) ? answer[0] : current());
  };
  const resume = quietly(async () => session(current()));
  return { ...info, family: "tron", connect, resume };
}

// --- Safe's app, when it frames this page: messages of its Apps SDK ---

async function safeWallet() {
  let origin = null;
  let asked = 0;
  // Who answered the first question is the Safe; nobody else is asked or heard from then on.
  const ask = (method, params, milliseconds = READ_MS) => {
    const id = `pay-${Date.now()}-${++asked}`;
    let heard;
    const answer = new Promise((resolve, reject) => {
      heard = ({ source, origin: from, data }) => {
        if (source !== window.parent || data?.id !== id || (origin ?? from) !== from) return;
        origin = from;
        if (data.success === true) resolve(data.data);
        else reject(String(data.error ?? "")); // there is no code: its words are looked at
      };
      window.addEventListener("message", heard);
      window.parent.postMessage({ id, method, params, env: { sdkVersion: "9.1.0" } }, origin ?? "*");
    });
    return within(milliseconds, () => answer, true).finally(() => window.removeEventListener("message", heard));
  };
  const info = async (milliseconds) => {
    const { safeAddress, chainId } = (await ask("getSafeInfo", undefined, milliseconds)) ?? {};
    believe(isLike(safeAddress, EVM_ADDRESS) && isLike(String(chainId), /^[1-9]\d{0,14}$/), "not a Safe");
    return { address: safeAddress.toLowerCase(), chainId: Number(chainId) };
  };
  await info(SAFE_MS);
  const connect = async () => {
    const { address } = await info();
    return (await sessions(false)).safeSession(ask, info, address);
  };
  return { id: "safe", name: "Safe", icon: null, family: "safe", connect, resume: quietly(connect) };
}

// --- what the payer is offered ---

/** Adds to the page `choose`, which offers the wallets that are there, and `resume`, which asks the one of last time. */
export function offerWallets(app) {
  const { t, el, clean, button, stored } = app;
  const fits = (wallet) => (app.link.network === "tron") === (wallet.family === "tron");
  const isChoosing = () => document.getElementById("main").dataset.state === "choose";
  const wallets = discover(() => isChoosing() && (app.renew(), app.resume()));
  let turn = 0;
  let resumed = null;
  app.notes = new Notes(app);

  // One that was asked to pay before is needed again to see what became of it.
  app.choose = (trouble = "") =>
    app.show("choose", () => {
      const found = wallets.list().filter(fits);
      const hint = found.length ? "choose.text" : app.link.network === "tron" ? "choose.none.tron" : "choose.none";
      const [isOwn, twin] = [app.notes.paying() !== null, app.notes.twin()];
      const [title, text] = isOwn ? ["found.title", "found.text"] : ["choose.title", hint];
      const note = trouble && el("p", { class: "note bad" }, t(trouble));
      const offers = found.map((each) => el("li", {}, offer(each)));
      const body = [note, el("ul", { class: "wallets" }, offers)];
      return { title: t(title), text: t(text), body, manual: !isOwn && !twin };
    });

  function offer(wallet) {
    const icon = wallet.icon && el("img", { class: "icon", alt: "", src: wallet.icon });
    return button(`wallet-${wallet.id}`, [icon, clean(wallet.name)], () => connect(wallet), "wallet");
  }

  async function connect(wallet, quietly = false) {
    const mine = (turn += 1); // who answers after another wallet was chosen is not heard
    const words = () => ({ title: t("connecting.title", { wallet: clean(wallet.name) }), text: t("connecting.text") });
    const other = () => [button("other-wallet", t("wallet.other"), () => (turn += 1) && app.choose(), "quiet")];
    if (!quietly) app.show("connecting", () => ({ ...words(), tone: "busy", body: other() }));
    try {
      const session = await (quietly ? wallet.resume() : wallet.connect());
      if (!session || mine !== turn) return;
      stored.set("wallet", wallet.id);
      await (await app.asset("payment.js")).begin(app, wallet, session);
    } catch (trouble) {
      if (quietly || mine !== turn) return;
      const said = `connect.${["rejected", "timeout", "busy"].includes(trouble.code) ? trouble.code : "failed"}`;
      app.choose(said);
      app.say(t(said), true);
    }
  }

  // Without a prompt; also the Safe that frames the page.
  app.resume = () => {
    const isLast = (each) => each.family === "safe" || each.id === stored.get("wallet");
    const last = wallets.list().filter(fits).find(isLast);
    if (!last || !isChoosing() || resumed === last.id) return;
    resumed = last.id;
    void connect(last, true);
  };
}

// --- in whose brand: here, as this is the one module that is fetched with the page ---

const COLOURS = {
  pageBackgroundColor: "--page", cardBackgroundColor: "--card", primaryActionColor: "--action",
  primaryTextColor: "--text", secondaryTextColor: "--muted",
};
const LOGO_MS = 200; // after what there is to pay

const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

/** The relative luminance of `#rrggbb`, from 0 to 1 (WCAG). */
function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => channel(parseInt(colour.slice(at, at + 2), 16) / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Logo, colours and links of a brand. Colours come as a set: one that is incomplete is left alone. */
export function brand({ t, anchor, webAddress }, branding) {
  const root = document.documentElement;
  const colours = Object.entries(COLOURS).map(([name, property]) => [property, branding[name]]);
  if (colours.every(([, colour]) => /^#[0-9a-f]{6}$/i.test(colour))) {
    for (const [property, colour] of colours) root.style.setProperty(property, colour);
    const isBright = luminance(branding.primaryActionColor) > 0.179; // where black and white read equally well
    root.style.setProperty("--on-action", isBright ? "#000000" : "#ffffff");
    root.dataset.theme = luminance(branding.cardBackgroundColor) > 0.179 ? "light" : "dark";
    root.dataset.brand = "own";
    document.getElementById("theme").hidden = true;
  }
  const logo = document.getElementById("logo");
  const isOurs = /^\/pages\/logos\/[\w-]{1,80}(\?v=\w{1,64})?$/.test(branding.logoPath);
  if (isOurs) setTimeout(() => Object.assign(logo, { src: branding.logoPath, hidden: false }), LOGO_MS);
  document.getElementById("service").hidden = branding.displayRequestBranding === false;
  for (const name of ["terms", "privacy"]) {
    const href = webAddress(branding[`${name}Path`]);
    if (href) document.getElementById("footer").append(anchor(href, t(name), { target: "_blank", "data-t": name }));
  }
}
