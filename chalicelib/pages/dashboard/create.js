// Creating a link or a request: one payment, several at once, a payout, a payment that is held, or one that recurs; with
// what the payer will see, and the result to share.

import { html, useEffect, useState } from "./vendor.js";
import { amount, clean, decimal, short, sum, t, time, word } from "./text.js";
import { ESCROWS, Problem, ROOT, call, may, me, networkName, query } from "./api.js";
import { ClientChoice, readClients } from "./client_choice.js";
import { copyOf } from "./terms.js";
import { FREQUENCIES, LINKS, NEW_ITEM, callOf, clientOf, itemsOf, newDraft, problemsOf } from "./drafts.js";
import { Made, finish } from "./result.js";
import { Field, Form, Loaded, Name, Title, problemOf, useLoad, useOnce } from "./components.js";

const [PREVIEW_MS, MOST, LATEST] = [400, 50, "9999-12-31T23:59"];
const FIATS = ["USD", "EUR"];
/** The tokens that count as a dollar: the API says the fees of amounts in these, and by one of these the fees of dollars. */
const DOLLARS = ["USDC", "USDT", "DAI", "FAU", "fUSDC", "fUSDT"];
/** @type {Record<string, string>} The scope that a kind needs. */
const SCOPES = { single: "secure_payments:write", batch: "secure_payments:write", payout: "payouts:write", held: "requests:write", recurring: "requests:write" };

/** @returns {{ network?: string, currency?: string, clientId?: string }} Those of the last draft that was sent in this browser. */
function lastTerms() {
  try {
    return JSON.parse(localStorage.getItem("terms") ?? "{}") ?? {};
  } catch {
    return {}; // a browser that stores nothing begins anew each time
  }
}

/** @param {{ network: string, currency: string, clientId: string }} terms */
function keepTerms(terms) {
  try {
    localStorage.setItem("terms", JSON.stringify(terms));
  } catch {
    // as above
  }
}

/** @param {any} props The query: `kind`, or the `link` or `request` whose terms the form begins with. */
function Create({ query: given }) {
  const loaded = useLoad(async () => {
    const [{ networks }, clients, terms] = await Promise.all([call("GET", "/v2/status"), readClients(), copyOf(given)]);
    return { key: given.toString(), clients, networks: networks.map((/** @type {any} */ each) => each.network), terms };
  }, [given.toString()]);
  const mayHave = (/** @type {any} */ { kind = "" }) => may(SCOPES[kind] ?? "");
  return html`
    <${Loaded} of=${loaded} title=${titleOf(given.get("kind"))}>
      ${(/** @type {any} */ data) => mayHave(data.terms)
        ? html`<${Drafting} key=${data.key} networks=${data.networks} clients=${data.clients} terms=${data.terms} />`
        : html`<${Title}>${titleOf(data.terms.kind)}<//><p class="note bad" role="alert">${t("forbidden.text", { role: word("role", me.value.role) })}</p>`}
    <//>
  `;
}

/** @param {string | null | undefined} kind What is created. */
const titleOf = (kind) => t(kind === "payout" ? "create.title.payout" : kind === "recurring" ? "create.title.recurring" : "create.title");

/** @param {any} props `terms` are those of the draft that are known before somebody types. */
function Drafting({ networks, clients, terms }) {
  const kinds = Object.keys(SCOPES).filter((kind) => may(SCOPES[kind]));
  const isOffered = (/** @type {string} */ kind) => (/** @type {string} */ network) => kind !== "held" || ESCROWS.includes(network);
  const [draft, setDraft] = useState(() => {
    const kind = kinds.includes(terms.kind) ? terms.kind : kinds[0];
    const [able, last] = [networks.filter(isOffered(kind)), lastTerms()];
    const begun = able.includes(last.network) ? last : { network: able[0] ?? networks[0] ?? "" };
    const draft = { ...newDraft(new Date()), clientId: last.clientId ?? "", ...begun, ...terms, kind };
    return { ...draft, clientId: clients.some((/** @type {any} */ each) => each.clientId === draft.clientId) ? draft.clientId : "" };
  });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const { post, renew } = useOnce();
  const currencies = useLoad(() => call("GET", `/v2/currencies${query({ network: draft.network })}`), [draft.network]);
  const offered = networks.filter(isOffered(draft.kind));
  const isPayable = (/** @type {any} */ { network, type }) => network === draft.network && (draft.kind === "held" ? type === "ERC20" && ESCROWS.includes(network) : type !== "ISO4217");
  const tokens = (currencies.data ?? []).filter(isPayable);
  const token = tokens.find((/** @type {any} */ each) => each.id === draft.currency) ?? tokens.find((/** @type {any} */ each) => each.symbol === "USDC") ?? tokens[0];
  const change = (/** @type {string} */ name) => (/** @type {any} */ value) => setDraft({ ...draft, [name]: value });
  const changeKind = (/** @type {string} */ kind) => {
    const able = networks.filter(isOffered(kind));
    setDraft({ ...draft, kind, network: able.includes(draft.network) ? draft.network : (able[0] ?? draft.network) });
  };

  const send = async () => {
    const errors = problemsOf(draft, token, new Date());
    if (errors.length || !token) throw new Problem(400, { message: token ? t("create.problems") : t("create.no.token"), errors });
    const result = await post(...callOf(draft, token));
    keepTerms({ network: draft.network, currency: token.id, clientId: draft.clientId });
    setMade({ draft, currency: currencyOf(draft, token), ...(await finish(draft, result)) });
  };
  const next = () => {
    renew();
    setMade(null);
  };
  const title = html`<${Title}>${titleOf(draft.kind)}<//>`;
  if (made) return html`${title}<${Made} ...${made} again=${next} />`;
  const fields = { draft, change, problem, token };
  return html`
    ${title}
    <div class="beside">
      <div class="card">
        <${Form} send=${send} label=${t(draft.kind === "recurring" ? "create.send.request" : "create.send")} onProblem=${setProblem}>
          <${Field} is="select" label=${t("kind")} hint=${["held", "recurring"].includes(draft.kind) && t(`create.${draft.kind}.hint`)} value=${draft.kind} onValue=${changeKind}>
            ${kinds.map((each) => html`<option key=${each} value=${each}>${t(`create.${each}`)}</option>`)}
          <//>
          <div class="pair">
            <${Field} is="select" label=${t("network")} value=${draft.network} onValue=${change("network")}>
              ${[...new Set([draft.network, ...offered])].map((each) => html`<option key=${each} value=${each}>${networkName(each)}</option>`)}
            <//>
            <${Field} is="select" label=${t("token")} value=${token?.id} onValue=${change("currency")} problem=${currencies.problem?.message ?? problemOf(problem, "paymentCurrency") ?? problemOf(problem, "currency")}>
              ${tokens.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.id}>${each.symbol}</option>`)}
            <//>
          </div>
          <${Items} ...${fields} />
          <${ClientChoice} clients=${clients} value=${draft.clientId} onValue=${change("clientId")} hint=${draft.kind === "held" ? t("create.client.held") : undefined} problem=${problemOf(problem, "clientId")} />
          ${draft.kind === "payout" && html`<${Field} label=${t("create.wallet")} hint=${t("create.wallet.hint")} value=${draft.wallet} onValue=${change("wallet")} spellcheck="false" problem=${problemOf(problem, "wallet") ?? problemOf(problem, "creatorWalletAddress")} />`}
          ${draft.kind === "held" ? html`<${Held} ...${fields} />` : html`<${Options} ...${fields} />`}
          ${draft.kind === "recurring" && html`<${Recurring} ...${fields} />`}
          ${draft.kind !== "batch" && may("requests:write") && html`<${Field} label=${t("note")} hint=${t("note.hint")} value=${draft.note} onValue=${change("note")} maxlength="1000" problem=${problemOf(problem, "note")} />`}
        <//>
      </div>
      <${Preview} draft=${draft} token=${token} tokens=${tokens} clients=${clients} />
    </div>
  `;
}

/** @param {any} props In which currency, to whom and how much. */
function Items({ draft, change, problem, token }) {
  const items = itemsOf(draft);
  const changeItem = (/** @type {number} */ at, /** @type {string} */ name) => (/** @type {string} */ value) =>
    change("items")(draft.items.map((/** @type {any} */ each, /** @type {number} */ position) => (position === at ? { ...each, [name]: value } : each)));
  const said = (/** @type {number} */ at, /** @type {string[]} */ ...names) =>
    problemOf(problem, `${at}.${names[0]}`) ?? (items.length === 1 ? names.map((name) => problemOf(problem, name)).find(Boolean) : undefined);
  return html`
    ${!["payout", "held"].includes(draft.kind) && html`
      <${Field} is="select" label=${t("create.in")} hint=${draft.fiat && t("create.in.hint")} value=${draft.fiat} onValue=${change("fiat")} problem=${problemOf(problem, "invoiceCurrency")}>
        <option value="">${token?.symbol ?? t("token")}</option>
        ${[...new Set([...FIATS, draft.fiat])].filter(Boolean).map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
      <//>
    `}
    ${items.map((each, at) => html`
      <fieldset key=${at}>
        <legend class=${draft.kind === "batch" ? "" : "visually-hidden"}>${t("create.item", { number: at + 1 })}</legend>
        <${Field} label=${t(draft.kind === "payout" ? "create.recipient" : "payee")} value=${each.payee} onValue=${changeItem(at, "payee")} spellcheck="false" autocomplete="off" problem=${said(at, "payee", "recipient", "merchantAddress")} />
        <${Field} label=${t("amount")} value=${each.amount} onValue=${changeItem(at, "amount")} inputmode="decimal" autocomplete="off" problem=${said(at, "amount")} />
        ${draft.kind === "batch" && items.length > 1 && html`<button type="button" class="quiet" onClick=${() => change("items")(draft.items.filter((/** @type {any} */ _, /** @type {number} */ position) => position !== at))}>${t("create.remove", { number: at + 1 })}</button>`}
      </fieldset>
    `)}
    ${draft.kind === "batch" && items.length < MOST && html`<button type="button" class="quiet" onClick=${() => change("items")([...draft.items, NEW_ITEM])}>${t("create.add")}</button>`}
  `;
}

/** @param {any} props What links and requests have besides. */
const Options = ({ draft, change, problem }) => html`
  <${Field} label=${t("reference")} hint=${t("create.reference.hint")} value=${draft.reference} onValue=${change("reference")} problem=${problemOf(problem, "reference")} />
  ${LINKS.includes(draft.kind) && html`
    <${Field} label=${t("create.redirect")} type="url" value=${draft.redirectUrl} onValue=${change("redirectUrl")} problem=${problemOf(problem, "redirectUrl")} />
    <${Field} label=${t("create.expires")} hint=${t("create.expires.hint")} type="datetime-local" max=${LATEST} value=${draft.expires} onValue=${change("expires")} problem=${problemOf(problem, "expiresAt")} />
  `}
`;

/** @param {any} props The terms of a payment that the escrow holds. */
const Held = ({ draft, change, problem }) => html`
  <${Field} label=${t("create.merchant")} hint=${t("create.merchant.hint")} value=${draft.merchant} onValue=${change("merchant")} problem=${problemOf(problem, "merchantId")} />
  <${Field} label=${t("create.buyer")} hint=${t("create.buyer.hint")} value=${draft.wallet} onValue=${change("wallet")} spellcheck="false" problem=${problemOf(problem, "wallet") ?? problemOf(problem, "buyerAddress")} />
  <div class="pair">
    <${Field} label=${t("create.pay.until")} hint=${t("create.pay.until.hint")} type="datetime-local" max=${LATEST} value=${draft.payUntil} onValue=${change("payUntil")} problem=${problemOf(problem, "preApprovalExpiry")} />
    <${Field} label=${t("create.capture.until")} hint=${t("create.capture.until.hint")} type="datetime-local" max=${LATEST} value=${draft.captureUntil} onValue=${change("captureUntil")} problem=${problemOf(problem, "authorizationExpiry") ?? problemOf(problem, "refundExpiry")} />
  </div>
`;

/** @param {any} props On which dates a new request is created. */
const Recurring = ({ draft, change, problem }) => html`
  <div class="pair">
    <${Field} label=${t("create.start")} hint=${t("create.start.hint")} type="date" max=${LATEST.slice(0, 10)} value=${draft.startDate} onValue=${change("startDate")} problem=${problemOf(problem, "startDate")} />
    <${Field} is="select" label=${t("create.frequency")} value=${draft.frequency} onValue=${change("frequency")} problem=${problemOf(problem, "frequency")}>
      ${FREQUENCIES.map((each) => html`<option key=${each} value=${each}>${t(`create.${each}`)}</option>`)}
    <//>
  </div>
`;

/** @param {any} draft @param {any} token The currency of its amounts, as it is shown. */
const currencyOf = (draft, token) => (!["payout", "held"].includes(draft.kind) && draft.fiat ? draft.fiat : (token?.symbol ?? ""));

/** @param {any} draft @param {any} token What the API says of the link of a draft, once its terms can be those of a link: `answer`, as the payment page reads it, or `problem`. */
function useSeen(draft, token) {
  const [seen, setSeen] = useState(/** @type {any} */ ({}));
  const isLink = ["single", "batch"].includes(draft.kind) && token && !problemsOf(draft, token, new Date()).length;
  const body = isLink ? JSON.stringify(callOf(draft, token)[1]) : "";
  useEffect(() => {
    let isCurrent = true;
    const take = (/** @type {any} */ found) => isCurrent && setSeen({ body, ...found });
    const ask = () => call("POST", "/v2/secure-payments/preview", { body: JSON.parse(body), alone: true }).then((found) => take({ answer: JSON.stringify(found) }), (problem) => take({ problem }));
    const timer = body ? setTimeout(ask, PREVIEW_MS) : undefined;
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [body]);
  return body && seen.body === body ? seen : {};
}

/** @param {any} props The payment page itself with the answer of a link, as high as it is; nothing can be pressed in it. */
function Seen({ answer }) {
  const [height, setHeight] = useState(0);
  const fit = (/** @type {any} */ { target: { contentDocument: { body } } }) => {
    body.style.minBlockSize = "0"; // else it is as high as the frame, which could only grow
    new ResizeObserver(() => setHeight(body.scrollHeight)).observe(body);
  };
  return html`<iframe title=${t("preview.title")} src=${`${ROOT}/dashboard-preview?token=${"0".repeat(26)}`} data-answer=${answer} width="100%" height=${height} frameborder="0" inert onLoad=${fit} />`;
}

/** @param {any} props What the payer will see, and the fees, as far as the form says it already. Of amounts whose fees are not known, the API is asked for its warnings of payees alone. */
function Preview({ draft, token, tokens, clients }) {
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const items = itemsOf(draft);
  const amounts = items.map((each) => decimal(each.amount));
  const currency = currencyOf(draft, token);
  const total = amounts.every((each) => each !== null) ? sum(/** @type {string[]} */ (amounts)) : null;
  const isInToken = currency === token?.symbol;
  const payees = token?.type === "ERC20" ? items.map((each) => each.payee.trim()).filter((each) => /^0x[0-9a-f]{40}$/i.test(each)) : [];
  const dollar = [token, ...tokens].find((each) => DOLLARS.includes(each?.symbol));
  const link = useSeen(draft, token);
  const hasFees = draft.kind !== "held" && dollar !== undefined && (isInToken ? dollar === token : currency === "USD");
  useEffect(() => {
    setPlan(null);
    if (!dollar || !(payees.length || (hasFees && total))) return undefined;
    const isOfFees = hasFees && total !== null;
    const body = { amount: isOfFees ? total : "1", currency: dollar.id, flow: draft.kind === "payout" ? "pay" : "get_paid", ...(payees.length && { payees }), ...clientOf(draft) };
    let isCurrent = true;
    const take = (/** @type {any} */ found) => isCurrent && setPlan(isOfFees ? found : { warnings: found.warnings });
    const ask = () => call("POST", "/v2/secure-payments/fees/preview", { body, alone: true }).then(take, (problem) => take({ problem }));
    const timer = setTimeout(ask, PREVIEW_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [total, dollar?.id, hasFees, draft.kind, draft.clientId, payees.join()]);
  const rows = [
    ["network", networkName(draft.network)],
    ["pay.in", !isInToken && token?.symbol],
    ["reference", draft.kind !== "held" && draft.reference && html`<${Name} of=${draft.reference} />`],
    ["client.id", draft.clientId && html`<${Name} of=${clients.find((/** @type {any} */ each) => each.clientId === draft.clientId)?.label} />`],
    ["create.pay.until", draft.kind === "held" && draft.payUntil && time(draft.payUntil)],
    ["create.capture.until", draft.kind === "held" && draft.captureUntil && time(draft.captureUntil)],
    ["create.expires", LINKS.includes(draft.kind) && draft.expires && time(draft.expires)],
    ["create.start", draft.kind === "recurring" && draft.startDate],
    ["create.frequency", draft.kind === "recurring" && t(`create.${draft.frequency}`)],
    ["preview.fees", plan?.totalFeesUsd && `${amount(plan.totalFeesUsd)} USD`],
    ["preview.total", plan?.payerTotalAmountUsd && `${amount(plan.payerTotalAmountUsd)} USD`],
  ].filter(([, value]) => value);
  return html`
    <aside class="card preview" aria-labelledby="preview">
      <h2 id="preview">${t("preview.title")}</h2>
      ${link.answer && html`<${Seen} key=${link.answer} answer=${link.answer} />`}
      <div class=${link.answer ? "visually-hidden" : "list"}>
        ${items.map((/** @type {any} */ each, /** @type {number} */ at) => html`
          <p class="big" key=${at}>${amounts[at] ? `${amount(amounts[at])} ${currency}` : t("preview.amount")}</p>
          <p class="hint">${t("preview.to", { payee: short(each.payee.trim()) || "…" })}</p>
        `)}
        ${["held", "recurring"].includes(draft.kind) && html`<p class="note">${t(`preview.${draft.kind}`)}</p>`}
        <dl>${rows.map(([name, value]) => html`<div class="row" key=${name}><dt>${t(name)}</dt><dd>${value}</dd></div>`)}</dl>
      </div>
      ${link.problem && html`<p class="note">${clean(link.problem.message)}</p>`}
      ${plan?.warnings?.map((/** @type {any} */ each) => html`<p class="note bad" key=${each.payee}>${t("preview.payee", { payee: short(each.payee) })}</p>`)}
      ${total && !isInToken && token && html`<p class="note">${t("preview.rate", { token: token.symbol })}</p>`}
      ${total && !hasFees && !link.answer && draft.kind !== "held" && html`<p class="note">${t("preview.fees.rate")}</p>`}
      ${plan?.problem && html`<p class="note">${t("preview.fees.unknown", { why: plan.problem.message })}</p>`}
    </aside>
  `;
}

export const views = { create: Create };
