// Platforms: orchestrators, whose keys are shown once, and the client ids of the account that each may link.

import { html, useState } from "./vendor.js";
import { clean, t, time } from "./text.js";
import { call, may } from "./api.js";
import { readClients } from "./client_choice.js";
import { Badge, Confirmed, Copy, Dialog, Empty, Field, Form, Loaded, Name, Table, Title, problemOf, useLoad, useOnce } from "./components.js";

/** The platforms of the account, each with the client ids in use that admit it by their settings. */
async function readPlatforms() {
  const [{ orchestrators }, clients] = await Promise.all([call("GET", "/v2/orchestrators"), readClients()]);
  return orchestrators.map((/** @type {any} */ each) => ({ ...each, clients: clients.filter(({ orchestratorId }) => orchestratorId === each.orchestrator.id) }));
}

function Platforms() {
  const loaded = useLoad(readPlatforms, []);
  const [isMaking, make] = useState(false);
  const add = may("orchestrators:write") && html`<button type="button" class="action" onClick=${() => make(true)}>${t("platform.new")}</button>`;
  return html`
    <${Title} actions=${add}>${t("nav.platforms")}<//>
    <p class="hint">${t("platform.text")}</p>
    <${Loaded} of=${loaded}>
      ${(/** @type {any[]} */ platforms) => platforms.length === 0
        ? html`<${Empty} title=${t("platform.none")} text=${t("platform.none.text")} />`
        : html`<${Table} caption=${t("nav.platforms")} heads=${[t("label"), t("platform.id"), t("key.prefix"), t("platform.clients"), t("created"), t("state"), t("actions")]} rows=${platforms.map((each) => row(each, loaded.again))} />`}
    <//>
    ${isMaking && html`<${NewPlatform} close=${() => { make(false); loaded.again(); }} />`}
  `;
}

/** @param {any} platform @param {() => void} again */
function row({ orchestrator, key, clients }, again) {
  const revoke = () => call("DELETE", `/v2/orchestrators/${orchestrator.id}`);
  return { key: orchestrator.id, cells: [
    html`<${Name} of=${orchestrator.name} /><p class="hint"><${Name} of=${orchestrator.supportEmail} /></p>`, html`<${Copy} text=${orchestrator.id} />`, html`<code>${clean(key.keyPrefix)}…</code>`,
    clients.length ? html`<${Name} of=${clients.map((/** @type {any} */ each) => each.label).join(", ")} />` : t("none"), time(orchestrator.createdAt),
    html`<${Badge} kind=${key.status === "active" ? "good" : "bad"}>${t(key.status === "active" ? "active" : "ended")}<//>`,
    may("orchestrators:write") && html`<${Confirmed} label=${t("revoke")} question=${t("platform.revoke", { name: orchestrator.name })} act=${revoke} done=${again} />`,
  ] };
}

/** @param {any} props */
function NewPlatform({ close }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const { post } = useOnce();
  const send = async () => setMade(await post("/v2/orchestrators", { orchestratorName: name, orchestratorContactEmail: email.trim() }));
  return html`
    <${Dialog} title=${t("platform.new")} onClose=${close}>
      ${made ? html`
        <p class="note good">${t("secret.once")}</p><${Copy} text=${made.rawKey} whole />
        <p>${t("platform.admit")}</p><${Copy} text=${made.orchestrator.id} whole />
      ` : html`
        <${Form} send=${send} label=${t("platform.create")} onProblem=${setProblem}>
          <${Field} label=${t("label")} hint=${t("platform.name.hint")} value=${name} onValue=${setName} problem=${problemOf(problem, "orchestratorName")} />
          <${Field} label=${t("platform.contact")} type="email" value=${email} onValue=${setEmail} problem=${problemOf(problem, "orchestratorContactEmail") ?? problemOf(problem, "email")} />
        <//>
      `}
    <//>
  `;
}

export const views = { platforms: Platforms };
