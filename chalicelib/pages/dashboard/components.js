// What views are made of: loading, errors, fields, forms, tables, dialogs, copying.

import { html, useEffect, useRef, useState } from "./vendor.js";
import { LANGUAGES, amount, chooseLanguage, clean, language, short, t } from "./text.js";
import { call, transactionPage, waitsFor } from "./api.js";

/** @param {() => void} again @param {number | null} ms @param {unknown[]} deps Reads again after that time, if the page is seen then; null: not. What is read anew belongs into `deps`. */
export function useLook(again, ms, deps) {
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && again();
    const timer = ms === null ? 0 : setInterval(look, ms);
    return () => clearInterval(timer);
  }, deps);
}

/** @param {() => Promise<any>} load @param {unknown[]} deps @param {boolean} keeps @returns {{ data: any, problem: any, again: () => void }} What `load` gives for these `deps`; while it is read again, what it gave before, and if it `keeps` that also for others. */
export function useLoad(load, deps, keeps = false) {
  const [state, set] = useState(/** @type {any} */ ({ deps, data: undefined, problem: undefined }));
  const [turn, again] = useState(0);
  const isMine = (/** @type {any} */ { deps: of }) => keeps || of.every((/** @type {unknown} */ each, /** @type {number} */ at) => Object.is(each, deps[at]));
  const dataOf = (/** @type {any} */ old) => (isMine(old) ? old.data : undefined);
  useEffect(() => {
    let isCurrent = true;
    set((/** @type {any} */ old) => ({ deps, data: dataOf(old), problem: undefined }));
    load().then(
      (data) => isCurrent && set({ deps, data, problem: undefined }),
      (problem) => isCurrent && set((/** @type {any} */ old) => ({ deps, data: dataOf(old), problem })),
    );
    return () => void (isCurrent = false);
  }, [...deps, turn]);
  return { data: dataOf(state), problem: isMine(state) ? state.problem : undefined, again: () => again((/** @type {number} */ before) => before + 1) };
}

/** @param {any} props Shows what `of` (useLoad) has: a problem with a way on, that it is loading, or the children. `title` heads a view until its children do. */
export function Loaded({ of, title, children }) {
  const { data, problem, again } = of;
  return html`
    ${title && data === undefined && html`<${Title}>${title}<//>`}
    ${problem && html`<${Failure} problem=${problem} again=${again} />`}
    ${data === undefined ? !problem && html`<p class="loading" role="status">${t("loading")}</p>` : children(data)}
  `;
}

/** @param {any} props What does not exist is not asked for again. */
export const Failure = ({ problem, again }) => html`
  <div class="note bad" role="alert">
    <p>${clean(problem.message)}</p>
    ${problem.status === 404 ? html`<p>${t("unknown.text")}</p>` : again && html`<button type="button" class="quiet" onClick=${again}>${t("again")}</button>`}
  </div>
`;

/** @param {any} props The heading of a view; it takes the focus when the view is shown, and names the page. */
export function Title({ children, actions }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    document.title = `${clean(children)} · ${document.querySelector('meta[name="brand"]')?.getAttribute("content")}`;
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) heading.current?.focus();
  }, [children]);
  return html`<div class="title"><h1 tabindex="-1" ref=${heading}><${Name} of=${children} /></h1><div class="actions">${actions}</div></div>`;
}

let made = 0; // fields and dialogs, each with an id of its own

/** @param {any} props A labelled input. `problem` is said beside it. `is` is input, select or textarea. */
export function Field({ label, isLabelHidden, hint, problem, is = "input", children, onValue, ...given }) {
  const [id] = useState(() => `field-${++made}`);
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const onInput = (/** @type {any} */ event) => onValue?.(event.target.value);
  const common = { id, "aria-describedby": described, "aria-invalid": problem ? "true" : undefined, onInput, ...given };
  return html`
    <div class="field">
      <label for=${id} class=${isLabelHidden ? "visually-hidden" : ""}>${label}</label>
      ${is === "select" ? html`<select ...${common}>${children}</select>` : is === "textarea" ? html`<textarea ...${common} />` : html`<input ...${common} />`}
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
      ${problem && html`<p class="problem" id=${`${id}-problem`}>${clean(problem)}</p>`}
    </div>
  `;
}

/** @param {any} props */
export function Tick({ label, hint, checked, onValue, ...given }) {
  return html`
    <label class="tick">
      <input type="checkbox" checked=${checked} onChange=${(/** @type {any} */ event) => onValue(event.target.checked)} ...${given} />
      <span>${label}${hint && html`<small>${hint}</small>`}</span>
    </label>
  `;
}

/** In which language this browser shows the dashboard. */
export function Languages() {
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const choose = (/** @type {string} */ chosen) => chooseLanguage(chosen).then(() => setProblem(null), setProblem);
  return html`
    <${Field} is="select" label=${t("language")} value=${language()} onValue=${choose} problem=${problem?.message}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code} lang=${code}>${name}</option>`)}
    <//>
  `;
}

/** @param {any} props A form that sends once at a time, and keeps the focus meanwhile. `send` does it; what it throws is shown, beginning at the first field that it is about, and nothing is lost. One that `saves` says so, or for what the change waits that `send` gives. */
export function Form({ send, label, children, quiet, danger, saves, onProblem }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    if (problem?.errors?.length) /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("[aria-invalid=true]"))?.focus();
  }, [problem]);
  const onSubmit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setProblem(null);
    setAnswer(null);
    onProblem?.(null);
    try {
      setAnswer((await send()) ?? {});
    } catch (thrown) {
      setProblem(thrown);
      onProblem?.(thrown);
    }
    setBusy(false);
  };
  return html`
    <form ref=${form} onSubmit=${onSubmit} novalidate>
      ${children}
      ${problem && html`<${Failure} problem=${problem} />`}
      <button class=${danger ? "action danger" : quiet ? "quiet" : "action"} aria-disabled=${isBusy}>${isBusy ? t("busy") : label}</button>
      ${saves && html`<p role="status">${answer && (answer.pendingChange ? waitsFor(answer.pendingChange) : t("saved"))}</p>`}
    </form>
  `;
}

/** @returns {{ post: (path: string, body: any) => Promise<any>, renew: () => void }} Sends what makes something, under an idempotency key: the same, so that sending again does nothing twice, until what is sent changes, or it is renewed for the next one. */
export function useOnce() {
  const kept = useRef({ text: "", key: "" });
  const post = (/** @type {string} */ path, /** @type {any} */ body) => {
    const text = JSON.stringify([path, body]);
    if (kept.current.text !== text) kept.current = { text, key: crypto.randomUUID() };
    return call("POST", path, { body, key: kept.current.key });
  };
  return { post, renew: () => void (kept.current = { text: "", key: "" }) };
}

/** @param {BlobPart[]} parts @param {string} type @param {string} name Saves a file, as if it were downloaded. */
export function saveFile(parts, type, name) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** @param {any} problem @param {string} name What is wrong with a field of a form, by the end of the field's path. */
export const problemOf = (problem, name) =>
  problem?.errors?.find((/** @type {any} */ each) => each.field === name || each.field?.endsWith(`.${name}`))?.message;

/** @param {any} props A table with a caption for readers, which becomes a list on small screens. */
export function Table({ caption, heads, rows }) {
  return html`
    <div class="scroll">
      <table>
        <caption class="visually-hidden">${caption}</caption>
        <thead><tr>${heads.map((/** @type {string} */ head) => html`<th scope="col" key=${head}>${head}</th>`)}</tr></thead>
        <tbody>
          ${rows.map((/** @type {any} */ row) => html`
            <tr key=${row.key}>
              ${row.cells.map((/** @type {any} */ cell, /** @type {number} */ position) => html`<td data-head=${heads[position]}>${cell && html`<div>${typeof cell === "string" ? clean(cell) : cell}</div>`}</td>`)}
            </tr>
          `)}
        </tbody>
      </table>
    </div>
  `;
}

/** @param {any} props What an empty list says: what it is for, and what comes first. */
export const Empty = ({ title, text, children }) => html`<div class="empty"><h2>${title}</h2><p>${text}</p>${children}</div>`;

/** @param {any} props */
export const Badge = ({ kind, children }) => html`<span class=${`badge ${kind ?? ""}`}>${children}</span>`;

/** @param {any} props Text of somebody, or a technical name, which goes on in the next line between its words alone. */
export const Name = ({ of }) => html`<bdi>${clean(of).split(/(?<=[./@_:?&=-])(?=[a-z])/i).map((part, at) => (at ? html`<wbr />${part}` : part))}</bdi>`;

/** @param {any} props An amount with its currency. */
export const Money = ({ of, currency }) => html`<span class="money">${amount(of)} <span class="currency">${clean(currency)}</span></span>`;

/** @param {any} props Text that can be copied whole, and is shown shortened if it is long. */
export function Copy({ text, whole }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(() => setCopied(true), () => {});
    setTimeout(() => setCopied(false), 2_000);
  };
  return html`
    <span class=${whole ? "copy whole" : "copy"}>
      <code title=${clean(text)}>${whole ? clean(text) : short(text)}</code>
      <button type="button" class="small" onClick=${copy} aria-label=${t("copy.what", { what: short(text) })}>${isCopied ? t("copied") : t("copy")}</button>
    </span>
  `;
}

/** @param {any} props The body of an event as webhooks receive it; none is left of a person who was erased. */
export const Body = ({ of: body }) => {
  const text = JSON.stringify(body ?? {}, (_, value) => (typeof value === "string" ? clean(value) : value), 2);
  return text !== "{}" && html`<details><summary class="hint">${t("timeline.body")}</summary><pre tabindex="0">${text}</pre></details>`;
};

/** @param {any} props The hash of a transaction, which leads to its page at the explorer of its network. */
export function Hash({ of: hash, network }) {
  const href = transactionPage(network, hash);
  return href ? html`<a href=${href} target="_blank" rel="noopener noreferrer"><code title=${clean(hash)}>${short(hash)}</code></a>` : html`<code title=${clean(hash)}>${short(hash) || t("none")}</code>`;
}

/** @param {any} props A dialog above the view, until `onClose`. */
export function Dialog({ title, children, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [id] = useState(() => `dialog-${++made}`);
  useEffect(() => {
    const opener = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog.current?.showModal();
    return () => (opener?.isConnected ? opener : document.querySelector("h1"))?.focus(); // it is no part of the page by then, and could not
  }, []);
  const onCancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  };
  return html`
    <dialog ref=${dialog} onCancel=${onCancel} aria-labelledby=${id}>
      <div class="title"><h2 id=${id}>${clean(title)}</h2><button type="button" class="quiet" onClick=${onClose}>${t("close")}</button></div>
      ${children}
    </dialog>
  `;
}

/** @param {any} props A button that asks before it acts; `question` names what it acts on, and `children` show it. What `isQuiet` destroys nothing. */
export function Confirmed({ label, question, children, act, done, isSafe, isQuiet }) {
  const [isAsking, ask] = useState(false);
  const send = async () => {
    await act();
    ask(false);
    done?.();
  };
  return html`
    <button type="button" class=${isSafe ? "action" : "quiet"} onClick=${() => ask(true)}>${label}</button>
    ${isAsking && html`
      <${Dialog} title=${label} onClose=${() => ask(false)}>
        <p><${Name} of=${question} /></p>
        ${children}
        <${Form} send=${send} label=${label} danger=${!isSafe && !isQuiet} />
      <//>
    `}
  `;
}

/** @param {any} props The pages of a list by cursor: `load(cursor)` gives { rows, next }; `children(rows, again, isWhole)` shows them, where `again` reads anew; one that `keeps` shows what it has until it is read for other `deps`. */
export function Pages({ load, deps, keeps, children, empty }) {
  const [more, setMore] = useState({ rows: /** @type {any[]} */ ([]), next: /** @type {string | null} */ (null), of: /** @type {any} */ (null) });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const first = useLoad(() => load(""), deps, keeps);
  const isMine = more.of === first.data;
  const next = isMine ? more.next : first.data?.next;
  const follow = async () => {
    setProblem(null);
    try {
      const page = await load(next);
      setMore({ rows: [...(isMine ? more.rows : []), ...page.rows], next: page.next, of: first.data });
    } catch (thrown) {
      setProblem(thrown);
    }
  };
  return html`
    <${Loaded} of=${first}>
      ${(/** @type {any} */ data) => {
        const rows = [...data.rows, ...(isMine ? more.rows : [])];
        return html`
          ${rows.length || next ? children(rows, first.again, !next) : empty}
          ${problem && html`<${Failure} problem=${problem} again=${follow} />`}
          ${next && !problem && html`<button type="button" class="quiet more" onClick=${follow}>${t("more")}</button>`}
        `;
      }}
    <//>
  `;
}
