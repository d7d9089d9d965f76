// Settings of the account: where it is paid, its team, its rules and notifications, and the audit log.

import { html, useState } from "./vendor.js";
import { clean, short, t, time, word } from "./text.js";
import { call, chainName, may, me, query, readMe } from "./api.js";
import { Confirmed, Copy, Dialog, Empty, Field, Form, Loaded, Name, Pages, Table, Tick, Title, problemOf, useLoad, useOnce } from "./components.js";

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
            <${Confirmed} label=${t("team.end")} question=${t("team.end.question", { name: clean(each.name) })} act=${() => call("DELETE", `/v1/members/${each.id}/sessions`)} />
            <${Confirmed} label=${t("team.remove")} question=${t("team.remove.question", { name: clean(each.name) })} act=${() => call("DELETE", `/v1/members/${each.id}`)} done=${loaded.again} /></div>`,
        ] }))} />
        <h2>${t("team.invitations")}</h2>
        ${invitations.length === 0 ? html`<p class="quietly">${t("team.invitations.none")}</p>` : html`
          <${Table} caption=${t("team.invitations")} heads=${[t("name"), t("role"), t("expires"), t("actions")]} rows=${invitations.map((/** @type {any} */ each) => ({ key: each.id, cells: [
            html`<${Name} of=${each.name} />`, word("role", each.role), time(each.expiresAt),
            canManage && html`<${Confirmed} label=${t("team.withdraw")} question=${t("team.withdraw.question", { name: clean(each.name) })} act=${() => call("DELETE", `/v1/invitations/${each.id}`)} done=${loaded.again} />`,
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
  return html`<${Confirmed} label=${t("team.leave")} question=${t("team.leave.question", { name: clean(current?.name) })} act=${() => call("POST", "/v1/members/leave")} done=${() => readMe()} />`;
}

/** @param {any} props The role of a member, which holds from the next call on. */
function RoleOf({ member, again }) {
  const [role, setRole] = useState(member.role);
  const send = async () => {
    const { pendingChange } = await call("PUT", `/v1/members/${member.id}`, { body: { role } });
    if (pendingChange) setRole(member.role);
    again();
  };
  return html`
    <div class="role-of">
      <${Form} send=${send} label=${t("save")} quiet>
        <${Field} is="select" label=${t("team.role.of", { name: clean(member.name) })} isLabelHidden value=${role} onValue=${setRole}><${RoleOptions} /><//>
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
      ${made ? html`<p class="note good">${t(made.emailSent ? "team.sent" : "team.link", { name: clean(made.name) })}</p>${made.link && html`<${Copy} text=${made.link} whole />`}` : html`
        <${Form} send=${send} label=${t("team.invite.send")} onProblem=${setProblem}>
          <${Field} label=${t("team.who")} hint=${t("team.who.hint")} value=${who} onValue=${setWho} problem=${problemOf(problem, "email") ?? problemOf(problem, "address")} />
          <${Field} is="select" label=${t("role")} hint=${t(`role.${role}.text`)} value=${role} onValue=${setRole}><${RoleOptions} /><//>
        <//>
      `}
    <//>
  `;
}

/** The destination of the wallet that is signed in; every destination is in the wallet's hands alone. */
function Payees() {
  const wallets = me.value.type === "wallet" ? [{ id: me.value.address, name: me.value.address }] : []; // that of the session alone, which others may not read either
  const hasWallet = me.value.identities.some((/** @type {any} */ each) => each.type === "wallet");
  const loaded = useLoad(async () => (wallets.length ? call("GET", "/v1/payee-destination") : null), []);
  return html`
    <${Title}>${t("nav.payees")}<//>
    <p class="hint">${t("payee.text")}</p>
    <${Loaded} of=${loaded}>
      ${(/** @type {any} */ found) => html`
        ${found ? html`<${Destination} of=${found} again=${loaded.again} />` : html`<${Empty} title=${t("payee.none")} text=${t(wallets.length ? "payee.none.text" : hasWallet ? "payee.none.session" : "payee.none.wallet")} />`}
        ${may("payee_destinations:write") && wallets.length > 0 && html`<${SetDestination} found=${found} wallets=${wallets} again=${loaded.again} />`}
      `}
    <//>
  `;
}

/** @param {any} props */
const Destination = ({ of: found, again }) => html`
  <section class="card">
    <dl>
      <div class="row"><dt>${t("payee.wallet")}</dt><dd><${Copy} text=${found.walletAddress} /></dd></div>
      <div class="row"><dt>${t("token")}</dt><dd><${Copy} text=${found.tokenAddress} /></dd></div>
      <div class="row"><dt>${t("payee.chain")}</dt><dd>${chainName(found.chainId)}</dd></div>
      <div class="row"><dt>${t("payee.id")}</dt><dd><${Copy} text=${found.destinationId} /></dd></div>
      <div class="row"><dt>${t("state")}</dt><dd>${t(found.active ? "active" : "off")}</dd></div>
    </dl>
    ${found.active && may("payee_destinations:write") && html`<${Confirmed} label=${t("payee.off")} question=${t("payee.off.question", { wallet: short(found.walletAddress) })} act=${() => call("PATCH", "/v1/payee-destination/deactivate")} done=${again} />`}
  </section>
`;

/** @param {any} props */
function SetDestination({ found, wallets, again }) {
  const [id, setId] = useState("");
  const [wallet, setWallet] = useState(wallets[0].name);
  const currencies = useLoad(() => call("GET", "/v2/currencies"), []);
  const tokens = (currencies.data ?? []).filter((/** @type {any} */ each) => each.type === "ERC20" && each.chainId);
  const isPresent = (/** @type {any} */ each) => each.address === found?.tokenAddress && String(each.chainId) === String(found?.chainId);
  const token = tokens.find((/** @type {any} */ each) => each.id === id) ?? tokens.find(isPresent) ?? tokens[0];
  const send = async () => {
    const body = { tokenAddress: token.address, chainId: token.chainId, walletAddress: wallet };
    await call(found ? "PUT" : "POST", "/v1/payee-destination", { body });
    again();
  };
  return html`
    <section class="card">
      <h2>${t(found ? "payee.change" : "payee.set")}</h2>
      <${Loaded} of=${currencies}>${() => html`<${Form} send=${send} label=${t("save")}>
        <${Field} is="select" label=${t("payee.wallet")} value=${wallet} onValue=${setWallet}>${wallets.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.name}>${short(each.name)}</option>`)}<//>
        <${Field} is="select" label=${t("token")} value=${token?.id} onValue=${setId}>${tokens.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.id}>${each.id}</option>`)}<//>
      <//>`}<//>
    </section>
  `;
}

function Account() {
  const loaded = useLoad(async () => {
    const [account, notices] = await Promise.all([call("GET", "/v1/account"), call("GET", "/v1/notifications")]);
    return { account, notices };
  }, []);
  return html`<${Title}>${t("nav.account")}<//><${Loaded} of=${loaded}>${(/** @type {any} */ data) => html`<${Rules} ...${data} /><${Notices} of=${data.notices} />`}<//>`;
}

/** @param {any} props */
function Rules({ account }) {
  const [name, setName] = useState(account.name);
  const [requireSecondFactor, demand] = useState(account.requireSecondFactor);
  const [approvals, approve] = useState(account.approvals);
  const [delay, setDelay] = useState(String(account.approvalDelayHours ?? ""));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [isSaved, setSaved] = useState(false);
  const send = async () => {
    const approvalDelayHours = delay.trim() ? Number(delay) || delay : null; // what is no number is refused, and never taken for none
    const { pendingChange } = await call("PUT", "/v1/account", { body: { name, requireSecondFactor, approvals, approvalDelayHours } });
    setSaved(!pendingChange);
  };
  const canChange = may("account:write");
  return html`
    <section class="card"><h2>${t("account.title")}</h2>
      ${canChange ? html`
        <${Form} send=${send} label=${t("save")} onProblem=${setProblem}>
          <${Field} label=${t("account.name")} value=${name} onValue=${setName} problem=${problemOf(problem, "name")} />
          <${Tick} label=${t("account.second")} hint=${t("account.second.hint")} checked=${requireSecondFactor} onValue=${demand} />
          <${Tick} label=${t("account.approvals")} hint=${t("account.approvals.hint")} checked=${approvals} onValue=${approve} />
          <${Field} label=${t("account.delay")} hint=${t("account.delay.hint")} inputmode="numeric" value=${delay} onValue=${setDelay} problem=${problemOf(problem, "approvalDelayHours")} />
        <//>
        <p role="status">${isSaved && t("saved")}</p>
      ` : html`<dl><div class="row"><dt>${t("account.name")}</dt><dd><${Name} of=${account.name} /></dd></div></dl>`}
    </section>
  `;
}

/** @param {any} props Which mails owners, admins and finance get about payments. */
function Notices({ of: notices }) {
  const [payments, setPayments] = useState(notices.payments);
  const [attention, setAttention] = useState(notices.attention);
  const [isSaved, setSaved] = useState(false);
  const send = async () => {
    await call("PUT", "/v1/notifications", { body: { payments, attention } });
    setSaved(true);
  };
  if (!may("account:write")) return null;
  return html`
    <section class="card"><h2>${t("notices.title")}</h2>
      ${!notices.sendsEmail && html`<p class="hint">${t("notices.none")}</p>`}
      <${Form} send=${send} label=${t("save")}>
        <${Tick} label=${t("notices.payments")} hint=${t("notices.payments.hint")} checked=${payments} onValue=${setPayments} />
        <${Tick} label=${t("notices.attention")} hint=${t("notices.attention.hint")} checked=${attention} onValue=${setAttention} />
      <//>
      <p role="status">${isSaved && t("saved")}</p>
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

export const views = { team: Team, payees: Payees, account: Account, audit: Audit };
