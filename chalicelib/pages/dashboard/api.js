// The client of the API, with the session's cookie. A session that ends, and a proof that is asked for, interrupt a call:
// the person signs in or proves presence over the view, which keeps its state, and the call is made again. Each call names
// whom the page is of, and the API refuses it if somebody else has signed in meanwhile: then the page starts anew.

import { signal } from "./vendor.js";
import { clean, t, time, word } from "./text.js";

const [SECONDS, ME] = [30, "/v1/auth/me"];
/** The name of the note of this window that its page has started anew for somebody else. */
export const ANEW = "startedAnew";
export const ROOT = meta("root");
export const BRAND = meta("brand");
/** The address of the API for keys, and the name of the header with the signature of a webhook. */
export const [API, SIGNATURE] = [meta("api"), meta("signature")];
/** @type {Record<string, string[]>} */
const ROLES = JSON.parse(meta("roles"));
/** @type {Record<string, { title: string, chainId: number, explorer: string }>} By the names that the API has for them. */
const NETWORKS = JSON.parse(meta("networks"));
/** @type {string[]} The networks on which a payment can be held. */
export const ESCROWS = JSON.parse(meta("escrows"));
/** @type {string[]} What a webhook may choose: kinds of events, prefixes, and * for all. */
export const EVENTS = JSON.parse(meta("events"));

/** Who is signed in, as GET /v1/auth/me says; null if nobody is, undefined before it is known. */
export const me = signal(/** @type {any} */ (undefined));
/** What has to be done before calls go on: { kind: "session" | "presence", proofs, done(isDone) }, or null. */
export const interruption = signal(/** @type {any} */ (null));
/** The answer of a call that changed nothing yet because its change waits for approval, until it was read; or null. */
export const waiting = signal(/** @type {any} */ (null));

/** @param {string} name */
function meta(name) {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

/** Why a call did not succeed. `status` is 0 if there was no response; `errors` are the problems of fields. */
export class Problem extends Error {
  /** @param {number} status @param {any} body @param {Headers} [headers] */
  constructor(status, body, headers) {
    super(sentence(status, body, headers));
    this.status = status;
    this.code = body?.code ?? "";
    this.proofs = body?.proofs ?? [];
    /** @type {{ field: string, message: string }[]} */
    this.errors = problems(body);
  }
}

/** @param {any} body Problems of fields, in any of the forms of the API: lists, or a sentence that begins with a field; of payouts that cannot be combined, by their tokens. */
function problems(body) {
  if (Array.isArray(body?.errors)) return body.errors;
  if (Array.isArray(body?.failures)) return body.failures.map((/** @type {any} */ each) => ({ field: each.securePaymentToken, message: word("reason", each.reason) }));
  const [, field, message] = /^(\w+)[\w.[\]]*(?:: (.+)| must .+)/.exec(body?.message) ?? [];
  if (field) return [{ field, message: message ?? body.message }];
  const list = Array.isArray(body?.message) ? body.message : [];
  return list.map((/** @type {any} */ each) => ({ field: (each.path ?? []).join("."), message: each.message }));
}

/** @param {number} status @param {any} body @param {Headers} [headers] */
function sentence(status, body, headers) {
  if (status === 0) return t("problem.away");
  if (status === 429) return t("problem.limited", { seconds: headers?.get("retry-after") ?? "60" });
  const id = headers?.get("x-request-id");
  if (status >= 500 && !body?.code) return t(id ? "problem.service" : "problem.service.unnumbered", { id });
  const said = Array.isArray(body?.message) ? problems(body)[0]?.message : body?.message;
  const text = said === "Validation failed" ? (problems(body)[0]?.message ?? said) : (said ?? t("problem.odd"));
  return body?.code === "changed_meanwhile" ? t("problem.conflict") : text;
}

/** @param {string | null | undefined} network @param {string | null | undefined} hash The page of a transaction at the explorer that the service knows for its network, or null. */
export const transactionPage = (network, hash) =>
  network && hash && Object.hasOwn(NETWORKS, network) && /^(0x)?[0-9a-f]{64}$/i.test(hash) ? NETWORKS[network].explorer + hash : null;

/** @param {string | null | undefined} name The name of a network for people, or what the API calls one that is not known here. */
export const networkName = (name) => (name && Object.hasOwn(NETWORKS, name) ? NETWORKS[name].title : clean(name));

/** @param {unknown} id The name of the network with that chain id, or the id. */
export const chainName = (id) => Object.values(NETWORKS).find(({ chainId }) => String(chainId) === String(id))?.title ?? clean(id);

/** @param {string} scope Whether the role of who is signed in has a scope. */
export const may = (scope) => !scope || (ROLES[me.value?.role] ?? []).includes(scope);

/** @typedef {{ body?: any, key?: string, headers?: Record<string, string>, alone?: boolean, again?: boolean }} Options `key`: the idempotency key of a form that creates something; `alone`: the call is a part of signing in, and not interrupted; `again`: it was refused once because its session had ended. */

/** @param {string} method @param {string} path @param {Options} [options] The body of the response; of a change that waits, its `result` with the `pendingChange`. Throws Problem. */
export async function call(method, path, options = {}) {
  const response = await respond(method, path, options);
  const cutOff = () => { throw new Problem(response.status, {}); };
  const body = response.status === 204 ? null : await response.json().catch(cutOff);
  if (response.status !== 202 || !body.pendingChange) return body;
  waiting.value = body;
  return { ...body.result, pendingChange: body.pendingChange };
}

/** @param {any} change For what a change waits, in words. */
export const waitsFor = (change) =>
  change.takesEffectAt ? t("waits.time", { time: time(change.takesEffectAt) }) : t("waits.approval", { time: time(change.expiresAt) });

/** @param {string} method @param {string} path @param {Options} [options] @returns {Promise<Response>} */
export async function respond(method, path, options = {}) {
  const response = await send(method, path, options);
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const problem = new Problem(response.status, body, response.headers);
  if (problem.code === "signed_in_as_another") await readMe({});
  if (options.alone) throw problem;
  if (response.status === 401 && me.value) {
    // Another window may have opened a session in place of that which the call was sent with.
    const now = options.again ? response : await send("GET", ME, {});
    if (now.ok) return respond(method, path, { ...options, again: true });
    if (now.status !== 401) throw new Problem(now.status, {}, now.headers);
    return after({ kind: "session" }, problem, method, path, options);
  }
  if (problem.code === "presence_required") {
    return after({ kind: "presence", proofs: problem.proofs }, problem, method, path, options);
  }
  throw problem;
}

/** @type {Promise<boolean> | null} */
let pending = null;

/** @param {object} what @param {Problem} problem @param {string} method @param {string} path @param {Options} options @returns {Promise<Response>} */
async function after(what, problem, method, path, options) {
  pending ??= new Promise((done) => (interruption.value = { ...what, done }));
  const isDone = await pending;
  [pending, interruption.value] = [null, null];
  if (!isDone) throw problem;
  return respond(method, path, options);
}

/** @param {string} method @param {string} path @param {Options} options @returns {Promise<Response>} */
async function send(method, path, { body, key, headers = {} }) {
  const sent = { ...headers };
  if (body !== undefined) sent["content-type"] = "application/json";
  if (key) sent["idempotency-key"] = key;
  if (me.value && path !== ME) sent["x-signed-in-as"] = `${me.value.personId}/${me.value.id}`;
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    const signal = AbortSignal.timeout(SECONDS * 1_000);
    return await fetch(`${ROOT}${path}`, { method, headers: sent, body: text, signal, credentials: "same-origin" });
  } catch {
    throw new Problem(0, {});
  }
}

/** @param {Record<string, string | number | null | undefined>} values A query string of those that have a value. */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

/** @param {Options} [options] Reads who is signed in. A different person or account than before starts the page anew, and nothing that waits goes on. Unless `alone`, a session that has ended is opened again over the view, and a page that starts anew says why. */
export async function readMe(options = { alone: true }) {
  const before = me.value;
  const now = await call("GET", ME, options).catch((problem) => {
    if (problem.status === 401 && options.alone) return null;
    throw problem;
  });
  if (before && now && (before.personId !== now.personId || before.id !== now.id)) {
    if (!options.alone) sessionStorage.setItem(ANEW, "1");
    location.assign(`${ROOT}/dashboard`);
    return new Promise(() => {});
  }
  me.value = now;
  return now;
}
