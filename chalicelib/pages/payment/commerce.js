// Links of commerce payments, whose amount an escrow holds: their terms, what is checked before a wallet signs, where
// the money is, and all of it in words. What the payer can take back again is an open link with `isReclaim`: in place of
// what pays it, the page offers what takes it back.
//
// state: "authorizing" | "unfunded" | "unallowed" | "untaken" | "authorized" | "partly" | "taken" | "voided" | "reclaimed" | "refunded"

import { ESCROWS, checkAuthorization, checkReclaim } from "./authorize.js";
import { back, copyField, transaction } from "./outcomes.js";
import { need, string, units } from "./link.js";
import { Notes, isPayment } from "./notes.js";
import { poll } from "./poll.js";

const FINAL = ["voided", "reclaimed"]; // states after which nothing more can happen
const FAILURES = { balance: "unfunded", allowance: "unallowed" }; // states by why it has failed last; else "untaken"
const WAITING = ["authorizing", "unfunded", "unallowed", "untaken"];
const TONES = { authorizing: "busy", unfunded: "bad", unallowed: "bad", untaken: "bad" };
const FAST = { first: 4_000, most: 120_000 };
const OWNERS_AFTER = 1_800_000; // milliseconds after which it is asked what became of a Safe's transaction
const NAMES = ["maxAmount", "operator", "escrow", "preApprovalExpiry", "authorizationExpiry", "refundExpiry", "minFeeBps",
  "maxFeeBps", "feeReceiver", "salt"];

/** The outcome with the terms in its link; of kind `escrow` with its state while there is nothing to pay or to take back. */
export function judge(app, outcome) {
  const { link, body } = outcome;
  link.commerce = readTerms(body.commerce, link);
  const { most, due, expiries } = link.commerce;
  link.terms = [due, ...NAMES.map((name) => body.commerce[name])].join(" ");
  link.expiresAt = 1_000 * Number(expiries[0]);
  // The wallet allows the most that may be taken, so that is what the page shows as the amount.
  Object.assign(link.payments[0], { amount: most, left: most });
  const state = stateOf(app, link.commerce);
  if (state === "reclaimable") return toReclaim(app, outcome);
  const words = ["commerce"];
  return state ? { ...outcome, words, kind: "escrow", state, module: "commerce.js" } : { ...outcome, words };
}

/** The outcome as an open link of what is held. */
function toReclaim(app, outcome) {
  const { link } = outcome;
  const { capturable } = link.commerce;
  if (app.link && !app.link.isReclaim) location.reload(); // it was to be paid before
  const note = new Notes(app).of(app.token);
  if (note && !note.isReclaim) app.stored.set(`pay:${app.token}`, null); // of the authorization, which was made
  Object.assign(link.payments[0], { amount: capturable, left: capturable });
  Object.assign(link, { isReclaim: true, canPay: true, dollars: null, expiresAt: Infinity });
  return { ...outcome, kind: "open", words: ["commerce", "reclaim"] };
}

function readTerms(raw, { network, kind, payments: [payment] }) {
  need(kind === "single" && payment.token !== null && !payment.invoice && payment.fee === 0n);
  need(Array.isArray(raw.preApprovedBy) && raw.preApprovedBy.length <= 100);
  const amount = (name) => units(raw[name], payment.decimals);
  const number = (name) => (need(/^\d{1,80}$/.test(raw[name])), BigInt(raw[name]));
  const configured = document.querySelector('meta[name="escrows"]')?.content.split(",") ?? [];
  const others = configured.map((each) => each.split(" ")).map(([name, ...contracts]) => [name, contracts]);
  const address = (value) => (value === null ? null : string(value, 64));
  return {
    network, payee: payment.payee, token: payment.token, due: payment.amount,
    escrows: { ...Object.fromEntries(others), ...ESCROWS },
    ...{ escrow: string(raw.escrow, 64), operator: string(raw.operator, 64), feeReceiver: address(raw.feeReceiver) },
    ...{ most: amount("maxAmount"), fees: [number("minFeeBps"), number("maxFeeBps")], salt: number("salt") },
    expiries: ["preApprovalExpiry", "authorizationExpiry", "refundExpiry"].map(number),
    ...{ status: string(raw.status, 40), payer: address(raw.payer), approvers: raw.preApprovedBy.map(lower) },
    failure: raw.failure ? { wallet: lower(raw.failure.wallet), reason: string(raw.failure.reason, 40) } : null,
    ...{ capturable: amount("heldAmount"), taken: amount("capturedAmount"), returned: amount("returnedAmount") },
  };
}

const lower = (address) => string(address, 64).toLowerCase();

// Where the money is: `reclaimable` if the payer can take back what is held; null while it can be paid, before a wallet of
// this payer has allowed the escrow to take it.
function stateOf(app, { status, payer, approvers, failure, capturable, taken, expiries }) {
  const isLate = status === "EXPIRED" || app.now() >= 1_000 * Number(expiries[1]);
  if (capturable > 0n) return isLate ? "reclaimable" : taken > 0n ? "partly" : "authorized";
  if (["VOIDED", "RECLAIMED"].includes(status)) return status.toLowerCase();
  if (taken > 0n) return ["REFUNDED", "PARTIALLY_REFUNDED"].includes(status) ? "refunded" : "taken";
  const own = [payer, noteOf(app)?.wallet, app.payment?.address].filter(Boolean).map(lower);
  if (["AUTHORIZING", "CAPTURING"].includes(status)) return "authorizing";
  if (!own.some((each) => approvers.includes(each))) return null;
  if (!own.includes(failure?.wallet)) return "authorizing";
  return Object.hasOwn(FAILURES, failure.reason) ? FAILURES[failure.reason] : "untaken";
}

/** The note of the pre-approval that a wallet was asked for here, or null. */
function noteOf(app) {
  const note = new Notes(app).of(app.token);
  return note && isPayment(note) && !note.isReleased ? note : null;
}

/** The result of `checkAuthorization` for a link, or of `checkReclaim` for the wallet that has paid. */
export function check(link, transactions, payer, now) {
  const terms = { ...link.commerce, payer, now: BigInt(Math.floor(now / 1_000)) };
  if (!link.isReclaim) return checkAuthorization(transactions, terms);
  const isPayer = link.commerce.payer?.toLowerCase() === payer.toLowerCase();
  return isPayer ? checkReclaim(transactions, terms) : { ok: false, reason: "terms", index: -1 };
}

// ---- in words

const timeOf = ({ language }, seconds) =>
  new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(1_000 * Number(seconds));

const percent = ({ language }, bps) =>
  new Intl.NumberFormat(language(), { style: "percent", maximumFractionDigits: 2 }).format(Number(bps) / 10_000);

/** Who may take how much until when, and what becomes of the rest; shown with the amount until it is paid. */
export function terms(app, { payments: [payment], commerce, isReclaim }) {
  const { t, el, code, money, paragraph } = app;
  const { most, due, fees, operator, escrow, expiries, payer } = commerce;
  const amount = money(most, payment.decimals, payment.symbol);
  const time = timeOf(app, expiries[1]);
  const row = (name, ...nodes) => el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, ...nodes));
  if (isReclaim) {
    return [
      el("dl", {}, payer && row("commerce.payer", code(payer)), row("commerce.contract", code(escrow))),
      el("div", { class: "note" }, paragraph(t("reclaim.terms", { time }))),
    ];
  }
  const sentences = [
    t("commerce.terms", { amount, time }),
    most !== due && t("commerce.due", { amount: money(due, payment.decimals, payment.symbol) }),
    fees[1] ? t("commerce.fee", { percent: percent(app, fees[1]) }) : t("commerce.nofee"),
    t("commerce.back", { time }),
  ];
  return [
    el("dl", {}, row("commerce.operator", code(operator)), row("commerce.contract", code(escrow))),
    el("div", { class: "note" }, sentences.filter(Boolean).map((each) => paragraph(each))),
  ];
}

/** The terms that are signed with the pre-approval or the reclaim, as rows; `row` makes one of a message key and nodes. */
export function facts(app, row) {
  const { t, code, link } = app;
  const { payee, token, operator, fees, feeReceiver, expiries, salt } = link.commerce;
  const bounds = [...new Set(fees)].map((each) => percent(app, each)).join(" \u2013 ");
  return [
    ...[row("payee", code(payee)), row("token", code(token)), row("commerce.operator", code(operator))],
    row("fee", bounds, " ", feeReceiver ? code(feeReceiver) : t("commerce.anybody")),
    ...["commerce.paid", "commerce.captured", "commerce.refunded"].map((name, at) => row(name, timeOf(app, expiries[at]))),
    row("commerce.salt", code(String(salt))),
  ];
}

/** Follows what a Safe was asked to propose: nothing is announced of it, as the escrow's events tell all. */
export async function awaitOwners(payment, note) {
  const { app } = payment;
  const { t } = app;
  app.show("safe", () => {
    const steps = payment.views.stepsOf([{ kind: "safe", index: 0 }], 0);
    const hash = copyField(app, t("safe.hash"), note.txHash, "safe-hash");
    return { title: t("safe.title"), text: t("safe.text"), tone: "busy", body: [steps, hash] };
  });
  const until = payment.follower.notAfterEntry(note.startedAt) + OWNERS_AFTER;
  const end = await payment.follower.until(async () => ((await payment.follower.isSettled()) ? "settled" : Date.now() > until && "late"));
  return end === "late" ? payment.follower.askPayer({ ...note, isDoubted: true }) : end; // they may still execute it
}

/** Shows where the money is, and follows it. */
export async function showEnd(app, { link, body, state }) {
  const { t, el, money } = app;
  const { capturable, taken, returned, expiries, due, escrows, network } = link.commerce;
  const [{ decimals, symbol }] = link.payments;
  const note = noteOf(app);
  Object.assign(link.payments[0], { amount: due, left: due });
  if (!WAITING.includes(state)) app.stored.set(`pay:${app.token}`, null);
  app.followed = note ?? app.followed;
  app.link = link;
  app.summary(link);
  const row = ([name, amount]) =>
    el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, money(amount, decimals, symbol)));
  const all = { "commerce.now": capturable, "commerce.taken": taken, "commerce.returned": returned };
  const amounts = Object.entries(all).filter(([, amount]) => amount > 0n);
  const time = () => timeOf(app, expiries[WAITING.includes(state) ? 0 : 1]);
  app.show(state, () => ({
    title: t(`${state}.title`),
    text: t(`${state}.text`, { time: time(), amount: money(due, decimals, symbol) }),
    tone: TONES[state] ?? "good",
    body: [
      amounts.length > 0 && el("dl", { class: "balances" }, amounts.map(row)),
      state === "unallowed" && el("p", {}, t("step.spender"), " ", app.code(escrows[network][1])),
      app.followed?.txHash && transaction(app, app.followed.txHash, link.chain),
      ...back(app, link),
    ],
  }));
  if (!FINAL.includes(state)) follow(app, JSON.stringify(body.commerce));
}

/** Reads the link again, and shows it again once it has changed. */
function follow(app, before) {
  app.stopWatch();
  app.stopWatch = poll(async () => {
    const outcome = await app.load();
    if (outcome.kind === "escrow" && JSON.stringify(outcome.body.commerce) === before) return false;
    if (outcome.kind === "open") return location.reload(), true; // a reorganisation has undone it
    app.end = null;
    await app.settle(outcome);
    return true;
  }, FAST);
}
