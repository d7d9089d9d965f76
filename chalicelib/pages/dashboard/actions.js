// What may be done about a request and its link: its note, its expiry, a refund, the end of its series, and cancelling.

import { html, useState } from "./vendor.js";
import { amount, clean, day, isTime, t } from "./text.js";
import { Problem, call, may } from "./api.js";
import { Accept } from "./partial_payments.js";
import { RefundRequest } from "./refunds.js";
import { Confirmed, Dialog, Field, Form, problemOf } from "./components.js";

/** @param {any} recurrence How often a request recurs, and from when, in words. */
export const seriesOf = ({ frequency, startDate }) => t("recurrence.series", { often: t(`create.${frequency}`), start: isTime(startDate) ? day(startDate) : startDate });

/** @param {any} props `link` is null for a request without one, `held` for one that is no commerce payment, whose own actions are with it; `again` reads them again. */
export function Actions({ request, link, held, again }) {
  const isOpen = ["created", "partially_paid"].includes(request.status) && (!link || link.status === "pending");
  const [ofRequest, ofLink] = [`/v2/request/${encodeURIComponent(request.requestId)}`, link && `/v2/secure-payments/${encodeURIComponent(link.token)}`];
  const what = [`${amount(request.requestAmount)} ${request.invoiceCurrency}`, clean(request.reference)].filter(Boolean).join(", ");
  const keepNote = (/** @type {string} */ text) => call("PATCH", ofRequest, { body: { note: text.trim() || null } });
  const keepExpiry = async (/** @type {string} */ local) => {
    if (!isTime(local)) throw new Problem(400, { message: t("expires.missing") });
    await call("PATCH", ofLink, { body: { expiresAt: new Date(local).toISOString() } });
  };
  const series = request.recurrence && (request.isRecurrenceStopped ? "recurrence.resume" : "recurrence.stop");
  const turnSeries = () => call("PATCH", ofRequest, { body: { isRecurrenceStopped: !request.isRecurrenceStopped } });
  const question = t(link?.paymentType === "batch" ? "cancel.batch" : "cancel.one", { what });
  return html`
    <div class="actions">
      ${may("requests:write") && html`<${Edited} label=${t("note")} change=${t("note.change")} hint=${t("note.hint")} is="textarea" field="note" kept=${request.note ?? ""} keep=${keepNote} done=${again} />`}
      ${link && isOpen && !held && may("secure_payments:write") && html`<${Edited} label=${t("expires")} change=${t("expires.change")} hint=${t("expires.hint")} type="datetime-local" max="9999-12-31T23:59" required field="expiresAt" kept=${localTime(link.expiresAt)} keep=${keepExpiry} done=${again} />`}
      ${!held && may("requests:write") && Number(request.receivedAmount) > 0 && html`<${RefundRequest} request=${request} done=${again} />`}
      ${!held && request.status === "partially_paid" && may("requests:write") && html`<${Accept} request=${request} done=${again} />`}
      ${series && may("requests:write") && html`<${Confirmed} label=${t(series)} question=${t(`${series}.question`, { what, series: seriesOf(request.recurrence) })} isSafe=${request.isRecurrenceStopped} act=${turnSeries} done=${again} />`}
      ${isOpen && !held && may(link ? "secure_payments:write" : "requests:write") && html`<${Confirmed} label=${t(link ? "cancel.link" : "cancel.request")} question=${question} act=${() => call("POST", `${ofLink ?? ofRequest}/cancel`)} done=${again} />`}
    </div>
  `;
}

/** @param {string} text An ISO time as a field of the type datetime-local has it: in this browser's zone. */
function localTime(text) {
  const at = new Date(text);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** @param {any} props A value in a dialog of its own, beginning with what is `kept`; `keep(value)` stores it. */
function Edited({ label, change, field, kept, keep, done, ...given }) {
  const [value, setValue] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const send = async () => {
    await keep(value);
    setValue(null);
    done();
  };
  return html`
    <button type="button" class="quiet" onClick=${() => setValue(kept)}>${change}</button>
    ${value !== null && html`
      <${Dialog} title=${change} onClose=${() => setValue(null)}>
        <${Form} send=${send} label=${t("save")} onProblem=${setProblem}><${Field} label=${label} value=${value} onValue=${setValue} problem=${problemOf(problem, field)} ...${given} /><//>
      <//>
    `}
  `;
}
