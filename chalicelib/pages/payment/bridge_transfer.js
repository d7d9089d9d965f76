// A payment that was sent from another chain: announces it to the service, and shows where it is and how it ended.
// The service follows it by what both chains prove; the page needs no wallet for that.

import { transaction } from "./outcomes.js";
import { NETWORKS, chainOf } from "./identity.js";
import { poll } from "./poll.js";
import { sourceOf } from "./sources.js";

const HASH = /^0x[0-9a-f]{64}$/;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const AMOUNT = /^\d{1,30}(\.\d{1,20})?$/;
const OPEN = ["pending", "unknown", "refunding"];
const ENDS = ["partial", "refunded", "failed", "replaced", "lapsed"]; // unpaid
const STAGES = ["source", "bridge", "refunding", "destination", "returned"];
const FORGOTTEN = 3_600_000; // milliseconds after the last time to arrive from which a payment is one the service does not know
const ANNOUNCING = { first: 1_500, most: 12_000 }; // milliseconds between two attempts

/** The payments from other chains in the body of a response, with what the page knows of it in the right form. */
function bridgeTransfers({ crosschainIntents } = {}) {
  const all = Array.isArray(crosschainIntents) ? crosschainIntents : [];
  return all.filter((each) => each instanceof Object).map(readOne).filter(Boolean);
}

function readOne(raw) {
  const { status, stage, sourceNetwork, destinationNetwork } = raw;
  const networks = [sourceNetwork, destinationNetwork];
  if (!networks.every((name) => Object.hasOwn(NETWORKS, name)) || !STAGES.includes(stage)) return null;
  if (![...OPEN, ...ENDS, "settled"].includes(status)) return null;
  const hash = (text) => (HASH.test(text) ? text : null);
  return {
    ...{ status, stage, sourceNetwork, destinationNetwork, isSurplus: raw.isSurplus === true },
    ...{ sent: hash(raw.sourceTxHash), arrived: hash(raw.destinationTxHash), refund: hash(raw.refundTxHash) },
    fillBy: Date.parse(raw.fillDeadline) || null,
    returned: readReturned(raw.held),
  };
}

function readReturned(raw) {
  const { amount, currency, network, walletAddress } = raw ?? {};
  const isRight = AMOUNT.test(amount) && /^\w{1,20}$/.test(currency) && Object.hasOwn(NETWORKS, network);
  return isRight && ADDRESS.test(walletAddress) ? { amount, symbol: currency, network, wallet: walletAddress } : null;
}

/** The one of a note, or without a note one that may still pay the link; null if there is none. */
export function bridgeTransferOf(body, note) {
  const found = bridgeTransfers(body);
  if (!note) return found.find(isUnderWay) ?? null;
  return found.find(({ sent }) => sent !== null && sent === note.txHash?.toLowerCase()) ?? null;
}

/** Whether it may still pay. One whose announcement was withdrawn after the deposit may, too: the money is on its way. */
const isUnderWay = ({ status, stage }) => OPEN.includes(status) || (status === "lapsed" && stage !== "source");

// --- announcing it ---

/** Announces a payment that was sent. Returns false if the service refuses the announcement. */
export async function announceOnce(app, note) {
  if (note.isAnnounced) return true;
  const source = sourceOf(note.source.network, note.source.symbol);
  const facts = { txHash: note.txHash, chain: source.label, token: source.symbol, payerAddress: note.wallet };
  const { status } = await app.ask("/intent", facts);
  if (status === 200) app.notes.write(Object.assign(note, { isAnnounced: true }));
  return status !== 400; // others say how the link has ended
}

/** The result of `task`, which is tried again until it does not throw. */
function persistently(task) {
  return task().catch(() => new Promise((resolve) => poll(async () => (resolve(await task()), true), ANNOUNCING)));
}

/** Goes on with a payment that was sent: shows where it is or how it ended. Returns false if only the wallet can say. */
export async function goOn(app, note) {
  const { state, head, parts } = describe(app, null, note);
  app.show(state, () => ({ ...head(), tone: "busy", body: parts("sent") }));
  if (!(await persistently(() => announceOnce(app, note)))) return false;
  const outcome = await persistently(() => app.load());
  if (outcome.kind !== "open") return app.settle(outcome);
  const bridgeTransfer = bridgeTransferOf(outcome.body, note);
  if (!bridgeTransfer && app.now() > 1_000 * (note.fillBy ?? 0) + FORGOTTEN) return false;
  const isOver = bridgeTransfer && ENDS.includes(bridgeTransfer.status) && !isUnderWay(bridgeTransfer);
  if (isOver) return showTransferEnd(app, note, bridgeTransfer);
  app.stopWatch();
  app.end = "sent";
  await (await app.asset("outcomes.js")).showEnd(app, { ...outcome, kind: "sent" });
  return true;
}

const sentFrom = (app, { txHash, source }) => transaction(app, txHash, networkOf(source.network));

// --- views ---

const networkOf = (network) => chainOf({ network, chain: { label: "", confirmations: 0 } });
const nameOf = ({ clean }, network) => clean(networkOf(network).name);
const phaseOf = ({ status, stage }) =>
  OPEN.includes(status) && status !== "pending" ? status : status === "lapsed" ? "unknown" : stage === "source" ? "source" : "bridge";

/** What is shown of a payment in place of its transactions, `hashes`; `own` is the note of one that is sent, if it is here. */
export function describe(app, bridgeTransfer, own) {
  const name = `route-${bridgeTransfer ? phaseOf(bridgeTransfer) : "source"}`;
  const { sourceNetwork, destinationNetwork } = bridgeTransfer ?? {};
  const networkNames = bridgeTransfer && { from: nameOf(app, sourceNetwork), to: nameOf(app, destinationNetwork) };
  const head = () => ({ title: app.t(`${name}.title`), text: app.t(`${name}.text`, networkNames ?? {}) });
  const parts = (kind) => {
    if (!bridgeTransfer) return [sentFrom(app, own)];
    const isOpen = isUnderWay(bridgeTransfer); // for a link that is paid, `showEnd` says what that means
    const text = kind === "sent" || (isOpen && kind === "completed") ? "" : isOpen ? head().text : endText(app, bridgeTransfer);
    return [text && app.paragraph(text, "note"), trail(app, bridgeTransfer)];
  };
  const hashes = bridgeTransfer ? [bridgeTransfer.sent, bridgeTransfer.arrived] : [own.txHash.toLowerCase()];
  return { state: name, head, parts, hashes, isUnderWay: !bridgeTransfer || isUnderWay(bridgeTransfer) };
}

/** What became of a payment that did not pay the link, with what the payer has now; "" for one that did. */
function endText(app, { status, isSurplus, returned }) {
  const { t, money, units, clean } = app;
  if (isSurplus) return t("route.surplus");
  if (!ENDS.includes(status)) return "";
  const decimals = (text) => text.split(".")[1]?.length ?? 0;
  const values = returned && {
    amount: money(units(returned.amount, decimals(returned.amount)), decimals(returned.amount), clean(returned.symbol)),
    network: nameOf(app, returned.network),
    wallet: `${returned.wallet.slice(0, 8)}\u2026${returned.wallet.slice(-6)}`,
  };
  const name = `route-${status}`;
  return t(`${name}.text`, values ?? { amount: "\u2013", network: "\u2013", wallet: "\u2013" });
}

/** Shows how a payment ended while its link can be paid again; the payer decides whether to. */
function showTransferEnd(app, note, bridgeTransfer) {
  const again = () => {
    app.notes.over(note);
    location.reload();
  };
  const name = `route-${bridgeTransfer.status}`;
  app.show(name, () => ({
    title: app.t(`${name}.title`),
    text: endText(app, bridgeTransfer),
    tone: "bad",
    body: [trail(app, bridgeTransfer), app.button("again", app.t("route.again"), again)],
  }));
  return true;
}

/** The way of a payment: source, bridge and destination, each with its state and transaction. */
function trail(app, bridgeTransfer) {
  const { t, el } = app;
  const { stage, status, sourceNetwork, destinationNetwork, sent, arrived, refund } = bridgeTransfer;
  const place = { source: 0, bridge: 1, refunding: 1, destination: 3, returned: 3 }[stage];
  const isOver = !isUnderWay(bridgeTransfer);
  const item = (index, key, network, hash) => {
    const state = index < place || (isOver && hash) ? "done" : index === place && !isOver ? "now" : "todo";
    const words = el("span", { class: "words" }, t(key, { network: nameOf(app, network) }));
    const hidden = el("span", { class: "visually-hidden" }, t(`state.${state}`));
    return el("li", { class: state, "aria-current": state === "now" && "step" }, hidden, words,
      hash && transaction(app, hash, networkOf(network)));
  };
  const isBack = stage === "refunding" || stage === "returned";
  const last = isBack ? ["route.back", sourceNetwork, refund]
    : [status === "partial" ? "route.bounced" : "route.paid", destinationNetwork, arrived];
  return el("ol", { class: "steps" },
    item(0, "route.sent", sourceNetwork, sent), item(1, "route.through", destinationNetwork, null), item(2, ...last));
}

// ---- before it is sent

/** What leaves the wallet and what arrives, what is lost between them, and until when that is offered. */
export function routeFacts({ app, due: [{ left, fee, decimals, symbol }], quote: { route }, rateEndsAt }, ending) {
  const { t, el, money, clean, paragraph } = app;
  const { source } = route;
  const row = (name, ...nodes) => el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, ...nodes));
  const on = (amount, chain) => t("route.amount", { amount, network: clean(chain.name) });
  const arriving = (left + fee) * 10n ** BigInt(source.decimals);
  const cost = route.amount - (arriving + 10n ** BigInt(decimals) - 1n) / 10n ** BigInt(decimals);
  const there = chainOf(app.link);
  return [
    el("dl", { class: "balances" },
      row("pay.total", on(money(route.amount, source.decimals, source.symbol), source.chain)),
      row("route.arrives", on(money(left + fee, decimals, symbol), there)),
      row("route.cost", money(cost > 0n ? cost : 0n, source.decimals, source.symbol)),
      row("route.ends", ending(el, rateEndsAt))),
    paragraph(t("route.fails", { amount: money(left + fee, decimals, symbol), network: clean(there.name) }), "hint"),
  ];
}

/** A step in words. */
export function sentence({ app, due: [{ left, fee, payee, decimals, symbol }] }, kind, amount, short) {
  const { t, money, clean, link } = app;
  if (kind === "approve") return t("step.approve.bridge", { amount });
  const paid = money(left + fee, decimals, symbol);
  return t("step.bridge", { amount, paid, payee: short(payee), network: clean(chainOf(link).name) });
}
