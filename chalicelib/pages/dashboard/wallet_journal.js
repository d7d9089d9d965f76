// The journal of one wallet, as files that programs for accounts take.

import { html, useState } from "./vendor.js";
import { t } from "./text.js";
import { Problem, call, networkName, query, respond } from "./api.js";
import { addressProblem } from "./drafts.js";
import { filtersOf } from "./filters.js";
import { MOST_PARTS, nextOf } from "./payment_rows.js";
import { Dialog, Field, Form, Loaded, problemOf, saveFile, useLoad } from "./components.js";

const LINES = 1_000; // of a file: as many as these programs take at once
/** @type {Record<string, [string, string]>} The name of each program or format, and the end of its files' names. */
const FORMATS = { xero: ["Xero", "csv"], quickbooks: ["QuickBooks", "csv"], ofx: ["OFX", "ofx"] };

/** @param {any} props The filters of the view, of which the dialog takes network, wallet and days. */
export function WalletJournal({ given }) {
  const [isOpen, open] = useState(false);
  const loaded = useLoad(async () => {
    if (!isOpen) return null;
    const [currencies, { networks }] = await Promise.all([call("GET", "/v2/currencies?network=fiat"), call("GET", "/v2/status")]);
    return { fiats: currencies.filter((/** @type {any} */ each) => each.type === "ISO4217"), networks };
  }, [isOpen]);
  return html`
    <button type="button" class="quiet" onClick=${() => open(true)}>${t("download.wallet")}</button>
    ${isOpen && html`
      <${Dialog} title=${t("download.wallet")} onClose=${() => open(false)}>
        <p class="hint">${t("journal.text")}</p>
        <${Loaded} of=${loaded}>${(/** @type {any} */ data) => data && html`<${Terms} ...${data} given=${given} />`}<//>
      <//>
    `}
  `;
}

/** @param {any} props Which journal, and what became of it. */
function Terms({ fiats, networks, given }) {
  const [draft, setDraft] = useState({
    network: given.get("network") || (networks[0]?.network ?? ""), walletAddress: given.get("walletAddress") || given.get("payee") || "",
    currency: "USD", format: "xero", fromDate: given.get("fromDate") ?? "", toDate: given.get("toDate") ?? "",
  });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const field = (/** @type {keyof typeof draft} */ name, /** @type {string} */ label, /** @type {any} */ more = {}, /** @type {any} */ options = null) => html`
    <${Field} label=${label} value=${draft[name]} onValue=${(/** @type {string} */ value) => setDraft({ ...draft, [name]: value })} problem=${problemOf(problem, name)} ...${more}>${options}<//>
  `;
  const send = async () => {
    setMade(null);
    const message = addressProblem(draft.network, draft.walletAddress);
    if (message) throw new Problem(400, { message, errors: [{ field: "walletAddress", message }] });
    setMade(await download(draft));
  };
  const option = (/** @type {string} */ value, /** @type {string} */ name) => html`<option key=${value} value=${value}>${name}</option>`;
  return html`
    <${Form} send=${send} label=${t("journal.send")} onProblem=${setProblem}>
      ${field("network", t("network"), { is: "select" }, [...new Set([draft.network, ...networks.map((/** @type {any} */ each) => each.network)])].map((each) => option(each, networkName(each))))}
      ${field("walletAddress", t("payee.wallet"), { spellcheck: "false", autocomplete: "off" })}
      <div class="pair">
        ${field("format", t("journal.format"), { is: "select" }, Object.entries(FORMATS).map(([each, [name]]) => option(each, name)))}
        ${field("currency", t("currency"), { is: "select" }, fiats.map((/** @type {any} */ each) => option(each.id, each.id)))}
        ${field("fromDate", t("filter.fromDate"), { type: "date" })}
        ${field("toDate", t("filter.toDate"), { type: "date" })}
      </div>
    <//>
    <p role="status">${made && t(made.unvalued ? "journal.unvalued" : "journal.done", made)}</p>
  `;
}

/** @param {any} draft Saves the files of a journal; returns how many there are, and how many payments without a value they leave out. */
async function download({ fromDate, toDate, format, ...wanted }) {
  let [count, unvalued] = [0, 0];
  const days = filtersOf(new URLSearchParams({ fromDate, toDate }));
  for (let search = query({ ...wanted, walletAddress: wanted.walletAddress.trim(), format, ...days, limit: LINES }); search; ) {
    if (count === MOST_PARTS) throw new Error(t("download.most", { count: LINES * MOST_PARTS }));
    const response = await respond("GET", `/v2/journal/wallet${search}`);
    saveFile([await response.text()], response.headers.get("content-type") ?? "", `wallet-${format}-${++count}.${FORMATS[format][1]}`);
    unvalued += Number(response.headers.get("x-unvalued") ?? 0);
    search = nextOf(response);
  }
  return { count, unvalued };
}
