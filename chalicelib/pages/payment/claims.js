// The claim of this browser to have a payment signed: while it lasts, no other browser is offered the payment.

import { hexOf, isLike, keepSent } from "./link.js";
import { poll } from "./poll.js";

const LOOKS_EVERY = 10_000; // milliseconds between two looks at the end of the claim
// Milliseconds before that end. The service prolongs it in its last minute, and a hidden page runs once a minute at least.
const RENEWED_BEFORE = 70_000;
// Milliseconds after which the page says that the wallet may be hidden or stuck.
const SLOW = 15_000;
const WATCH = { first: 3_000, most: 15_000 }; // milliseconds between two reads of the link while the wallet asks

const ask = (app, calls) => app.ask("/signing", { calls, announcerSecret: keepSent(app) });

export function callsOf(steps) {
  return steps.map(({ transaction: { to, data, value } }) => ({ to, data, value: `0x${BigInt(value).toString(16)}` }));
}

/** Claims the signing of what a wallet is asked for: the claim, null if the link cannot be claimed or not any more, or `settled` if it has ended. */
export async function claim({ app, chain, address, isSafe }, asked) {
  if (!globalThis.crypto?.subtle || (isSafe && !app.stored.set("wallet", "safe"))) return null; // its frame may have no storage
  const text = new TextEncoder().encode(JSON.stringify([chain.chainId, address, asked]));
  const calls = `0x${hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", text)))}`;
  const response = await ask(app, calls);
  const { status, body } = response;
  if (status !== 200) return settle(app, response);
  app.need(isLike(body.callsId, /^0x[0-9a-f]{64}$/) && Number.isSafeInteger(body.signingEndsAt));
  return { id: body.callsId, calls, until: body.signingEndsAt * 1_000 };
}

/** Shows why a claim is refused, if the link has ended or another device is asked: `settled`; else null. */
async function settle(app, response) {
  const { status, body } = response;
  if (app.commerce && status !== 423) return (await app.refresh()) ? "settled" : null; // the escrow's events say how it ended
  const isEnd = status === 423 || status === 403 || (status === 409 && body.status === "completed");
  return isEnd && (await app.settle(app.outcomeOf(response))) ? "settled" : null;
}

/** Claims again what a note has claimed, if its claim may be over: returns `settled` if that is refused, else null. */
export async function claimAgain(app, note) {
  const { claim: claimed } = note;
  if (!claimed || (!note.isWithdrawn && app.now() < claimed.until)) return null;
  const response = await ask(app, claimed.calls);
  note.isWithdrawn = false;
  const { status, body } = response;
  if (status !== 200 || !Number.isSafeInteger(body.signingEndsAt)) return (note.claim = null), settle(app, response);
  claimed.until = body.signingEndsAt * 1_000;
  return null;
}

/** Gives the claim of a note back, which is not prolonged any more; without an answer it ends by itself. */
export async function giveBack(app, note) {
  const { claim: claimed } = note;
  note.claim = null; // at once, so that it is not in what is stored meanwhile
  if (claimed) await app.ask("/signing", undefined, "DELETE").catch(() => {});
}

// By a timer of its own, as `poll` stands still while the page is hidden, and the wallet may be in front of it.
/** Prolongs the claim of a note, until the service refuses that or does not answer before its end, which calls `lost`. Returns a stop function. */
export function keepClaim(app, { claim: claimed }, lost = () => {}) {
  const timer = claimed && setInterval(async () => {
    if (app.now() < claimed.until - RENEWED_BEFORE) return;
    const { status, body } = await ask(app, claimed.calls).catch(() => ({ status: 0 }));
    if (status === 200 && Number.isSafeInteger(body.signingEndsAt)) claimed.until = body.signingEndsAt * 1_000;
    else if (status || app.now() >= claimed.until) void (clearInterval(timer), lost());
  }, LOOKS_EVERY);
  return () => clearInterval(timer);
}

// `isLate` is whether somebody may have paid meanwhile.
/** While a wallet asks for what `note` has claimed: calls `slow` if that takes long, and `withdraw(isLate)` once the link does not owe it by `stands(link)`, or the claim is lost. Returns a stop function. */
export function watchLink(app, note, { stands, slow, withdraw }) {
  let isAnswered = false;
  const timer = setTimeout(slow, SLOW);
  const end = (isLate) => {
    if (isAnswered || note.isLate === isLate) return;
    clearTimeout(timer);
    Object.assign(note, { isWithdrawn: true, isLate });
    withdraw();
  };
  const release = keepClaim(app, note, () => end(false));
  const stop = poll(async () => {
    const { kind, link } = await app.load();
    if (isAnswered || (kind === "open" && stands(link))) return isAnswered;
    end(!["expired", "cancelled", "awaiting", "claimed"].includes(kind)); // nobody paid, as far as is known
    return kind !== "claimed";
  }, WATCH);
  return () => void (clearTimeout(timer), stop(), release(), (isAnswered = true));
}
