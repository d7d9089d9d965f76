// Refunds: what is returned to whom, as it is asked for or offered, for the wallet of the payee to sign.

import { html, useState } from "./vendor.js";
import { amount, clean, decimal, t } from "./text.js";
import { Problem, call } from "./api.js";
import { amountProblem } from "./drafts.js";
import { Signing } from "./signing.js";
import { Copy, Dialog, Field, Form, problemOf } from "./components.js";

/** @param {any} props Asks for a refund of a request, of all that is left or of a part, and has it signed. */
export function RefundRequest({ request, done }) {
  const [isOpen, open] = useState(false);
  const [typed, setTyped] = useState({ amount: "", to: "" });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [refund, setRefund] = useState(/** @type {any} */ (null));
  const change = (/** @type {string} */ name) => (/** @type {string} */ value) => setTyped({ ...typed, [name]: value });
  const send = async () => {
    const [part, to] = [typed.amount.trim(), typed.to.trim()];
    const message = part && amountProblem(part);
    if (message) throw new Problem(400, { message, errors: [{ field: "amount", message }] });
    const body = { ...(part && { amount: decimal(part) }), ...(to && { to }) };
    setRefund(await call("POST", `/v2/request/${encodeURIComponent(request.requestId)}/refund`, { body }));
  };
  const close = () => {
    open(false);
    setRefund(null);
    done();
  };
  const what = clean(request.reference);
  return html`
    <button type="button" class="quiet" onClick=${() => open(true)}>${t("refund")}</button>
    ${isOpen && html`
      <${Dialog} title=${what ? t("refund.of", { what }) : t("refund")} onClose=${close}>
        ${refund ? html`<${SignedRefund} refund=${refund} payee=${request.payee} />` : html`
          <${Form} send=${send} label=${t("refund.next")} onProblem=${setProblem}>
            <${Field} label=${t("amount")} hint=${t("refund.amount.hint", { currency: request.paymentCurrency })} inputmode="decimal" value=${typed.amount} onValue=${change("amount")} problem=${problemOf(problem, "amount")} />
            <${Field} label=${t("refund.to")} hint=${t("refund.to.hint")} spellcheck="false" value=${typed.to} onValue=${change("to")} problem=${problemOf(problem, "to")} />
          <//>
        `}
      <//>
    `}
  `;
}

/** @param {any} props Has the refund signed that the service offers for a transfer. */
export function RefundTransfer({ transfer }) {
  const [isOpen, open] = useState(false);
  return html`
    <button type="button" class="small" onClick=${() => open(true)}>${t("refund")}</button>
    ${isOpen && html`<${Dialog} title=${t("refund")} onClose=${() => open(false)}><${SignedRefund} refund=${transfer.refund} payee=${transfer.payee} /><//>`}
  `;
}

/** @param {any} props Signs a refund, which names its amount and receiver. */
export const SignedRefund = ({ refund, payee }) => html`
  <${Signing} transactions=${refund.transactions} currency=${refund.currency} signer=${payee} label=${t("refund.signer")} again=${t("refund.before")}>
    <p class="big">${amount(refund.amount)} ${clean(refund.currency)}</p>
    <p>${t("refund.receiver")} <${Copy} text=${refund.payer} /></p>
  <//>
`;
