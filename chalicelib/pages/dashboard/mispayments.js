// Mispayments, as a list of work: what was paid in part, was not owed, or came too late or was too much; each with what is to be done.

import { html, useState } from "./vendor.js";
import { amount, clean, short, t, time, word } from "./text.js";
import { call, may, query } from "./api.js";
import { Link } from "./route.js";
import { Accept, Rest } from "./partial_payments.js";
import { RefundRequest, SignedRefund } from "./refunds.js";
import { amountsOf, isOnlyLate, moneyOf } from "./attention.js";
import { readUnreturned } from "./payment_rows.js";
import { Badge, Dialog, Hash, Loaded, Money, Name, Pages, Table, Title, useLoad } from "./components.js";

const PAGE = 25;
const WITH_REFUND = ["duplicate", "wrong_token", "over"];

/** @param {string} cursor Loads a page of the transfers that were not as asked for, each with whether a refund has returned it. */
async function readTransfers(cursor) {
  const { events, nextCursor } = await call("GET", `/v1/webhook/events${query({ mispaid: "true", limit: PAGE, cursor })}`);
  const { left } = await readUnreturned(events);
  return { rows: events.map((/** @type {any} */ each) => ({ ...each, isReturned: !left.includes(each) })), next: nextCursor };
}

/** @param {any} props One thing to do as a button, and others behind it. */
const Choices = ({ first, others }) => {
  const found = others.filter(Boolean);
  return html`
    <div class="choices">
      ${first}
      ${found.length > 0 && html`<details class="others"><summary>${t("choices.more")}</summary><div class="actions">${found}</div></details>`}
    </div>
  `;
};

/** The two lists, each read by pages of its own. */
const Mispayments = () => html`
  <${Title}>${t("nav.mispayments")}<//>
  <p class="hint">${t("mispayments.text")}</p>
  <${Parts} />
  <section class="list" aria-labelledby="transfers"><h2 id="transfers">${t("mispayments.transfers")}</h2>
    <${Pages} load=${readTransfers} deps=${[]} empty=${html`<p class="quietly">${t("mispayments.transfers.none")}</p>`}>
      ${(/** @type {any[]} */ rows) => html`<${Transfers} rows=${rows} />`}
    <//>
  </section>
`;

/** Requests of which a part is paid: asked for the rest while their link can be paid, else accepted. */
function Parts() {
  const load = async (/** @type {string} */ cursor) => {
    const { requests, pagination } = await call("GET", `/v2/request${query({ status: "partially_paid", limit: PAGE })}&cursor=${encodeURIComponent(cursor)}`);
    return { rows: requests, next: pagination.nextCursor };
  };
  return html`
    <section class="list" aria-labelledby="parts"><h2 id="parts">${t("mispayments.parts")}</h2>
      <${Pages} load=${load} deps=${[]} empty=${html`<p class="quietly">${t("mispayments.parts.none")}</p>`}>
        ${(/** @type {any[]} */ rows, /** @type {() => void} */ again) => html`
          <${Table}
            caption=${t("mispayments.parts")}
            heads=${[t("created"), t("paid"), t("amount"), t("reference"), t("link.state"), t("actions")]}
            rows=${rows.map((row) => ({ key: row.requestId, cells: [
              html`<${Link} view="request" id=${row.requestId}>${time(row.createdAt)}<//>`, html`<${Money} of=${row.paidAmount} currency=${row.invoiceCurrency} />`,
              html`<${Money} of=${row.amount} currency=${row.invoiceCurrency} />`, html`<${Name} of=${row.reference ?? t("none")} />`,
              row.securePaymentStatus ? word("status", row.securePaymentStatus) : t("none"), html`<${PartChoices} of=${row} again=${again} />`,
            ] }))}
          />
        `}
      <//>
    </section>
  `;
}

/** @param {any} props */
function PartChoices({ of: row, again }) {
  const rest = row.securePaymentStatus === "pending" && may("secure_payments:read") && html`<${AskForRest} of=${row} />`;
  const accept = may("requests:write") && html`<${Accept} request=${{ ...row, requestAmount: row.amount }} done=${again} />`;
  const refund = may("requests:write") && html`<${RefundRequest} request=${row} done=${again} />`;
  return html`<${Choices} first=${rest || accept} others=${[rest && accept, refund]} />`;
}

/** @param {any} props */
function AskForRest({ of: row }) {
  const [isOpen, open] = useState(false);
  return html`
    <button type="button" class="quiet" onClick=${() => open(true)}>${t("rest.ask")}</button>
    ${isOpen && html`<${Dialog} title=${t("rest.of", { what: row.reference || short(row.requestId) })} onClose=${() => open(false)}><${RestOf} id=${row.requestId} /><//>`}
  `;
}

/** @param {any} props */
function RestOf({ id }) {
  const loaded = useLoad(() => Promise.all([call("GET", `/v2/request/${encodeURIComponent(id)}`), call("GET", `/v2/secure-payments${query({ requestId: id })}`)]), [id]);
  return html`
    <${Loaded} of=${loaded}>
      ${(/** @type {any} */ [request, link]) => html`
        <p class="big">${t("rest.paid", { paid: amount(request.paidAmount), whole: amount(request.requestAmount), currency: request.invoiceCurrency })}</p>
        <p>${t("rest.by.link")}</p>
        <${Rest} request=${request} link=${link} />
      `}
    <//>
  `;
}

/** @param {any} props Transfers that events tell of. */
const Transfers = ({ rows }) => html`
  <${Table}
    caption=${t("mispayments.transfers")}
    heads=${[t("time"), t("mispayments.why"), t("amount"), t("reference"), t("transaction"), t("actions")]}
    rows=${rows.map((/** @type {any} */ row) => ({ key: row.id, cells: [
      html`<${Link} view="request" id=${row.body.requestId}>${time(row.createdAt)}<//>`,
      html`<${Badge} kind="warn">${(row.body.labels ?? []).map((/** @type {string} */ label) => word("label", label)).join(", ")}<//>`,
      amountsOf(row.body).counted ? moneyOf(row.body) : html`<${Money} ...${amountsOf(row.body)} />`,
      html`<${Name} of=${row.body.reference ?? t("none")} />`, html`<${Hash} of=${row.body.txHash} network=${row.body.network} />`,
      row.isReturned ? html`<${Badge} kind="good">${t("refunded")}<//>`
        : isOnlyLate(row) ? t("mispayments.counts") : html`<${TransferChoices} of=${row.body} />`,
    ] }))}
  />
`;

/** @param {any} props A transfer is looked up when somebody acts on it: what its refund is can have changed since it was told. */
function TransferChoices({ of: body }) {
  const [isOpen, open] = useState(false);
  const isRefund = may("requests:write") && body.labels.some((/** @type {string} */ label) => WITH_REFUND.includes(label));
  const what = [moneyOf(body), clean(body.reference)].filter(Boolean).join(", ");
  return html`
    <button type="button" class="quiet" onClick=${() => open(true)}>${t(isRefund ? "refund" : "mispayments.do")}</button>
    ${isOpen && html`<${Dialog} title=${isRefund ? t("refund.of", { what }) : what} onClose=${() => open(false)}><${Transfer} of=${body} /><//>`}
  `;
}

/** @param {any} props What is to be done about a transfer, as the API says now. */
function Transfer({ of: body }) {
  const loaded = useLoad(() => call("GET", `/v2/request/${encodeURIComponent(body.requestId)}/transfers`), [body.requestId]);
  return html`
    <${Loaded} of=${loaded}>
      ${(/** @type {any} */ { transfers, truncated }) => {
        const found = transfers.filter((/** @type {any} */ each) => each.txHash === body.txHash);
        const offered = found.find((/** @type {any} */ each) => each.refund?.status === "offered");
        if (offered && may("requests:write")) return html`<${SignedRefund} refund=${offered.refund} payee=${offered.payee} />`;
        return html`
          ${found.map((/** @type {any} */ each) => html`<p key=${each.logIndex}>${advice(each)}</p>`)}
          ${found.length === 0 && html`<p>${t(truncated ? "timeline.truncated" : "mispayments.gone")}</p>`}
          <p><${Link} view="request" id=${body.requestId}>${t("mispayments.request")}<//></p>
        `;
      }}
    <//>
  `;
}

/** @param {any} transfer */
function advice(transfer) {
  if (transfer.refund?.status === "sent") return t("mispayments.sent", { amount: `${amount(transfer.refund.sentAmount)} ${transfer.refund.currency}` });
  const said = transfer.recoveryAction === "none" ? t("mispayments.nothing") : word("advice", transfer.recoveryAction);
  return [word("label", transfer.classification), said, clean(transfer.refundUnavailable)].filter(Boolean).join(". ");
}

export const views = { mispayments: Mispayments };
