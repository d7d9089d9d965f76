// What may be done about a request of which a part is paid: its rest is asked for by the link, or the part is accepted.

import { html } from "./vendor.js";
import { amount, t } from "./text.js";
import { call } from "./api.js";
import { Confirmed, Copy } from "./components.js";

/** @param {any} props Accepts what is paid of a request as full payment. */
export function Accept({ request, done }) {
  const [paid, whole] = [request.paidAmount, request.requestAmount].map((each) => `${amount(each)} ${request.invoiceCurrency}`);
  const question = t(request.reference ? "accept.question.of" : "accept.question", { paid, whole, what: request.reference });
  const act = () => call("POST", `/v2/request/${encodeURIComponent(request.requestId)}/accept`);
  return html`<${Confirmed} label=${t("accept")} question=${question} act=${act} done=${done} isQuiet />`;
}

/** @param {any} props The link that asks for the rest by itself, to copy or to mail to the payer. */
export function Rest({ request, link }) {
  const left = t("rest.text", { paid: amount(request.paidAmount), whole: amount(request.requestAmount), currency: request.invoiceCurrency, link: link.securePaymentUrl });
  const mail = `mailto:?subject=${encodeURIComponent(t("rest.subject", { reference: request.reference }).trim())}&body=${encodeURIComponent(left)}`;
  return html`<div class="links"><${Copy} text=${link.securePaymentUrl} /><a href=${mail}>${t("rest.mail")}</a></div>`;
}
