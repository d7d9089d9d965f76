// What the service and the wallets answer, with every value's type checked.

// Invisible characters and those that change the text direction: with them a reference could show as another text.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

// `serviceMessage` is what the service says of it, if it does.
/** Why the page cannot go on: `away` no response, `stopped` no payments for now, `odd` an invalid response, `storage` the browser stores no note. */
export class Trouble extends Error {
  constructor(kind, wait = 0, serviceMessage = "") {
    super(kind);
    Object.assign(this, { kind, wait, serviceMessage });
  }
}

export const hexOf = (bytes) => Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");

const MOST_SENT = 5; // hashes that are kept of a link; the service tells of so many
const SENT_HASH = /^(0x)?[0-9a-f]{64}$/;

/** What was sent here for this link: the hashes, and the secret for which they do not lock it; null if nothing was. */
export function sentHere({ stored, token }) {
  try {
    const { secret, hashes } = JSON.parse(stored.get(`sent:${token}`));
    return /^[0-9a-f]{64}$/.test(secret) ? { secret, hashes: hashes.filter((each) => SENT_HASH.test(each)) } : null;
  } catch {
    return null;
  }
}

// A secret that is not kept would lock its own page out.
/** Keeps the hash of a payment, if there is one, for good: the page compares its own with those that were counted. Returns the secret; throws Trouble `storage` if there is no hash and it is not stored. */
export function keepSent(app, hash = null) {
  const { secret, hashes } = sentHere(app) ?? { secret: hexOf(crypto.getRandomValues(new Uint8Array(32))), hashes: [] };
  const kept = [...new Set([...hashes, hash?.toLowerCase()])].filter(Boolean).slice(-MOST_SENT);
  if (!app.stored.set(`sent:${app.token}`, JSON.stringify({ secret, hashes: kept })) && !hash) throw new Trouble("storage");
  return secret;
}

/** The transactions that were sent to pay the link, with what became of them, by the body of a response. */
export function transactionsIn({ sentTransactions: all } = {}) {
  const isRight = (each) => SENT_HASH.test(each?.txHash) && typeof each.status === "string";
  return (Array.isArray(all) ? all : []).filter(isRight).slice(0, 20);
}

/** Throws Trouble `odd` unless the condition holds. */
export function need(condition) {
  if (!condition) throw new Trouble("odd");
}

export const clean = (value) => String(value).replace(INVISIBLE, "\ufffd");

/** Base units of a plain decimal; throws Trouble for other texts. */
export function units(text, decimals) {
  const parts = /^(\d{1,80})(?:\.(\d{1,80}))?$/.exec(typeof text === "string" ? text : "");
  need(parts && (parts[2] ?? "").length <= decimals);
  return BigInt(parts[1] + (parts[2] ?? "").padEnd(decimals, "0"));
}

/** The URL if its scheme is http or https, else null. */
export function webAddress(text) {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : null;
  return url && ["https:", "http:"].includes(url.protocol) ? url.href : null;
}

export const string = (value, most = 4_000) => (need(typeof value === "string" && value.length <= most), value);
const integer = (value, most) => (need(Number.isSafeInteger(value) && value >= 0 && value <= most), value);
const optional = (value) => (value === null || value === undefined ? null : string(value));
const list = (value) => (need(Array.isArray(value) && value.length <= 1_000), value);

function readChain(raw) {
  need(raw?.nativeCurrency && Array.isArray(raw.publicRpcUrls));
  integer(raw.nativeCurrency.decimals, 20);
  [raw.name, raw.label, raw.nativeCurrency.name, raw.nativeCurrency.symbol].forEach((each) => string(each, 100));
  return { ...raw, chainId: integer(raw.chainId, 2 ** 52), confirmations: integer(raw.confirmations, 10_000) };
}

/** floor(amount * percentage / 100), as the service computes it. */
export function feeOf(amount, percentage) {
  return percentage === null ? 0n : (amount * units(percentage, 18)) / (100n * 10n ** 18n);
}

const FIAT_DECIMALS = 8; // in which the service and its contracts count fiat
const symbolOf = (currency) => (currency === "USDCn" ? "USDC" : currency); // ids say so where a bridged USDC exists, too

// `digits` are the decimal places that are shown at least.
/** What the amounts are counted in if the invoice is in another currency than the token that is paid, else null. */
function invoiceOf({ invoiceCurrency, invoiceDecimals, paymentCurrency }) {
  const id = optional(invoiceCurrency) ?? paymentCurrency;
  if (id === paymentCurrency) return null;
  if (!/^[A-Z]{3}$/.test(id)) return { symbol: clean(symbolOf(id.split("-")[0])), decimals: integer(invoiceDecimals, 20) };
  const format = new Intl.NumberFormat("en", { style: "currency", currency: id });
  return { symbol: id, decimals: FIAT_DECIMALS, digits: format.resolvedOptions().maximumFractionDigits };
}

// `invoice` is the id of the invoice currency if the amounts are in another one than the token, else null.
/** One payment; amounts in units of `decimals`. `left` is the amount still owed, `fee` is paid on top of it. */
function readPayment(raw, network, chain) {
  const id = string(raw.paymentCurrency, 100);
  const currency = id.replace(`-${network}`, "");
  const tokenSymbol = clean(raw.isNativeCurrency ? chain.nativeCurrency.symbol : symbolOf(currency));
  const tokenDecimals = integer(raw.decimals, 20);
  const unit = { symbol: tokenSymbol, decimals: tokenDecimals, digits: 0, ...invoiceOf(raw) };
  const amount = units(raw.amount, unit.decimals);
  const left = units(raw.remainingAmount, unit.decimals);
  need(typeof raw.isNativeCurrency === "boolean" && left <= amount && /^0x[0-9a-f]{16}$/.test(raw.paymentReference));
  const percentage = optional(raw.feePercentage);
  const fee = feeOf(left, percentage);
  const feeAddress = optional(raw.feeAddress);
  need(fee === 0n || feeAddress !== null);
  const token = raw.isNativeCurrency ? null : string(raw.tokenAddress, 64);
  const known = { payee: string(raw.payee, 64), name: clean(optional(raw.payeeName) ?? ""), reference: raw.paymentReference, percentage, feeAddress };
  const invoice = invoiceOf(raw) && raw.invoiceCurrency;
  return { ...known, requestId: raw.requestId, id, token, currency, invoice, ...unit, tokenSymbol, tokenDecimals, amount, left, fee };
}

/** A token is named with its network where payments of several networks stand beside each other. */
const namedInFull = ({ paymentCurrency: id }) => ({ token: id, symbol: clean(id) });

const COLUMNS = {
  amount: "amounts", remainingAmount: "remainingAmounts", paymentCurrency: "paymentCurrencies",
  invoiceCurrency: "invoiceCurrencies", invoiceDecimals: "invoiceDecimals",
  isNativeCurrency: "isNativeCurrency", decimals: "decimals", paymentReference: "paymentReferences",
  destination: "destinations", payeeName: "payeeNames",
};

/** The payments of a link of any kind in one form. */
function rows(raw) {
  const fee = { feePercentage: raw.feePercentage, feeAddress: raw.feeAddress };
  const ids = raw.requestIds ?? [];
  if (raw.paymentType === "single") return [{ ...raw, requestId: ids[0], tokenAddress: raw.destination?.tokenAddress }];
  if (raw.paymentType === "multicall") return list(raw.children);
  need(raw.paymentType === "batch");
  const fields = (index) => Object.entries(COLUMNS).map(([name, column]) => [name, raw[column]?.[index]]);
  const items = list(raw.payees).map((payee, index) => ({ ...fee, ...Object.fromEntries(fields(index)), payee }));
  return items.map((item, index) => ({ ...item, requestId: ids[index], tokenAddress: item.destination?.tokenAddress }));
}

/** Who asks for a payment: a domain that the service has verified, in ASCII; and a label, which the payee only states. */
function merchantOf({ domain = null, label = null } = {}) {
  need(domain === null || /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(string(domain, 253)));
  return [domain && ["domain", { domain }], label && ["label", { label: clean(string(label, 40)) }]].filter(Boolean);
}

/** The link of a response; throws Trouble if a value has the wrong type. */
function readLink(raw) {
  const chain = readChain(raw.chain);
  const children = raw.paymentType === "multicall" ? list(raw.children) : [];
  const network = string(raw.network ?? children.find((child) => child.network)?.network, 60);
  const known = rows(raw).filter((row) => row.amount !== null); // an unknown child has no amount
  const isMixed = children.length > 0 && new Set(known.map(({ paymentCurrency }) => paymentCurrency)).size > 1;
  const expiresAt = Date.parse(string(raw.expiresAt, 40));
  need(Number.isFinite(expiresAt) && known.length > 0);
  return {
    kind: raw.paymentType,
    status: string(raw.status, 40),
    canPay: raw.paymentType !== "multicall" || (raw.canExecute === true && !isMixed),
    isMixed, // a multicall of several tokens or networks, whose payments this page makes one by one
    payments: known.map((row) => ({ ...readPayment(row, network, chain), ...(isMixed && namedInFull(row)) })),
    blocked: children.filter((child) => child.blockReason),
    free: children.filter((child) => child.executable === true),
    dollars: /^\d{1,15}(\.\d+)?$/.exec(raw.feePlan?.payerTotalAmountUsd)?.[0] ?? null,
    waiting: transactionsIn(raw).filter(({ status }) => status === "waiting").map(({ txHash }) => txHash).join(), // and may pay it
    ...{ network, chain, expiresAt, reference: optional(raw.reference), branding: raw.branding, own: raw.plainTransfer },
    isGasless: raw.gasless === true, // it may be paid without gas
    merchant: merchantOf(raw.merchant ?? {}),
    ...{ redirectUrl: webAddress(raw.redirectUrl), redirectLabel: optional(raw.redirectLabel) },
  };
}

/** The hashes of transactions that were sent and that the link waits for, in the body of a response. */
export function hashesIn({ requestStatuses }) {
  const statuses = Array.isArray(requestStatuses) ? requestStatuses : [];
  return statuses.map((each) => each?.txHash).filter((each) => typeof each === "string").map((each) => each.toLowerCase());
}

/** The id of the payment without gas that the link waits for, in the body of a response; null if there is none. */
export function gaslessIn({ requestStatuses: all }) {
  const ids = (Array.isArray(all) ? all : []).map((each) => each?.gaslessPaymentId);
  return ids.find((each) => typeof each === "string") ?? null;
}

/** The state of the link by a response: `open` with the link, or how it ended with the body of the response. */
export function outcomeOf({ status, body }) {
  if (status === 404) return { kind: "missing" };
  if (status === 200) {
    const read = readLink(body);
    return { kind: ["completed", "expired", "cancelled"].includes(read.status) ? read.status : "open", link: read, body };
  }
  const closed = body.code === "awaiting_chain" ? "awaiting" : string(body.status ?? "closed", 40);
  if (status === 423 && gaslessIn(body)) return { kind: "gasless", module: "gasless.js", body };
  const waiting = body.code === "being_signed" ? "claimed" : hashesIn(body).length ? "sent" : "safe";
  const kinds = { 409: "completed", 423: waiting, 403: closed };
  need(status in kinds);
  return { kind: kinds[status], body };
}

/** The sums of amounts and fees per invoice currency, or per token where amounts are in the token. */
export function totals(payments) {
  const sums = new Map();
  for (const { token, invoice, symbol, decimals, digits, amount, left, fee } of payments) {
    const key = invoice ?? token;
    const sum = sums.get(key) ?? { token, symbol, decimals, digits, amount: 0n, left: 0n, fee: 0n };
    sums.set(key, { ...sum, amount: sum.amount + amount, left: sum.left + left, fee: sum.fee + fee });
  }
  return [...sums.values()];
}

/** A text of the facts of a link that no payment changes. */
export function constantsOf({ network, reference, payments, terms }) {
  const facts = payments.map(({ left, fee, ...each }) => ({ ...each, amount: String(each.amount) }));
  return JSON.stringify([network, reference, facts, terms]);
}

// --- what wallets answer ---
//
// WalletError.code: those of CODES, "account" (another account is connected), "wrong-chain", "add-chain-refused",
//   "timeout", "lied" (an invalid result), "failed". After these three of send the transaction may have been sent; hash is
//   set if it is known.

export const [READ_MS, CONNECT_MS, SEND_MS] = [15_000, 120_000, 600_000]; // the last two wait for a person
const DETAIL_LENGTH = 200;
const CODES = {
  4001: "rejected", 4100: "rejected", 5000: "rejected", ACTION_REJECTED: "rejected", "-32002": "busy",
  4200: "unsupported", "-32601": "unsupported",
};
// Codes that wallets have for any error: the text says which.
const GENERAL = [-32000, -32003, -32603];
const REFUSAL = /reject|denied|declin|cancel/i;
const BY_USER = /user.*(reject|denied|declin|cancel)|(reject|denied|declin|cancel)\w* by (the )?user/i;
const POOR = /insufficient funds|not enough/i;
const UNKNOWN_CHAIN = 4902; // some wallets nest this code in another error

export class WalletError extends Error {
  constructor(code, detail = "", hash = null) {
    super(detail || code);
    Object.assign(this, { code, detail, hash });
  }
}

export function within(milliseconds, work, isInWords = false) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(reject, milliseconds, new WalletError("timeout"))));
  const failed = (error) => Promise.reject(toWalletError(error, isInWords));
  return Promise.race([late, Promise.resolve().then(work)]).catch(failed).finally(() => clearTimeout(timer));
}

/** The codes of an error of a wallet: numbers, also those that are written as text, or whatever else stands there. */
export const codesOf = (error) => [error?.data?.originalError?.code, error?.data?.code, error?.code].map((code) => (/^-?\d+$/.test(code) ? Number(code) : code));

// Makes any error a WalletError. Tron wallets and Safes refuse by text only (isInWords). Whatever a wallet says, the caller
// looks at the account before it believes that nothing was sent.
export function toWalletError(error, isInWords) {
  if (error instanceof WalletError) return error;
  const codes = codesOf(error);
  const detail = shortText(typeof error === "string" ? error : error?.message, DETAIL_LENGTH);
  const known = codes.includes(UNKNOWN_CHAIN) ? "wrong-chain" : codes.map((code) => CODES[code]).find(Boolean);
  const isGeneral = codes.every((code) => !Number.isInteger(code) || GENERAL.includes(code));
  const refusal = isInWords && !codes.some(Number.isInteger) ? REFUSAL : BY_USER;
  const byText = refusal.test(detail) ? "rejected" : POOR.test(detail) ? "poor" : "failed";
  return new WalletError(known ?? (isGeneral ? byText : "failed"), detail);
}

export function shortText(text, length) {
  return typeof text === "string" ? text.replace(/\p{C}+/gu, " ").trim().slice(0, length) : "";
}

export const isLike = (text, form) => typeof text === "string" && form.test(text);

/** Throws WalletError `lied` unless the condition holds for what a wallet returned. */
export function believe(condition, detail) {
  if (!condition) throw new WalletError("lied", detail);
}
