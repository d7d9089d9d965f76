// Drafts of links and requests: what is wrong with their fields, and the calls that create them.

import { decimal, t } from "./text.js";

export const NEW_ITEM = { payee: "", amount: "" };
export const FREQUENCIES = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"];
/** Kinds that are links from which money goes at once to the payee. */
export const LINKS = ["single", "batch", "payout"];
const ADDRESS = /^(0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33})$/;

/** @typedef {{ payee: string, amount: string }} Item */
/** @typedef {{ kind: string, clientId: string, network: string, currency: string, fiat: string, reference: string, redirectUrl: string, wallet: string, note: string, expires: string, startDate: string, frequency: string, merchant: string, payUntil: string, captureUntil: string, items: Item[] }} Draft Times are as fields of the type datetime-local have them. */

/** @param {Date} now @returns {Draft} */
export const newDraft = (now) => ({
  kind: "single", clientId: "", network: "", currency: "", fiat: "", reference: "", redirectUrl: "", wallet: "", note: "", expires: "",
  startDate: now.toISOString().slice(0, 10), frequency: "MONTHLY", merchant: "", payUntil: "", captureUntil: "", items: [NEW_ITEM],
});

/** @param {string} network @param {string} address What is wrong with an address on a network, in words, or undefined. */
export function addressProblem(network, address) {
  const typed = address.trim();
  if (!typed) return t("create.payee.missing");
  if (!ADDRESS.test(typed)) return t("create.payee.odd");
  return (network === "tron") === typed.startsWith("T") ? undefined : t(network === "tron" ? "create.payee.tron" : "create.payee.evm");
}

/** @param {string} text @param {number} [decimals] What is wrong with an amount, in words, or undefined. */
export function amountProblem(text, decimals) {
  const typed = decimal(text);
  if (typed === null) return t("create.amount.odd");
  if (!/[1-9]/.test(typed)) return t("create.amount.zero");
  return decimals !== undefined && (typed.split(".")[1] ?? "").length > decimals ? t("create.amount.fine", { decimals }) : undefined;
}

/** @param {Draft} draft The field of the API for its client id, if it has one. */
export const clientOf = ({ clientId }) => (clientId ? { clientId } : {});

/** @param {Draft} draft @returns {Item[]} The items that its kind has. */
export const itemsOf = (draft) => (draft.kind === "batch" ? draft.items : draft.items.slice(0, 1));

/** @param {Draft} draft @param {any} token @param {Date} now What is wrong with a draft, by field. */
export function problemsOf(draft, token, now) {
  const isInToken = !draft.fiat || draft.kind === "payout" || draft.kind === "held";
  const isPast = (/** @type {string} */ local) => local && !(new Date(local) > now); // or no time, such as one of the year 20261
  const found = itemsOf(draft).flatMap((each, at) => [
    { field: `${at}.payee`, message: addressProblem(draft.network, each.payee) },
    { field: `${at}.amount`, message: amountProblem(each.amount, isInToken ? token?.decimals : undefined) },
  ]);
  if (draft.kind === "payout" || (draft.kind === "held" && draft.wallet.trim())) found.push({ field: "wallet", message: addressProblem(draft.network, draft.wallet) });
  if (draft.kind === "held" && !draft.merchant.trim()) found.push({ field: "merchantId", message: t("create.merchant.missing") });
  if (draft.kind === "recurring" && !draft.startDate) found.push({ field: "startDate", message: t("create.start.missing") });
  const times = draft.kind === "held" ? { preApprovalExpiry: draft.payUntil, authorizationExpiry: draft.captureUntil } : LINKS.includes(draft.kind) ? { expiresAt: draft.expires } : {};
  for (const [field, local] of Object.entries(times)) if (isPast(local)) found.push({ field, message: t("create.past") });
  return found.filter(({ message }) => message);
}

/** @param {string} text A decimal that is none too fine. @param {number} decimals The same in base units. */
export function units(text, decimals) {
  const [whole, part = ""] = text.split(".");
  return String(BigInt(whole + part.padEnd(decimals, "0")));
}

/** @param {Draft} draft @param {any} token @returns {[string, any]} The path and the body of the call that creates it. */
export function callOf(draft, token) {
  const [first] = itemsOf(draft).map((each) => ({ payee: each.payee.trim(), amount: decimal(each.amount) ?? "" }));
  const named = { ...clientOf(draft), ...(draft.reference && { reference: draft.reference }) };
  const expires = LINKS.includes(draft.kind) && draft.expires && { expiresAt: new Date(draft.expires).toISOString() };
  const common = { ...named, ...(draft.redirectUrl && { redirectUrl: draft.redirectUrl.trim() }), ...expires };
  const invoiceCurrency = draft.fiat || token.id;
  if (draft.kind === "payout") {
    const payout = { recipient: first.payee, creatorWalletAddress: draft.wallet.trim(), network: draft.network, currency: token.id, amount: first.amount };
    return ["/v2/secure-payments/payouts", { ...payout, ...common }];
  }
  if (draft.kind === "held") return ["/v2/commerce-payments/authorize/calldata", heldBody(draft, first, token)];
  if (draft.kind === "recurring") {
    const recurrence = { startDate: draft.startDate, frequency: draft.frequency };
    return ["/v2/request", { ...first, invoiceCurrency, paymentCurrency: token.id, recurrence, ...named }];
  }
  const requests = itemsOf(draft).map((each) => ({ payee: each.payee.trim(), amount: decimal(each.amount), invoiceCurrency, paymentCurrency: token.id }));
  return ["/v2/secure-payments", { requests, ...common }];
}

/** @param {Draft} draft @param {Item} item @param {any} token A payment into the escrow, of which no fee may be taken. */
function heldBody(draft, item, token) {
  const seconds = (/** @type {string} */ local) => Math.floor(new Date(local).getTime() / 1_000);
  return {
    merchantId: draft.merchant, merchantAddress: item.payee, amount: units(item.amount, token.decimals), paymentCurrency: token.id, maxFeeBps: 0, ...clientOf(draft),
    ...(draft.wallet.trim() && { buyerAddress: draft.wallet.trim() }),
    ...(draft.payUntil && { preApprovalExpiry: seconds(draft.payUntil) }),
    ...(draft.captureUntil && { authorizationExpiry: seconds(draft.captureUntil) }),
  };
}
