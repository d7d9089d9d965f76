// Webhooks: their events, the secret that is shown once, tests, deliveries with each attempt, and sending again.

import { html, useState } from "./vendor.js";
import { clean, isTime, t, time, word } from "./text.js";
import { EVENTS, Problem, call, may, query } from "./api.js";
import { Link } from "./route.js";
import { Badge, Body, Confirmed, Copy, Dialog, Empty, Field, Form, Loaded, Name, Pages, Table, Tick, Title, problemOf, useLoad, useOnce } from "./components.js";

const PAGE = 20;
const OVERLAPS = ["24", "72", "1", "0"]; // hours
/** @type {Record<string, string>} */
const KINDS = { delivered: "good", failed: "bad" };

function Webhooks() {
  const loaded = useLoad(() => call("GET", "/v1/webhook"), []);
  const [isMaking, make] = useState(false);
  const add = may("webhooks:write") && html`<button type="button" class="action" onClick=${() => make(true)}>${t("webhook.new")}</button>`;
  return html`
    <${Title} actions=${add}>${t("nav.webhooks")}<//>
    <${Loaded} of=${loaded}>
      ${(/** @type {any[]} */ webhooks) => webhooks.length === 0
        ? html`<${Empty} title=${t("webhook.none")} text=${t("webhook.none.text")} />`
        : html`<${Table} caption=${t("nav.webhooks")} heads=${[t("webhook.url"), t("webhook.events"), t("state"), t("created")]} rows=${webhooks.map((each) => ({ key: each.id, cells: [
            html`<${Link} view="webhook" id=${each.id}><${Name} of=${each.url} /><//>`, html`<${Name} of=${each.events.join(", ")} />`,
            html`<${Badge} kind=${each.isActive && !each.failingSince ? "good" : "bad"}>${t(!each.isActive ? "off" : each.failingSince ? "webhook.failing" : "active")}<//>`, time(each.createdAt),
          ] }))} />`}
    <//>
    ${isMaking && html`<${NewWebhook} close=${() => { make(false); loaded.again(); }} />`}
  `;
}

/** @param {any} props */
function NewWebhook({ close }) {
  const [url, setUrl] = useState("");
  const [roleArn, setRole] = useState("");
  const [events, setEvents] = useState(["*"]);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const isArn = url.trim().startsWith("arn:"); // of a queue, topic or event bus, which a role of its account may send to
  const { post } = useOnce();
  const send = async () => setMade(await post("/v1/webhook", { url: url.trim(), events, ...(isArn && { roleArn: roleArn.trim() }) }));
  return html`
    <${Dialog} title=${t("webhook.new")} onClose=${close}>
      ${made?.trustPolicy ? html`<p class="note good">${t("webhook.trust")}</p><${Copy} text=${JSON.stringify(made.trustPolicy)} whole />`
      : made ? html`<p class="note good">${t("webhook.secret")}</p><${Copy} text=${made.secret} whole />` : html`
        <${Form} send=${send} label=${t("webhook.create")} onProblem=${setProblem}>
          <${Field} label=${t("webhook.url")} hint=${t("webhook.url.hint")} type="url" value=${url} onValue=${setUrl} problem=${problemOf(problem, "url")} />
          ${isArn && html`<${Field} label=${t("webhook.role")} hint=${t("webhook.role.hint")} required value=${roleArn} onValue=${setRole} problem=${problemOf(problem, "roleArn")} />`}
          <${Events} chosen=${events} choose=${setEvents} />
        <//>
      `}
    <//>
  `;
}

/** @param {any} props */
function Events({ chosen, choose }) {
  const turn = (/** @type {string} */ event) => (/** @type {boolean} */ isOn) => choose(isOn ? [...chosen, event] : chosen.filter((/** @type {string} */ each) => each !== event));
  return html`
    <fieldset><legend>${t("webhook.events")}</legend><p class="hint">${t("webhook.events.hint")}</p>
      <div class="ticks">${[...EVENTS].sort().map((each) => html`<${Tick} key=${each} label=${html`<${Name} of=${each} />`} checked=${chosen.includes(each)} onValue=${turn(each)} />`)}</div>
    </fieldset>
  `;
}

/** @param {any} props Which events an existing webhook receives. */
function Choice({ webhook, again }) {
  const [isOpen, open] = useState(false);
  const [events, setEvents] = useState(webhook.events);
  const send = async () => {
    if (events.length === 0) throw new Problem(400, { message: t("webhook.events.missing") });
    await call("PUT", `/v1/webhook/${encodeURIComponent(webhook.id)}`, { body: { events } });
    open(false);
    again();
  };
  const begin = () => {
    setEvents(webhook.events);
    open(true);
  };
  return html`
    <button type="button" class="quiet" onClick=${begin}>${t("webhook.events.change")}</button>
    ${isOpen && html`<${Dialog} title=${t("webhook.events.change")} onClose=${() => open(false)}><${Form} send=${send} label=${t("save")}><${Events} chosen=${events} choose=${setEvents} /><//><//>`}
  `;
}

/** @param {any} props One webhook with its deliveries. */
function Webhook({ id }) {
  const loaded = useLoad(async () => (await call("GET", "/v1/webhook")).find((/** @type {any} */ each) => each.id === id) ?? null, [id]);
  const [state, setState] = useState("");
  const [turn, setTurn] = useState(0);
  const load = async (/** @type {string} */ cursor) => {
    const { deliveries, nextCursor } = await call("GET", `/v1/webhook/${encodeURIComponent(id)}/deliveries${query({ state, limit: PAGE, cursor })}`);
    return { rows: deliveries, next: nextCursor };
  };
  return html`
    <p><${Link} view="webhooks">${t("back.webhooks")}<//></p>
    <${Loaded} of=${loaded} title=${t("nav.webhooks")}>
      ${(/** @type {any} */ webhook) => webhook === null ? html`<${Title}>${t("nav.webhooks")}<//><${Empty} title=${t("webhook.gone")} text=${t("unknown.text")} />` : html`
        <${Title}>${clean(webhook.url)}<//>
        <p class="hint">${t("webhook.receives")} <${Name} of=${webhook.events.join(", ")} /></p>
        ${webhook.roleArn && html`<p class="hint">${t("webhook.role")}: <${Name} of=${webhook.roleArn} /> · sts:ExternalId: <${Name} of=${webhook.externalId} /></p>`}
        ${may("webhooks:write") && html`<${Actions} webhook=${webhook} again=${() => { loaded.again(); setTurn(turn + 1); }} />`}
        <section class="card" aria-labelledby="deliveries">
          <div class="title"><h2 id="deliveries">${t("delivery.title")}</h2>
            <${Field} is="select" label=${t("state")} value=${state} onValue=${setState}>
              <option value="">${t("any")}</option>${["failed", "waiting"].map((each) => html`<option key=${each} value=${each}>${word("delivery", each)}</option>`)}
            <//>
          </div>
          <${Pages} load=${load} deps=${[id, state, turn]} empty=${html`<p class="quietly">${t("delivery.none")}</p>`}>
            ${(/** @type {any[]} */ rows, /** @type {() => void} */ again) => html`<ul class="deliveries">${rows.map((row) => html`<${Delivery} key=${row.id} of=${row} webhook=${webhook} again=${again} />`)}</ul>`}
          <//>
        </section>
      `}
    <//>
  `;
}

/** @param {any} props */
function Actions({ webhook, again }) {
  const [since, setSince] = useState("");
  const [said, say] = useState("");
  const turn = async () => {
    await call("PUT", `/v1/webhook/${webhook.id}`, { body: { isActive: !webhook.isActive } });
    again();
  };
  const test = async () => {
    const { message } = await call("POST", "/v1/webhook/test", { body: { eventType: "payment.confirmed", webhookId: webhook.id } });
    say(message);
    again();
  };
  const redeliver = async () => {
    if (!isTime(since)) throw new Problem(400, { message: t("expires.missing") });
    let count = 0;
    for (let cursor = /** @type {string | null} */ (""); cursor !== null; ) {
      const body = { since: new Date(since).toISOString(), ...(cursor && { cursor }) };
      const { queued, nextCursor } = await call("POST", `/v1/webhook/${webhook.id}/redeliver`, { body });
      [count, cursor] = [count + queued, nextCursor];
      say(t("delivery.queued", { count }));
    }
    again();
  };
  return html`
    <div class="card row-of-forms">
      <${Form} send=${turn} label=${t(webhook.isActive ? "webhook.off" : "webhook.on")} quiet />
      <${Form} send=${test} label=${t("webhook.test")} quiet />
      <${Choice} webhook=${webhook} again=${again} />
      <${Rotate} webhook=${webhook} />
      <${Confirmed} label=${t("delete")} question=${t("webhook.delete", { url: webhook.url })} act=${() => call("DELETE", `/v1/webhook/${webhook.id}`)} done=${again} />
      <${Form} send=${redeliver} label=${t("delivery.since.send")} quiet><${Field} label=${t("delivery.since")} type="datetime-local" max="9999-12-31T23:59" required value=${since} onValue=${setSince} /><//>
      <p role="status">${clean(said)}</p>
    </div>
  `;
}

/** @param {any} props Replaces the signing secret. The new one is shown once; the one before holds for some hours, unless it has leaked. */
function Rotate({ webhook }) {
  const [isOpen, open] = useState(false);
  const [hours, setHours] = useState("24");
  const [made, setMade] = useState(/** @type {any} */ (null));
  const { post, renew } = useOnce();
  const send = async () => {
    setMade(await post(`/v1/webhook/${encodeURIComponent(webhook.id)}/secret`, { overlapHours: Number(hours) }).catch((problem) => {
      const until = /until (\S+):/.exec(problem.message)?.[1];
      throw problem.status === 409 && until ? new Error(t("secret.twice", { time: time(until) })) : problem;
    }));
  };
  const close = () => {
    open(false);
    setMade(null);
    renew();
  };
  return html`
    <button type="button" class="quiet" onClick=${() => open(true)}>${t("secret.replace")}</button>
    ${isOpen && html`
      <${Dialog} title=${t("secret.replace")} onClose=${close}>
        ${made ? html`
          <p class="note good">${t("webhook.secret")}</p><${Copy} text=${made.secret} whole />
          <p>${made.previousUntil ? t("secret.before", { time: time(made.previousUntil) }) : t("secret.alone")}</p>
        ` : html`
          <p><${Name} of=${t("secret.question", { url: webhook.url })} /></p>
          <${Form} send=${send} label=${t("secret.replace")}>
            <${Field} is="select" label=${t("secret.overlap")} hint=${t("secret.overlap.hint")} value=${hours} onValue=${setHours}>
              ${OVERLAPS.map((each) => html`<option key=${each} value=${each}>${each === "0" ? t("secret.at.once") : t("secret.hours", { hours: each })}</option>`)}
            <//>
          <//>
        `}
      <//>
    `}
  `;
}

/** @param {any} props A delivery with each attempt and what the receiver said. */
function Delivery({ of: delivery, webhook, again }) {
  const redeliver = async () => {
    await call("POST", `/v1/webhook/${webhook.id}/deliveries/${delivery.id}/redeliver`);
    again();
  };
  return html`
    <li>
      <details>
        <summary><${Badge} kind=${KINDS[delivery.state] ?? "warn"}>${word("delivery", delivery.state)}<//> <${Name} of=${delivery.event} /> ${delivery.isTest && t("delivery.test")} <time datetime=${delivery.createdAt}>${time(delivery.createdAt)}</time></summary>
        ${delivery.attempts.length === 0 && html`<p class="hint">${t("delivery.unsent")}</p>`}
        <ol>${delivery.attempts.map((/** @type {any} */ each) => html`<li key=${each.at}>${time(each.at)} · ${each.status ?? clean(each.error)} · ${each.durationMs} ms${each.response && html`<pre tabindex="0">${clean(each.response)}</pre>`}</li>`)}</ol>
        <${Body} of=${delivery.body} />
        ${may("webhooks:write") && html`<${Form} send=${redeliver} label=${t("delivery.again")} quiet />`}
      </details>
    </li>
  `;
}

export const views = { webhooks: Webhooks, webhook: Webhook };
