// How who is signed in signs in: addresses and wallets, passkeys, and open sessions.

import { html, useState } from "./vendor.js";
import { t, time } from "./text.js";
import { call, me, readMe } from "./api.js";
import { Badge, Confirmed, Dialog, Empty, Field, Form, Loaded, Name, Table, Title, problemOf, useLoad } from "./components.js";
import { addPasskey, discoverWallets, hasPasskeys, signByWallet } from "./proofs.js";

/** The languages of e-mails. */
const MAIL_LANGUAGES = ["ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "pt", "ru", "zh"];

const Security = () => html`<${Title}>${t("nav.security")}<//><${Identities} /><${Passkeys} /><${Mails} /><${Sessions} />`;

function Identities() {
  const { identities } = me.value;
  const [wallets, setWallets] = useState(/** @type {any[]} */ ([]));
  const [isLooking, look] = useState(false);
  const add = (/** @type {any} */ wallet) => async () => {
    await signByWallet(wallet, "/v1/auth/identities/challenge", "/v1/auth/identities");
    await readMe();
  };
  const find = async () => {
    look(true);
    discoverWallets(setWallets);
  };
  return html`
    <section class="card"><h2>${t("identities.title")}</h2>
      <${Table} caption=${t("identities.title")} heads=${[t("name"), t("kind"), t("actions")]} rows=${identities.map((/** @type {any} */ each) => ({ key: each.id, cells: [
        html`<${Name} of=${each.name} />`, t(`identity.${each.type}`),
        identities.length > 1 && html`<${Confirmed} label=${t("remove")} question=${t("identity.remove", { name: each.name })} act=${() => call("DELETE", `/v1/auth/identities/${each.id}`)} done=${readMe} />`,
      ] }))} />
      ${isLooking
        ? wallets.map((each) => html`<${Form} key=${each.id} send=${add(each)} label=${t("identity.add.with", { name: each.name })} quiet />`)
        : html`<${Form} send=${find} label=${t("identity.add")} quiet />`}
      ${isLooking && wallets.length === 0 && html`<p class="hint">${t("wallet.none")}</p>`}
      <${NewAddress} />
    </section>
  `;
}

/** The language of the e-mails to the addresses of who is signed in, and why nothing is sent to one. */
function Mails() {
  const loaded = useLoad(() => call("GET", "/v1/auth/email"), []);
  return html`<${Loaded} of=${loaded}>${(/** @type {any} */ { addresses, sendsEmail }) => addresses.length > 0 && html`
    <section class="card"><h2>${t("email.title")}</h2>
      ${!sendsEmail && html`<p class="hint">${t("notices.none")}</p>`}
      ${addresses.filter((/** @type {any} */ { stopped }) => stopped).map((/** @type {any} */ each) => html`<p class="problem" key=${each.email}><${Name} of=${t(`email.${each.stopped.reason}`, { email: each.email, time: time(each.stopped.since) })} /></p>`)}
      <${MailLanguage} key=${addresses[0].language} language=${addresses[0].language} />
    </section>
  `}<//>`;
}

/** @param {any} props */
function MailLanguage({ language: before }) {
  const [chosen, choose] = useState(before);
  const send = () => call("PUT", "/v1/auth/email", { body: { language: chosen } });
  return html`
    <${Form} send=${send} label=${t("save")} quiet saves>
      <${Field} is="select" label=${t("email.language")} hint=${t("email.language.hint")} value=${chosen} onValue=${choose}>
        ${MAIL_LANGUAGES.map((each) => html`<option key=${each} value=${each} lang=${each}>${new Intl.DisplayNames([each], { type: "language" }).of(each)}</option>`)}
      <//>
    <//>
  `;
}

/** An address signs in once the link is opened that is sent to it. */
function NewAddress() {
  const [email, setEmail] = useState("");
  const [said, say] = useState("");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const send = async () => {
    say("");
    const { emailSent } = await call("POST", "/v1/auth/email/confirmation", { body: { email: email.trim() } });
    say(t(emailSent ? "identity.sent" : "identity.unsent", { email: email.trim() }));
  };
  return html`
    <${Form} send=${send} label=${t("identity.add.address")} onProblem=${setProblem} quiet>
      <${Field} label=${t("email")} type="email" autocomplete="email" value=${email} onValue=${setEmail} problem=${problemOf(problem, "email")} />
    <//>
    <p role="status">${said}</p>
  `;
}

/** @param {any} props Gives a passkey another name. */
function Rename({ passkey, done }) {
  const [isOpen, open] = useState(false);
  const [name, setName] = useState(passkey.name);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const send = async () => {
    await call("PUT", `/v1/passkeys/${passkey.id}`, { body: { name: name.trim() } });
    open(false);
    done();
  };
  return html`
    <button type="button" class="quiet" onClick=${() => open(true)}>${t("passkey.rename")}</button>
    ${isOpen && html`
      <${Dialog} title=${t("passkey.rename")} onClose=${() => open(false)}>
        <${Form} send=${send} label=${t("save")} onProblem=${setProblem}><${Field} label=${t("passkey.label")} value=${name} onValue=${setName} problem=${problemOf(problem, "name")} /><//>
      <//>
    `}
  `;
}

function Passkeys() {
  const loaded = useLoad(() => call("GET", "/v1/passkeys"), []);
  const [name, setName] = useState("");
  const add = async () => {
    await addPasskey(name.trim() || t("passkey.name"));
    setName("");
    loaded.again();
  };
  return html`
    <section class="card"><h2>${t("passkey.title")}</h2>
      <p class="hint">${t("passkey.text")}</p>
      <${Loaded} of=${loaded}>
        ${(/** @type {any[]} */ passkeys) => passkeys.length === 0
          ? html`<${Empty} title=${t("passkey.none")} text=${t("passkey.none.text")} />`
          : html`<${Table} caption=${t("passkey.title")} heads=${[t("name"), t("created"), t("last.used"), t("actions")]} rows=${passkeys.map((each) => ({ key: each.id, cells: [
              html`<${Name} of=${each.name} />`, time(each.createdAt), time(each.lastUsedAt),
              html`<div class="actions"><${Rename} passkey=${each} done=${loaded.again} /><${Confirmed} label=${t("remove")} question=${t("passkey.remove", { name: each.name })} act=${() => call("DELETE", `/v1/passkeys/${each.id}`)} done=${loaded.again} /></div>`,
            ] }))} />`}
      <//>
      ${hasPasskeys() && html`<${Form} send=${add} label=${t("passkey.add")} quiet><${Field} label=${t("passkey.label")} value=${name} onValue=${setName} /><//>`}
    </section>
  `;
}

function Sessions() {
  const loaded = useLoad(() => call("GET", "/v1/auth/sessions"), []);
  const endAll = async () => {
    const open = await call("GET", "/v1/auth/sessions"); // those of the list may have ended
    const isOver = (/** @type {any} */ problem) => { if (problem.status !== 404) throw problem; };
    for (const each of open) if (!each.current) await call("DELETE", `/v1/auth/sessions/${each.id}`).catch(isOver);
    await call("POST", "/v1/auth/logout");
    await readMe();
  };
  return html`
    <section class="card"><h2>${t("sessions.title")}</h2>
      <${Loaded} of=${loaded}>
        ${(/** @type {any[]} */ sessions) => html`<${Table} caption=${t("sessions.title")} heads=${[t("sessions.begun"), t("last.used"), t("expires"), t("actions")]} rows=${sessions.map((each) => ({ key: each.id, cells: [
          time(each.createdAt), time(each.lastSeenAt), time(each.expiresAt),
          each.current ? html`<${Badge} kind="good">${t("sessions.this")}<//>` : html`<${Confirmed} label=${t("sessions.end")} question=${t("sessions.end.question", { time: time(each.createdAt) })} act=${() => call("DELETE", `/v1/auth/sessions/${each.id}`)} done=${loaded.again} />`,
        ] }))} />`}
      <//>
      <${Confirmed} label=${t("sessions.all")} question=${t("sessions.all.question")} act=${endAll} />
    </section>
  `;
}

export const views = { security: Security };
