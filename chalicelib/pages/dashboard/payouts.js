// Payouts of a wallet: choosing some of them, combining these into one, and the page that the wallet pays it at.

import { html, useEffect, useState } from "./vendor.js";
import { amount, clean, short, sum, t, time, webAddress, word } from "./text.js";
import { Problem, call, may, me, networkName, query } from "./api.js";
import { addressProblem } from "./drafts.js";
import { Link, address, go } from "./route.js";
import { discoverWallets } from "./proofs.js";
import { TheLink } from "./requests.js";
import { requestsOf } from "./terms.js";
import { Badge, Dialog, Empty, Field, Form, Loaded, Money, Name, Pages, Table, Tick, Title, problemOf, useLoad, useOnce } from "./components.js";

const [PAGE, MOST_IN_BATCH] = [25, 30];

/** @param {any} props The query: `walletAddress`, who pays. */
function Payouts({ query: given }) {
  const wallet = given.get("walletAddress") ?? "";
  const currencies = useLoad(() => call("GET", "/v2/currencies"), []);
  const actions = html`
    ${may("payouts:write") && html`<${Link} view="create" query=${{ kind: "payout" }} class="action">${t("payouts.new")}<//>`}
    ${may("secure_payments:write") && html`<${Link} view="import" query=${{ walletAddress: wallet }} class="quiet">${t("nav.import")}<//>`}
  `;
  return html`
    <${Title} actions=${actions}>${t("nav.payouts")}<//>
    <${Payer} key=${wallet} wallet=${wallet} />
    ${wallet ? html`<${Loaded} of=${currencies}>${(/** @type {any[]} */ known) => html`<${Of} key=${wallet} wallet=${wallet} currencies=${known} />`}<//>` : html`<${Empty} title=${t("payouts.whose")} text=${t("payouts.whose.text")} />`}
  `;
}

/** @param {any} props Whose payouts are shown: an address that is typed, or the account of a connected wallet. */
function Payer({ wallet }) {
  const [typed, setTyped] = useState(wallet || me.value.address || "");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [wallets, setWallets] = useState(/** @type {any[]} */ ([]));
  useEffect(() => discoverWallets(setWallets), []);
  const show = async (/** @type {string} */ text) => {
    const chosen = text.trim();
    const message = addressProblem(chosen.startsWith("T") ? "tron" : "", chosen);
    if (message) throw new Problem(400, { message, errors: [{ field: "walletAddress", message }] });
    go(address("payouts", "", { walletAddress: chosen }));
  };
  const connect = async (/** @type {any} */ { provider, family }) => {
    const method = family === "tron" ? "tron_requestAccounts" : "eth_requestAccounts";
    const answer = await provider.request({ method }).catch(() => null);
    const account = family === "tron" ? provider.tronWeb?.defaultAddress?.base58 : String(answer?.[0] ?? "");
    if (account) return show(account).catch(setProblem);
    return setProblem(new Problem(400, { message: "", errors: [{ field: "walletAddress", message: t("wallet.rejected") }] }));
  };
  return html`
    <section class="card" aria-label=${t("payouts.whose")}>
      <${Form} send=${() => show(typed)} label=${t("filter.apply")} quiet onProblem=${setProblem}>
        <${Field} label=${t("create.wallet")} hint=${t("payouts.wallet.hint")} spellcheck="false" autocomplete="off" value=${typed} onValue=${setTyped} problem=${problemOf(problem, "walletAddress")} />
      <//>
      ${wallets.length > 0 && html`<p class="links">${wallets.map((each) => html`<button type="button" class="quiet" key=${each.id} onClick=${() => connect(each)}>${t("by.wallet", { name: each.name })}</button>`)}</p>`}
    </section>
  `;
}

/** @param {any} props The open payouts of a wallet, of which some are chosen. */
function Of({ wallet, currencies }) {
  const [chosen, setChosen] = useState(/** @type {any[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [ready, setReady] = useState(/** @type {any} */ (null));
  const all = { walletAddress: wallet, securePaymentFlow: "outgoing" };
  const load = async (/** @type {string} */ cursor) => {
    const wanted = { ...all, status: "created", limit: PAGE };
    const { requests, pagination } = await call("GET", `/v2/request${query(wanted)}&cursor=${encodeURIComponent(cursor)}`);
    return { rows: requests.filter((/** @type {any} */ each) => each.securePaymentToken), next: pagination.nextCursor };
  };
  /** Payouts of one link are paid together, so they are chosen together, also those of pages that are not shown. */
  const choose = (/** @type {any} */ { securePaymentToken: token }) => async (/** @type {boolean} */ isChosen) => {
    const isOther = (/** @type {any} */ each) => each.securePaymentToken !== token;
    setProblem(null);
    try {
      const all = isChosen ? await requestsOf(token) : [];
      setChosen((/** @type {any[]} */ before) => [...before.filter(isOther), ...all]);
    } catch (thrown) {
      setProblem(new Problem(0, { errors: [{ field: token, message: /** @type {Error} */ (thrown).message }] }));
    }
  };
  const close = (/** @type {() => void} */ again) => () => {
    if (ready.isNew) setChosen([]);
    setReady(null);
    again();
  };
  return html`
    <p><${Link} view="requests" query=${all}>${t("payouts.all")}<//></p>
    <${Pages} load=${load} deps=${[wallet]} empty=${html`<${Empty} title=${t("payouts.none")} text=${t("payouts.none.text")} />`}>
      ${(/** @type {any[]} */ rows, /** @type {() => void} */ again) => html`
        <${Table}
          caption=${t("nav.payouts")}
          heads=${[t("payouts.choose"), t("amount"), t("create.recipient"), t("reference"), t("created")]}
          rows=${rows.map((row) => ({ key: row.requestId, cells: [
            html`<${Choice} row=${row} isChosen=${chosen.some(({ requestId }) => requestId === row.requestId)} choose=${choose(row)} problem=${problemOf(problem, row.securePaymentToken)} />`,
            html`<${Money} of=${row.amount} currency=${row.invoiceCurrency} />`, html`<code title=${clean(row.payee)}>${short(row.payee)}</code>`,
            html`<${Name} of=${row.reference ?? t("none")} />`, html`<${Link} view="request" id=${row.requestId}>${time(row.createdAt)}<//>`,
          ] }))}
        />
        ${may("payouts:write") && html`<${Together} chosen=${chosen} currencies=${currencies} onProblem=${setProblem} done=${setReady} />`}
        ${ready && html`
          <${Dialog} title=${t("payouts.ready")} onClose=${close(again)}>
            <p>${t("payouts.ready.text", { wallet: short(wallet) })}</p>
            <p><a class="action" href=${webAddress(ready.link.securePaymentUrl)} target="_blank" rel="noopener noreferrer">${t("payouts.pay")}</a></p>
            <${TheLink} link=${ready.link} />
          <//>
        `}
      `}
    <//>
  `;
}

/** @param {any} props Whether a payout is chosen; one whose link is not open can not be. */
const Choice = ({ row, isChosen, choose, problem }) => html`
  ${row.securePaymentStatus === "pending"
    ? html`<${Tick} label=${html`<span class="visually-hidden">${t("payouts.choose.one", { amount: amount(row.amount), currency: row.invoiceCurrency, payee: short(row.payee) })}</span>`} checked=${isChosen} onValue=${choose} />`
    : html`<${Badge}>${word("status", row.securePaymentStatus)}<//>`}
  ${problem && html`<p class="problem">${clean(problem)}</p>`}
`;

/** @param {any} props What is chosen, its sums, and the way on: the link of one payout, or the one of all of them. */
function Together({ chosen, currencies, onProblem, done }) {
  const { post } = useOnce();
  const tokens = [...new Set(chosen.map((/** @type {any} */ each) => each.securePaymentToken))];
  const networks = [...new Set(chosen.map((/** @type {any} */ each) => currencies.find((/** @type {any} */ known) => known.id === each.paymentCurrency)?.network))];
  const names = [...new Set(chosen.map((/** @type {any} */ each) => each.invoiceCurrency))];
  const sums = names.map((name) => `${amount(sum(chosen.filter((/** @type {any} */ each) => each.invoiceCurrency === name).map((/** @type {any} */ each) => each.amount)))} ${name}`);
  const send = async () => {
    if (tokens.length === 1) return done({ link: await call("GET", `/v2/secure-payments${query({ requestId: chosen[0].requestId })}`) });
    if (networks.length > 1) throw new Problem(400, { message: t("payouts.networks", { networks: networks.map(networkName).join(", ") }) });
    const isBatch = networks[0] !== "tron" && tokens.length <= MOST_IN_BATCH;
    const [path, body] = isBatch ? ["batch-payouts", { tokens }] : ["multicall-payouts", { childTokens: tokens }];
    const made = await post(`/v2/secure-payments/${path}`, body);
    done({ isNew: true, link: { ...made, status: "pending" } });
  };
  if (chosen.length === 0) return html`<p class="hint">${t("payouts.none.chosen")}</p>`;
  return html`
    <section class="card" aria-label=${t("payouts.chosen")}>
      <p class="sums" role="status">${t("payouts.sums", { count: chosen.length, sums: sums.join(", ") })}</p>
      ${chosen.length > tokens.length && html`<p class="hint">${t("payouts.one.link")}</p>`}
      ${tokens.length > 1 && html`<p class="hint">${t("payouts.combine.hint")}</p>`}
      <${Form} send=${send} label=${t(tokens.length > 1 ? "payouts.combine" : "payouts.open")} onProblem=${onProblem} />
    </section>
  `;
}

export const views = { payouts: Payouts };
