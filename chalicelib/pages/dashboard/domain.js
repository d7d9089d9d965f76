// The domain that payment pages show for a client id: what proves it, and what the last check found.

import { html, useState } from "./vendor.js";
import { clean, t, time } from "./text.js";
import { call, may } from "./api.js";
import { Badge, Confirmed, Copy, Field, Form, problemOf } from "./components.js";

/** @param {any} props `of` is the domain as the API answers it; null if there is none. */
export function Domain({ path, client, of: domain, again }) {
  const [typed, setTyped] = useState(domain?.domain ?? "");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const set = async () => {
    await call("PUT", path, { body: { domain: typed.trim() } });
    again();
  };
  const check = async () => {
    await call("POST", `${path}/check`);
    again();
  };
  const isMine = may("client_ids:write");
  return html`
    <section class="card" aria-labelledby="domain">
      <h2 id="domain">${t("domain.title")}</h2>
      <p class="quietly">${t("domain.text")}</p>
      ${isMine && html`
        <${Form} send=${set} label=${t("domain.set")} quiet=${Boolean(domain)} onProblem=${setProblem}>
          <${Field} label=${t("domain")} value=${typed} onValue=${setTyped} placeholder="shop.example" autocapitalize="none" spellcheck=${false} problem=${problemOf(problem, "domain")} />
        <//>
      `}
      ${domain && html`
        <div role="status">
          <p><strong>${clean(domain.domain)}</strong> <${Badge} kind=${domain.status === "verified" ? "good" : "warn"}>${t(domain.status === "verified" ? "domain.verified" : "domain.unverified")}<//></p>
          <p>${domain.problem ? clean(domain.problem) : t("domain.found", { at: time(domain.verifiedAt) })}</p>
          ${domain.problem && domain.status === "verified" && html`<p class="problem">${t("domain.ends", { at: time(domain.verifiedUntil) })}</p>`}
        </div>
        <p>${t("domain.record")}</p>
        <p><${Copy} text=${domain.record.name} whole /></p>
        <p><${Copy} text=${domain.record.value} whole /></p>
        <p>${t("domain.file", { url: domain.file.url })}</p>
        ${isMine && html`<div class="actions">
          <${Form} send=${check} label=${t("domain.check")} />
          <${Confirmed} label=${t("domain.remove")} question=${t("domain.remove.question", { name: client.label })} act=${() => call("DELETE", path)} done=${again} />
        </div>`}
      `}
    </section>
  `;
}
