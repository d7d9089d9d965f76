// A commerce payment: what the escrow holds, until when, and capturing, voiding and refunding it.

import { html, useState } from "./vendor.js";
import { amount, clean, decimal, short, t, time, word } from "./text.js";
import { Problem, call, may } from "./api.js";
import { amountProblem, units } from "./drafts.js";
import { Signing } from "./signing.js";
import { Badge, Copy, Dialog, Field, Form, Money, problemOf, useOnce } from "./components.js";

/** @param {any} held What was captured and not given back. The service takes it from the merchant, who has not had the fees. */
function refundable(held) {
  const [captured, refunded, fees] = [held.capturedAmount, held.refundedAmount, held.isServiceOperator ? held.feeAmount : 0].map(BigInt);
  return captured - refunded - fees;
}

/** @typedef {{ kind: string, field?: string, most: (held: any) => bigint, until?: string, isDanger?: boolean }} Operation What it acts on at most, in base units, and the name of its end. */
/** @type {Operation[]} */
const OPERATIONS = [
  { kind: "capture", field: "captureAmount", most: (held) => BigInt(held.heldAmount), until: "authorizationExpiry" },
  { kind: "void", most: (held) => BigInt(held.heldAmount), isDanger: true },
  { kind: "refund", field: "refundAmount", most: refundable, until: "refundExpiry" },
];
/** @type {Record<string, string>} */
const ALLOWED = { capture: "canCapture", void: "canVoid", refund: "canRefund" };
/** @type {Record<string, string>} */
const KINDS = { AUTHORIZED: "warn", PAID: "good", FAILED: "bad", EXPIRED: "bad" };

/** @type {any} Read once: what a token is never changes. */
let currencies = null;

/** @param {string} requestId The commerce payment of a request that is one, with the decimals of its token. Of one that is not listed these are not known, and amounts stay in its smallest unit. */
export async function readHeld(requestId) {
  const held = await call("GET", `/v2/commerce-payments/${encodeURIComponent(requestId)}/status`);
  currencies ??= await call("GET", "/v2/currencies");
  const token = currencies.find((/** @type {any} */ each) => each.id === held.paymentCurrency);
  return { ...held, decimals: token?.decimals ?? 0, isInUnits: !token };
}

/** @param {string | bigint} units @param {number} decimals Base units of a token as a decimal. */
export function fromUnits(units, decimals) {
  const digits = String(units).padStart(decimals + 1, "0");
  return decimals ? `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, "") : digits;
}

/** @param {any} props What is held of a request, with the operations that are possible now. */
export function Held({ of: held, request, again }) {
  const shown = (/** @type {string} */ units) => html`<${Money} of=${fromUnits(units, held.decimals)} currency=${held.paymentCurrency} />`;
  const at = (/** @type {string} */ seconds) => time(new Date(Number(seconds) * 1_000).toISOString());
  const rows = [
    ["held.held", shown(held.heldAmount)], ["held.captured", Number(held.capturedAmount) > 0 && shown(held.capturedAmount)],
    ["held.fees", Number(held.feeAmount) > 0 && shown(held.feeAmount)], ["held.voided", Number(held.voidedAmount) > 0 && shown(held.voidedAmount)],
    ["held.reclaimed", Number(held.reclaimedAmount) > 0 && shown(held.reclaimedAmount)], ["refunded", Number(held.refundedAmount) > 0 && shown(held.refundedAmount)],
    ["held.capture.until", held.heldAmount !== "0" && at(held.authorizationExpiry)], ["held.refund.until", held.capturedAmount !== "0" && at(held.refundExpiry)],
    ["held.operator", held.isServiceOperator ? t("held.service") : html`<${Copy} text=${held.operator} />`], ["held.failure", held.failureReason && clean(held.failureReason)],
  ].filter(([, value]) => value);
  const possible = may("requests:write") ? OPERATIONS.filter(({ kind, most }) => held[ALLOWED[kind]] && most(held) > 0n) : [];
  return html`
    <section class="card" aria-labelledby="held">
      <div class="title"><h2 id="held">${t("held.title")}</h2><${Badge} kind=${KINDS[held.status]}>${word("held", held.status)}<//></div>
      ${held.isInUnits && html`<p class="note">${t("held.units")}</p>`}
      <dl>${rows.map(([name, value]) => html`<div class="row" key=${name}><dt>${t(name)}</dt><dd>${value}</dd></div>`)}</dl>
      ${possible.length > 0 && html`<div class="actions">${possible.map((each) => html`<${Operate} key=${each.kind} operation=${each} held=${held} request=${request} again=${again} />`)}</div>`}
    </section>
  `;
}

/** @param {any} props One operation, in a dialog that names what it acts on. The service executes it, or the operator's wallet sends it. */
function Operate({ operation: { kind, field, most, until, isDanger }, held, request, again }) {
  const all = fromUnits(most(held), held.decimals);
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [calls, setCalls] = useState(/** @type {any} */ (null));
  const { post, renew } = useOnce();
  const close = () => {
    renew(); // what is asked for in the next dialog is another part
    setTyped(null);
    setCalls(null);
    again();
  };
  const refused = (/** @type {any} */ problem) => {
    if (problem.status === 409 && !problem.message.includes("Idempotency-Key")) renew(); // nothing was done, and what was in the way may be gone
    throw problem;
  };
  const send = async () => {
    const body = field ? { [field]: amountOf(typed ?? "", most(held), held, field) } : {};
    const path = `/v2/commerce-payments/${encodeURIComponent(request.requestId)}/${kind}`;
    if (held.isServiceOperator) return void (await post(path, body).catch(refused), close());
    setCalls(await call("POST", `${path}/calldata`, { body }));
  };
  const what = [clean(request.reference), t("held.from", { payer: short(held.payer) })].filter(Boolean).join(", ");
  const limit = t(until ? "held.limit.until" : "held.limit", { most: amount(all), currency: held.paymentCurrency, time: until && time(new Date(Number(held[until]) * 1_000).toISOString()) });
  return html`
    <button type="button" class=${kind === "capture" ? "action" : "quiet"} onClick=${() => setTyped(all)}>${t(`held.${kind}`)}</button>
    ${typed !== null && html`
      <${Dialog} title=${t(`held.${kind}`)} onClose=${close}>
        ${calls ? html`<${Signing} transactions=${calls.transactions} currency=${held.paymentCurrency} signer=${held.operator} label=${t("held.signer")} again=${t("held.before")}><p>${t(`held.${kind}.text`, { what })}</p><//>` : html`
          <p>${t(`held.${kind}.text`, { what })}</p>
          <${Form} send=${send} label=${t(`held.${kind}`)} danger=${isDanger} onProblem=${setProblem}>
            ${field ? html`<${Field} label=${t("amount")} hint=${limit} inputmode="decimal" required value=${typed} onValue=${setTyped} problem=${problemOf(problem, field)} />` : html`<p class="big">${amount(all)} ${held.paymentCurrency}</p>`}
          <//>
        `}
      <//>
    `}
  `;
}

/** @param {string} typed @param {bigint} most @param {any} held @param {string} field What was typed in base units; throws if it is more than there is, or no amount. */
function amountOf(typed, most, held, field) {
  const wanted = amountProblem(typed, held.decimals) ? null : units(decimal(typed) ?? "", held.decimals);
  if (wanted !== null && BigInt(wanted) <= most) return wanted;
  const message = t("held.wrong", { most: amount(fromUnits(most, held.decimals)), currency: held.paymentCurrency, decimals: held.decimals });
  throw new Problem(400, { message, errors: [{ field, message }] });
}
