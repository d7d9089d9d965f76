// Recurring payouts, which the service makes from a wallet that has signed once: which there are, new ones, and their end.

import { html, useEffect, useState } from "./vendor.js";
import { amount, clean, decimal, short, t, time, word } from "./text.js";
import { Problem, call, may, me, networkName, query } from "./api.js";
import { FREQUENCIES, addressProblem, amountProblem } from "./drafts.js";
import { discoverWallets } from "./proofs.js";
import { Signing, signTyped } from "./signing.js";
import { Badge, Confirmed, Copy, Dialog, Empty, Failure, Field, Form, Loaded, Money, Name, Pages, Table, Title, problemOf, useLoad, useOnce } from "./components.js";

const [PAGE, FEWEST, MOST] = [25, 2, 255];
/** @type {Record<string, string>} */
const KINDS = { active: "good", completed: "good", paused: "bad", pending: "warn" };
const OPEN = ["active", "paused", "pending"];

/** @param {any} row */
const pathOf = ({ id }) => `/v2/payouts/recurring/${encodeURIComponent(id)}`;

function Recurring() {
  const [isMaking, make] = useState(false);
  const [ended, end] = useState(/** @type {any} */ (null));
  const [unsigned, sign] = useState(/** @type {any} */ (null));
  const [turn, setTurn] = useState(0);
  const load = async (/** @type {string} */ cursor) => {
    const { recurringPayouts, nextCursor } = await call("GET", `/v2/payouts/recurring${query({ limit: PAGE, cursor })}`);
    return { rows: recurringPayouts, next: nextCursor };
  };
  const again = () => setTurn((/** @type {number} */ before) => before + 1);
  const stop = async (/** @type {any} */ row) => {
    const { transactions } = await call("PATCH", pathOf(row), { body: { action: "cancel" } });
    if (transactions.length) end({ row, transactions });
  };
  const add = may("payouts:write") && html`<button type="button" class="action" onClick=${() => make(true)}>${t("recurring.new")}</button>`;
  return html`
    <${Title} actions=${add}>${t("nav.recurring")}<//>
    <p class="hint">${t("recurring.text")}</p>
    <${Pages} load=${load} deps=${[turn]} keeps empty=${html`<${Empty} title=${t("recurring.none")} text=${t("recurring.none.text")} />`}>
      ${(/** @type {any[]} */ rows) => html`
        <${Table}
          caption=${t("nav.recurring")}
          heads=${[t("amount"), t("create.recipient"), t("recurring.paid"), t("recurring.next"), t("state"), t("actions")]}
          rows=${rows.map((row) => ({ key: row.id, cells: [
            html`<${Money} of=${row.amount} currency=${row.currency} /><p class="hint">${t(`create.${row.frequency}`)}</p>${row.reference && html`<p class="hint"><${Name} of=${row.reference} /></p>`}`,
            html`<code title=${clean(row.payee)}>${short(row.payee)}</code><p class="hint">${t("held.from", { payer: short(row.payer) })}</p>`,
            t("recurring.of", { paid: row.processedPayments, total: row.totalPayments }), row.nextPaymentDate ? time(row.nextPaymentDate) : t("none"),
            html`<${Badge} kind=${KINDS[row.status]}>${word("recurring", row.status)}<//>${row.failureCode && html`<p class="problem">${t(`failure.${row.failureCode}`, { reason: row.failureReason })}</p>`}`,
            may("payouts:write") && OPEN.includes(row.status) && html`<div class="actions">
              ${row.status === "pending" && html`<button type="button" class="quiet" onClick=${() => sign(row)}>${t("recurring.sign.now")}</button>`}
              ${row.status === "paused" && html`<${Form} send=${async () => { await call("PATCH", pathOf(row), { body: { action: "unpause" } }); again(); }} label=${t("recurring.resume")} quiet />`}
              <${Confirmed} label=${t("recurring.stop")} question=${t("recurring.stop.question", { amount: `${amount(row.amount)} ${row.currency}`, payee: short(row.payee) })} act=${() => stop(row)} done=${again} />
            </div>`,
          ] }))}
        />
      `}
    <//>
    ${isMaking && html`<${NewRecurring} close=${() => { make(false); again(); }} />`}
    ${unsigned && html`<${Unsigned} row=${unsigned} close=${() => { sign(null); again(); }} />`}
    ${ended && html`
      <${Dialog} title=${t("recurring.ended")} onClose=${() => end(null)}>
        <${Signing} transactions=${ended.transactions} currency=${ended.row.currency} signer=${ended.row.payer} label=${t("recurring.signer")} again=${t("recurring.before")} sent=${t("recurring.allowed")}>
          <p>${t("recurring.ended.text")}</p>
        <//>
      <//>
    `}
  `;
}

/** @param {any} props What is paid to whom and how often; then what the payer signs. */
function NewRecurring({ close }) {
  const loaded = useLoad(async () => {
    const [all, { networks }] = await Promise.all([call("GET", "/v2/currencies"), call("GET", "/v2/status")]);
    const served = networks.map((/** @type {any} */ each) => each.network);
    return all.filter((/** @type {any} */ each) => each.type === "ERC20" && served.includes(each.network));
  }, []);
  const [made, setMade] = useState(/** @type {any} */ (null));
  return html`
    <${Dialog} title=${t("recurring.new")} onClose=${close}>
      ${made ? html`<${Permit} ...${made} close=${close} />` : html`<${Loaded} of=${loaded}>${(/** @type {any[]} */ tokens) => html`<${Terms} tokens=${tokens} done=${setMade} />`}<//>`}
    <//>
  `;
}

/** @param {any} props */
function Terms({ tokens, done }) {
  const [draft, setDraft] = useState({
    payee: "", amount: "", currency: tokens[0]?.id ?? "", reference: "", frequency: "MONTHLY", startDate: new Date().toISOString().slice(0, 10), totalPayments: "12", payer: me.value.address ?? "",
  });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const { post } = useOnce();
  const change = (/** @type {string} */ name) => (/** @type {string} */ value) => setDraft({ ...draft, [name]: value });
  const token = tokens.find((/** @type {any} */ each) => each.id === draft.currency);
  const send = async () => {
    const [each, count] = [decimal(draft.amount), Number(draft.totalPayments)];
    const errors = [
      { field: "payee", message: addressProblem("", draft.payee) }, { field: "amount", message: amountProblem(draft.amount, token?.decimals) },
      { field: "payer", message: addressProblem("", draft.payer) }, { field: "startDate", message: draft.startDate ? undefined : t("create.start.missing") },
      { field: "totalPayments", message: Number.isInteger(count) && count >= FEWEST && count <= MOST ? undefined : t("recurring.count.odd", { fewest: FEWEST, most: MOST }) },
    ].filter(({ message }) => message);
    if (errors.length || !token) throw new Problem(400, { message: t(token ? "create.problems" : "create.no.token"), errors });
    const recurrence = { startDate: draft.startDate, frequency: draft.frequency, totalPayments: count, payer: draft.payer.trim() };
    const body = { payee: draft.payee.trim(), amount: each, invoiceCurrency: token.id, paymentCurrency: token.id, recurrence, ...(draft.reference && { reference: draft.reference }) };
    done({ created: await post("/v2/payouts", body), currency: token.id, payer: recurrence.payer });
  };
  const common = (/** @type {string} */ name) => ({ value: /** @type {any} */ (draft)[name], onValue: change(name), problem: problemOf(problem, name) });
  return html`
    <${Form} send=${send} label=${t("recurring.create")} onProblem=${setProblem}>
      <${Field} label=${t("create.recipient")} spellcheck="false" autocomplete="off" ...${common("payee")} />
      <div class="pair">
        <${Field} label=${t("amount")} hint=${t("recurring.amount.hint")} inputmode="decimal" autocomplete="off" ...${common("amount")} />
        <${Field} is="select" label=${t("token")} ...${common("currency")} problem=${problemOf(problem, "paymentCurrency")}>
          ${tokens.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.id}>${each.symbol} · ${networkName(each.network)}</option>`)}
        <//>
      </div>
      <${Field} label=${t("create.wallet")} hint=${t("recurring.payer.hint")} spellcheck="false" autocomplete="off" ...${common("payer")} />
      <div class="pair">
        <${Field} label=${t("create.start")} type="date" max="9999-12-31" ...${common("startDate")} />
        <${Field} is="select" label=${t("create.frequency")} ...${common("frequency")}>
          ${FREQUENCIES.map((each) => html`<option key=${each} value=${each}>${t(`create.${each}`)}</option>`)}
        <//>
      </div>
      <${Field} label=${t("recurring.count")} inputmode="numeric" ...${common("totalPayments")} />
      <${Field} label=${t("reference")} ...${common("reference")} />
    <//>
  `;
}

/** @param {any} props What the payer of a recurring payout in the list still has to sign. */
function Unsigned({ row, close }) {
  const loaded = useLoad(() => call("GET", `${pathOf(row)}/permit`), [row.id]);
  return html`
    <${Dialog} title=${t("recurring.sign.of", { amount: `${amount(row.amount)} ${row.currency}`, payee: short(row.payee) })} onClose=${close}>
      <${Loaded} of=${loaded}>${(/** @type {any} */ created) => html`<${Permit} created=${created} currency=${row.currency} payer=${row.payer} close=${close} />`}<//>
    <//>
  `;
}

/** @param {any} props What the payer signs: the allowance, if too little is allowed, and the permit, which activates the payout. */
function Permit({ created, currency, payer, close }) {
  const [wallets, setWallets] = useState(/** @type {any[]} */ ([]));
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [isActive, setActive] = useState(false);
  useEffect(() => discoverWallets((found) => setWallets(found.filter(({ family }) => family === "evm"))), []);
  const sign = async (/** @type {any} */ { provider }) => {
    if (isBusy) return;
    setBusy(true);
    setProblem(null);
    try {
      const permitSignature = await signTyped(provider, payer, created.recurringPaymentPermit);
      await call("POST", pathOf(created), { body: { permitSignature } });
      setActive(true);
    } catch (thrown) {
      setProblem(thrown);
    }
    setBusy(false);
  };
  if (isActive) return html`<p class="note good" role="status">${t("recurring.activated")}</p><p><button type="button" class="action" onClick=${close}>${t("close")}</button></p>`;
  return html`
    <p>${t("recurring.sign.text")}</p>
    ${created.transactions.length > 0 && html`
      <h3>${t("recurring.allow")}</h3>
      <${Signing} transactions=${created.transactions} currency=${currency} signer=${payer} label=${t("recurring.signer")} again=${t("recurring.before")} sent=${t("recurring.allowed")} />
    `}
    <h3>${t("recurring.sign")}</h3>
    <p>${t("recurring.signer")} <${Copy} text=${payer} /></p>
    <div class="ways">
      ${wallets.map((each) => html`<button type="button" class="way" key=${each.id} aria-disabled=${isBusy} onClick=${() => sign(each)}>${t("recurring.sign.by", { name: each.name })}</button>`)}
      ${wallets.length === 0 && html`<p class="hint">${t("wallet.none")}</p>`}
    </div>
    ${problem && html`<${Failure} problem=${problem} />`}
    <p role="status">${isBusy && t("sign.busy")}</p>
  `;
}

export const views = { recurring: Recurring };
