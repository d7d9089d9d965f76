// Signing in, registering, and the pages that links of mails lead to.

import { html, useEffect, useState } from "./vendor.js";
import { t, time, word } from "./text.js";
import { BRAND, Problem, call, me, readMe } from "./api.js";
import { Link, address, go, route } from "./route.js";
import { Failure, Field, Form, Languages, Title, problemOf } from "./components.js";
import { addPasskey, discoverWallets, hasPasskeys, provePasskey, signByWallet } from "./proofs.js";

/** @param {any} props The frame of a view for who is not signed in. */
const Entry = ({ title, children }) => html`
  <main class="entry">
    <p class="brand">${BRAND}</p>
    <section class="card"><${Title}>${title}<//>${children}</section>
    <div class="language"><${Languages} /></div>
  </main>
`;

/** @param {string | undefined} then Where signing in leads to: a URL of the dashboard, else home. */
async function enter(then) {
  await readMe();
  const isOwn = then?.startsWith(`${location.origin}${address("home")}`) && !/\/(sign-in|register|confirm|password|forgot)\b/.test(then);
  go(isOwn && then ? then : address("home"), true);
}

/** @param {any} props E-mail address and password, passkey, or wallet; `done` is called once one has signed in. */
function Ways({ done, email: given = "" }) {
  const [email, setEmail] = useState(given);
  const [password, setPassword] = useState("");
  const logIn = async () => {
    await call("POST", "/v1/auth/login", { body: { email: email.trim(), password }, alone: true });
    await done();
  };
  return html`
    <${Form} send=${logIn} label=${t("sign.in")}>
      <${Field} label=${t("email")} type="email" autocomplete="username webauthn" required value=${email} onValue=${setEmail} />
      <${Field} label=${t("password")} type="password" autocomplete="current-password" required value=${password} onValue=${setPassword} />
    <//>
    <p class="or"><span>${t("or")}</span></p>
    <${Others} done=${done} passkey="/v1/auth/passkey" wallet=${["/v1/auth/wallet/challenge", "/v1/auth/wallet/verify"]} />
  `;
}

/** @param {any} props Passkey and the wallets of this browser, for a purpose that is named by the operations' paths. */
function Others({ done, passkey, wallet }) {
  const [wallets, setWallets] = useState(/** @type {any[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [isBusy, setBusy] = useState(false);
  useEffect(() => (wallet ? discoverWallets(setWallets) : undefined), []);
  const by = (/** @type {() => Promise<any>} */ work) => async () => {
    if (isBusy) return;
    setBusy(true);
    setProblem(null);
    try {
      await work();
      await done();
    } catch (thrown) {
      setProblem(thrown);
    }
    setBusy(false);
  };
  return html`
    <div class="ways">
      ${passkey && hasPasskeys() && html`
        <button type="button" class="way" aria-disabled=${isBusy} onClick=${by(() => provePasskey(passkey))}>${t("by.passkey")}</button>
      `}
      ${wallets.map((each) => html`
        <button type="button" class="way" key=${each.id} aria-disabled=${isBusy} onClick=${by(() => signByWallet(each, wallet[0], wallet[1]))}>
          ${t("by.wallet", { name: each.name })}
        </button>
      `)}
      ${wallet && wallets.length === 0 && html`<p class="hint">${t("wallet.none")}</p>`}
      ${problem && html`<${Failure} problem=${problem} />`}
    </div>
  `;
}

/** @param {any} props */
const SignIn = ({ then }) => html`
  <${Entry} title=${t("sign.in")}>
    <${Ways} done=${() => enter(then)} />
    <p class="links"><${Link} view="register">${t("register")}<//><${Link} view="forgot">${t("forgot")}<//></p>
  <//>
`;

/** @param {any} props Over a view whose session has ended: the same person goes on, somebody else begins anew. */
const SignInAgain = ({ done }) => html`<${Ways} email=${me.value?.email} done=${async () => (await readMe(), done())} />`;

/** @param {any} props A proof of presence, of those that the person can give. */
function Presence({ proofs, done }) {
  const [password, setPassword] = useState("");
  const prove = async () => {
    await call("POST", "/v1/auth/proofs/password", { body: { password }, alone: true });
    done();
  };
  const wallet = proofs.includes("wallet") && ["/v1/auth/proofs/wallet/challenge", "/v1/auth/proofs/wallet"];
  return html`
    ${proofs.includes("password") && html`
      <${Form} send=${prove} label=${t("confirm")}>
        <${Field} label=${t("password")} type="password" autocomplete="current-password" value=${password} onValue=${setPassword} />
      <//>
    `}
    <${Others} done=${done} passkey=${proofs.includes("passkey") && "/v1/auth/proofs/passkey"} wallet=${wallet} />
  `;
}

/** A session with a password alone, where the account demands more: a passkey or a wallet completes it. */
function SecondFactor() {
  const { proofs } = me.value;
  const add = async () => {
    await addPasskey(t("passkey.name"));
    await readMe();
  };
  const wallet = proofs.includes("wallet") && ["/v1/auth/proofs/wallet/challenge", "/v1/auth/proofs/wallet"];
  return html`
    <${Entry} title=${t("second.title")}>
      <p>${t("second.text")}</p>
      <${Others} done=${readMe} passkey=${proofs.includes("passkey") && "/v1/auth/proofs/passkey"} wallet=${wallet} />
      ${!proofs.includes("passkey") && html`<${Form} send=${add} label=${t("passkey.add")} />`}
    <//>
  `;
}

/** @param {any} props A new password, entered once and shown on request; `problem` is what the service says of it. */
function NewPassword({ value, onValue, problem }) {
  const [isShown, show] = useState(false);
  return html`
    <${Field} label=${t("password.new")} hint=${t("password.hint")} type=${isShown ? "text" : "password"} autocomplete="new-password" value=${value} onValue=${onValue} problem=${problem} />
    <label class="tick"><input type="checkbox" checked=${isShown} onChange=${() => show(!isShown)} /><span>${t("password.show")}</span></label>
  `;
}

/** @param {string} password Throws unless it is as long as the API wants it, before a link is used up. */
function checkPassword(password) {
  if (password.length < 8 || password.length > 100) throw new Problem(400, { message: t("password.hint") });
}

function Register() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [isSent, setSent] = useState(false);
  const register = async () => {
    checkPassword(password);
    const body = { email: email.trim(), password };
    const { emailSent } = await call("POST", "/v1/auth/register", { body, alone: true });
    if (emailSent) return setSent(true);
    await call("POST", "/v1/auth/login", { body, alone: true });
    await enter(undefined);
  };
  if (isSent) return html`<${Entry} title=${t("sent.title")}><p>${t("sent.confirm", { email })}</p><p class="hint">${t("sent.hint")}</p><//>`;
  return html`
    <${Entry} title=${t("register")}>
      <${Form} send=${register} label=${t("register")} onProblem=${setProblem}>
        <${Field} label=${t("email")} type="email" autocomplete="username" value=${email} onValue=${setEmail} problem=${problemOf(problem, "email")} />
        <${NewPassword} value=${password} onValue=${setPassword} problem=${problemOf(problem, "password")} />
      <//>
      <p class="hint">${t("register.wallet")}</p>
      <p class="links"><${Link} view="sign-in">${t("sign.in")}<//></p>
    <//>
  `;
}

function Forgot() {
  const [email, setEmail] = useState("");
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const send = async () => setAnswer(await call("POST", "/v1/auth/password/forgot", { body: { email: email.trim() }, alone: true }));
  if (answer) {
    const text = answer.emailSent ? t("sent.reset", { email }) : t("sent.never");
    return html`<${Entry} title=${t(answer.emailSent ? "sent.title" : "forgot")}><p>${text}</p><p class="links"><${Link} view="sign-in">${t("sign.in")}<//></p><//>`;
  }
  return html`
    <${Entry} title=${t("forgot")}>
      <p>${t("forgot.text")}</p>
      <${Form} send=${send} label=${t("forgot.send")}>
        <${Field} label=${t("email")} type="email" autocomplete="username" value=${email} onValue=${setEmail} />
      <//>
      <p class="links"><${Link} view="sign-in">${t("sign.in")}<//></p>
    <//>
  `;
}

/** The page of a link that confirms an address. Opening it uses nothing up: programs that look through mail open links too. */
function Confirm() {
  const [email, setEmail] = useState("");
  const token = route.value.hash;
  const confirm = async () => setEmail((await call("POST", "/v1/auth/email/confirm", { body: { token }, alone: true })).email);
  if (email) return html`<${Entry} title=${t("confirm.done")}><p>${t("confirm.next", { email })}</p><${Ways} email=${email} done=${() => enter(undefined)} /><//>`;
  return html`
    <${Entry} title=${t("confirm.title")}>
      ${token ? html`<p>${t("confirm.text")}</p><${Form} send=${confirm} label=${t("confirm.button")} />` : html`<p>${t("link.whole")}</p>`}
    <//>
  `;
}

/** The page of a link that sets a new password. */
function Reset() {
  const [password, setPassword] = useState("");
  const [isDone, setDone] = useState(false);
  const token = route.value.hash;
  const reset = async () => {
    checkPassword(password);
    await call("POST", "/v1/auth/password/reset", { body: { token, password }, alone: true });
    setDone(true);
  };
  if (isDone) return html`<${Entry} title=${t("reset.done")}><p>${t("reset.next")}</p><${Ways} done=${() => enter(undefined)} /><//>`;
  return html`
    <${Entry} title=${t("reset.title")}>
      ${token ? html`<${Form} send=${reset} label=${t("reset.button")}><${NewPassword} value=${password} onValue=${setPassword} /><//>` : html`<p>${t("link.whole")}</p>`}
    <//>
  `;
}

/** The page of an invitation: who is signed in accepts it, who has an account signs in, somebody new registers. */
function Invitation() {
  const secret = route.value.hash;
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (secret) call("POST", "/v1/auth/invitations/look-up", { body: { secret }, alone: true }).then(setFound, setProblem);
  }, [secret]);
  return html`
    <${Entry} title=${t("invitation.title")}>
      ${!secret && html`<p>${t("link.whole")}</p>`}
      ${problem && html`<${Failure} problem=${problem} />`}
      ${secret && !found && !problem && html`<p class="loading" role="status">${t("loading")}</p>`}
      ${found && html`
        <p>${t("invitation.text", { account: found.accountName, role: word("role", found.role), name: found.name })}</p>
        <p class="hint">${t("invitation.until", { time: time(found.expiresAt) })}</p>
        <${Joining} found=${found} secret=${secret} />
      `}
    <//>
  `;
}

/** @param {any} props */
function Joining({ found, secret }) {
  const [isNew, setNew] = useState(false);
  const [password, setPassword] = useState("");
  const [isSent, setSent] = useState(false);
  const accept = async () => {
    const { accountId } = await call("POST", "/v1/auth/invitations/accept", { body: { secret }, alone: true });
    await call("POST", "/v1/auth/switch", { body: { accountId }, alone: true });
    location.assign(address("home"));
  };
  const register = async () => {
    checkPassword(password);
    const { emailSent } = await call("POST", "/v1/auth/invitations/register", { body: { secret, password }, alone: true });
    if (emailSent) return setSent(true);
    await call("POST", "/v1/auth/login", { body: { email: found.name, password }, alone: true });
    location.assign(address("home"));
  };
  if (isSent) return html`<p>${t("sent.confirm", { email: found.name })}</p>`;
  if (me.value) return html`<p>${t("invitation.as", { name: me.value.email ?? me.value.address })}</p><${Form} send=${accept} label=${t("invitation.accept")} />`;
  if (isNew) return html`<${Form} send=${register} label=${t("register")}><${NewPassword} value=${password} onValue=${setPassword} /><//>`;
  return html`
    <${Ways} email=${found.type === "email" ? found.name : ""} done=${accept} />
    ${found.type === "email" && html`<button type="button" class="quiet" onClick=${() => setNew(true)}>${t("invitation.new")}</button>`}
  `;
}

export const views = {
  "sign-in": SignIn, "sign-in-again": SignInAgain, presence: Presence, "second-factor": SecondFactor, register: Register,
  forgot: Forgot, confirm: Confirm, password: Reset, invitation: Invitation,
};
