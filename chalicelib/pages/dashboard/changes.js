// Changes of where money goes, or of who says so, that wait for another person or for their time; and what became of them.

import { html } from "./vendor.js";
import { clean, t, time, word } from "./text.js";
import { call, chainName, may, me, query, waitsFor } from "./api.js";
import { Badge, Confirmed, Empty, Name, Pages, Title } from "./components.js";

const PAGE = 20;
/** @type {Record<string, string>} */
const KINDS = { pending: "warn", applied: "good", failed: "bad" };

function Changes() {
  const load = async (/** @type {string} */ cursor) => {
    const [{ changes, nextCursor }, members] = await Promise.all([call("GET", `/v1/changes${query({ limit: PAGE, cursor })}`), call("GET", "/v1/members")]);
    const names = new Map(members.map((/** @type {any} */ each) => [`person:${each.id}`, each.name]));
    const named = (/** @type {string} */ actor) => clean(names.get(actor) ?? actor);
    return { rows: changes.map((/** @type {any} */ each) => ({ ...each, asker: named(each.askedBy), approvers: each.approvedBy.map(named), decider: each.decidedBy && named(each.decidedBy) })), next: nextCursor };
  };
  return html`
    <${Title}>${t("nav.changes")}<//>
    <p class="hint">${t("changes.text")}</p>
    <${Pages} load=${load} deps=${[]} empty=${html`<${Empty} title=${t("changes.none")} text=${t("changes.none.text")} />`}>
      ${(/** @type {any[]} */ rows, /** @type {() => void} */ again) => rows.map((each) => html`<${Change} key=${each.id} of=${each} again=${again} />`)}
    <//>
  `;
}

/** @param {any} props One change: what it changes, who asked, what becomes of it, and what who is signed in may do about it. */
function Change({ of: change, again }) {
  const isPending = change.state === "pending";
  const rows = [
    ["changes.asker", change.asker], ["changes.asked", time(change.askedAt)], ["changes.effect", isPending && waitsFor(change)],
    ["changes.approvers", change.approvers.join(", ")], ["changes.decided", change.decidedAt && `${time(change.decidedAt)} · ${change.decider}`], ["changes.reason", clean(change.reason)],
  ].filter(([, value]) => value);
  return html`
    <section class="card" aria-labelledby=${change.id}>
      <div class="title"><h2 id=${change.id}>${word("operation", change.operation)}</h2><${Badge} kind=${KINDS[change.state]}>${word("change", change.state)}<//></div>
      <dl>
        ${listChanges(change).map(({ name, value, isNew }) => html`<div class="row" key=${name}><dt>${clean(name)}</dt><dd class=${isNew ? "changed" : ""}><${Name} of=${value} /></dd></div>`)}
        ${rows.map(([name, value]) => html`<div class="row" key=${name}><dt>${t(name)}</dt><dd><${Name} of=${value} /></dd></div>`)}
      </dl>
      ${isPending && html`<${Decisions} of=${change} again=${again} />`}
    </section>
  `;
}

/** @param {string} name @param {any} value A field's value in words. */
const shown = (name, value) => {
  if (Array.isArray(value)) return value.join(", ") || t("none");
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (value && name === "chainId") return chainName(value);
  if (value && name === "role") return word("role", value);
  if (value && name.endsWith("At")) return time(value);
  return value === null || value === undefined || value === "" ? t("none") : typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** @param {any} change @returns {{ name: string, value: string, isNew: boolean }[]} What it changes, in words: its effects, those that differ first; else what was asked for. */
function listChanges({ effects, path, request }) {
  const asked = Object.entries({ ...path, ...request }).map(([name, value]) => ({ name: word("field", name), value: shown(name, value), isNew: true }));
  const known = (effects ?? []).flatMap((/** @type {any} */ { resource, before, after }) => Object.keys({ ...before, ...after }).map((name) => {
    const [old, now] = [shown(name, before?.[name]), shown(name, after?.[name])];
    const isNew = !before || old !== now;
    return { name: `${word("resource", resource)}: ${word("field", name)}`, value: before && isNew ? t("changes.from", { before: old, after: now }) : now, isNew };
  }));
  return known.length ? known.sort((/** @type {any} */ one, /** @type {any} */ other) => Number(other.isNew) - Number(one.isNew)) : asked;
}

/** @param {any} props Who asked may withdraw; another person who may approve approves, once, or refuses. */
function Decisions({ of: change, again }) {
  const myself = `person:${me.value.personId}`;
  const isMine = change.askedBy === myself;
  const decides = may("changes:write") && !isMine;
  const offered = [decides && !change.approvedBy.includes(myself) && "approve", decides && "refuse", isMine && "withdraw"].filter(Boolean);
  const what = word("operation", change.operation);
  const facts = listChanges(change).filter(({ isNew }) => isNew).map(({ name, value }) => `${name}: ${value}`).join("; ");
  return html`
    <div class="actions">
      ${offered.map((verb) => html`
        <${Confirmed} key=${verb} isSafe=${verb === "approve"} label=${t(`changes.${verb}`)} question=${t(`changes.${verb}.question`, { what, who: change.asker, facts })} act=${() => call("POST", `/v1/changes/${change.id}/${verb}`)} done=${again} />
      `)}
    </div>
  `;
}

export const views = { changes: Changes };
