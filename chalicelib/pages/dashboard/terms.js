// The terms of a link or request that exists, for the form that creates another one like it.

import { t } from "./text.js";
import { Problem, call, query } from "./api.js";

const PAGE = 100;

/** @param {URLSearchParams} given `link` is the token of a link, `request` the id of a request, `kind` else the kind. The terms, as far as they are fields of a draft. */
export async function copyOf(given) {
  const [token, requestId, kind] = ["link", "request", "kind"].map((name) => given.get(name));
  if (token) return termsOfLink(token);
  return requestId ? termsOfRequest(requestId) : kind ? { kind } : {};
}

/** @param {string} token @returns {Promise<any[]>} All requests of a link. */
export async function requestsOf(token) {
  const found = [];
  for (let cursor = /** @type {string | null} */ (""); cursor !== null; ) {
    const { requests, pagination } = await call("GET", `/v2/request${query({ securePaymentToken: token, limit: PAGE })}&cursor=${encodeURIComponent(cursor)}`);
    found.push(...requests);
    cursor = pagination.nextCursor;
  }
  return found;
}

/** @param {string} token */
async function termsOfLink(token) {
  const requests = await requestsOf(token);
  const [first] = requests;
  if (!first) throw new Problem(404, { message: t("unknown.text") });
  const currencies = new Set(requests.map((each) => `${each.invoiceCurrency} ${each.paymentCurrency}`));
  if (currencies.size > 1 || (first.payer && requests.length > 1)) throw new Problem(400, { message: t("create.no.copy") });
  const held = requests.length === 1 && !first.payer ? await call("GET", `/v2/commerce-payments/${encodeURIComponent(first.requestId)}/status`).catch(absent) : null;
  const link = await call("GET", `/v2/secure-payments${query({ requestId: first.requestId })}`).catch(absent);
  const kind = held ? "held" : first.payer ? "payout" : requests.length > 1 ? "batch" : "single";
  const items = requests.map(({ payee, amount }) => ({ payee: payee ?? "", amount }));
  const wallet = held ? buyerOf(held) : (first.payer ?? "");
  return { kind, items, wallet, merchant: held?.merchantId ?? "", reference: first.reference ?? "", redirectUrl: link?.redirectUrl ?? "", clientId: first.clientId ?? "", ...(await currencyOf(first)) };
}

/** @param {any} held The wallet that alone may pay; once somebody has paid, the state names that one, which is no term. */
const buyerOf = (held) => (held.status === "PENDING" && held.payer) || "";

/** @param {string} requestId */
async function termsOfRequest(requestId) {
  const request = await call("GET", `/v2/request/${encodeURIComponent(requestId)}`);
  const { payee, requestAmount, recurrence, reference } = request;
  const series = recurrence && { kind: "recurring", frequency: recurrence.frequency };
  return { ...series, items: [{ payee: payee ?? "", amount: requestAmount }], reference: reference ?? "", ...(await currencyOf(request)) };
}

/** @param {any} request Its network, token and, if the amount is in another currency, that one. */
async function currencyOf({ invoiceCurrency, paymentCurrency }) {
  const { network } = await call("GET", `/v2/currencies${query({ id: paymentCurrency })}`);
  return { network, currency: paymentCurrency, fiat: invoiceCurrency === paymentCurrency ? "" : invoiceCurrency };
}

/** @param {any} problem What is not known, or not for this role, is no term. */
function absent(problem) {
  if ([403, 404, 409, 423].includes(problem.status)) return null;
  throw problem;
}
