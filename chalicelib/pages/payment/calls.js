// All transactions of a payment in one confirmation, by wallet_sendCalls (EIP-5792, version 2.0.0). Loaded for wallets alone
// that say they can do so. What a wallet says of a batch is a hint: the payment is what the service finds on the chain.

import { findDoubt } from "./denials.js";
import { SEND_MS, WalletError, believe, codesOf, isLike, toWalletError, within } from "./link.js";
import { callsOf, giveBack, keepClaim } from "./claims.js";

const VERSION = "2.0.0";
const STATUS_MS = 15_000;
const LOST_AFTER = 3; // answers in a row that say nothing of a batch that the wallet has accepted
const LONGEST_ID = 8_194; // characters: 4,096 bytes in hexadecimal
const HASH = /^0x[0-9a-f]{64}$/i;
// After these the wallet may still make the batch.
const OPEN = ["failed", "poor", "busy"];
const DUPLICATE = 5720;
const UNKNOWN = 5730;
// By these codes nothing was sent, and one transaction after the other may work: the method, a capability, the chain, the
// size, the upgrade that was declined, atomicity, or the form of the request.
const PLAIN = [4200, -32601, 5700, 5710, 5740, 5750, 5760, -32602];

// ---- what wallets answer

/** What a wallet can do on a chain by its answer to wallet_getCapabilities: `supported`, `ready` once upgraded, or null. */
export function atomicity(raw, chainId) {
  if (!isPlainObject(raw)) return null;
  const entries = Object.entries(raw).filter(([, value]) => isPlainObject(value));
  const of = (wanted) => entries.filter(([key]) => numberOf(key) === wanted).map(([, value]) => value);
  const found = Object.assign({}, ...of(0), ...of(chainId)); // what holds on all chains stands under 0x0
  const { atomic, atomicBatch } = found;
  if (isPlainObject(atomic)) return ["supported", "ready"].includes(atomic.status) ? atomic.status : null;
  return isPlainObject(atomicBatch) && atomicBatch.supported === true ? "supported" : null; // Safe and Coinbase before 2025
}

const isPlainObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A chain id that is written as 0x2105, 0x02105, 0X2105 or 8453; -1 for another text. */
function numberOf(key) {
  return /^(0x[0-9a-f]{1,13}|\d{1,15})$/i.test(key) ? Number(key.toLowerCase()) : -1;
}

/** The id that a wallet gave a batch, also as a bare text; throws WalletError `lied`. */
export function idOf(raw) {
  const id = typeof raw === "string" ? raw : raw?.id;
  believe(typeof id === "string" && id.length > 0 && id.length <= LONGEST_ID, "not an id");
  return id;
}

const WORDS = new Map([["PENDING", 100], ["CONFIRMED", 200]]); // before version 2.0.0

// Of a batch that was made in part, the last transaction alone tells nothing.
/** A status as `pending`, `done`, `failed`, `partly` or `odd`, with the hash of the last transaction if it has one. */
export function statusOf(raw) {
  if (!isPlainObject(raw)) return { state: "odd", hash: null };
  const number = WORDS.get(raw.status) ?? (isLike(raw.status, /^\d{3}$/) ? Number(raw.status) : raw.status);
  const names = { 1: "pending", 2: "done", 4: "failed", 5: "failed", 6: "partly" };
  const state = (Number.isInteger(number) && names[Math.floor(number / 100)]) || "odd";
  const receipts = [raw.receipts].flat().filter(isPlainObject);
  const hashes = receipts.map(({ transactionHash }) => transactionHash).filter((each) => isLike(each, HASH));
  return { state, hash: ["pending", "partly"].includes(state) ? null : (hashes.at(-1)?.toLowerCase() ?? null) };
}

// ---- offering it

/** What the page offers of it to a wallet with these capabilities; null if nothing. An upgrade has to be chosen. */
export function batchOf(raw, chain) {
  const found = atomicity(raw, chain.chainId);
  return found && { chain, isUpgrade: found === "ready", isWanted: found === "supported", send, choice };
}

/** The question whether the wallet may upgrade the account, in words, before it asks for that itself. */
function choice(payment) {
  const { app, batch } = payment;
  if (!batch.isUpgrade) return null;
  const change = ({ target }) => ((batch.isWanted = target.checked), app.renew());
  const box = app.el("input", { type: "checkbox", id: "batch", checked: batch.isWanted, on: { change } });
  return app.el("label", { class: "tick", for: "batch" }, box, app.t("batch.upgrade"));
}

// ---- asking for it

/** Asks the wallet for the whole payment; returns `plain` if nothing was sent and single transactions may work. */
async function send(payment, note, rest) {
  const { app, session, chain, address, source, due } = payment;
  note.batch.before = await balances(payment, source ? [source.token] : due.flatMap(({ token }) => token || []));
  app.notes.write(note);
  const request = { version: VERSION, id: note.batch.id, from: address, chainId: `0x${chain.chainId.toString(16)}`, atomicRequired: true };
  // The id is kept in the step in which it comes, also after the page has stopped waiting for it.
  const keep = (raw) => {
    note.batch.answered = idOf(raw);
    note.sentAt = Date.now();
    app.notes.write(note);
  };
  const stop = payment.signer.watchLink(note, rest);
  try {
    await session.demand(chain);
    const work = () => session.request("wallet_sendCalls", [{ ...request, calls: callsOf(payment.verdict.steps) }]).then(keep);
    await within(SEND_MS, () => work().catch(rethrow));
  } catch (trouble) {
    return handleRefusal(payment, note, trouble);
  } finally {
    stop();
  }
  return payment.follower.follow(note);
}

/** What the account has of each token, by token, as its node answers; null if that does not. */
function balances({ session, address }, tokens) {
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`; // balanceOf(address)
  const found = tokens.map(async (to) => [to, await session.call({ to, data })]);
  return Promise.all(found).then(Object.fromEntries, () => null);
}

/** Whether the account has other amounts than before its wallet was asked, or that cannot be read. */
export async function mayHavePaid(payment, { batch: { before } }) {
  const now = before && (await balances(payment, Object.keys(before)));
  return !now || JSON.stringify(now) !== JSON.stringify(before);
}

/** Throws the error of a wallet: `isPlain` if single transactions may work, `isOpen` if it may still make the batch. */
function rethrow(error) {
  const codes = codesOf(error);
  if (codes.includes(DUPLICATE)) throw Object.assign(new WalletError("failed"), { isDuplicate: true });
  if (codes.some((code) => PLAIN.includes(code))) throw Object.assign(new WalletError("unsupported"), { isPlain: true });
  const trouble = toWalletError(error);
  throw Object.assign(trouble, { isOpen: OPEN.includes(trouble.code) });
}

async function handleRefusal(payment, note, trouble) {
  if (trouble.isDuplicate) {
    note.batch.answered = note.batch.id; // it was asked for this very batch before
    payment.app.notes.write(note);
    return payment.follower.follow(note);
  }
  if (trouble.isOpen) return payment.follower.askPayer(Object.assign(note, { code: trouble.code, detail: trouble.detail, isDoubted: true }));
  if (trouble.isPlain) payment.forgoBatch();
  try {
    return await payment.signer.handleNoHash(note, trouble, {});
  } catch (unsent) {
    if (trouble.isPlain) return "plain";
    throw unsent;
  }
}

// ---- following it

const SAYS_NOTHING = ["unknown", "odd", "silent"];

/** The status of a batch by its wallet: as `statusOf`, `unknown` if it does not know it, `silent` without an answer. */
async function look({ session }, { batch }) {
  const id = batch.answered ?? batch.id;
  const ask = async () => statusOf(await session.request("wallet_getCallsStatus", [id]));
  const unknown = (error) => {
    if (codesOf(error).includes(UNKNOWN)) return { state: "unknown", hash: null };
    throw error;
  };
  return within(STATUS_MS, () => ask().catch(unknown)).catch(() => ({ state: "silent", hash: null }));
}

/** Whether the wallet names a transaction of a batch about which the payer was asked already, or speaks of it again. */
export async function isBack(payment, note) {
  const { state, hash } = await look(payment, note);
  if (hash) keepHash(payment, note, hash);
  return Boolean(hash) || !(note.isDoubted || SAYS_NOTHING.includes(state));
}

function keepHash({ app }, note, hash) {
  note.sentAt ??= Date.now();
  if (app.commerce) void giveBack(app, note); // as of a single pre-approval
  app.notes.write(Object.assign(note, { txHash: hash }));
}

/** Follows a batch until its transaction is known, and then that one; also after the page was loaded again. */
export async function follow(payment, note) {
  const { app } = payment;
  const { batch } = note;
  let lost = 0;
  payment.views.progress(batch.answered ? "batch" : "doubt", note.place, note);
  const stop = keepClaim(app, note);
  const end = await payment.follower.until(async () => {
    if (await payment.follower.isSettled()) return "settled";
    const { state, hash } = await look(payment, note);
    if (hash) return keepHash(payment, note, hash), "named";
    const isKnown = batch.answered || state !== "unknown";
    payment.views.progress(["odd", "silent"].includes(state) ? "silent" : isKnown ? "batch" : "doubt", note.place, note);
    if (["failed", "partly"].includes(state)) return state;
    if (state === "done") return payment.follower.checkRecorded(note, "deepAt");
    lost = SAYS_NOTHING.includes(state) ? lost + 1 : 0;
    return lost >= (isKnown ? LOST_AFTER : 1) && "lost"; // never while it says `pending`
  }).finally(stop);
  if (end === "named") return payment.follower.follow(note);
  // A wallet that has not answered may still ask, whatever it says of an id that it was only given.
  if (end === "failed" && !batch.answered) return payment.follower.askPayer({ ...note, isDoubted: true });
  if (end === "failed") return handleFailure(payment, note);
  if (end === "lost") return payment.follower.askPayer(note);
  if (["partly", "never"].includes(end)) return payment.follower.askPayer({ ...note, isDoubted: true });
  return end;
}

/** The wallet says that nothing was made and names no transaction: the account is asked as well. */
async function handleFailure(payment, note) {
  const { app } = payment;
  const doubt = await findDoubt(payment, note);
  if (!doubt) app.notes.undo(note);
  if (!doubt || doubt === "still") await giveBack(app, note);
  if (doubt) return payment.follower.askPayer(Object.assign(note, { code: "declined", isDoubted: true }));
  payment.views.problem("unmade");
  return "failed";
}

/** The transaction that the wallet names has failed, and is not known to be the account's own: the payer is asked. */
export async function foreign(payment, note) {
  if (!(await mayHavePaid(payment, note))) await giveBack(payment.app, note);
  return payment.follower.askPayer({ ...note, isDoubted: true, isForeign: true });
}
