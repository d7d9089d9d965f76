// API keys, whose secrets are shown once, and client ids, with a warning where a public one is unlimited.

import { html, useState } from "./vendor.js";
import { clean, t, time } from "./text.js";
import { Problem, call, may } from "./api.js";
import { Link } from "./route.js";
import { Badge, Confirmed, Copy, Dialog, Empty, Field, Form, Loaded, Name, Table, Tick, Title, problemOf, useLoad } from "./parts.js";

const SCOPES = ["secure_payments", "requests", "payouts", "webhooks", "client_ids", "payee_destinations", "payers", "audit"].flatMap((each) => [`${each}:read`, `${each}:write`]);

/** @param {string} text The lines or words of a field as a list. */
const listed = (text) => text.split(/[\s,]+/).filter(Boolean);

function Keys() {
  const loaded = useLoad(() => call("GET", "/v1/api-keys"), []);
  const [isMaking, make] = useState(false);
  const add = may("api_keys:write") && html`<button type="button" class="action" onClick=${() => make(true)}>${t("key.new")}</button>`;
  return html`
    <${Title} actions=${add}>${t("nav.keys")}<//>
    <${Loaded} of=${loaded}>
      ${(/** @type {any[]} */ keys) => keys.length === 0
        ? html`<${Empty} title=${t("key.none")} text=${t("key.none.text")} />`
        : html`<${Table} caption=${t("nav.keys")} heads=${[t("label"), t("key.prefix"), t("key.scopes"), t("last.used"), t("state"), t("actions")]} rows=${keys.map((each) => ({ key: each.id, cells: [
            html`<${Name} of=${each.label} />`, html`<code>${each.prefix}…</code>`, each.scopes.length && each.scopes.length < SCOPES.length ? html`<${Name} of=${each.scopes.join(", ")} />` : t("key.all"), time(each.lastUsedAt),
            html`<${Badge} kind=${each.isActive ? "good" : "bad"}>${t(each.isActive ? "active" : "ended")}<//>`,
            each.isActive && may("api_keys:write") && html`<${Confirmed} label=${t("revoke")} question=${t("key.revoke", { name: clean(each.label) })} act=${() => call("DELETE", `/v1/api-keys/${each.id}`)} done=${loaded.again} />`,
          ] }))} />`}
    <//>
    ${isMaking && html`<${NewKey} close=${() => { make(false); loaded.again(); }} />`}
  `;
}

/** @param {any} props */
function NewKey({ close }) {
  const [label, setLabel] = useState("");
  const [scopes, setScopes] = useState(/** @type {string[]} */ ([]));
  const [ips, setIps] = useState("");
  const [expiry, setExpiry] = useState("");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const send = async () => {
    const body = { label, ...(scopes.length && { scopes }), ...(ips.trim() && { allowedIps: listed(ips) }), ...(expiry && { expiresAt: `${expiry}T23:59:59Z` }) };
    setMade(await call("POST", "/v1/api-keys", { body }));
  };
  const turn = (/** @type {string} */ scope) => (/** @type {boolean} */ isOn) => setScopes(isOn ? [...scopes, scope] : scopes.filter((each) => each !== scope));
  return html`
    <${Dialog} title=${t("key.new")} onClose=${close}>
      ${made ? html`<p class="note good">${t("secret.once")}</p><${Copy} text=${made.key} whole />` : html`
        <${Form} send=${send} label=${t("key.create")} onProblem=${setProblem}>
          <${Field} label=${t("label")} value=${label} onValue=${setLabel} problem=${problemOf(problem, "label")} />
          <${Field} label=${t("key.expires")} type="date" value=${expiry} onValue=${setExpiry} problem=${problemOf(problem, "expiresAt")} />
          <${Field} label=${t("key.ips")} hint=${t("key.ips.hint")} value=${ips} onValue=${setIps} problem=${problemOf(problem, "allowedIps")} />
          <fieldset><legend>${t("key.scopes")}</legend><p class="hint">${t("key.scopes.hint")}</p>
            <div class="ticks">${SCOPES.map((each) => html`<${Tick} key=${each} label=${html`<${Name} of=${each} />`} checked=${scopes.includes(each)} onValue=${turn(each)} />`)}</div>
          </fieldset>
        <//>
      `}
    <//>
  `;
}

function Clients() {
  const loaded = useLoad(() => call("GET", "/v1/client-ids"), []);
  const [isMaking, make] = useState(false);
  const [changed, change] = useState("");
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
            isOpen(each) ? html`<${Badge} kind="bad">${t("client.unlimited")}<//>` : t("client.limited"), html`<${Badge} kind=${each.status === "active" ? "good" : "bad"}>${t(each.status === "active" ? "active" : "ended")}<//>`,
            each.status !== "revoked" && html`<div class="actions"><${Link} view="branding" id=${each.id}>${t("nav.branding")}<//>
              ${may("client_ids:write") && html`<button type="button" class="quiet" onClick=${() => change(each.id)}>${t("client.settings")}</button><${Confirmed} label=${t("revoke")} question=${t("client.revoke", { name: clean(each.label) })} act=${() => call("DELETE", `/v1/client-ids/${each.id}`)} done=${loaded.again} />`}</div>`,
          ] }))} />`}
    <//>
    ${changed && html`<${ClientSettings} id=${changed} close=${() => { change(""); loaded.again(); }} />`}
    ${isMaking && html`<${NewClient} close=${() => { make(false); loaded.again(); }} />`}
  `;
}

/** @param {any} props */
function NewClient({ close }) {
  const [typed, setTyped] = useState({ label: "", allowedDomains: "", allowedPayees: "", allowedCurrencies: "" });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const change = (/** @type {string} */ name) => (/** @type {string} */ value) => setTyped({ ...typed, [name]: value });
  const send = async () => {
    const { label, allowedDomains, allowedPayees, allowedCurrencies } = typed;
    const limits = { ...(allowedPayees.trim() && { allowedPayees: listed(allowedPayees) }), ...(allowedCurrencies.trim() && { allowedCurrencies: listed(allowedCurrencies) }) };
    const answer = await call("POST", "/v1/client-ids", { body: { label, allowedDomains: listed(allowedDomains), ...limits } });
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
          ${typed.allowedDomains.trim() && !typed.allowedPayees.trim() && html`<p class="note bad">${t("client.warning")}</p>`}
        <//>
      `}
    <//>
  `;
}

const TEXTS = ["feePercentage", "feeAddress", "operatorWalletAddress"];
const SECONDS = ["defaultPreApprovalExpiry", "defaultAuthorizationExpiry"];
const LISTS = ["allowedPayees", "allowedCurrencies"];

/** @param {any} props What holds for links of a client id unless they say otherwise: fee, limits, and terms of commerce payments. */
function ClientSettings({ id, close }) {
  const loaded = useLoad(() => call("GET", `/v1/client-ids/${id}`), [id]);
  return html`<${Dialog} title=${t("client.settings")} onClose=${close}><${Loaded} of=${loaded}>${(/** @type {any} */ client) => html`<${ClientForm} client=${client} close=${close} />`}<//><//>`;
}

/** @param {any} props */
function ClientForm({ client, close }) {
  const [typed, setTyped] = useState(/** @type {any} */ ({ mayExecute: client.mayExecute, mayReadPayers: client.mayReadPayers, ...Object.fromEntries([...TEXTS, ...SECONDS, ...LISTS].map((name) => [name, [client[name] ?? ""].flat().join("\n")])) }));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const change = (/** @type {string} */ name) => (/** @type {any} */ value) => setTyped({ ...typed, [name]: value });
  const send = async () => {
    const value = (/** @type {string} */ name) => {
      const text = typed[name].trim();
      if (LISTS.includes(name) && client[name]?.length === 0 && !text) return []; // an empty list allows none, and no list all
      if (SECONDS.includes(name) && !/^\d*$/.test(text)) throw new Problem(400, { message: t("client.seconds"), errors: [{ field: name, message: t("client.seconds") }] });
      return text === "" ? null : SECONDS.includes(name) ? Number(text) : LISTS.includes(name) ? listed(text) : text;
    };
    const body = Object.fromEntries([...TEXTS, ...SECONDS, ...LISTS].map((name) => [name, value(name)]));
    await call("PUT", `/v1/client-ids/${client.id}`, { body: { ...body, mayExecute: typed.mayExecute, mayReadPayers: typed.mayReadPayers } });
    close();
  };
  return html`
    <p><b>${clean(client.label)}</b></p>
    <${Form} send=${send} label=${t("save")} onProblem=${setProblem}>
      ${[...TEXTS, ...SECONDS].map((name) => html`<${Field} key=${name} label=${t(`client.${name}`)} hint=${t(`client.${name}.hint`)} inputmode=${SECONDS.includes(name) ? "numeric" : undefined} value=${typed[name]} onValue=${change(name)} problem=${problemOf(problem, name)} />`)}
      ${LISTS.map((name) => html`<${Field} key=${name} is="textarea" rows="2" label=${t(`client.${name}`)} hint=${t(client[name]?.length === 0 ? `client.${name}.none` : `client.${name}.hint`)} value=${typed[name]} onValue=${change(name)} problem=${problemOf(problem, name)} />`)}
      <${Tick} label=${t("client.mayExecute")} hint=${t("client.mayExecute.hint")} checked=${typed.mayExecute} onValue=${change("mayExecute")} />
      <${Tick} label=${t("client.mayReadPayers")} hint=${t("client.mayReadPayers.hint")} checked=${typed.mayReadPayers} onValue=${change("mayReadPayers")} />
    <//>
  `;
}

export const views = { keys: Keys, clients: Clients };
