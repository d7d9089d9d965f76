// What needs attention, what was paid per day, the newest payments; and the state of the networks.

import { html, useState } from "./vendor.js";
import { amount, clean, day, short, sum, t, time, word } from "./text.js";
import { call, may, networkName, query } from "./api.js";
import { PART, readAll, readPayments, readUnreturned } from "./payment_rows.js";
import { Link } from "./route.js";
import { failureOf, isOnlyLate, mispaymentOf } from "./attention.js";
import { Badge, Empty, Failure, Field, Loaded, Money, Name, Table, Title, useLoad } from "./components.js";

const DAY_MS = 86_400_000;
const [WEEK_MS, CHANGE_MS, BANK_MS] = [7 * DAY_MS, 8 * DAY_MS, 30 * DAY_MS]; // a change waits for seven days at most, and ends by a schedule
const STALE_MS = 300_000; // networks are read every minute
const [SHOWN, MANY] = [5, 100]; // of a kind: in the list, and of what is read for it
const MOST_PAYMENTS = 1_000; // for the days: one call, however many there are, unless somebody asks for all

/** The whole view; what the role may not see is not asked for. */
function Home() {
  return html`
    <${Title} actions=${may("secure_payments:write") && html`<${Link} view="create" class="action">${t("create.link")}<//>`}>${t("nav.home")}<//>
    <${Attention} />
    <${Days} />
  `;
}

/** The newest requests that are paid in part, and how many more there are. */
async function partlyPaid() {
  const { requests, pagination } = await call("GET", `/v2/request${query({ status: "partially_paid", limit: SHOWN })}`);
  const rows = requests.map((/** @type {any} */ each) => ({
    key: each.requestId, text: () => t("attention.partially_paid", {
      paid: amount(each.paidAmount), amount: `${amount(each.amount)} ${each.invoiceCurrency}`, reference: each.reference ?? short(each.requestId),
    }),
    view: "request", id: each.requestId, at: each.createdAt,
  }));
  return firstOf(rows, "requests", { status: "partially_paid" }, pagination.total);
}

/** @param {any[]} rows @param {string} view @param {Record<string, string>} [values] @param {number} [total] @param {boolean} [isWhole] The first of a kind, and how many more the list has that is a view with that query; "" if there is no such view. Of more than was read, unless it `isWhole`, that many are the least. */
function firstOf(rows, view, values = {}, total = rows.length, isWhole = true) {
  const left = total - Math.min(rows.length, SHOWN);
  const count = isWhole ? "" : left > 0 ? ".least" : ".maybe";
  const text = () => t(`attention.more${count}`, { count: amount(String(left)), view: t(view ? `nav.${view}` : "attention.of.failed") });
  const more = { key: `more ${view}`, text, view, values };
  return [...rows.slice(0, SHOWN), ...(left > 0 || !isWhole ? [more] : [])];
}

/** Networks whose payments are not seen, each with since when and why, as far as that is known; those that were never read as one. */
async function unreadNetworks() {
  const { networks } = await call("GET", "/v2/status");
  const never = networks.filter((/** @type {any} */ each) => !each.lastRead).map((/** @type {any} */ each) => networkName(each.network));
  const late = networks.filter((/** @type {any} */ each) => each.lastRead && !each.isSeeingPayments);
  const why = (/** @type {any} */ each) => (each.nodes?.agree === false ? ".nodes" : Date.parse(each.lastRead) > Date.now() - STALE_MS ? ".behind" : "");
  return [
    ...late.map((/** @type {any} */ each) => ({
      key: `n${each.network}`, view: "status",
      text: () => t(`attention.network${why(each)}`, { network: networkName(each.network), since: time(each.lastRead), time: time(each.readUntil) }),
    })),
    ...(never.length ? [{ key: "n", view: "status", text: () => t("attention.network.never", { networks: never.join(", ") }) }] : []),
  ];
}

/** Networks on which the service's own account has too little for gas; none for roles that are not told. */
const lowOnGas = async () => (may("account:write") ? ((await call("GET", "/v1/account")).networksLowOnGas ?? []) : []);

const gas = async () => (await lowOnGas()).map((/** @type {string} */ network) => ({ key: `g${network}`, text: () => t("attention.gas", { network: networkName(network) }), view: "status" }));

/** Changes that wait, however many were decided since they were asked for: none waits longer than CHANGE_MS. */
async function pendingChanges() {
  const found = [];
  for (let cursor = ""; cursor !== null; ) {
    const { changes, nextCursor } = await call("GET", `/v1/changes${query({ limit: MANY, cursor })}`);
    found.push(...changes.filter((/** @type {any} */ each) => each.state === "pending"));
    cursor = Date.parse(changes[changes.length - 1]?.askedAt) > Date.now() - CHANGE_MS ? nextCursor : null;
  }
  return found.map((each) => ({ key: each.id, text: () => t("attention.change", { what: word("operation", each.operation) }), view: "changes", at: each.askedAt }));
}

/** Webhooks that have failed for an hour, until they answer or somebody turns them off. */
async function failingWebhooks() {
  const failing = (await call("GET", "/v1/webhook")).filter((/** @type {any} */ each) => each.failingSince);
  return firstOf(failing.map((/** @type {any} */ each) => ({ key: `w${each.id}`, text: () => t("attention.webhook", { url: each.url }), view: "webhook", id: each.id, at: each.failingSince })), "webhooks");
}

/** Payments that were not owed, too late or too much, and that no refund has returned; those that were only late for a week. */
async function mispaid() {
  const { events, nextCursor } = await call("GET", `/v1/webhook/events${query({ mispaid: "true", limit: MANY })}`);
  const { left, isKnown } = await readUnreturned(events.filter((/** @type {any} */ each) => !isOnlyLate(each) || Date.parse(each.createdAt) > Date.now() - WEEK_MS));
  const rows = left.map((each) => rowOf(each, mispaymentOf));
  return firstOf(rows, "mispayments", {}, isKnown ? rows.length : 0, isKnown && !nextCursor);
}

/** @param {any} event @param {(event: any) => string} say */
const rowOf = (event, say) => ({ key: event.id, view: "request", id: event.body.requestId, at: event.createdAt, text: () => say(event) });

/** Payments that failed in the last week, but for what a merchant has voided; and in BANK_MS what was to reach a bank account and did not, each with what was said last. */
async function failedPayments() {
  const { events, nextCursor } = await call("GET", `/v1/webhook/events${query({ kind: "payment.failed", limit: MANY })}`);
  const orders = new Set();
  const left = events.filter((/** @type {any} */ { createdAt, body: { offrampId, failureReason } }) => {
    const isLast = !orders.has(offrampId);
    if (offrampId) orders.add(offrampId);
    return isLast && failureReason !== "voided" && Date.parse(createdAt) > Date.now() - (offrampId ? BANK_MS : WEEK_MS);
  });
  const isWhole = !nextCursor || Date.parse(events[events.length - 1].createdAt) < Date.now() - BANK_MS;
  return firstOf(left.map((/** @type {any} */ each) => rowOf(each, failureOf)), "", {}, left.length, isWhole);
}

/** @type {[string, () => Promise<any[]>][]} What somebody has to look at, the most pressing kind first: its name, and what reads it: { key, text, view, id, values, at }, where `text()` says it in the language that is shown. */
const KINDS = [
  ["networks", unreadNetworks], ["gas", gas], ["changes", pendingChanges], ["webhooks", failingWebhooks], ["mispaid", mispaid],
  ["failed", failedPayments], ["parts", partlyPaid],
];

/** @param {string} kind @param {any} problem Why something could not be read, with what that is. */
const nameProblem = (kind, problem) => problem && { status: problem.status, message: `${t(`attention.of.${kind}`)}: ${problem.message}` };

/** Each kind is shown as soon as it was read, in its place, and one that could not be read says so there. */
function Attention() {
  const kinds = KINDS.map(([kind, load]) => ({ kind, ...useLoad(load, []) })); // the same ones in the same order each time
  const isReading = kinds.some(({ data, problem }) => !data && !problem);
  return html`
    <section class="card" aria-labelledby="attention">
      <h2 id="attention">${t("attention.title")}</h2>
      <ul class="work">${kinds.map(({ kind, data, problem, again }) => problem
        ? html`<li><${Failure} problem=${nameProblem(kind, problem)} again=${again} /></li>`
        : data?.map((/** @type {any} */ each) => html`
            <li key=${each.key}>${each.view ? html`<${Link} view=${each.view} id=${each.id} query=${each.values}><${Name} of=${each.text()} /><//>` : html`<span>${each.text()}</span>`}${each.at && html`<time datetime=${each.at}>${time(each.at)}</time>`}</li>
          `))}</ul>
      ${isReading && html`<p class="loading" role="status">${t("loading")}</p>`}
      ${kinds.every(({ data, problem }) => !problem && data?.length === 0) && html`<p class="quietly">${t("attention.none")}</p>`}
    </section>
  `;
}

/** What was paid per day and currency, and the newest payments. */
function Days() {
  const [days, setDays] = useState("30");
  const [chosen, choose] = useState("");
  const [whole, setWhole] = useState("");
  const isWhole = whole === days;
  const loaded = useLoad(async () => {
    const from = new Date(Date.now() - Number(days) * DAY_MS).toISOString();
    if (!isWhole) return { ...(await readPayments(query({ fromDate: from, limit: MOST_PAYMENTS }))), shownDays: Number(days) };
    const rows = /** @type {any[]} */ ([]);
    await readAll(query({ fromDate: from, limit: PART }), (part) => part.forEach((each) => rows.push(each)));
    return { rows, next: "", shownDays: Number(days) };
  }, [days, isWhole], true);
  return html`
    <${Loaded} of=${{ ...loaded, problem: nameProblem("payments", loaded.problem) }}>
      ${(/** @type {any} */ { rows, next, shownDays }) => {
        const currencies = [...new Set(rows.map((/** @type {any} */ row) => row.paymentCurrencyId))];
        const currency = /** @type {string} */ (currencies.includes(chosen) ? chosen : (currencies[0] ?? ""));
        return html`
          <section class="card" aria-labelledby="volume">
            <div class="title">
              <h2 id="volume">${t("volume.title")}</h2>
              <div class="filters">
                <${Field} is="select" label=${t("volume.days")} value=${days} onValue=${setDays}>
                  ${["30", "90"].map((each) => html`<option key=${each} value=${each}>${t("volume.last", { days: each })}</option>`)}
                <//>
                ${currencies.length > 1 && html`
                  <${Field} is="select" label=${t("currency")} value=${currency} onValue=${choose}>
                    ${currencies.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
                  <//>
                `}
              </div>
            </div>
            ${rows.length ? html`<${Bars} rows=${rows} currency=${currency} days=${shownDays} />` : html`<p class="quietly">${t("volume.none")}</p>`}
            ${next && html`
              <p class="hint">${t("volume.part", { count: amount(String(MOST_PAYMENTS)) })}</p>
              <button type="button" class="quiet" aria-disabled=${isWhole} onClick=${() => setWhole(days)}>${t(isWhole ? "busy" : "volume.all")}</button>
            `}
          </section>
          <section class="card" aria-labelledby="newest">
            <h2 id="newest">${t("newest.title")}</h2>
            ${rows.length ? html`<${Newest} rows=${rows.slice(0, 8)} />` : html`<${First} />`}
          </section>
        `;
      }}
    <//>
  `;
}

/** What comes first for who has no payment yet. */
const First = () => html`
  <${Empty} title=${t("first.title")} text=${t("first.text")}>
    ${may("secure_payments:write") && html`<${Link} view="create" class="action">${t("create.link")}<//>`}
  <//>
`;

/** @param {any} props */
const Newest = ({ rows }) => html`
  <${Table}
    caption=${t("newest.title")}
    heads=${[t("time"), t("amount"), t("reference"), t("payer")]}
    rows=${rows.map((/** @type {any} */ row) => ({ key: row.id, cells: [
      html`<${Link} view="request" id=${row.requestId}>${time(row.timestamp)}<//>`,
      html`<${Money} of=${row.amount} currency=${row.paymentCurrencyId} />`, html`<${Name} of=${row.reference || t("none")} />`, html`<code>${short(row.payer) || t("none")}</code>`,
    ] }))}
  />
`;

/** @param {any} props Bars of a currency per day (UTC), with the same numbers as a table. */
function Bars({ rows, currency, days }) {
  const names = Array.from({ length: days }, (_, back) => new Date(Date.now() - (days - 1 - back) * DAY_MS).toISOString().slice(0, 10));
  /** @type {Record<string, string[]>} */
  const paid = Object.fromEntries(names.map((name) => [name, []]));
  for (const row of rows) if (row.paymentCurrencyId === currency && row.isPayout !== "true") paid[row.timestamp.slice(0, 10)]?.push(row.amount);
  const sums = names.map((name) => sum(paid[name]));
  const highest = sums.reduce((before, each) => (Number(each) > Number(before) ? each : before)); // of the bars
  const width = 720 / days;
  return html`
    <figure>
      <svg viewBox="0 0 720 160" class="bars" role="img" aria-label=${t("volume.label", { currency, days, most: amount(highest) })}>
        ${names.map((name, at) => {
          const height = Number(sums[at]) > 0 ? Math.max(2, (Number(sums[at]) / Number(highest)) * 140) : 0;
          return html`<rect key=${name} x=${at * width + 1} y=${150 - height} width=${width - 2} height=${height} rx="2"><title>${`${day(name)}: ${amount(sums[at])} ${clean(currency)}`}</title></rect>`;
        })}
        <line x1="0" x2="720" y1="150.5" y2="150.5" />
      </svg>
      <figcaption><time>${day(names[0])}</time><span>${t("volume.most", { most: amount(highest), currency })}</span><time>${day(names[days - 1])}</time></figcaption>
    </figure>
    <details>
      <summary>${t("volume.table")}</summary>
      <${Table} caption=${t("volume.title")} heads=${[t("day"), clean(currency)]} rows=${names.filter((name) => paid[name].length).map((name) => ({ key: name, cells: [day(name), amount(sum(paid[name]))] }))} />
    </details>
  `;
}

/** The networks, what their state means for payers, and on which ones the service has too little for gas. */
function Status() {
  const loaded = useLoad(async () => {
    const [{ networks }, low] = await Promise.all([call("GET", "/v2/status"), lowOnGas()]);
    return { networks, low };
  }, []);
  const state = (/** @type {any} */ each) => (!each.lastRead ? "unread" : each.isSeeingPayments ? "good" : "bad");
  return html`
    <${Title} actions=${html`<button type="button" class="quiet" onClick=${loaded.again}>${t("again.read")}</button>`}>${t("nav.status")}<//>
    <${Loaded} of=${loaded}>
      ${(/** @type {any} */ { networks, low }) => html`
        ${low.length > 0 && html`<p class="note bad">${t("status.gas", { networks: low.map(networkName).join(", ") })}</p>`}
        <${Table}
          caption=${t("nav.status")}
          heads=${[t("network"), t("state"), t("status.until"), t("status.meaning")]}
          rows=${networks.map((/** @type {any} */ each) => ({ key: each.network, cells: [
            networkName(each.network), html`<${Badge} kind=${state(each)}>${t(`status.${state(each)}`)}<//>`, time(each.readUntil),
            t(`status.${state(each)}.text`, { seconds: each.lagSeconds ?? "?" }),
          ] }))}
        />
      `}
    <//>
  `;
}

export const views = { home: Home, status: Status };
