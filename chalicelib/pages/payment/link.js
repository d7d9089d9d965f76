// What is known of a link: what the service says, every value of the type that it has to be of, and what was noted here.

// Controls that turn the direction of text or are invisible: in a reference they could show another text than it holds.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** Why the page cannot go on: `away` the service does not answer, `odd` its answer is not one, `storage`, `unsafe`. */
export class Trouble extends Error {
  constructor(kind, wait = 0) {
    super(kind);
    Object.assign(this, { kind, wait });
  }
}

export function need(holds) {
  if (!holds) throw new Trouble("odd");
}

export const clean = (value) => String(value).replace(INVISIBLE, "\ufffd");

/** Base units of a plain decimal; anything else is no amount. */
export function units(text, decimals) {
  const parts = /^(\d{1,80})(?:\.(\d{1,80}))?$/.exec(typeof text === "string" ? text : "");
  need(parts && (parts[2] ?? "").length <= decimals);
  return BigInt(parts[1] + (parts[2] ?? "").padEnd(decimals, "0"));
}

/** An address of the web as it may be linked, null for every other scheme. */
export function webAddress(text) {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : null;
  return url && ["https:", "http:"].includes(url.protocol) ? url.href : null;
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
  const feeAddress = optional(raw.feeAddress);
  need(fee === 0n || feeAddress !== null);
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
export function outcomeOf({ status, body }) {
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
export function totals(payments) {
  const sums = new Map();
  for (const { token: address, symbol, decimals, amount, left, fee } of payments) {
    const sum = sums.get(address) ?? { token: address, symbol, decimals, amount: 0n, left: 0n, fee: 0n };
    sums.set(address, { ...sum, amount: sum.amount + amount, left: sum.left + left, fee: sum.fee + fee });
  }
  return [...sums.values()];
}

/** What of a link stays as it is, whatever is paid of it. */
export function fixed({ network, reference, payments }) {
  const facts = payments.map(({ left, fee, ...each }) => ({ ...each, amount: String(each.amount) }));
  return JSON.stringify([network, reference, facts]);
}

// --- what a wallet was asked for before ---

const FORM = { wallet: "string", chainId: "number", step: "string", place: "number", startedAt: "number" };

/** Whether a step pays; an approval takes nothing. */
export const isPayment = ({ step }) => ["pay", "safe"].includes(step);

/** What was noted, or null when it is nothing that this page writes. */
function noteOf(token, text) {
  try {
    const note = JSON.parse(text);
    const isOurs = Object.entries(FORM).every(([name, type]) => typeof note?.[name] === type);
    const isHash = note?.txHash === undefined || /^(0x)?[0-9a-f]{64}$/i.test(note.txHash);
    return isOurs && isHash && Array.isArray(note.references) ? { ...note, token } : null;
  } catch {
    return null;
  }
}

/** What wallets were asked for. As long as a note of it is there, nothing else is asked for that pays the same. */
export class Notes {
  constructor(app) {
    this.app = app;
  }

  /** Of this link, and of others that pay one of the requests that are open here. */
  all() {
    const { token, link, stored } = this.app;
    const open = new Set(link.payments.filter((each) => each.left > 0n).map(({ reference }) => reference));
    const pays = (note) => isPayment(note) && note.references.some((each) => open.has(each));
    const tokens = stored.keys().filter((key) => key.startsWith("pay:")).map((key) => key.slice(4));
    const others = tokens.filter((each) => each !== token).map((each) => this.of(each));
    return [this.of(token), ...others.filter((note) => note && pays(note))].filter(Boolean);
  }

  of(token) {
    return noteOf(token, this.app.stored.get(`pay:${token}`));
  }

  /** That of this link, unless the payer has said that nothing was sent. */
  own() {
    return this.all().find((note) => note.token === this.app.token && !note.isReleased) ?? null;
  }

  /** The same if it pays. */
  paying() {
    const note = this.own();
    return note && isPayment(note) ? note : null;
  }

  /** The same of another link. */
  twin() {
    return this.all().find((note) => note.token !== this.app.token && !note.isReleased) ?? null;
  }

  /** Writes what became of a note, unless another tab is at a later step; a hash that was learnt stays. */
  write(note) {
    const now = this.of(note.token);
    if (now?.startedAt > note.startedAt) return;
    const hash = now?.startedAt === note.startedAt ? now.txHash : undefined;
    const isKept = this.app.stored.set(`pay:${note.token}`, JSON.stringify({ ...note, txHash: note.txHash ?? hash }));
    // A Safe's frame may have no storage; there the service itself holds the link while the owners sign.
    if (!isKept && note.step !== "safe") throw new Trouble("storage");
  }

  /** Notes what the wallet is about to be asked for, and gives the note; null when another tab was faster. */
  claim(facts) {
    const { token } = this.app;
    return locked("pay", {}, () => {
      if (this.own() || this.twin()) return null;
      const earlier = this.of(token) ?? undefined;
      const startedAt = Math.max(Date.now(), (earlier?.startedAt ?? 0) + 1); // the clock may have been set back
      const note = { ...facts, token, startedAt, earlier };
      this.write(note);
      return note;
    });
  }

  /** A step is over. One before it that the payer gave up may still be open in the wallet: that stays noted. */
  over({ token, startedAt, earlier }) {
    if (this.of(token)?.startedAt > startedAt) return; // that is the next step, of another tab
    this.app.stored.set(`pay:${token}`, earlier ? JSON.stringify(earlier) : null);
  }

  /** A step was not made. What the payer gave up before it is what the wallet may be at: that has to end first. */
  undo(note) {
    this.over(note);
    for (const each of this.all()) if (each.isReleased) this.write({ ...each, isReleased: false });
  }

  /** The payer says that nothing was sent. Should the wallet refuse to be asked again, that is not believed. */
  release(note) {
    this.write({ ...note, isReleased: true });
  }
}

/** Calls `work` with a lock or null; as if it had one where the browser knows none, or refuses them with its storage. */
export async function locked(key, options, work) {
  let isAsked = false;
  const given = (lock) => ((isAsked = true), work(lock));
  try {
    return await navigator.locks.request(key, options, given);
  } catch (trouble) {
    if (isAsked) throw trouble;
    return work(true);
  }
}
