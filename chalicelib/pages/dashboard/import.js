// Payouts from a table: every row is checked, and one link is created for all of them or none. A wallet that is named pays it; else any wallet can.

import { html, useState } from "./vendor.js";
import { amount, clean, short, sum, t, webAddress } from "./text.js";
import { Problem, call, may, me } from "./api.js";
import { addressProblem } from "./drafts.js";
import { ClientChoice, readClients } from "./client_choice.js";
import { COLUMNS, MOST_ROWS, readPayouts, requestsOf } from "./payout_rows.js";
import { Link } from "./route.js";
import { TheLink } from "./requests.js";
import { Field, Form, Loaded, Name, Table, Title, problemOf, useLoad, useOnce } from "./components.js";

const MOST_BYTES = 1_000_000;
const TEMPLATE = "recipient,amount,currency\r\n0x0000000000000000000000000000000000000000,12.50,USDC-base\r\n";
/** @type {Record<string, string>} The field of the API for a column. */
const FIELDS = { recipient: "payee", amount: "amount", currency: "paymentCurrency" };

/** @param {any} props The form, once currencies and client ids are known. The query: `walletAddress`, who pays. */
function Import({ query: given }) {
  const loaded = useLoad(() => Promise.all([call("GET", "/v2/currencies"), readClients()]), []);
  return html`
    <p><${Link} view="payouts">${t("nav.payouts")}<//></p>
    <${Title}>${t("nav.import")}<//>
    <${Loaded} of=${loaded}>${(/** @type {any[]} */ [currencies, clients]) => html`<${Sheet} currencies=${currencies} clients=${clients} payer=${given.get("walletAddress") ?? me.value.address ?? ""} />`}<//>
  `;
}

/** @param {any} props */
function Sheet({ currencies, clients, payer }) {
  const [text, setText] = useState("");
  const [reference, setReference] = useState("");
  const [clientId, setClientId] = useState("");
  const [wallet, setWallet] = useState(may("payouts:write") ? payer : "");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [refused, setRefused] = useState("");
  const [made, setMade] = useState(/** @type {any} */ (null));
  const { post } = useOnce();
  const { rows, problem: whole, ignored } = text.trim() ? readPayouts(text, currencies) : { rows: [], problem: undefined, ignored: [] };
  const change = (/** @type {string} */ next) => {
    setProblem(null);
    setRefused("");
    setText(next);
  };
  const choose = async (/** @type {any} */ event) => {
    const [file] = event.target.files;
    if (!file) return;
    const read = file.size <= MOST_BYTES ? await file.text().catch(() => "") : null;
    const why = read === null ? t("import.large") : read.trim() ? readPayouts(read, currencies).problem : t("import.empty");
    if (why) setRefused(t("import.file", { name: file.name, why }));
    else change(read ?? "");
    event.target.value = "";
  };
  const send = async () => {
    const wrong = rows.filter((each) => Object.keys(each.problems).length);
    if (!rows.length) throw new Problem(400, { message: whole ?? t("import.empty") });
    if (wrong.length) throw new Problem(400, { message: t("import.problems", { count: wrong.length }) });
    const creatorWalletAddress = wallet.trim();
    const message = creatorWalletAddress && addressProblem(rows[0].network ?? "", creatorWalletAddress);
    if (message) throw new Problem(400, { message, errors: [{ field: "creatorWalletAddress", message }] });
    const body = { requests: requestsOf(rows), ...(creatorWalletAddress && { creatorWalletAddress }), ...(reference && { reference }), ...(clientId && { clientId }) };
    setMade(await post(creatorWalletAddress ? "/v2/secure-payments/payouts/batch" : "/v2/secure-payments", body));
  };
  if (made) return html`<${Imported} made=${made} count=${rows.length} wallet=${wallet.trim()} />`;
  return html`
    <div class="card">
      <p>${t("import.text", { most: MOST_ROWS })}</p>
      <p class="links"><a class="quiet" download="payouts.csv" href=${`data:text/csv;charset=utf-8,${encodeURIComponent(TEMPLATE)}`}>${t("import.template")}</a></p>
      <${Form} send=${send} label=${t("import.send")} onProblem=${setProblem}>
        <${Field} label=${t("import.choose")} type="file" accept=".csv,.txt,text/csv,text/plain" onChange=${choose} problem=${refused} />
        <${Field} is="textarea" rows="6" label=${t("import.table")} hint=${t("import.table.hint")} spellcheck="false" value=${text} onValue=${change} problem=${whole} />
        ${may("payouts:write") && html`<${Field} label=${t("create.wallet")} hint=${t("import.wallet.hint")} spellcheck="false" autocomplete="off" value=${wallet} onValue=${setWallet} problem=${problemOf(problem, "creatorWalletAddress")} />`}
        <${Field} label=${t("reference")} hint=${t("import.reference.hint")} value=${reference} onValue=${setReference} problem=${problemOf(problem, "reference")} />
        <${ClientChoice} clients=${clients} value=${clientId} onValue=${setClientId} problem=${problemOf(problem, "clientId")} />
        ${ignored.length > 0 && html`<p class="hint">${t("import.ignored")} <${Name} of=${ignored.join(", ")} /></p>`}
      <//>
      ${rows.length > 0 && html`<${Rows} rows=${rows} problem=${problem} />`}
    </div>
  `;
}

/** @param {any} props The rows as they were read, each with what is wrong beside its cells, by this page and by the API. */
function Rows({ rows, problem }) {
  const wrong = (/** @type {any} */ row, /** @type {string} */ name) => row.problems[name] ?? problemOf(problem, `${row.number - 1}.${FIELDS[name]}`) ?? (rows.length === 1 ? problemOf(problem, FIELDS[name]) : undefined);
  const shown = (/** @type {any} */ row, /** @type {string} */ name) => html`
    <${Name} of=${row[name] || t("none")} />
    ${wrong(row, name) && html`<p class="problem">${clean(wrong(row, name))}</p>`}
  `;
  const good = rows.filter((/** @type {any} */ each) => COLUMNS.every((name) => !wrong(each, name)));
  const names = [...new Set(good.map((/** @type {any} */ each) => each.id))];
  const sums = names.map((id) => `${amount(sum(requestsOf(good.filter((/** @type {any} */ each) => each.id === id)).map((each) => each.amount ?? "0")))} ${id}`);
  return html`
    <p class="sums" role="status">${t("import.sums", { count: rows.length, wrong: rows.length - good.length })} ${sums.join(", ") || t("none")}</p>
    <${Table}
      caption=${t("import.rows")}
      heads=${[t("import.row"), t("create.recipient"), t("amount"), t("currency")]}
      rows=${rows.map((/** @type {any} */ row) => ({ key: row.number, cells: [String(row.number), ...COLUMNS.map((name) => shown(row, name))] }))}
    />
  `;
}

/** @param {any} props */
const Imported = ({ made, count, wallet }) => html`
  <p class="note good" role="status">${wallet ? t("import.paid.out", { count, wallet: short(wallet) }) : t("import.done", { count })}</p>
  <p class="links">
    <a class="action" href=${webAddress(made.securePaymentUrl)} target="_blank" rel="noopener noreferrer">${t("payouts.pay")}</a>
    ${wallet && html`<${Link} view="payouts" query=${{ walletAddress: wallet }}>${t("import.payouts")}<//>`}
    <${Link} view="requests" query=${{ securePaymentToken: made.token }}>${t("links.requests")}<//>
  </p>
  <${TheLink} link=${{ ...made, status: "pending" }} />
`;

export const views = { import: Import };
