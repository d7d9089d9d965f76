// Requests and links: lists with filters that stand in the URL, and one request with its timeline.

import { html, useRef, useState } from "./vendor.js";
import { amount, clean, short, t, time, webAddress, word } from "./text.js";
import { ROOT, call, may, query } from "./api.js";
import { Filters, filtersOf } from "./filters.js";
import { Link } from "./route.js";
import { Actions, seriesOf } from "./actions.js";
import { Held, readHeld } from "./commerce.js";
import { pause } from "./refresh.js";
import { mailAgain } from "./mails.js";
import { Timeline } from "./timeline.js";
import { Badge, Copy, Empty, Failure, Loaded, Money, Name, Pages, Table, Title, useLoad, useLook } from "./components.js";

const [LATEST_MS, PAGE] = [30_000, 25];
const [EVENTS, MOST_EVENTS] = [20, 100]; // of a timeline, at first and when more are asked for
const STATUSES = ["created", "partially_paid", "paid", "processing", "failed", "cancelled"];
const LINK_STATUSES = ["pending", "completed", "expired", "invalidated", "cancelled", "compliance_failed"];
/** @type {Record<string, string>} */
const KINDS = { paid: "good", completed: "good", failed: "bad", compliance_failed: "bad", partially_paid: "warn", processing: "warn" };

/** @param {any} props */
const State = ({ of: state }) => html`<${Badge} kind=${KINDS[state]}>${word("status", state)}<//>`;

const create = () => may("secure_payments:write") && html`<${Link} view="create" class="action">${t("create.link")}<//>`;

/** @param {any} props */
function Requests({ query: given }) {
  const load = async (/** @type {string} */ cursor) => {
    const { requests, pagination } = await call("GET", `/v2/request${query({ ...filtersOf(given), limit: PAGE })}&cursor=${encodeURIComponent(cursor)}`);
    return { rows: requests, next: pagination.nextCursor };
  };
  return html`
    <${Title} actions=${create()}>${t("nav.requests")}<//>
    <${Filters} key=${given.toString()} view="requests" given=${given} names=${["status", ...(given.has("securePaymentToken") ? ["securePaymentToken"] : []), "reference", "walletAddress", "fromDate", "toDate"]} choices=${{ status: STATUSES }} hints=${{ reference: t("filter.reference.hint") }} />
    <${Pages} load=${load} deps=${[given.toString()]} empty=${html`<${Nothing} title=${t("first.requests")} isFiltered=${given.size > 0} />`}>
      ${(/** @type {any[]} */ rows) => html`
        <${Table}
          caption=${t("nav.requests")}
          heads=${[t("created"), t("amount"), t("state"), t("reference"), t("payee")]}
          rows=${rows.map((row) => ({ key: row.requestId, cells: [
            html`<${Link} view="request" id=${row.requestId}>${time(row.createdAt)}<//>`,
            html`<${Money} of=${row.amount} currency=${row.invoiceCurrency} />`, html`<${State} of=${row.status} />`,
            html`<${Name} of=${row.reference ?? t("none")} />`, html`<code title=${clean(row.payee)}>${short(row.payee) || t("none")}</code>`,
          ] }))}
        />
      `}
    <//>
  `;
}

/** @param {any} props */
const Nothing = ({ title, isFiltered }) => isFiltered
  ? html`<${Empty} title=${t("nothing.title")} text=${t("nothing.text")} />`
  : html`<${Empty} title=${title} text=${t("first.text")}>${create()}<//>`;

/** @param {any} props */
function Links({ query: given }) {
  const load = async (/** @type {string} */ cursor) => {
    const { securePayments, pagination } = await call("GET", `/v2/secure-payments${query({ ...filtersOf(given), limit: PAGE, cursor })}`);
    return { rows: securePayments, next: pagination.nextCursor };
  };
  return html`
    <${Title} actions=${create()}>${t("nav.links")}<//>
    <${Filters} key=${given.toString()} view="links" given=${given} names=${["status", "reference", "clientId", "fromDate", "toDate"]} choices=${{ status: LINK_STATUSES }} />
    <${Pages} load=${load} deps=${[given.toString()]} empty=${html`<${Nothing} title=${t("first.links")} isFiltered=${given.size > 0} />`}>
      ${(/** @type {any[]} */ rows) => html`
        <${Table}
          caption=${t("nav.links")}
          heads=${[t("created"), t("state"), t("kind"), t("reference"), t("expires"), t("link"), t("actions")]}
          rows=${rows.map((row) => ({ key: row.token, cells: [
            html`<${Link} view="requests" query=${{ securePaymentToken: row.token }}>${time(row.createdAt)}<//>`, html`<${State} of=${row.status} />`, word("type", row.flow === "pay" ? "payout" : row.paymentType),
            html`<${Name} of=${row.reference ?? t("none")} />`, time(row.expiresAt), html`<${Copy} text=${row.securePaymentUrl} />`,
            may("secure_payments:write") && html`<${Link} view="create" query=${{ link: row.token }} class="small">${t("duplicate")}<//>`,
          ] }))}
        />
      `}
    <//>
  `;
}

/** @param {string} id What is known of a request: itself, its link and its commerce payment if it has one, and its transfers. */
async function readRequest(id) {
  const path = `/v2/request/${encodeURIComponent(id)}`;
  const absent = (/** @type {any} */ problem) => {
    if (problem.status === 404 || problem.status === 409 || problem.status === 403) return null;
    throw problem;
  };
  const [request, link, found] = await Promise.all([
    call("GET", path), call("GET", `/v2/secure-payments${query({ requestId: id })}`).catch(absent), call("GET", `${path}/transfers`),
  ]);
  return { request, link, transfers: found.transfers, isTruncated: found.truncated, held: request.isCommercePayment ? await readHeld(id) : null };
}

/** @param {string} id @param {number} limit The newest events about a request, whether there are more, and the URLs of the webhooks that hear of them. */
async function readEvents(id, limit) {
  if (!may("webhooks:read")) return { events: [], webhooks: new Map() };
  const [{ events, nextCursor }, webhooks] = await Promise.all([call("GET", `/v1/webhook/events${query({ requestId: id, limit })}`), call("GET", "/v1/webhook")]);
  return { events, hasEarlier: Boolean(nextCursor), webhooks: new Map(webhooks.map((/** @type {any} */ each) => [each.id, each.url])) };
}

/** @param {any} props One request, which is read again while it can still be paid, and its events while webhooks were not told of one. */
function Request({ id }) {
  const loaded = useLoad(() => readRequest(id), [id]);
  const state = loaded.data && [loaded.data.request.status, loaded.data.transfers.length, loaded.data.held?.status, loaded.data.held?.updatedAt].join();
  const [limit, setLimit] = useState(EVENTS);
  const told = useLoad(async () => state && readEvents(id, limit), [id, state, limit], true);
  const isOver = loaded.data?.request.status === "failed" || Boolean(loaded.problem);
  const changed = useRef({ state: "", at: 0 });
  if (changed.current.state !== state) changed.current = { state, at: Date.now() };
  useLook(loaded.again, isOver ? null : pause(changed.current.at, Date.now(), LATEST_MS), [id, isOver, loaded.data]);
  const untold = (told.data?.events ?? []).filter((/** @type {any} */ each) => !each.announced).map((/** @type {any} */ each) => Date.parse(each.createdAt));
  useLook(told.again, untold.length && !told.problem ? pause(Math.max(...untold), Date.now()) : null, [told.data, told.problem]);
  return html`
    <p><${Link} view="requests">${t("back.requests")}<//></p>
    <${Loaded} of=${loaded} title=${t("nav.requests")}>
      ${(/** @type {any} */ { request, link, transfers, isTruncated, held }) => html`
        <${Title} actions=${html`<${State} of=${request.status} /><${Duplicate} request=${request} link=${link} />`}>${`${amount(request.requestAmount)} ${request.invoiceCurrency}`}<//>
        <p class="visually-hidden" role="status">${word("status", request.status)}</p>
        <${Actions} request=${request} link=${link} held=${held} again=${loaded.again} />
        ${held && html`<${Held} of=${held} request=${request} again=${loaded.again} />`}
        ${link && link.status !== "cancelled" && html`<${TheLink} link=${link} mail=${mailAgain(request, link)} />`}
        <${Facts} request=${request} link=${link} />
        <${Timeline} request=${request} link=${link} transfers=${transfers} isTruncated=${isTruncated} held=${held} isReading=${!told.data && !told.problem} readEarlier=${limit < MOST_EVENTS && (() => setLimit(MOST_EVENTS))} ...${told.data} />
        ${told.problem && html`<${Failure} problem=${told.problem} again=${told.again} />`}
      `}
    <//>
  `;
}

/** @param {any} props The way to the form for another one with the same terms. */
const Duplicate = ({ request, link }) => may("secure_payments:write") && html`
  <${Link} view="create" query=${link ? { link: link.token } : { request: request.requestId }} class="quiet">${t("duplicate")}<//>
`;

/** @param {any} props The link to copy, to send again by the address `mail` if there is one, and with its QR code while it can be paid. */
export const TheLink = ({ link, mail }) => html`
  <section class="card share" aria-labelledby="share">
    <div>
      <h2 id="share">${t("share.title")}</h2>
      <${Copy} text=${link.securePaymentUrl} whole />
      <p><a href=${webAddress(link.securePaymentUrl) ?? undefined} target="_blank" rel="noopener noreferrer">${t("share.open")}</a></p>
      ${mail && html`<p><a href=${mail}>${t("rest.mail")}</a></p>`}
    </div>
    ${link.status === "pending" && html`<img class="qr" width="168" height="168" alt=${t("share.qr")} src=${`${ROOT}/pages/qr.svg?token=${encodeURIComponent(link.token)}&step=page`} />`}
  </section>
`;

/** @param {any} props */
function Facts({ request, link }) {
  const rows = [
    ["paid", html`<${Money} of=${request.paidAmount} currency=${request.invoiceCurrency} />`],
    ["received", request.receivedAmount !== request.paidAmount && html`<${Money} of=${request.receivedAmount} currency=${request.paymentCurrency} />`],
    ["refunded", Number(request.refundedAmount) > 0 && html`<${Money} of=${request.refundedAmount} currency=${request.paymentCurrency} />`],
    ["excess", request.excessAmount && html`<${Money} of=${request.excessAmount} currency=${request.invoiceCurrency} />`],
    ["pay.in", request.paymentCurrency !== request.invoiceCurrency && request.paymentCurrency],
    ["reference", request.reference && html`<${Name} of=${request.reference} />`],
    ["note", request.note && request.note.split("\n").filter(Boolean).map((/** @type {string} */ line) => html`<div><${Name} of=${line} /></div>`)],
    ["payee", request.payee && html`<${Copy} text=${request.payee} />`],
    ["payer", request.payerAddress && html`<${Copy} text=${request.payerAddress} />`],
    ["recurrence", request.recurrence && (request.isRecurrenceStopped ? t("recurrence.stopped", { series: seriesOf(request.recurrence) }) : seriesOf(request.recurrence))],
    ["recurrence.of", request.originalRequestId && html`<${Link} view="request" id=${request.originalRequestId}><code>${short(request.originalRequestId)}</code><//>`],
    ["link.state", link && html`<${State} of=${link.status} />`],
    ["expires", link && time(link.expiresAt)],
    ["request.id", html`<${Copy} text=${request.requestId} />`],
    ["payment.reference", html`<${Copy} text=${request.paymentReference} />`],
  ].filter(([, value]) => value);
  return html`
    <section class="card" aria-labelledby="facts"><h2 id="facts">${t("facts.title")}</h2>
      <dl>${rows.map(([name, value]) => html`<div class="row" key=${name}><dt>${t(/** @type {string} */ (name))}</dt><dd>${value}</dd></div>`)}</dl>
    </section>
  `;
}

export const views = { requests: Requests, links: Links, request: Request };
