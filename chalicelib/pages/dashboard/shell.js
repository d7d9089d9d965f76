// What is around every view: who is signed in, the way to the views, and what interrupts a call.

import { html, useEffect, useState } from "./vendor.js";
import { clean, t, word } from "./text.js";
import { ANEW, BRAND, call, interruption, may, me, readMe, waiting, waitsFor } from "./api.js";
import { Link, address, route } from "./route.js";
import { Dialog, Failure, Field, Languages, Loaded, Title, useLoad } from "./components.js";

/** @typedef {{ file: string, scope?: string, group?: string, isOpen?: boolean }} View A view's file, the scope that it needs, its group in the navigation, and whether it is for everybody. */

/** @type {Record<string, View>} */
export const VIEWS = {
  home: { file: "home.js", group: "main" },
  requests: { file: "requests.js", scope: "requests:read", group: "main" },
  request: { file: "requests.js", scope: "requests:read" },
  links: { file: "requests.js", scope: "secure_payments:read", group: "main" },
  create: { file: "create.js", scope: "secure_payments:write" },
  payouts: { file: "payouts.js", scope: "payouts:read", group: "main" },
  recurring: { file: "recurring.js", scope: "payouts:read", group: "main" },
  import: { file: "import.js", scope: "secure_payments:write" },
  payments: { file: "payments.js", scope: "requests:read", group: "main" },
  mispayments: { file: "mispayments.js", scope: "webhooks:read", group: "main" },
  keys: { file: "developers.js", scope: "api_keys:read", group: "developers" },
  clients: { file: "developers.js", scope: "client_ids:read", group: "developers" },
  platforms: { file: "platforms.js", scope: "orchestrators:read", group: "developers" },
  branding: { file: "branding.js", scope: "client_ids:read" },
  snippets: { file: "snippets.js", scope: "client_ids:read", group: "developers" },
  webhooks: { file: "webhooks.js", scope: "webhooks:read", group: "developers" },
  webhook: { file: "webhooks.js", scope: "webhooks:read" },
  payees: { file: "payees.js", scope: "payee_destinations:read", group: "settings" },
  team: { file: "settings.js", scope: "members:read", group: "settings" },
  changes: { file: "changes.js", scope: "changes:read", group: "settings" },
  account: { file: "settings.js", scope: "account:read", group: "settings" },
  security: { file: "security.js", group: "settings" },
  audit: { file: "settings.js", scope: "audit:read", group: "settings" },
  status: { file: "home.js", group: "settings" },
  "sign-in": { file: "entry.js", isOpen: true },
  register: { file: "entry.js", isOpen: true },
  forgot: { file: "entry.js", isOpen: true },
  confirm: { file: "entry.js", isOpen: true },
  password: { file: "entry.js", isOpen: true },
  invitation: { file: "entry.js", isOpen: true },
};

/** @param {any} props A component of another file, once it is loaded: `name` of its `views`. */
function Later({ file, name, ...given }) {
  const loaded = useLoad(() => import(`./${file}`).catch(loadAnew), [file]);
  return html`<${Loaded} of=${loaded}>${(/** @type {any} */ module) => html`<${module.views[name]} ...${given} />`}<//>`;
}

/** A file that is missing was replaced by a deployment: the page is loaded anew, once. */
async function loadAnew() {
  const own = document.querySelector('script[type="importmap"]')?.textContent ?? "";
  const response = await fetch(location.href, { cache: "no-store" }).catch(() => null);
  if (response?.ok && !(await response.text()).includes(own)) location.reload();
  throw new Error(t("problem.away"));
}

/** The whole page. */
export function App() {
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const read = () => readMe().then(() => setProblem(null), setProblem);
  useEffect(() => {
    void read();
    const onShown = () => document.visibilityState === "visible" && me.value && !interruption.value && readMe({}).catch(() => {});
    document.addEventListener("visibilitychange", onShown);
    addEventListener("focus", onShown); // of a window beside another one
    return () => {
      document.removeEventListener("visibilitychange", onShown);
      removeEventListener("focus", onShown);
    };
  }, []);
  const { view, id, query } = route.value;
  const known = Object.hasOwn(VIEWS, view) ? VIEWS[view] : undefined;
  if (problem && me.value === undefined) return html`<main class="entry"><${Failure} problem=${problem} again=${read} /></main>`;
  if (me.value === undefined) return html`<main class="entry"><p class="loading" role="status">${t("loading")}</p></main>`;
  if (known?.isOpen) return html`<${Later} file="entry.js" name=${view} key=${view} />`;
  if (!me.value) return html`<${Later} file="entry.js" name="sign-in" then=${location.href} />`;
  if (me.value.secondFactorMissing) return html`<header class="top"><${Person} /></header><${Later} file="entry.js" name="second-factor" /><${Interruption} />`;
  return html`
    <${Frame}>
      ${!known && html`<${Refused} title=${t("unknown.title")} text=${t("unknown.text")} />`}
      ${known && !may(known.scope ?? "") && html`<${Refused} title=${t("forbidden.title")} text=${t("forbidden.text", { role: word("role", me.value.role) })} />`}
      ${known && may(known.scope ?? "") && html`<${Later} file=${known.file} name=${view} id=${id} query=${query} key=${`${view}/${id}`} />`}
    <//>
    <${Waiting} />
    <${Interruption} />
  `;
}

/** @param {any} props */
function Frame({ children }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [route.value]);
  return html`
    <a class="skip" href="#main">${t("skip")}</a>
    <header class="top">
      <button type="button" class="quiet menu" aria-expanded=${isOpen} aria-controls="nav" onClick=${() => setOpen(!isOpen)}>${t("menu")}</button>
      <span class="brand">${BRAND}</span>
      <${Person} />
    </header>
    <div class="frame">
      <nav id="nav" class=${isOpen ? "open" : ""} aria-label=${t("nav.label")}>
        ${["main", "developers", "settings"].map((group) => html`<${Group} key=${group} name=${group} />`)}
      </nav>
      <main id="main" tabindex="-1"><${StartedAnew} />${children}</main>
    </div>
  `;
}

/** @param {any} props In place of a view that there is not, or not for the role. */
const Refused = ({ title, text }) => html`<${Title}>${title}<//><p>${text}</p><p><${Link} view="home">${t("nav.home")}<//></p>`;

/** Says once that the page has started anew, as another person or account was signed in in another window. */
function StartedAnew() {
  const [isShown, show] = useState(() => sessionStorage.getItem(ANEW) !== null);
  useEffect(() => sessionStorage.removeItem(ANEW), []);
  return isShown && html`<p class="note" role="status">${t("anew")} <button type="button" class="quiet" onClick=${() => show(false)}>${t("close")}</button></p>`;
}

/** @param {any} props The views of a group that the role may see. */
function Group({ name }) {
  const shown = Object.entries(VIEWS).filter(([, each]) => each.group === name && may(each.scope ?? ""));
  const current = { request: "requests", create: "requests", import: "payouts", webhook: "webhooks", branding: "clients" };
  const active = /** @type {Record<string, string>} */ (current)[route.value.view] ?? route.value.view;
  return html`
    ${name !== "main" && html`<p class="group">${t(`nav.${name}`)}</p>`}
    <ul>
      ${shown.map(([view]) => html`
        <li key=${view}><${Link} view=${view} aria-current=${active === view ? "page" : undefined}>${t(`nav.${view}`)}<//></li>
      `)}
    </ul>
  `;
}

/** Who is signed in, for which account, and the way out. */
function Person() {
  const { accounts, id, role, email, address: wallet } = me.value;
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const turn = async (/** @type {() => Promise<any>} */ work) => {
    try {
      await work();
      location.assign(address("home"));
    } catch (thrown) {
      setProblem(thrown);
    }
  };
  const choose = (/** @type {string} */ accountId) => turn(() => call("POST", "/v1/auth/switch", { body: { accountId } }));
  const current = accounts.find((/** @type {any} */ each) => each.id === id);
  return html`
    <details class="person">
      <summary>${clean(current?.name)}</summary>
      <div class="sheet">
        <p><b>${clean(email ?? wallet)}</b><br />${word("role", role)}</p>
        ${accounts.length > 1 && html`
          <${Field} is="select" label=${t("account.choice")} value=${id} onValue=${choose}>
            ${accounts.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.id}>${clean(each.name)}</option>`)}
          <//>
        `}
        ${problem && html`<${Failure} problem=${problem} />`}
        <${Languages} />
        <button type="button" class="quiet" onClick=${theme}>${t("theme")}</button>
        <button type="button" class="quiet" onClick=${() => turn(() => call("POST", "/v1/auth/logout"))}>${t("sign.out")}</button>
      </div>
    </details>
  `;
}

/** Changes between the dark and the light theme, and keeps the choice. */
function theme() {
  const root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || preferred) === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // a browser that stores nothing asks again
  }
}

/** Signing in, or proving presence, over the view that waits for it. */
function Interruption() {
  const what = interruption.value;
  if (!what) return null;
  const name = what.kind === "session" ? "sign-in-again" : "presence";
  return html`
    <${Dialog} title=${t(`${what.kind}.title`)} onClose=${() => what.done(false)}>
      <p>${t(`${what.kind}.text`)}</p>
      <${Later} file="entry.js" name=${name} proofs=${what.proofs} done=${() => what.done(true)} />
    <//>
  `;
}

/** Says over the view, which may show a secret, that what was asked for waits. */
function Waiting() {
  const what = waiting.value;
  const close = () => void (waiting.value = null);
  useEffect(close, [route.value]);
  if (!what) return null;
  return html`
    <${Dialog} title=${t("waits.title")} onClose=${close}>
      <p>${t("waits.text")} ${waitsFor(what.pendingChange)}</p>
      ${what.result ? html`<p>${t("waits.secret")}</p>` : html`<p><${Link} view="changes">${t("nav.changes")}<//></p>`}
    <//>
  `;
}
