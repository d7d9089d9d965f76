// Payments with their filters, sums of what is shown or chosen, and a table to download.

import { html, useState } from "./vendor.js";
import { amount, clean, short, sum, t, time, word } from "./text.js";
import { may, query, respond } from "./api.js";
import { MOST_PARTS, PART, nextOf, readAll, readPayments, tooMany } from "./payment_rows.js";
import { Filters, filtersOf } from "./filters.js";
import { WalletJournal } from "./wallet_journal.js";
import { Link } from "./route.js";
import { Badge, Empty, Form, Hash, Money, Name, Pages, Table, Tick, Title, saveFile } from "./components.js";

const PAGE = 25;
const FILTERS = ["reference", "txHash", "walletAddress", "payer", "payee", "type", "invoiceCurrency", "paymentCurrency", "network", "requestId", "paymentReference", "clientId", "fromDate", "toDate"];
const TABLE = { path: "/v2/payments", part: PART, type: "text/csv", name: "payments.csv", label: "download" };
const JOURNAL = { path: "/v2/journal", part: 1_000, type: "text/x-beancount", name: "journal.beancount", label: "download.journal" };
const TYPES = ["direct", "conversion", "crosschain", "recurring"];

/** @param {any} props */
function Payments({ query: given }) {
  const load = (/** @type {string} */ next) => readPayments(next || query({ ...filtersOf(given), limit: PAGE }));
  return html`
    <${Title} actions=${html`<${Download} given=${given} of=${TABLE} />${isOfJournal(given) && html`<${Download} given=${given} of=${JOURNAL} />`}<${WalletJournal} given=${given} />`}>${t("nav.payments")}<//>
    <${Filters} key=${given.toString()} view="payments" given=${given} names=${FILTERS} choices=${{ type: TYPES }} />
    <${Pages} load=${load} deps=${[given.toString()]} empty=${html`<${Empty} title=${t("payments.none")} text=${t(given.size ? "nothing.text" : "payments.none.text")}>${!given.size && may("secure_payments:write") && html`<${Link} view="create" class="action">${t("create.link")}<//>`}<//>`}>
      ${(/** @type {any[]} */ rows, /** @type {() => void} */ _, /** @type {boolean} */ isWhole) => html`<${Listed} key=${given.toString()} given=${given} rows=${rows} isWhole=${isWhole} />`}
    <//>
  `;
}

/** @param {any} props What is shown, of which somebody may choose some rows to add up. */
function Listed({ given, rows, isWhole }) {
  const [ids, setIds] = useState(/** @type {string[]} */ ([]));
  const chosen = rows.filter((/** @type {any} */ { id }) => ids.includes(id));
  const isEach = chosen.length === rows.length;
  const choose = (/** @type {string} */ id) => (/** @type {boolean} */ isChosen) => setIds(isChosen ? [...ids, id] : ids.filter((each) => each !== id));
  return html`
    <div class="links">
      <${Tick} label=${t("payments.choose.all")} checked=${isEach} indeterminate=${chosen.length > 0 && !isEach} onValue=${(/** @type {boolean} */ isChosen) => setIds(isChosen ? rows.map((/** @type {any} */ { id }) => id) : [])} />
      <p class="sums" role="status">${t(chosen.length ? "payments.sums.chosen" : "payments.sums", { count: (chosen.length ? chosen : rows).length })} ${written(totals(chosen.length ? chosen : rows))}</p>
      ${!isWhole && !chosen.length && html`<${Whole} given=${given} />`}
    </div>
    <${Table}
      caption=${t("nav.payments")}
      heads=${[t("payouts.choose"), t("time"), t("amount"), t("type"), t("reference"), t("payer"), t("transaction")]}
      rows=${rows.map((/** @type {any} */ row) => ({ key: row.id, cells: [
        html`<${Tick} label=${html`<span class="visually-hidden">${t("payments.choose.one", { amount: amount(row.amount), currency: row.paymentCurrencyId, time: time(row.timestamp) })}</span>`} checked=${ids.includes(row.id)} onValue=${choose(row.id)} />`,
        html`<${Link} view="request" id=${row.requestId}>${time(row.timestamp)}<//>`, html`<${Money} of=${row.amount} currency=${row.paymentCurrencyId} />`,
        row.direction === "out" ? html`<${Badge} kind="warn">${t("refund")}<//>` : word("type", row.isPayout === "true" ? "payout" : row.type), html`<${Name} of=${row.reference || t("none")} />`,
        html`<code title=${clean(row.payer)}>${short(row.payer) || t("none")}</code>`, html`<${Hash} of=${row.txHash} network=${row.network} />`,
      ] }))}
    />
  `;
}

/** @param {any[]} rows @param {Record<string, string>} [before] The exact sums by currency, added to those before. */
function totals(rows, before = {}) {
  /** @type {Record<string, string[]>} */
  const amounts = Object.fromEntries(Object.entries(before).map(([currency, total]) => [currency, [total]]));
  for (const row of rows) (amounts[row.paymentCurrencyId] ??= []).push(row.amount);
  return Object.fromEntries(Object.entries(amounts).map(([currency, texts]) => [currency, sum(texts)]));
}

/** @param {Record<string, string>} of */
const written = (of) => Object.entries(of).map(([currency, total]) => `${amount(total)} ${clean(currency)}`).join(", ");

/** @param {any} props The sums of all that the filters find, for who asks for them: they take a call for each part. */
function Whole({ given }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const add = async () => {
    let [count, sums] = [0, /** @type {Record<string, string>} */ ({})];
    await readAll(query({ ...filtersOf(given), limit: PART }), (rows) => {
      count += rows.length;
      sums = totals(rows, sums);
    });
    setFound({ count, sums });
  };
  return found
    ? html`<p class="sums" role="status">${t("payments.sums.all", { count: amount(String(found.count)) })} ${written(found.sums)}</p>`
    : html`<${Form} send=${add} label=${t("payments.sums.add")} quiet />`;
}

/** @param {URLSearchParams} given Whether the journal can be had of what is shown: it has fewer filters. */
const isOfJournal = (given) => Object.keys(filtersOf(given)).every((name) => ["fromDate", "toDate", "clientId"].includes(name));

/** @param {any} props Downloads what the filters find, all parts as one file. */
function Download({ given, of: { path, part, type, name, label } }) {
  const download = async () => {
    saveFile(await readParts(path, query({ ...filtersOf(given), limit: part }), type), type, name);
  };
  return html`<${Form} send=${download} label=${t(label)} quiet />`;
}

/** @param {string} path @param {string} first The query string of the first part. @param {string} type Throws if there are more parts than the browser should hold. */
async function readParts(path, first, type) {
  const parts = [];
  for (let search = first; search; ) {
    if (parts.length === MOST_PARTS) throw tooMany();
    const response = await respond("GET", `${path}${search}`, { headers: { accept: type } });
    parts.push(await response.text());
    search = nextOf(response);
  }
  return parts;
}

export const views = { payments: Payments };
