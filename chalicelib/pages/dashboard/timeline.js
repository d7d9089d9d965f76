// What happened to a request, the oldest first: creation, transfers, what the escrow did, events, and their deliveries.

import { html } from "./vendor.js";
import { amount, clean, short, t, time, word } from "./text.js";
import { call, may, networkName } from "./api.js";
import { fromUnits } from "./commerce.js";
import { nextLook } from "./refresh.js";
import { Link } from "./route.js";
import { Rest } from "./partial_payments.js";
import { RefundTransfer } from "./refunds.js";
import { Badge, Body, Failure, Form, Hash, Name, useLoad, useLook } from "./components.js";

/** @param {any} payment */
const stated = (payment) => payment.statedAmount && t("timeline.stated", { amount: amount(payment.statedAmount) });

/** @type {Record<string, string>} */
const KINDS = { delivered: "good", failed: "bad" };

/** @param {any} props `isReading` while the events are not there yet; `isTruncated` if there are transfers that are not listed, `hasEarlier` if there are such events, which `readEarlier` has read. */
export function Timeline({ link, transfers, isTruncated, request, held, events, webhooks, isReading, hasEarlier, readEarlier }) {
  const hashes = new Set(transfers.map((/** @type {any} */ each) => each.txHash));
  const happened = [
    { key: "created", at: link?.createdAt ?? request.createdAt, text: t("timeline.created") },
    ...transfers.map((/** @type {any} */ each) => ({
      key: `t${each.txHash}${each.logIndex}`, at: each.paidAt ?? each.detectedAt, hash: each.txHash, network: each.network, isBad: !each.counted, transfer: each,
      text: t("timeline.transfer", { amount: amount(each.amount ?? each.baseUnits), currency: each.currency ?? short(each.tokenAddress) }),
      more: [word("label", each.classification), each.late && word("label", "late"), word("status", each.status), stated(each), !held && recovery(each)].filter(Boolean).join(" · "),
    })),
    ...request.payments.filter((/** @type {any} */ each) => !hashes.has(each.destinationTxHash ?? each.sourceTxHash)).map((/** @type {any} */ each) => ({
      key: `p${each.destinationTxHash ?? each.sourceTxHash}`, at: each.timestamp, hash: each.destinationTxHash ?? each.sourceTxHash, network: each.destinationNetwork,
      text: t("timeline.transfer", { amount: amount(each.receivedAmount), currency: each.receivedCurrency }), more: [word("type", each.type), stated(each)].filter(Boolean).join(" · "),
    })),
    ...(held?.events ?? []).map((/** @type {any} */ each) => ({
      key: `h${each.type}${each.transactionHash}`, at: each.timestamp, hash: each.transactionHash, network: held.network, isBad: each.type === "FAILED", text: word("escrow", each.type),
      more: each.amount && `${amount(fromUnits(each.amount, held.decimals))} ${held.paymentCurrency}`,
    })),
    ...(events ?? []).map((/** @type {any} */ each) => ({ key: each.id, at: each.createdAt, text: html`<code><${Name} of=${each.kind} /></code>`, event: each })),
    request.acceptedAt && { key: "accepted", at: request.acceptedAt, text: t("timeline.accepted", { amount: `${amount(request.acceptedAmount)} ${request.invoiceCurrency}` }), isGood: true },
    link?.completedAt && { key: "completed", at: link.completedAt, text: t("timeline.completed"), isGood: true },
    link?.status === "expired" && { key: "expired", at: link.expiresAt, text: t("timeline.expired") },
  ].filter(Boolean).sort((one, other) => String(one.at).localeCompare(String(other.at)));
  return html`
    <section class="card" aria-labelledby="timeline"><h2 id="timeline">${t("timeline.title")}</h2>
      ${happened.length === 0 && events && html`<p class="quietly">${t("timeline.none")}</p>`}
      ${isTruncated && html`<p class="note">${t("timeline.truncated")}</p>`}
      ${isReading && html`<p class="hint" role="status">${t("timeline.reading")}</p>`}
      ${hasEarlier && html`<p class="note">${t("timeline.earlier", { count: events.length })} ${readEarlier && html`<button type="button" class="quiet" onClick=${readEarlier}>${t("more")}</button>`}</p>`}
      <ol class="timeline">
        ${happened.map((each) => html`
          <li key=${each.key} class=${each.isGood ? "good" : each.isBad ? "bad" : ""}>
            <time datetime=${each.at}>${time(each.at)}</time>
            <div>
              <p>${each.text}</p>${each.more && html`<p class="hint">${clean(each.more)}</p>`}
              ${each.hash && html`<p class="hint"><${Hash} of=${each.hash} network=${each.network} /> ${networkName(each.network)}</p>`}
              ${each.transfer && may("requests:write") && html`<${Recovery} transfer=${each.transfer} link=${link} request=${request} isHeld=${Boolean(held)} />`}
              ${each.event && !each.event.announced && html`<p class="hint">${t("timeline.unannounced")}</p>`}
              ${each.event?.announced && html`<${Deliveries} of=${each.event} webhooks=${webhooks} />`}
              ${each.event && html`<${Body} of=${each.event.body} />`}
            </div>
          </li>
        `)}
      </ol>
    </section>
  `;
}

/** @param {any} transfer What the API advises to do about a transfer. */
const recovery = (transfer) => transfer.recoveryAction !== "none" && word("recovery", transfer.recoveryAction);

/** @param {any} props The one thing to do about a transfer: sign its refund, or ask the payer for the rest by the same link. */
function Recovery({ transfer, link, request, isHeld }) {
  if (transfer.refund?.status === "offered") return html`<p><${RefundTransfer} transfer=${transfer} /></p>`;
  if (isHeld || transfer.recoveryAction !== "pay_remaining" || link?.status !== "pending") return null;
  return html`<${Rest} request=${request} link=${link} />`;
}

/** @param {any} props The deliveries of an event to webhooks, read again when one that is on its way was attempted. */
function Deliveries({ of: event, webhooks }) {
  const loaded = useLoad(async () => (await call("GET", `/v1/webhook/events/${event.id}/deliveries`)).deliveries, [event.id]);
  const moving = (loaded.data ?? []).filter((/** @type {any} */ each) => each.state === "pending");
  const looks = moving.map((/** @type {any} */ each) => nextLook(each, Date.now()));
  useLook(loaded.again, looks.length && !loaded.problem ? Math.min(...looks) : null, [loaded.data, loaded.problem]);
  if (loaded.problem) return html`<${Failure} problem=${loaded.problem} again=${loaded.again} />`;
  if (!loaded.data) return html`<p class="hint" role="status">${t("loading")}</p>`;
  if (loaded.data.length === 0) return html`<p class="hint">${t("timeline.undelivered")}</p>`;
  return html`<ul class="deliveries">${loaded.data.map((/** @type {any} */ each) => html`<${Delivery} key=${each.id} of=${each} url=${webhooks.get(each.webhookId)} again=${loaded.again} />`)}</ul>`;
}

/** @param {any} props */
function Delivery({ of: delivery, url, again }) {
  const last = delivery.attempts[delivery.attempts.length - 1];
  const redeliver = async () => {
    await call("POST", `/v1/webhook/${delivery.webhookId}/deliveries/${delivery.id}/redeliver`);
    again();
  };
  return html`
    <li class="delivery">
      <${Badge} kind=${KINDS[delivery.state] ?? "warn"}>${word("delivery", delivery.state)}<//>
      <span><${Link} view="webhook" id=${delivery.webhookId}><${Name} of=${url ?? t("webhook.one")} /><//> <span class="hint"><code><${Name} of=${delivery.event} /></code>${last && ` · ${last.status ?? clean(last.error)} · ${time(last.at)}`}</span></span>
      ${may("webhooks:write") && delivery.state !== "pending" && html`<${Form} send=${redeliver} label=${t("delivery.again")} quiet />`}
    </li>
  `;
}
