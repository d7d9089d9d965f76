// Views of a link that cannot be paid now: paid, expired, cancelled, waiting for a transaction, its network or a Safe.

import { sentHere, transactionsIn } from "./link.js";
import { Notes, isPayment } from "./notes.js";
import { poll } from "./poll.js";

const HASH = /^(0x)?[0-9a-f]{64}$/i;
const UNCOUNTED_AFTER = 1_800_000; // milliseconds after which a transaction that was not counted is not waited for
// Milliseconds for which a button says that it has copied.
const COPIED = 2_000;
const DEFAULT_LABEL = "Go Back and Close"; // redirectLabel of a link that was created without one
const RECEIPTS = 50; // of a link, in a file
const TONES = { completed: "good", safe: "busy", sent: "busy", claimed: "busy", awaiting: "busy" };

// Explorers of the supported networks; the page links to no others, whatever a response names.
// Written by `make docs`, up to the next mark: explorers
const EXPLORERS = [
  "https://etherscan.io/tx/", "https://arbiscan.io/tx/", "https://optimistic.etherscan.io/tx/",
  "https://basescan.org/tx/", "https://polygonscan.com/tx/", "https://bscscan.com/tx/",
  "https://tronscan.org/#/transaction/", "https://sepolia.etherscan.io/tx/",
];
// Up to here.

// A receipt has every payment, however it is printed.
addEventListener("beforeprint", () => document.querySelectorAll(".list").forEach((each) => (each.open = true)));

/** A transaction hash, as a link to the explorer if the chain has a known one, and not of a virtual chain. */
export function transaction({ t, el, code, anchor, isTest }, hash, chain) {
  const href = EXPLORERS.includes(chain?.explorerUrl) && !isTest ? chain.explorerUrl + hash : null;
  const label = [t("transaction"), " ", code(`${hash.slice(0, 10)}\u2026${hash.slice(-8)}`)];
  const node = href ? anchor(href, label, { target: "_blank", id: `sent-${hash}` }) : el("span", {}, ...label);
  // A receipt on paper has the whole hash.
  return el("p", { class: "transaction", "data-hash": hash }, node);
}

/** A text with a button that copies it. */
export function copyField({ t, el, say }, label, text, id) {
  const input = el("input", { id, readOnly: true, value: text, dir: "ltr", on: { focus: () => input.select() } });
  const copied = () => {
    say(t("copied"));
    button.textContent = t("copied");
    setTimeout(() => (button.textContent = t("copy")), COPIED);
  };
  const copy = () => navigator.clipboard.writeText(text).then(copied, () => input.focus());
  const options = { type: "button", class: "small", "aria-label": t("copy.what", { what: label }), on: { click: copy } };
  const button = el("button", options, t("copy"));
  return el("div", { class: "field" }, el("label", { for: id }, label), el("div", { class: "pair" }, input, button));
}

/** Shows the end of a link. Polls it further while that may change: a payment sent in time may still be found. */
export async function showEnd(app, outcome) {
  const { kind, body = {}, link = app.link } = outcome;
  const requests = Array.isArray(body.requestStatuses) ? body.requestStatuses : [];
  const statuses = requests.filter((each) => each instanceof Object);
  const known = ["completed", "safe", "sent", "claimed", "awaiting", "expired", "invalidated", "cancelled", "missing"].includes(kind)
    ? kind : "closed";
  const note = paymentNote(app) ?? (kind === "completed" ? app.followed : null); // another tab may have deleted it
  if (note?.source) app.followed = note;
  const sent = note?.txHash?.toLowerCase();
  const way = await bridgeTransferIn(app, body, note);
  const bridgeTransfer = way?.bridgeTransfer;
  const listed = statuses.map((each) => String(each[known === "safe" ? "safeTxHash" : "txHash"]).toLowerCase());
  const isListed = known === "sent" && listed.includes(sent); // the link waits for the transaction that was sent here
  // isLate: somebody else paid while the wallet was asked here, unless the hash that was sent here is listed.
  const isCounted = bridgeTransfer
    ? bridgeTransfer.status === "settled" && !bridgeTransfer.isSurplus
    : !(note?.isLate && !listed.includes(sent));
  const found = known === "completed" ? transactionsIn(body) : [];
  const surplus = found.filter(({ status }) => status === "surplus");
  const obstacles = surplus.length > 0 && (await app.asset("obstacles.js"));
  const isYoung = note?.sentAt > Date.now() - UNCOUNTED_AFTER;
  const isUnsure = isYoung && !listed.includes(sent) && found.some(({ txHash, status }) => txHash === sent && status === "unknown");
  const isDone = known === "completed" && isCounted && !isUnsure;
  const isComing = known === "completed" && Boolean(bridgeTransfer && way.isUnderWay);
  const paid = `paid:${app.token}`; // when, by this browser's clock, or 1
  const isOurs = isDone && (sent || (await isPaidHere(app, listed)));
  if (isOurs) app.stored.set(paid, app.stored.get(paid) ?? String(note?.sentAt ?? app.endedAt ?? (app.paidHere ? Date.now() : 1)));
  const key = known !== "completed" ? known : isComing ? "settling" : isOurs ? "completed" : "paid";
  const valid = [...new Set([...listed, sent])].filter((hash) => HASH.test(hash));
  const isOwn = ({ txHash }) => sentHere(app)?.hashes.includes(txHash);
  const shown = valid.filter((hash) => !way?.hashes.includes(hash) && !surplus.some(({ txHash }) => txHash === hash));
  if (isDone) for (const name of ["pay", "from", "declined", "gasless"]) app.stored.set(`${name}:${app.token}`, null);
  if (app.link) app.summary(app.link);
  app.show(known === "sent" && way ? way.state : known, () => ({
    title: app.t(`${key}.title`),
    text: app.t(`${key}.text`),
    tone: isComing ? "busy" : (TONES[known] ?? "plain"),
    ...(known === "sent" && way?.head()),
    ...((isUnsure || isComing) && { text: app.t("route.second") }),
    ...(surplus.some(isOwn) && { title: app.t("surplus.title"), text: app.t("surplus.text"), tone: "bad" }),
    body: [
      ...(surplus.some(isOwn) ? [] : shown).map((hash) => hashField(app, known, hash, link?.chain ?? body.chain)),
      ...surplus.map((each) => obstacles.describeSurplus(app, each, isOwn(each))),
      ...(way ? way.parts(known) : []),
      note && !bridgeTransfer && !isDone && !isUnsure && known !== "safe" && !isListed && openPayment(app, note),
      known === "safe" && deadline(app, statuses),
      isDone && app.stored.get(paid) > 1 && app.paragraph(moment(app, Number(app.stored.get(paid)))),
      isDone && app.button("print", app.t("receipt"), () => print(), "quiet"),
      isDone && statuses.length <= RECEIPTS && app.anchor(`pages/receipt.json?token=${app.token}`, app.t("receipt.signed"), { id: "signed", download: "" }),
      ...(known === "completed" ? back(app, link ?? body) : []),
    ],
  }));
  const isOpen = ["safe", "sent", "claimed", "awaiting"].includes(known) || (note && known !== "completed") || (bridgeTransfer && way.isUnderWay);
  if (isOpen || isUnsure) await again(app, kind, JSON.stringify([bridgeTransfer ?? null, found]));
}

/** Whether a link that is paid was paid in this browser: its page says so, now or on an earlier visit, or it has sent one of the `listed` transactions or signed the payment that the service has made. */
async function isPaidHere(app, listed) {
  const { paidHere, stored, token, asset } = app;
  if (paidHere || stored.get(`paid:${token}`) || listed.some((hash) => sentHere(app)?.hashes.includes(hash))) return true;
  return Boolean(stored.get(`gasless:${token}`)) && (await asset("gasless.js")).isMadeHere(app);
}

/** A payment from another chain that the response or the note tells of, and what is shown of it; null without one. */
async function bridgeTransferIn(app, body, note) {
  if (!note?.source && !Array.isArray(body.crosschainIntents)) return null;
  const { bridgeTransferOf, describe, announceOnce } = await app.asset("bridge_transfer.js");
  app.notes ??= new Notes(app);
  const own = note?.source && note.txHash ? note : null;
  if (own) void announceOnce(app, own).catch(() => {});
  const bridgeTransfer = bridgeTransferOf(body, own);
  return bridgeTransfer || own ? { bridgeTransfer, ...describe(app, bridgeTransfer, own) } : null;
}

/** The note of a payment that a wallet was asked for here and that the payer has not given up, or null. */
function paymentNote(app) {
  const note = new Notes(app).of(app.token);
  return note && isPayment(note) && !note.isReleased ? note : null;
}

/** Warns that the payment begun here may still be made: who pays another link for it may pay twice. */
function openPayment({ t, el, code }, { txHash, wallet, code: trouble, batch }) {
  const key = txHash ? "late.text" : trouble || batch?.answered ? "unclear.title" : "asked.title";
  return el("p", { class: "note" }, t(key), " ", !txHash && code(wallet));
}

function hashField(app, kind, hash, chain) {
  if (kind !== "safe") return transaction(app, hash, chain);
  return copyField(app, app.t("safe.hash"), hash, "safe-hash");
}

function deadline({ t, paragraph, language }, statuses) {
  const seconds = statuses.find((each) => Number.isSafeInteger(each.safePaymentDeadline))?.safePaymentDeadline;
  return seconds && paragraph(t("safe.deadline", { time: moment({ language }, seconds * 1_000) }));
}

const moment = ({ language }, time) => new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(time);

/** The link back to the shop, with the host it leads to, because its label is the merchant's text. */
export function back({ t, anchor, webAddress, clean, code }, { redirectUrl, redirectLabel }) {
  const href = webAddress(redirectUrl);
  if (!href) return [];
  const isOwn = typeof redirectLabel === "string" && redirectLabel !== DEFAULT_LABEL;
  const target = window.parent === window ? "_top" : "_blank"; // in a frame: does not replace the framing page
  const options = { class: "action", target, id: "back", "aria-describedby": "back-host" };
  const host = Object.assign(code(new URL(href).host), { id: "back-host" });
  return [anchor(href, isOwn ? clean(redirectLabel) : t("back"), options), host];
}

async function again(app, before, shown) {
  app.stopWatch();
  app.stopWatch = poll(async () => {
    const outcome = await app.load();
    const way = await bridgeTransferIn(app, outcome.body ?? {}, paymentNote(app));
    if (outcome.kind === "open" && way?.isUnderWay) outcome.kind = "sent"; // the link is not locked, but it is paid soon
    const found = outcome.kind === "completed" ? transactionsIn(outcome.body) : [];
    const isSame = JSON.stringify([way?.bridgeTransfer ?? null, found]) === shown;
    if (outcome.kind === before && isSame) return false;
    if (outcome.kind === "open") return location.reload(), true; // the link can be paid again
    Object.assign(app, { paidHere: before === "safe" || Boolean(paymentNote(app)?.txHash), end: outcome.kind });
    await showEnd(app, outcome);
    return true;
  }, { first: 4_000, most: 60_000 });
}
