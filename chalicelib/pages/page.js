// The payment page until a wallet has answered: reads the link, shows it and what became of it. wallets.js offers the
// wallets, and payment.js takes over with the session of one. Texts reach the document as text nodes alone, never as markup.

const API_TIMEOUT = 15_000; // milliseconds
// Controls that turn the direction of text or are invisible: in a reference they could show another text than it holds.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc]/;
const byId = (id) => document.getElementById(id);
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
const asset = (name) => import(document.querySelector(`link[data-asset="${name}"]`).href);

/** Why the page cannot go on: `away` the service does not answer, `odd` its answer is not one, `storage`, `unsafe`. */
class Trouble extends Error {
  constructor(kind, wait = 0) {
    super(kind);
    Object.assign(this, { kind, wait });
  }
}

function need(holds) {
  if (!holds) throw new Trouble("odd");
}

/** What the browser keeps, as far as it lets us; `set` gives whether it did. */
const stored = {
  get: (key) => attempt("getItem", key),
  set: (key, value) => {
    attempt(value === null ? "removeItem" : "setItem", key, value);
    return stored.get(key) === value;
  },
};

function attempt(task, ...given) {
  try {
    return localStorage[task](...given);
  } catch {
    return null;
  }
}

let language = "en";
// Until the messages are there, and when they never come.
let messages = {
  loading: "Loading the payment", again: "Try again", "away.title": "The payment service does not answer",
  "away.text": "This does not change what was sent already. Please try again in a moment.",
};

/** A message, in the plural form of `count` if it has some; what is put into it keeps its own direction. */
function t(key, values = {}) {
  const form = "count" in values && new Intl.PluralRules(language).select(values.count);
  const pattern = messages[key] ?? messages[`${key}.${form}`] ?? messages[`${key}.other`] ?? key;
  return pattern.replace(/\{(\w+)\}/g, (hole, name) => (name in values ? isolated(shown(values[name])) : hole));
}

const shown = (value) => (typeof value === "number" ? new Intl.NumberFormat(language).format(value) : String(value));
const isolated = (value) => (document.dir === "rtl" || RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value);

const clean = (value) => String(value).replace(INVISIBLE, "\ufffd");

/** `12.5 USDC` as the language writes it, exact to the last digit. */
function money(units, decimals, symbol) {
  const format = new Intl.NumberFormat(language, { maximumFractionDigits: 20 });
  return `${format.format(`${units}E-${decimals}`)} ${symbol}`;
}

const dollars = (text) => new Intl.NumberFormat(language, { style: "currency", currency: "USD" }).format(text);

/** Base units of a plain decimal; anything else is no amount. */
function units(text, decimals) {
  const parts = /^(\d{1,80})(?:\.(\d{1,80}))?$/.exec(typeof text === "string" ? text : "");
  need(parts && (parts[2] ?? "").length <= decimals);
  return BigInt(parts[1] + (parts[2] ?? "").padEnd(decimals, "0"));
}

function duration(seconds) {
  const sizes = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
  const first = Math.max(0, sizes.findIndex(([, size]) => seconds >= size));
  return sizes.slice(first < 0 ? 3 : first, first + 2).map(([unit, size], place) => {
    const count = Math.floor((place ? seconds % sizes[first][1] : seconds) / size);
    return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count);
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

/** An address of the web as it may be linked, null for every other scheme. */
function webAddress(text) {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : null;
  return url && ["https:", "http:"].includes(url.protocol) ? url.href : null;
}

const anchor = (href, text, options = {}) => el("a", { href, rel: "noopener noreferrer", ...options }, text);

function say(text, urgent = false) {
  const region = byId(urgent ? "alert" : "polite");
  region.textContent = "";
  setTimeout(() => (region.textContent = text), 50); // the same text again is only read after it was gone
}

let view = null; // { name, build }: kept, to be built anew in another language
let touched = false; // before the payer has done anything, focus stays where the browser has it

/** Shows a state. `build` gives its title, text, tone and body. The same state again keeps the focus where it is. */
function show(name, build) {
  const isNew = view?.name !== name;
  view = { name, build };
  render(isNew);
}

function render(isNew) {
  const { title, text, tone = "plain", body = [] } = view.build();
  const held = document.activeElement?.id;
  byId("main").dataset.state = view.name;
  byId("main").setAttribute("aria-busy", String(tone === "busy"));
  Object.assign(byId("panel"), { hidden: false, className: `panel ${tone}` });
  byId("panel-title").textContent = title;
  byId("panel-title").ariaLevel = byId("summary").hidden ? "1" : "2";
  byId("panel-body").replaceChildren(...[text && paragraph(text), ...body].flat().filter(Boolean));
  byId("manual").hidden = view.name !== "choose" || stored.get(`pay:${token}`) !== null;
  if (isNew) {
    say(text ? `${title}. ${text}` : title, tone === "bad");
    if (touched) byId("panel-title").focus();
  } else if (held && document.activeElement?.id !== held) byId(held)?.focus();
}

const base = meta("api-url").replace(/\/$/, "");
const token = new URLSearchParams(location.search).get("token") ?? "";

/** Asks about this link. An answer is an object with its status; all that is none throws Trouble. */
async function ask(path = "", body = undefined) {
  const headers = { "x-client-id": meta("client-id"), ...(body && { "content-type": "application/json" }) };
  const options = { headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(API_TIMEOUT) };
  if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const send = async () => {
    const response = await fetch(`${base}/v2/secure-payments/${token}${path}`, options);
    return { status: response.status, wait: Number(response.headers.get("retry-after")), said: await response.text() };
  };
  const { status, wait, said } = await send().catch(() => ({ status: 503 }));
  if (status >= 500 || status === 429) throw new Trouble("away", 1_000 * (wait || 0));
  const read = await new Response(said).json().catch(() => null);
  need(read instanceof Object && !Array.isArray(read));
  return { status, body: read };
}

const texts = (value, most = 4_000) => (need(typeof value === "string" && value.length <= most), value);
const whole = (value, most) => (need(Number.isSafeInteger(value) && value >= 0 && value <= most), value);
const optional = (value) => (value === null || value === undefined ? null : texts(value));
const list = (value) => (need(Array.isArray(value) && value.length <= 1_000), value);

function readChain(raw) {
  need(raw?.nativeCurrency && Array.isArray(raw.publicRpcUrls));
  whole(raw.nativeCurrency.decimals, 20);
  [raw.name, raw.label, raw.nativeCurrency.name, raw.nativeCurrency.symbol].forEach((each) => texts(each, 100));
  return { ...raw, chainId: whole(raw.chainId, 2 ** 52), confirmations: whole(raw.confirmations, 10_000) };
}

/** floor(amount * percentage / 100), as the service has it. */
function feeOf(amount, percentage) {
  return percentage === null ? 0n : (amount * units(percentage, 18)) / (100n * 10n ** 18n);
}

/** One payment; amounts in base units. `left` is what is owed yet, `fee` what is paid on top of that. */
function readPayment(raw, network, chain) {
  const decimals = whole(raw.decimals, 20);
  const amount = units(raw.amount, decimals);
  const left = units(raw.remainingAmount, decimals);
  need(typeof raw.isNativeCurrency === "boolean" && left <= amount && /^0x[0-9a-f]{16}$/.test(raw.paymentReference));
  const name = texts(raw.paymentCurrency, 100);
  const currency = name.replace(`-${network}`, "");
  const called = currency === "USDCn" ? "USDC" : currency; // the n tells it from a bridged one in ids alone
  const symbol = clean(raw.isNativeCurrency ? chain.nativeCurrency.symbol : called);
  const percentage = optional(raw.feePercentage);
  const fee = feeOf(left, percentage);
  const feeAddress = fee > 0n ? texts(raw.feeAddress, 64) : null;
  const address = raw.isNativeCurrency ? null : texts(raw.tokenAddress, 64);
  const known = { payee: texts(raw.payee, 64), reference: raw.paymentReference, percentage, feeAddress };
  return { ...known, id: name, token: address, currency, symbol, decimals, amount, left, fee };
}

const COLUMNS = {
  amount: "amounts", remainingAmount: "remainingAmounts", paymentCurrency: "paymentCurrencies",
  isNativeCurrency: "isNativeCurrency", decimals: "decimals", paymentReference: "paymentReferences",
  destination: "destinations",
};

/** The payments of a link, whichever kind it is, in one form. */
function rows(raw) {
  const fee = { feePercentage: raw.feePercentage, feeAddress: raw.feeAddress };
  if (raw.paymentType === "single") return [{ ...raw, tokenAddress: raw.destination?.tokenAddress }];
  if (raw.paymentType === "multicall") return list(raw.children);
  need(raw.paymentType === "batch");
  const one = (place) => Object.entries(COLUMNS).map(([name, column]) => [name, raw[column]?.[place]]);
  const items = list(raw.payees).map((payee, place) => ({ ...fee, ...Object.fromEntries(one(place)), payee }));
  return items.map((item) => ({ ...item, tokenAddress: item.destination?.tokenAddress }));
}

/** A link that was answered, with every value of the type that it has to be of. */
function readLink(raw) {
  const chain = readChain(raw.chain);
  const children = raw.paymentType === "multicall" ? list(raw.children) : [];
  const network = texts(raw.network ?? children.find((child) => child.network)?.network, 60);
  const known = rows(raw).filter((row) => row.amount !== null); // a child that nobody knows has none
  const expiresAt = Date.parse(texts(raw.expiresAt, 40));
  need(Number.isFinite(expiresAt) && known.length > 0);
  return {
    kind: raw.paymentType,
    status: texts(raw.status, 40),
    canPay: raw.paymentType !== "multicall" || raw.canExecute === true,
    payments: known.map((row) => readPayment(row, network, chain)),
    blocked: children.filter((child) => child.blockReason),
    free: children.filter((child) => child.executable === true),
    dollars: /^\d{1,15}(\.\d+)?$/.exec(raw.feePlan?.payerTotalAmountUsd)?.[0] ?? null,
    ...{ network, chain, expiresAt, reference: optional(raw.reference), branding: raw.branding ?? null },
    ...{ redirectUrl: webAddress(raw.redirectUrl), redirectLabel: optional(raw.redirectLabel) },
  };
}

/** What became of the link: `open` with the link, or an end with what the service says of it. */
function outcomeOf({ status, body }) {
  if (status === 404) return { kind: "missing" };
  if (status === 200) {
    const read = readLink(body);
    return { kind: ["completed", "expired"].includes(read.status) ? read.status : "open", link: read, body };
  }
  const kinds = { 409: "completed", 423: "safe", 403: texts(body.status ?? "closed", 40) };
  need(status in kinds);
  return { kind: kinds[status], body };
}

/** What the payments take of each token, fees included. */
function totals(payments) {
  const sums = new Map();
  for (const { token: address, symbol, decimals, amount, left, fee } of payments) {
    const sum = sums.get(address) ?? { token: address, symbol, decimals, amount: 0n, left: 0n, fee: 0n };
    sums.set(address, { ...sum, amount: sum.amount + amount, left: sum.left + left, fee: sum.fee + fee });
  }
  return [...sums.values()];
}

function listed(sums, of) {
  const amounts = sums.map((each) => money(of(each), each.decimals, each.symbol));
  return new Intl.ListFormat(language, { type: "conjunction" }).format(amounts);
}

function summary(shown) {
  const { payments, chain } = shown;
  const sums = totals(payments);
  const total = listed(sums, (each) => each.left + each.fee);
  const isWhole = sums.every((each) => each.left === each.amount);
  const fees = sums.filter((each) => each.fee > 0n);
  const row = (name, ...values) => el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, ...values));
  byId("summary").hidden = false;
  const open = isWhole ? "pay.total" : "pay.rest";
  byId("eyebrow").textContent = t(app.end ? (app.end === "completed" ? "pay.done" : "amount") : open);
  byId("title").textContent = total;
  document.title = t("page.title", { amount: total });
  byId("facts").replaceChildren(
    ...[shown.dollars && isWhole && paragraph(t("fiat", { amount: dollars(shown.dollars) }), "fiat")].filter(Boolean),
    el("dl", {},
      payments.length === 1 && row("payee", code(payments[0].payee)),
      !isWhole && row("amount.paid", listed(sums, (each) => each.amount - each.left)),
      (fees.length > 0 || !isWhole) && row("amount", listed(sums, (each) => each.left)),
      fees.length > 0 && row("fee", listed(fees, (each) => each.fee)),
      row("network", clean(chain.name)),
      shown.reference && row("reference", el("bdi", {}, clean(shown.reference))),
      !app.end && row("expires", el("span", { id: "countdown" })),
    ),
    ...[payments.length > 1 && everyPayment(shown)].filter(Boolean),
  );
  tick();
}

function everyPayment({ payments }) {
  const owed = ({ left, decimals, symbol }) => (left > 0n ? money(left, decimals, symbol) : t("pay.done"));
  const item = (each) => el("li", {}, code(each.payee), el("span", {}, owed(each)));
  return el("details", { class: "list", open: payments.length < 4 },
    el("summary", {}, t("payments", { count: payments.length })), el("ul", {}, payments.map(item)));
}

function tick() {
  const place = byId("countdown");
  if (!place || !app.link) return;
  const left = Math.floor((app.link.expiresAt - Date.now()) / 1_000);
  place.textContent = left > 0 ? t("expires.in", { time: duration(left) }) : t("expires.now");
  if (left > 0 || app.paying || app.isLate) return;
  app.isLate = true; // asked once; the clock here may be ahead of the service's
  look().catch(() => {});
}

/** Shows how the link ended, true; or keeps the open link and gives false. */
async function settle(outcome) {
  if (outcome.kind !== "open") {
    app.stopWatch();
    app.end = outcome.kind;
    void (await asset("ends.js")).ended(app, outcome);
    return true;
  }
  app.link = outcome.link;
  return false;
}

const load = async () => outcomeOf(await ask());

function failed(trouble, again) {
  const kind = ["away", "storage"].includes(trouble.kind) ? trouble.kind : "odd";
  const act = () => button("again", t("again"), again);
  show(`trouble-${kind}`, () => ({ title: t(`${kind}.title`), text: t(`${kind}.text`), tone: "bad", body: [act()] }));
}

/** Reads the link again; shows it when it has changed, and its end when it has ended. */
async function look() {
  const owed = () => app.link?.payments.map((each) => each.left).join();
  const before = owed();
  if (await settle(await load())) return true;
  if (before !== owed()) summary(app.link);
  return false;
}

const app = { token, stored, Trouble, need, language: () => language };
Object.assign(app, { link: null, end: null, stopWatch: () => {} });
Object.assign(app, { t, money, units, duration, clean, el, paragraph, code, button, webAddress, anchor, say, show });
Object.assign(app, { ask, load, settle, look, outcomeOf, totals, listed, failed, asset, summary, renew: () => render(false) });

async function open(answer = load()) {
  try {
    const outcome = await answer;
    const branding = outcome.link?.branding ?? outcome.body?.branding;
    if (branding) (await asset("wallets.js")).brand(app, branding);
    if (await settle(outcome)) return;
    summary(app.link);
    if (!app.link.canPay) return void (await asset("ends.js")).blocked(app);
    if (!app.choose) (await asset("wallets.js")).offerWallets(app);
    app.choose();
    app.resume();
    setTimeout(async () => (await asset("poll.js")).watch(app), 10_000);
  } catch (trouble) {
    failed(trouble, () => (loading(), open()));
  }
}

const loading = () => show("loading", () => ({ title: t("loading"), tone: "busy" }));

/** Fetches the messages of a language and writes all of the page in it. */
async function speak(wanted) {
  const answer = await fetch(`/pages/locales/${wanted}.json`, { signal: AbortSignal.timeout(API_TIMEOUT) });
  need(answer.ok);
  messages = await answer.json();
  language = wanted;
  Object.assign(document.documentElement, { lang: wanted, dir: wanted === "ar" ? "rtl" : "ltr" });
  byId("language").value = wanted;
  document.querySelectorAll("[data-t]").forEach((each) => (each.textContent = t(each.dataset.t)));
  for (const id of ["polite", "alert"]) byId(id).textContent = ""; // said in the language before
  if (app.link) summary(app.link);
  if (view) render(false);
}

function preferred() {
  const known = [...byId("language").options].map((option) => option.value);
  const asked = [new URLSearchParams(location.search).get("lang"), stored.get("language"), ...navigator.languages];
  return asked.map((each) => each?.slice(0, 2).toLowerCase()).find((each) => known.includes(each)) ?? "en";
}

async function start() {
  for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => (touched = true), { once: true });
  for (const [id, event] of Object.entries({ language: "change", theme: "click" })) {
    byId(id).addEventListener(event, async () => (await asset("look.js"))[id](app, speak));
  }
  byId("manual").addEventListener("toggle", async () => byId("manual").open && (await asset("manual.js")).show(app));
  document.documentElement.dataset.theme = stored.get("theme") ?? "";
  const answer = /^[0-9A-Za-z]{26}$/.test(token) ? load() : Promise.resolve({ kind: "missing" });
  answer.catch(() => {}); // told by open(), once there are words for it
  await speak(preferred()).catch(() => speak("en")).catch(() => {});
  byId("tools").hidden = false;
  loading();
  setInterval(tick, 1_000);
  await open(answer);
}

void start();
