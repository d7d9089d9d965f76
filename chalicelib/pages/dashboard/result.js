// The result of a creation: the link to copy, its QR code, a mail to the payer, and what could not be set besides.

import { html, useState } from "./vendor.js";
import { amount, decimal, sum, t } from "./text.js";
import { call } from "./api.js";
import { Link } from "./route.js";
import { itemsOf } from "./drafts.js";
import { mailTo } from "./mails.js";
import { Field } from "./components.js";
import { TheLink } from "./requests.js";

/** @param {any} draft @param {any} result What was created, with its note, which is a call of its own: `undone` says why it was not set. */
export async function finish(draft, result) {
  const requestId = result.requestId ?? result.requestIds[0];
  const note = draft.kind !== "batch" && draft.note.trim();
  const kept = note ? call("PATCH", `/v2/request/${encodeURIComponent(requestId)}`, { body: { note } }) : null;
  const undone = await kept?.then(() => "", (problem) => t("created.not", { what: t("note"), said: problem.message }));
  return { requestId, undone, link: result.securePaymentUrl ? { ...result, status: "pending" } : null };
}

/** @param {any} props A request without a link has no page that a payer could be sent to, which is said. */
export const Made = ({ draft, currency, requestId, undone, link, again }) => html`
  <p class="note good" role="status">${t(link ? "created.text" : "created.request")}</p>
  ${undone && html`<p class="note bad" role="alert">${undone}</p>`}
  ${link && html`<${TheLink} link=${link} /><${Mail} draft=${draft} currency=${currency} url=${link.securePaymentUrl} />`}
  <p class="links">
    <${Link} view="request" id=${requestId} class="action">${t("created.follow")}<//>
    <button type="button" class="quiet" onClick=${again}>${t("created.again")}</button>
  </p>
`;

/** @param {any} props A mail to the payer, which the person's own program sends. */
function Mail({ draft, currency, url }) {
  const [to, setTo] = useState("");
  const total = `${amount(sum(itemsOf(draft).map((each) => decimal(each.amount) ?? "0")))} ${currency}`;
  const isHeld = draft.kind === "held";
  const href = mailTo(to, { total, reference: isHeld ? "" : draft.reference, url, until: isHeld ? draft.payUntil : draft.expires });
  return html`
    <section class="card" aria-labelledby="mail"><h2 id="mail">${t("mail.title")}</h2>
      <${Field} label=${t("mail.to")} hint=${t("mail.hint")} type="email" autocomplete="off" value=${to} onValue=${setTo} />
      <p><a class="quiet" href=${href}>${t("mail.write")}</a></p>
    </section>
  `;
}
