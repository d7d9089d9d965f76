// API keys, whose secrets are shown once, and client ids, with a warning where a public one is unlimited.

import { html, useState } from "./vendor.js";
import { clean, t, time } from "./text.js";
import { Problem, call, may } from "./api.js";
import { Link } from "./route.js";
import { Badge, Confirmed, Copy, Dialog, Empty, Field, Form, Loaded, Name, Table, Tick, Title, problemOf, useLoad, useOnce } from "./components.js";

const SCOPES = ["secure_payments", "requests", "payouts", "webhooks", "client_ids", "payee_destinations", "payers", "audit"].flatMap((each) => [`${each}:read`, `${each}:write`]);

/** @param {string} text The lines or words of a field as a list. */
const listed = (text) => text.split(/[\s,]+/).filter(Boolean);

/** @param {Record<string, any>} before @param {Record<string, any>} after The fields of `after` that differ; null if none does. */
function differences(before, after) {
  const found = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
  return found.length ? Object.fromEntries(found) : null;
}

function Keys() {
  const loaded = useLoad(() => call("GET", "/v1/api-keys"), []);
  const [isMaking, make] = useState(false);
  const [changed, change] = useState(/** @type {any} */ (null));
  const add = may("api_keys:write") && html`<button type="button" class="action" onClick=${() => make(true)}>${t("key.new")}</button>`;
  return html`
    <${Title} actions=${add}>${t("nav.keys")}<//>
    <${Loaded} of=${loaded}>
      ${(/** @type {any[]} */ keys) => keys.length === 0
        ? html`<${Empty} title=${t("key.none")} text=${t("key.none.text")} />`
        : html`<${Table} caption=${t("nav.keys")} heads=${[t("label"), t("key.prefix"), t("key.scopes"), t("last.used"), t("state"), t("actions")]} rows=${keys.map((each) => ({ key: each.id, cells: [
            html`<${Name} of=${each.label} />`, html`<code>${clean(each.prefix)}…</code>`, isLimited(each) ? html`<ul class="scopes">${byResource(each.scopes).map((line) => html`<li key=${line}><${Name} of=${line} /></li>`)}</ul>` : t("key.all"), time(each.lastUsedAt),
            html`<${Badge} kind=${each.isActive ? "good" : "bad"}>${t(each.isActive ? "active" : "off")}<//>`,
            may("api_keys:write") && html`<div class="actions"><button type="button" class="quiet" onClick=${() => change(each)}>${t("change")}</button>
              <${Confirmed} label=${t("revoke")} question=${t("key.revoke", { name: each.label })} act=${() => call("DELETE", `/v1/api-keys/${each.id}`)} done=${loaded.again} /></div>`,
          ] }))} />`}
    <//>
    ${changed && html`<${ChangedKey} of=${changed} close=${() => { change(null); loaded.again(); }} />`}
    ${isMaking && html`<${NewKey} close=${() => { make(false); loaded.again(); }} />`}
  `;
}

/** @param {any} key Whether it may do less than everything. */
const isLimited = (key) => key.scopes.length > 0 && key.scopes.length < SCOPES.length;

/** @param {string[]} scopes Each resource with its rights, such as "requests: read, write". */
function byResource(scopes) {
  const pairs = scopes.map((each) => each.split(":"));
  return [...new Set(pairs.map(([resource]) => resource))].map((name) => `${name}: ${pairs.filter(([resource]) => resource === name).map(([, right]) => right).join(", ")}`);
}

/** @param {any} key What the form begins with, for a key or for a new one. */
const draftOf = (key) => ({
  label: key?.label ?? "", scopes: key && isLimited(key) ? key.scopes : [], ips: key?.allowedIps.join(", ") ?? "", expiry: key?.expiresAt?.slice(0, 10) ?? "",
  ...(key && { isActive: key.isActive, usesPaymentIntents: key.usesPaymentIntents }), ...(!key && { test: false }),
});

/** @param {any} draft @returns {Record<string, any>} The same as the API has it. */
const bodyOf = ({ scopes, ips, expiry, ...others }) => ({
  ...others, scopes: scopes.length ? scopes : null, allowedIps: listed(ips), expiresAt: expiry ? `${expiry}T23:59:59Z` : null,
});

/** @param {any} props */
function NewKey({ close }) {
  const [made, setMade] = useState(/** @type {any} */ (null));
  const { post } = useOnce();
  const send = async (/** @type {any} */ draft) => setMade(await post("/v1/api-keys", bodyOf(draft)));
  return html`
    <${Dialog} title=${t("key.new")} onClose=${close}>
      ${made ? html`<p class="note good">${t("secret.once")}</p><${Copy} text=${made.key} whole />` : html`<${KeyForm} of=${null} label=${t("key.create")} send=${send} />`}
    <//>
  `;
}

/** @param {any} props */
function ChangedKey({ of: key, close }) {
  const send = async (/** @type {any} */ draft) => {
    const body = differences(bodyOf(draftOf(key)), bodyOf(draft));
    if (body) await call("PUT", `/v1/api-keys/${key.id}`, { body });
    close();
  };
  return html`<${Dialog} title=${t("key.change", { name: key.label })} onClose=${close}><${KeyForm} of=${key} label=${t("save")} send=${send} /><//>`;
}

/** @param {any} props */
function KeyForm({ of: key, label, send }) {
  const [draft, setDraft] = useState(() => draftOf(key));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const change = (/** @type {string} */ name) => (/** @type {any} */ value) => setDraft({ ...draft, [name]: value });
  const turn = (/** @type {string} */ scope) => (/** @type {boolean} */ isOn) => change("scopes")(isOn ? [...draft.scopes, scope] : draft.scopes.filter((/** @type {string} */ each) => each !== scope));
  return html`
    <${Form} send=${() => send(draft)} label=${label} onProblem=${setProblem}>
      <${Field} label=${t("label")} value=${draft.label} onValue=${change("label")} problem=${problemOf(problem, "label")} />
      <${Field} label=${t("key.expires")} type="date" value=${draft.expiry} onValue=${change("expiry")} problem=${problemOf(problem, "expiresAt")} />
      <${Field} label=${t("key.ips")} hint=${t("key.ips.hint")} value=${draft.ips} onValue=${change("ips")} problem=${problemOf(problem, "allowedIps")} />
      <fieldset><legend>${t("key.scopes")}</legend><p class="hint">${t("key.scopes.hint")}</p>
        <div class="ticks">${SCOPES.map((each) => html`<${Tick} key=${each} label=${html`<${Name} of=${each} />`} checked=${draft.scopes.includes(each)} onValue=${turn(each)} />`)}</div>
      </fieldset>
      ${!key && html`<${Tick} label=${t("key.test")} checked=${draft.test} onValue=${change("test")} />`}
      ${key && html`
        <${Tick} label=${t("client.usesPaymentIntents")} hint=${t("client.usesPaymentIntents.hint")} checked=${draft.usesPaymentIntents} onValue=${change("usesPaymentIntents")} />
        <${Tick} label=${t("client.isActive")} hint=${t("key.off.hint")} checked=${draft.isActive} onValue=${change("isActive")} />
      `}
    <//>
  `;
}

function Clients() {
  const loaded = useLoad(() => call("GET", "/v1/client-ids"), []);
  const [isMaking, make] = useState(false);
  const [changed, change] = useState(/** @type {any} */ (null));
  const add = may("client_ids:write") && html`<button type="button" class="action" onClick=${() => make(true)}>${t("client.new")}</button>`;
  const isOpen = (/** @type {any} */ each) => each.allowedDomains.length > 0 && each.allowedPayees === null && !each.payeeDestinationId && each.status === "active";
  return html`
    <${Title} actions=${add}>${t("nav.clients")}<//>
    <p class="hint">${t("client.text")}</p>
    <${Loaded} of=${loaded}>
      ${(/** @type {any[]} */ clients) => clients.length === 0
        ? html`<${Empty} title=${t("client.none")} text=${t("client.none.text")} />`
        : html`<${Table} caption=${t("nav.clients")} heads=${[t("label"), t("client.id"), t("client.domains"), t("client.limits"), t("state"), t("actions")]} rows=${clients.map((each) => ({ key: each.id, cells: [
            html`<${Name} of=${each.label} />`, html`<${Copy} text=${each.clientId} />`, html`<${Name} of=${each.allowedDomains.join(", ") || t("client.servers")} />`,
            isOpen(each) ? html`<${Badge} kind="bad">${t("client.unlimited")}<//>` : t("client.limited"), html`<${Badge} kind=${each.status === "active" ? "good" : "bad"}>${t({ active: "active", inactive: "off" }[/** @type {string} */ (each.status)] ?? "ended")}<//>`,
            each.status !== "revoked" && html`<div class="actions"><${Link} view="branding" id=${each.id}>${t("nav.branding")}<//>
              ${may("client_ids:write") && html`<button type="button" class="quiet" onClick=${() => change(each)}>${t("client.settings")}</button><${Confirmed} label=${t("revoke")} question=${t("client.revoke", { name: each.label })} act=${() => call("DELETE", `/v1/client-ids/${each.id}`)} done=${loaded.again} />`}</div>`,
          ] }))} />`}
    <//>
    ${changed && html`<${ClientSettings} id=${changed.id} title=${t("key.change", { name: changed.label })} close=${() => { change(null); loaded.again(); }} />`}
    ${isMaking && html`<${NewClient} close=${() => { make(false); loaded.again(); }} />`}
  `;
}

/** @param {any} props */
function NewClient({ close }) {
  const [typed, setTyped] = useState({ label: "", allowedDomains: "", allowedPayees: "", allowedCurrencies: "", test: false });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const { post } = useOnce();
  const change = (/** @type {string} */ name) => (/** @type {any} */ value) => setTyped({ ...typed, [name]: value });
  const send = async () => {
    const { label, allowedDomains, allowedPayees, allowedCurrencies, test } = typed;
    const limits = { ...(allowedPayees.trim() && { allowedPayees: listed(allowedPayees) }), ...(allowedCurrencies.trim() && { allowedCurrencies: listed(allowedCurrencies) }) };
    const answer = await post("/v1/client-ids", { label, allowedDomains: listed(allowedDomains), ...limits, test });
    answer.clientId ? setMade(answer) : close();
  };
  return html`
    <${Dialog} title=${t("client.new")} onClose=${close}>
      ${made ? html`<p class="note good">${t("client.made")}</p><${Copy} text=${made.clientId} whole />` : html`
        <${Form} send=${send} label=${t("client.create")} onProblem=${setProblem}>
          <${Field} label=${t("label")} value=${typed.label} onValue=${change("label")} problem=${problemOf(problem, "label")} />
          ${["allowedDomains", "allowedPayees", "allowedCurrencies"].map((name) => html`
            <${Field} key=${name} is="textarea" rows="2" label=${t(`client.${name}`)} hint=${t(`client.${name}.hint`)} value=${/** @type {any} */ (typed)[name]} onValue=${change(name)} problem=${problemOf(problem, name)} />
          `)}
          <${Tick} label=${t("key.test")} checked=${typed.test} onValue=${change("test")} />
          ${typed.allowedDomains.trim() && !typed.allowedPayees.trim() && html`<p class="note bad">${t("client.warning")}</p>`}
        <//>
      `}
    <//>
  `;
}

const TEXTS = ["feePercentage", "feeAddress", "operatorWalletAddress", "orchestratorId"];
const SECONDS = ["defaultPreApprovalExpiry", "defaultAuthorizationExpiry"];
const LISTS = ["allowedDomains", "allowedPayees", "allowedCurrencies"];
const TICKS = ["mayExecute", "mayReadPayers", "usesPaymentIntents"];

/** @param {any} props What a client id is, and what holds for its links unless they say otherwise: fee, limits, and terms of commerce payments. */
function ClientSettings({ id, title, close }) {
  const loaded = useLoad(() => call("GET", `/v1/client-ids/${id}`), [id]);
  return html`<${Dialog} title=${title} onClose=${close}><${Loaded} of=${loaded}>${(/** @type {any} */ client) => html`<${ClientForm} client=${client} close=${close} />`}<//><//>`;
}

/** @param {any} client The fields of its form, as they are typed. */
const typedOf = (client) => ({
  isActive: client.status === "active",
  ...Object.fromEntries(TICKS.map((name) => [name, client[name]])),
  ...Object.fromEntries(["label", "payeeDestinationId", ...TEXTS, ...SECONDS, ...LISTS].map((name) => [name, [client[name] ?? ""].flat().join("\n")])),
});

/** @param {any} client @param {any} typed @returns {Record<string, any>} The same as the API has it. Throws Problem. */
function settingsOf(client, { isActive, ...typed }) {
  const value = (/** @type {string} */ name) => {
    if (TICKS.includes(name)) return typed[name];
    const text = typed[name].trim();
    if (LISTS.includes(name) && !text && (name === "allowedDomains" || client[name]?.length === 0)) return []; // an empty list allows none, and no list all
    if (SECONDS.includes(name) && !/^\d*$/.test(text)) throw new Problem(400, { message: t("client.seconds"), errors: [{ field: name, message: t("client.seconds") }] });
    return name === "label" ? text : text === "" ? null : SECONDS.includes(name) ? Number(text) : LISTS.includes(name) ? listed(text) : text;
  };
  return { status: isActive ? "active" : "inactive", ...Object.fromEntries(Object.keys(typed).map((name) => [name, value(name)])) };
}

/** @param {any} props Only what was changed is sent. */
function ClientForm({ client, close }) {
  const [typed, setTyped] = useState(/** @type {any} */ (typedOf(client)));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const change = (/** @type {string} */ name) => (/** @type {any} */ value) => setTyped({ ...typed, [name]: value });
  const send = async () => {
    const body = differences(settingsOf(client, typedOf(client)), settingsOf(client, typed));
    if (body) await call("PUT", `/v1/client-ids/${client.id}`, { body });
    close();
  };
  const field = (/** @type {string} */ name) => ({ key: name, value: typed[name], onValue: change(name), problem: problemOf(problem, name) });
  const isOpen = typed.allowedDomains.trim() && !typed.allowedPayees.trim() && client.allowedPayees?.length !== 0 && !typed.payeeDestinationId.trim();
  return html`
    <${Form} send=${send} label=${t("save")} onProblem=${setProblem}>
      <${Field} label=${t("label")} ...${field("label")} />
      ${LISTS.map((name) => html`<${Field} is="textarea" rows="2" label=${t(`client.${name}`)} hint=${t(name !== "allowedDomains" && client[name]?.length === 0 ? `client.${name}.none` : `client.${name}.hint`)} ...${field(name)} />`)}
      <${Field} label=${t("client.payeeDestinationId")} hint=${t("client.payeeDestinationId.hint")} ...${field("payeeDestinationId")} />
      ${isOpen && html`<p class="note bad">${t("client.warning")}</p>`}
      ${[...TEXTS, ...SECONDS].map((name) => html`<${Field} label=${t(`client.${name}`)} hint=${t(`client.${name}.hint`)} inputmode=${SECONDS.includes(name) ? "numeric" : undefined} ...${field(name)} />`)}
      ${[...TICKS, "isActive"].map((name) => html`<${Tick} key=${name} label=${t(`client.${name}`)} hint=${t(`client.${name}.hint`)} checked=${typed[name]} onValue=${change(name)} />`)}
    <//>
  `;
}

export const views = { keys: Keys, clients: Clients };
