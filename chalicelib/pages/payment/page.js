// The payment page until a wallet is connected: reads the link, shows it and its state. wallets.js offers the wallets, and
// payment.js continues with the session of one. Texts are put into the document as text nodes only, never as markup.

import { asset, wordsOf } from "./files.js";
import { Trouble, clean, constantsOf, need, outcomeOf, sentHere, totals, units, webAddress } from "./link.js";
import { changeTheme, chooseLanguage } from "./appearance.js";
import { watch } from "./poll.js";
import { brand, offerWallets } from "./wallets.js";

const API_TIMEOUT = 15_000; // milliseconds
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc]/;
const byId = (id) => document.getElementById(id);
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

/** The browser's localStorage, which may be refused; `set` returns whether the value is stored. */
const stored = {
  keys: () => Object.keys(attempt("valueOf") ?? {}), // of the storage itself
  get: (key) => attempt("getItem", key),
  set: (key, value) => {
    attempt(value === null ? "removeItem" : "setItem", key, value);
    return stored.get(key) === value;
  },
};

function attempt(task, ...values) {
  try {
    return localStorage[task](...values);
  } catch {
    return null;
  }
}

let language = "en";
// Used until the messages are loaded, and if they cannot be loaded.
let messages = {
  loading: "Loading the payment", again: "Try again", "away.title": "The payment service does not answer",
  "away.text": "What was sent already is not affected. Please try again.",
};

/** The locale for numbers and dates: always with Latin digits, as wallets and calldata have them. */
const locale = () => `${language}-u-nu-latn`;

/** A message, in the plural form for `count` if it has plural forms; inserted values keep their own text direction. */
function t(key, values = {}) {
  const form = "count" in values && new Intl.PluralRules(language).select(values.count);
  const pattern = messages[key] ?? messages[`${key}.${form}`] ?? messages[`${key}.other`] ?? key;
  return pattern.replace(/\{(\w+)\}/g, (hole, name) => (name in values ? isolated(formatted(values[name])) : hole));
}

const formatted = (value) => (typeof value === "number" ? new Intl.NumberFormat(locale()).format(value) : String(value));
const isolated = (value) => (document.dir === "rtl" || RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value);

/** An amount such as `12.5 USDC` in the language's format, with all its digits, and at least `digits` decimal places. */
function money(units, decimals, symbol, digits = 0) {
  const format = new Intl.NumberFormat(locale(), { minimumFractionDigits: digits, maximumFractionDigits: 20 });
  return isolated(`${format.format(`${units}E-${decimals}`)}\u00a0${symbol}`);
}

const dollars = (text) => new Intl.NumberFormat(locale(), { style: "currency", currency: "USD" }).format(text);

function duration(seconds) {
  const sizes = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
  const first = Math.max(0, sizes.findIndex(([, size]) => seconds >= size));
  return sizes.slice(first < 0 ? 3 : first, first + 2).map(([unit, size], index) => {
    const count = Math.floor((index ? seconds % sizes[first][1] : seconds) / size);
    return new Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "long" }).format(count);
  }).join(" ");
}

/** An element: `class`, `on` for listeners, properties, attributes with a dash; children are nodes or text. */
function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "class") node.className = value;
    else if (name.includes("-") || ["role", "for", "dir", "lang"].includes(name)) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.flat().filter(Boolean));
  return node;
}

const paragraph = (text, name) => el("p", { class: name }, text);
const code = (text) => el("bdi", { class: "code", dir: "ltr" }, clean(text));
const button = (id, text, click, name = "action") =>
  el("button", { id, type: "button", class: name, on: { click } }, text);

const anchor = (href, text, options = {}) => el("a", { href, rel: "noopener noreferrer", ...options }, text);

function say(text, urgent = false) {
  const region = byId(urgent ? "alert" : "polite");
  region.textContent = "";
  setTimeout(() => (region.textContent = text), 50); // screen readers read the same text again only after a change
}

let view = null; // { name, build }: stored, to be built again in another language
let touched = false; // whether the payer has used the page; before that the page does not move the focus

/** Shows a state. `build` returns its title, text, tone and body. Showing the same state again keeps the focus. */
function show(name, build) {
  const isNew = view?.name !== name;
  view = { name, build };
  render(isNew);
}

function render(isNew) {
  const { title, text, tone = "plain", body = [], acts = [], manual = false } = view.build();
  const focused = document.activeElement?.id;
  const details = () => [...byId("panel-body").querySelectorAll("details")];
  const opened = isNew ? [] : details().map(({ open }) => open);
  byId("main").dataset.state = view.name;
  byId("main").setAttribute("aria-busy", String(tone === "busy"));
  Object.assign(byId("panel"), { hidden: false, className: `panel ${tone}` });
  byId("panel-title").textContent = title;
  document.title = app.link ? `${title} \u00b7 ${byId("title").textContent}` : title;
  byId("panel-title").ariaLevel = byId("summary").hidden ? "1" : "2";
  byId("panel-body").replaceChildren(...[text && paragraph(text), ...body].flat().filter(Boolean));
  byId("acts").replaceChildren(...acts);
  details().forEach((each, index) => (each.open ||= opened[index] ?? false));
  byId("manual").hidden = !manual;
  countDown();
  if (isNew) {
    say(text ? `${title}. ${text}` : title, tone === "bad");
    if (touched) byId("panel-title").focus();
  } else if (focused && document.activeElement?.id !== focused) byId(focused)?.focus();
}

const base = meta("api-url").replace(/\/$/, "");
const token = new URLSearchParams(location.search).get("token") ?? "";
const isTest = token.startsWith("test_"); // a link of test mode

let ahead = 0; // milliseconds by which this clock is ahead of the service's

/** The time by the service's clock, in milliseconds: this one may be wrong by hours. */
const now = () => Date.now() - ahead;

/** One API request about this link, or of another path; returns status and body. Throws Trouble if there is no response or no JSON object. */
async function ask(path = "", body = undefined, method = body ? "POST" : "GET") {
  const own = sentHere(app); // what was sent here does not lock the link for this page
  const headers = { "x-client-id": meta("client-id"), ...(body && { "content-type": "application/json" }), ...(own && { "x-announcer-secret": own.secret }) };
  const options = { method, headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(API_TIMEOUT) };
  if (method !== "GET") Object.assign(options, { body: body && JSON.stringify(body), keepalive: true }); // also if it is closed
  const sentAt = Date.now();
  const send = async () => {
    const response = await fetch(base + (path.startsWith("/v2/") ? path : `/v2/secure-payments/${token}${path}`), options);
    ahead = sentAt - Date.parse(response.headers.get("date")) || ahead;
    return { status: response.status, wait: Number(response.headers.get("retry-after")), text: await response.text() };
  };
  const { status, wait, text } = await send().catch(() => ({ status: 503 }));
  const parsed = await new Response(text).json().catch(() => null);
  const kind = parsed?.code === "payments_stopped" ? "stopped" : "away";
  if (status >= 500 || status === 429) throw new Trouble(kind, 1_000 * (wait || 0), parsed?.message);
  need(parsed instanceof Object && !Array.isArray(parsed));
  return { status, body: parsed };
}

/** Sums in one text; `amountOf` returns the amount of a sum. */
function joinSums(sums, amountOf) {
  const amounts = sums.map((each) => money(amountOf(each), each.decimals, each.symbol, each.digits));
  return new Intl.ListFormat(language, { type: "conjunction" }).format(amounts);
}

function summary(link) {
  const { payments, chain } = link;
  const sums = totals(payments);
  const isWhole = sums.every((each) => each.left === each.amount);
  const fees = sums.filter((each) => each.fee > 0n);
  const row = (name, ...values) => el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, ...values));
  const tokens = new Set(payments.filter((each) => each.invoice).map(({ tokenSymbol }) => tokenSymbol));
  byId("summary").hidden = false;
  const wanted = app.end || !link.canPay ? "amount" : isWhole ? "pay.total" : "pay.rest";
  byId("eyebrow").textContent = t(app.end === "completed" ? "pay.done" : wanted);
  byId("title").textContent = joinSums(sums, (each) => each.left + each.fee);
  byId("facts").replaceChildren(...[
    link.dollars && isWhole && sums.some(({ symbol }) => symbol !== "USD") && paragraph(t("fiat", { amount: dollars(link.dollars) }), "fiat"),
    el("dl", {},
      payments.length === 1 && row("payee", ...who(payments[0])),
      link.merchant.length > 0 && row("merchant", ...link.merchant.map(([kind, values]) => el("span", { class: kind }, t(`merchant.${kind}`, values)))),
      !isWhole && row("amount.paid", joinSums(sums, (each) => each.amount - each.left)),
      (fees.length > 0 || !isWhole) && row("amount", joinSums(sums, (each) => each.left)),
      fees.length > 0 && row("fee", joinSums(fees, (each) => each.fee)),
      tokens.size > 0 && row("paid.in", [...tokens].join(", ")),
      !link.isMixed && row("network", clean(chain.name)),
      link.reference && row("reference", el("bdi", {}, clean(link.reference))),
      !app.end && Number.isFinite(link.expiresAt) && row("expires", el("span", { id: "countdown", "data-until": String(link.expiresAt) })),
    ),
    payments.length > 1 && everyPayment(link),
    !app.end && app.commerce?.terms(app, link),
  ].flat().filter(Boolean));
  if (link.own?.arrivedAmount > 0) void asset("exchange.js").then((it) => it.showArrived(app));
  countDown();
}

/** A payee, with a name by which the address named itself. */
const who = ({ name, payee }) => [name && el("div", {}, el("bdi", {}, name)), code(payee)];

function everyPayment({ payments }) {
  const owed = ({ left, decimals, symbol, digits }) => (left > 0n ? money(left, decimals, symbol, digits) : t("pay.done"));
  const item = (each) => el("li", {}, el("div", {}, ...who(each)), el("span", {}, owed(each)));
  return el("details", { class: "list", open: payments.length < 4 },
    el("summary", {}, t("payments", { count: payments.length })), el("ul", {}, payments.map(item)));
}

function countDown() {
  for (const each of document.querySelectorAll("[data-until]")) {
    const left = Math.floor((each.dataset.until - now()) / 1_000);
    each.textContent = left > 0 ? t("expires.in", { time: duration(left) }) : t("expires.now");
  }
}

function tick() {
  if (!app.link) return;
  countDown();
  if (!document.hidden) app.payment?.tick();
  if (!document.hidden && now() >= app.manualUntil) {
    app.manualUntil = undefined;
    void fillManual();
  }
  if (app.end || now() < app.link.expiresAt || app.paying || app.isLate) return;
  app.isLate = true; // read once only
  refresh().catch(() => {});
}

/** Shows an outcome: returns true if the link has ended; else stores the open link and shows what is left to pay. */
async function settle(outcome) {
  if (outcome.words && String(outcome.words) !== String(group)) await speak(language, outcome.words);
  if (outcome.kind !== "open") {
    app.stopWatch();
    app.end = outcome.kind;
    void (await asset(outcome.module ?? "outcomes.js")).showEnd(app, outcome);
    return true;
  }
  if (app.link && constantsOf(app.link) !== constantsOf(outcome.link)) return stopAsChanged();
  const owed = (link) => String([link?.own?.arrivedAmount, link?.payments.map((each) => each.left)]);
  const before = owed(app.link);
  app.link = outcome.link;
  if (before !== owed(app.link)) {
    summary(app.link);
    await fillManual();
  }
  return false;
}

/** The response is of another payment than before: the page stops, so that nothing is signed that was not shown. */
function stopAsChanged() {
  app.stopWatch();
  app.end = "changed";
  show("unsafe", () => ({ title: t("unsafe.title"), text: t("unsafe.changed"), tone: "bad" }));
  return true;
}

async function load() {
  const outcome = outcomeOf(await ask(sentHere(app)?.hashes.length ? `?sent=${sentHere(app).hashes}` : ""));
  if (!outcome.body?.commerce) return outcome;
  app.commerce ??= await asset("commerce.js");
  return app.commerce.judge(app, outcome);
}

function showTrouble(trouble, again) {
  const kind = ["away", "stopped", "storage"].includes(trouble.kind) ? trouble.kind : "odd";
  show(`trouble-${kind}`, () => ({ title: t(`${kind}.title`), text: t(`${kind}.text`), tone: "bad", body: [button("again", t("again"), again)] }));
}

/** Reads the link again and shows its outcome; returns what `settle` returns. */
const refresh = async () => settle(await load());

const fillManual = async () => byId("manual").open && (await asset("manual.js").catch(() => {}))?.show(app);

// An iPad names itself a Macintosh; Macs have no touch screen.
const isPhone = /Android|iPhone|iPad/.test(navigator.userAgent) || (/Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1);

const app = { token, isTest, stored, now, countDown, Trouble, need, isPhone, language: locale };
Object.assign(app, { link: null, end: null, stopWatch: () => {} });
Object.assign(app, { t, money, units, duration, clean, el, paragraph, code, button, webAddress, anchor, say, show });
Object.assign(app, { ask, load, settle, refresh, outcomeOf, totals, joinSums, showTrouble, asset, summary, fillManual });
app.renew = () => render(false);

async function open(loaded) {
  try {
    const outcome = await loaded;
    const branding = outcome.link?.branding ?? outcome.body?.branding;
    if (branding && !app.isBranded) brand(app, branding);
    app.isBranded ||= Boolean(branding);
    if (await settle(outcome)) return;
    if (stored.get(`gasless:${token}`) && (await (await asset("gasless.js")).recall(app))) return;
    setTimeout(() => watch(app), 10_000);
    if (isTest) return void (await asset("sandbox.js")).offerPayment(app);
    if (!app.choose) offerWallets(app);
    const sent = app.notes.bridgeTransfer();
    if (sent && (await (await asset("bridge_transfer.js")).goOn(app, sent))) return;
    if (!app.link.canPay && !app.notes.paying() && !app.notes.twin()) return void (await asset("obstacles.js")).showBlocked(app);
    app.choose();
    app.resume();
  } catch (trouble) {
    showTrouble(trouble, () => (loading(), open(read())));
  }
}

const loading = () => show("loading", () => ({ title: t("loading"), tone: "busy" }));

let group = []; // of messages that the link needs besides, some of them in place of others

/** Fetches the messages of a language and shows the whole page in it. */
async function speak(wanted, also = group) {
  const more = meta("walletconnect-relay") ? ["walletconnect"] : [];
  const names = [wanted, ...[...more, ...also].map((each) => `${wanted}.${each}`)];
  messages = Object.assign({}, ...(await Promise.all(names.map(wordsOf))));
  [language, group] = [wanted, also];
  Object.assign(document.documentElement, { lang: wanted, dir: wanted === "ar" ? "rtl" : "ltr" });
  byId("language").value = wanted;
  document.querySelectorAll("[data-t]").forEach((each) => (each.textContent = t(each.dataset.t)));
  for (const id of ["polite", "alert"]) byId(id).textContent = ""; // of the previous language
  if (app.link) summary(app.link);
  if (view) render(false);
}

function preferredLanguage() {
  const known = [...byId("language").options].map((option) => option.value);
  const wanted = [new URLSearchParams(location.search).get("lang"), stored.get("language"), ...navigator.languages];
  return wanted.map((each) => each?.split(/[-_]/)[0].toLowerCase()).find((each) => known.includes(each)) ?? "en";
}

const read = () => (/^(test_[0-9A-Za-z]{1,30}_)?[0-9A-Za-z]{26}$/.test(token) ? load() : Promise.resolve({ kind: "missing" }));

/** Loads the messages, then opens the link; without messages nothing is offered, because the payer could not read it. */
async function begin(loaded) {
  loaded.catch(() => {}); // open() shows the error once the messages are loaded
  loading();
  try {
    await speak(preferredLanguage()).catch(() => speak("en"));
  } catch {
    return showTrouble(new Trouble("away"), () => begin(read()));
  }
  byId("tools").hidden = false;
  await open(loaded);
}

function start() {
  byId("stalled")?.remove();
  byId("test").hidden = !isTest;
  for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => (touched = true), { once: true });
  byId("language").addEventListener("change", () => void chooseLanguage(app, speak));
  byId("theme").addEventListener("click", () => changeTheme(app));
  byId("manual").addEventListener("toggle", () => void fillManual());
  document.documentElement.dataset.theme = stored.get("theme") ?? "";
  setInterval(tick, 1_000);
  void begin(read());
}

start();
