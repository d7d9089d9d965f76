// Settings of the account: its team, its rules and notifications, and the audit log.

import { html, useState } from "./vendor.js";
import { clean, short, t, time, word } from "./text.js";
import { call, may, me, query, readMe } from "./api.js";
import { Confirmed, Copy, Dialog, Field, Form, Loaded, Name, Pages, Table, Tick, Title, problemOf, useLoad, useOnce } from "./components.js";

const PAGE = 50;
const ROLES_OFFERED = ["admin", "finance", "support", "developer", "viewer", "owner"];

/** Roles that who is signed in may give. */
const RoleOptions = () => ROLES_OFFERED.filter((each) => each !== "owner" || may("owners:write")).map((each) => html`<option key=${each} value=${each}>${word("role", each)}</option>`);

function Team() {
  const loaded = useLoad(async () => {
    const [members, invitations] = await Promise.all([call("GET", "/v1/members"), call("GET", "/v1/invitations")]);
    return { members, invitations };
  }, []);
  const [isInviting, invite] = useState(false);
  const canManage = may("members:write");
  const mayChange = (/** @type {any} */ member) => canManage && (member.role !== "owner" || may("owners:write"));
  return html`
    <${Title} actions=${canManage && html`<button type="button" class="action" onClick=${() => invite(true)}>${t("team.invite")}</button>`}>${t("nav.team")}<//>
    <${Loaded} of=${loaded}>
      ${(/** @type {any} */ { members, invitations }) => html`
        <${Table} caption=${t("nav.team")} heads=${[t("name"), t("role"), t("team.since"), t("actions")]} rows=${members.map((/** @type {any} */ each) => ({ key: each.id, cells: [
          html`<${Name} of=${each.name} /> ${each.current && t("team.you")}`,
          mayChange(each) ? html`<${RoleOf} member=${each} again=${loaded.again} />` : word("role", each.role), time(each.joinedAt),
          each.current ? html`<${Leave} />` : mayChange(each) && html`<div class="actions">
            <${Confirmed} label=${t("team.end")} question=${t("team.end.question", { name: each.name })} act=${() => call("DELETE", `/v1/members/${each.id}/sessions`)} />
            <${Confirmed} label=${t("team.remove")} question=${t("team.remove.question", { name: each.name })} act=${() => call("DELETE", `/v1/members/${each.id}`)} done=${loaded.again} /></div>`,
        ] }))} />
        <h2>${t("team.invitations")}</h2>
        ${invitations.length === 0 ? html`<p class="quietly">${t("team.invitations.none")}</p>` : html`
          <${Table} caption=${t("team.invitations")} heads=${[t("name"), t("role"), t("expires"), t("actions")]} rows=${invitations.map((/** @type {any} */ each) => ({ key: each.id, cells: [
            html`<${Name} of=${each.name} />`, word("role", each.role), time(each.expiresAt),
            canManage && html`<${Confirmed} label=${t("team.withdraw")} question=${t("team.withdraw.question", { name: each.name })} act=${() => call("DELETE", `/v1/invitations/${each.id}`)} done=${loaded.again} />`,
          ] }))} />
        `}
      `}
    <//>
    ${isInviting && html`<${Invite} close=${() => { invite(false); loaded.again(); }} />`}
  `;
}

/** The way out of the account, which ends the session. */
function Leave() {
  const current = me.value.accounts.find((/** @type {any} */ each) => each.id === me.value.id);
  return html`<${Confirmed} label=${t("team.leave")} question=${t("team.leave.question", { name: current?.name })} act=${() => call("POST", "/v1/members/leave")} done=${() => readMe()} />`;
}

/** @param {any} props The role of a member, which holds from the next call on. */
function RoleOf({ member, again }) {
  const [role, setRole] = useState(member.role);
  const send = async () => {
    const answer = await call("PUT", `/v1/members/${member.id}`, { body: { role } });
    if (answer.pendingChange) setRole(member.role);
    again();
    return answer;
  };
  return html`
    <div class="role-of">
      <${Form} send=${send} label=${t("save")} quiet saves>
        <${Field} is="select" label=${t("team.role.of", { name: member.name })} isLabelHidden value=${role} onValue=${setRole}><${RoleOptions} /><//>
      <//>
    </div>
  `;
}

/** @param {any} props */
function Invite({ close }) {
  const [who, setWho] = useState("");
  const [role, setRole] = useState("viewer");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const { post } = useOnce();
  const send = async () => {
    const name = who.trim();
    setMade(await post("/v1/invitations", { role, ...(name.includes("@") ? { email: name } : { address: name }) }));
  };
  return html`
    <${Dialog} title=${t("team.invite")} onClose=${close}>
      ${made ? html`<p class="note good">${t(made.emailSent ? "team.sent" : "team.link", { name: made.name })}</p>${made.link && html`<${Copy} text=${made.link} whole />`}` : html`
        <${Form} send=${send} label=${t("team.invite.send")} onProblem=${setProblem}>
          <${Field} label=${t("team.who")} hint=${t("team.who.hint")} value=${who} onValue=${setWho} problem=${problemOf(problem, "email") ?? problemOf(problem, "address")} />
          <${Field} is="select" label=${t("role")} hint=${t(`role.${role}.text`)} value=${role} onValue=${setRole}><${RoleOptions} /><//>
        <//>
      `}
    <//>
  `;
}

function Account() {
  const loaded = useLoad(async () => {
    const [account, notices] = await Promise.all([call("GET", "/v1/account"), call("GET", "/v1/notifications")]);
    return { account, notices };
  }, []);
  return html`<${Title}>${t("nav.account")}<//><${Loaded} of=${loaded}>${(/** @type {any} */ data) => html`<${Rules} ...${data} /><${Notices} of=${data.notices} /><${OnReceipts} ...${data} />`}<//>`;
}

/** @param {any} props */
function Rules({ account }) {
  const [name, setName] = useState(account.name);
  const [requireSecondFactor, demand] = useState(account.requireSecondFactor);
  const [approvals, approve] = useState(account.approvals);
  const [delay, setDelay] = useState(String(account.approvalDelayHours ?? ""));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const send = () => {
    const approvalDelayHours = delay.trim() ? Number(delay) || delay : null; // what is no number is refused, and never taken for none
    return call("PUT", "/v1/account", { body: { name, requireSecondFactor, approvals, approvalDelayHours } });
  };
  const canChange = may("account:write");
  return html`
    <section class="card"><h2>${t("account.title")}</h2>
      ${canChange ? html`
        <${Form} send=${send} label=${t("save")} saves onProblem=${setProblem}>
          <${Field} label=${t("account.name")} value=${name} onValue=${setName} problem=${problemOf(problem, "name")} />
          <${Tick} label=${t("account.second")} hint=${t("account.second.hint")} checked=${requireSecondFactor} onValue=${demand} />
          <${Tick} label=${t("account.approvals")} hint=${t("account.approvals.hint")} checked=${approvals} onValue=${approve} />
          <${Field} label=${t("account.delay")} hint=${t("account.delay.hint")} inputmode="numeric" value=${delay} onValue=${setDelay} problem=${problemOf(problem, "approvalDelayHours")} />
        <//>
      ` : html`<dl><div class="row"><dt>${t("account.name")}</dt><dd><${Name} of=${account.name} /></dd></div></dl>`}
    </section>
  `;
}

/** @param {any} props As whom receipts name the merchant. */
function OnReceipts({ account }) {
  const [typed, setTyped] = useState({ businessName: account.businessName, businessAddress: account.businessAddress, taxId: account.taxId });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const send = () => call("PUT", "/v1/account", { body: Object.fromEntries(Object.entries(typed).map(([name, text]) => [name, text?.trim() || null])) });
  const field = (/** @type {keyof typeof typed} */ name, /** @type {string} */ label, is = "input") =>
    html`<${Field} is=${is} label=${label} value=${typed[name] ?? ""} onValue=${(/** @type {string} */ text) => setTyped({ ...typed, [name]: text })} problem=${problemOf(problem, name)} />`;
  if (!may("account:write")) return null;
  return html`
    <section class="card"><h2>${t("receipts.title")}</h2>
      <p class="hint">${t("receipts.text")}</p>
      <${Form} send=${send} label=${t("save")} saves onProblem=${setProblem}>
        ${field("businessName", t("receipts.businessName"))}${field("businessAddress", t("receipts.businessAddress"), "textarea")}${field("taxId", t("receipts.taxId"))}
      <//>
    </section>
  `;
}

/** @param {any} props Which mails owners, admins and finance get about payments. */
function Notices({ of: notices }) {
  const [payments, setPayments] = useState(notices.payments);
  const [attention, setAttention] = useState(notices.attention);
  const send = () => call("PUT", "/v1/notifications", { body: { payments, attention } });
  if (!may("account:write")) return null;
  return html`
    <section class="card"><h2>${t("notices.title")}</h2>
      ${!notices.sendsEmail && html`<p class="hint">${t("notices.none")}</p>`}
      <${Form} send=${send} label=${t("save")} saves>
        <${Tick} label=${t("notices.payments")} hint=${t("notices.payments.hint")} checked=${payments} onValue=${setPayments} />
        <${Tick} label=${t("notices.attention")} hint=${t("notices.attention.hint")} checked=${attention} onValue=${setAttention} />
      <//>
    </section>
  `;
}

function Audit() {
  const load = async (/** @type {string} */ cursor) => {
    const { entries, nextCursor } = await call("GET", `/v1/audit${query({ limit: PAGE, cursor })}`);
    return { rows: entries, next: nextCursor };
  };
  return html`
    <${Title}>${t("nav.audit")}<//>
    <p class="hint">${t("audit.text")}</p>
    <${Pages} load=${load} deps=${[]} empty=${html`<p class="quietly">${t("audit.none")}</p>`}>
      ${(/** @type {any[]} */ rows) => html`<${Table} caption=${t("nav.audit")} heads=${[t("time"), t("audit.action"), t("audit.target"), t("audit.actor"), t("audit.address")]} rows=${rows.map((each) => ({ key: each.id, cells: [
        time(each.at), html`<${Name} of=${each.action} />`, html`<bdi><code title=${clean(each.target)}>${short(each.target)}</code></bdi>`, html`<bdi><code title=${clean(each.actor)}>${short(each.actor)}</code></bdi>`, each.ipAddress,
      ] }))} />`}
    <//>
  `;
}

export const views = { team: Team, account: Account, audit: Audit };
