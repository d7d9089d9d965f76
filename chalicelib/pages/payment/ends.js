// Views of a link that cannot be paid now: paid, expired, waiting for a transaction, its network or a Safe.

import { Notes, isPayment, sentHere, sentIn } from "./link.js";

const HASH = /^(0x)?[0-9a-f]{64}$/i;
const LOST_AFTER = 1_800_000; // milliseconds after which a transaction that was not counted is not waited for
const DEFAULT_LABEL = "Go Back and Close"; // redirectLabel of a link that was created without one
const TONES = { completed: "good", safe: "busy", sent: "busy", awaiting: "busy" };

// Explorers of the supported networks; the page links to no others, whatever a response names.
// Written by `make docs`, up to the next mark: explorers
const EXPLORERS = [
  "https://etherscan.io/tx/", "https://arbiscan.io/tx/", "https://optimistic.etherscan.io/tx/",
  "https://basescan.org/tx/", "https://polygonscan.com/tx/", "https://bscscan.com/tx/",
  "https://tronscan.org/#/transaction/", "https://sepolia.etherscan.io/tx/",
];
// Up to here.

/** A transaction hash, as a link to the explorer if the chain has a known one. */
export function transaction({ t, el, code, anchor }, hash, chain) {
  const href = EXPLORERS.includes(chain?.explorerUrl) ? chain.explorerUrl + hash : null;
  const label = [t("transaction"), " ", code(`${hash.slice(0, 10)}\u2026${hash.slice(-8)}`)];
  const node = href ? anchor(href, label, { target: "_blank", id: `sent-${hash}` }) : el("span", {}, ...label);
  return el("p", { class: "transaction" }, node);
}

/** A text with a button that copies it. */
export function copyField({ t, el, say }, label, text, id) {
  const input = el("input", { id, readOnly: true, value: text, dir: "ltr", on: { focus: () => input.select() } });
  const copy = () => navigator.clipboard.writeText(text).then(() => say(t("copied")), () => input.focus());
  const options = { type: "button", class: "small", "aria-label": t("copy.what", { what: label }), on: { click: copy } };
  const button = el("button", options, t("copy"));
  return el("div", { class: "field" }, el("label", { for: id }, label), el("div", { class: "pair" }, input, button));
}

/** Shows the end of a link. Polls it further while that may change: a payment sent in time may still be found. */
export async function ended(app, outcome) {
  const { kind, body = {}, link = app.link } = outcome;
  const requests = Array.isArray(body.requestStatuses) ? body.requestStatuses : [];
  const statuses = requests.filter((each) => each instanceof Object);
  const known = ["completed", "safe", "sent", "awaiting", "expired", "invalidated", "missing"].includes(kind)
    ? kind : "closed";
  const note = paymentNote(app) ?? (kind === "completed" ? app.followed : null); // another tab may have deleted it
  if (note?.source) app.followed = note;
  const sent = note?.txHash?.toLowerCase();
  const way = await crossingIn(app, body, note); // of a payment from another chain
  const crossing = way?.crossing;
  const listed = statuses.map((each) => String(each[known === "safe" ? "safeTxHash" : "txHash"]).toLowerCase());
  const isListed = known === "sent" && listed.includes(sent); // the link waits for the transaction that was sent here
  // isLate: somebody else paid while the wallet was asked here, unless the hash that was sent here is listed.
  const isCounted = crossing ? crossing.status === "settled" && !crossing.isSurplus : !(note?.isLate && !listed.includes(sent));
  const told = known === "completed" ? sentIn(body) : [];
  const surplus = told.filter(({ status }) => status === "surplus");
  const isYoung = note?.sentAt > Date.now() - LOST_AFTER;
  const isUnsure = isYoung && !listed.includes(sent) && told.some(({ txHash, status }) => txHash === sent && status === "unknown");
  const isDone = known === "completed" && isCounted && !isUnsure;
  const key = known === "completed" && !(isDone && (app.paidHere || sent)) ? "paid" : known;
  const valid = [...new Set([...listed, sent])].filter((hash) => HASH.test(hash));
  const isOwn = ({ txHash }) => sentHere(app)?.hashes.includes(txHash);
  const shown = valid.filter((hash) => !way?.hashes.includes(hash) && !surplus.some(({ txHash }) => txHash === hash));
  if (isDone) for (const name of ["pay", "from", "declined"]) app.stored.set(`${name}:${app.token}`, null);
  if (app.link) app.summary(app.link);
  app.show(known === "sent" && way ? way.state : known, () => ({
    title: app.t(`${key}.title`),
    text: app.t(`${key}.text`),
    tone: TONES[known] ?? "plain",
    ...(known === "sent" && way?.head()),
    ...(known === "completed" && (isUnsure || (crossing && way.isUnderWay)) && { text: app.t("route.second") }),
    ...(surplus.some(isOwn) && { title: app.t("surplus.title"), text: app.t("surplus.text"), tone: "bad" }),
    body: [
      ...(surplus.some(isOwn) ? [] : shown).map((hash) => hashField(app, known, hash, link?.chain ?? body.chain)),
      ...surplus.map((each) => excess(app, each, isOwn(each))),
      ...(way ? way.parts(known) : []),
      note && !crossing && !isDone && !isUnsure && known !== "safe" && !isListed && openPayment(app, note),
      known === "safe" && deadline(app, statuses),
      ...(known === "completed" ? back(app, link ?? body) : []),
    ],
  }));
  const isOpen = ["safe", "sent", "awaiting"].includes(known) || (note && known !== "completed") || (crossing && way.isUnderWay);
  if (isOpen || isUnsure) await again(app, kind, JSON.stringify([crossing ?? null, told]));
}

/** A transaction that paid more than was due: how much, and what to do unless that is said already. */
function excess(app, { txHash, excessAmount: text, currency }, isOwn) {
  const { t, el, money, units, clean, paragraph } = app;
  const decimals = /^\d{1,40}(\.\d{1,20})?$/.test(text) ? (text.split(".")[1]?.length ?? 0) : -1;
  const amount = decimals < 0 ? "" : money(units(text, decimals), decimals, clean(String(currency).split("-")[0]));
  const field = copyField(app, t("transaction"), txHash, `surplus-${txHash}`);
  return [!isOwn && paragraph(t("surplus.other"), "note"), amount && el("p", {}, amount), field];
}

/** A payment from another chain that the response or the note tells of, and what is shown of it; null without one. */
async function crossingIn(app, body, note) {
  if (!note?.source && !Array.isArray(body.crosschainIntents)) return null;
  const { crossingOf, describe, tellOnce } = await app.asset("crossing.js");
  app.notes ??= new Notes(app);
  const own = note?.source && note.txHash ? note : null;
  if (own) void tellOnce(app, own).catch(() => {});
  const crossing = crossingOf(body, own);
  return crossing || own ? { crossing, ...describe(app, crossing, own) } : null;
}

/** The note of a payment that a wallet was asked for here and that the payer has not given up, or null. */
function paymentNote(app) {
  const note = new Notes(app).of(app.token);
  return note && isPayment(note) && !note.isReleased ? note : null;
}

/** Warns that the payment begun here may still be made: who pays another link for it may pay twice. */
function openPayment({ t, el, code }, { txHash, wallet, code: trouble }) {
  const key = txHash ? "late.text" : trouble ? "unclear.title" : "asked.title";
  return el("p", { class: "note" }, t(key), " ", !txHash && code(wallet));
}

function hashField(app, kind, hash, chain) {
  if (kind !== "safe") return transaction(app, hash, chain);
  return copyField(app, app.t("safe.hash"), hash, "safe-hash");
}

function deadline({ t, paragraph, language }, statuses) {
  const seconds = statuses.find((each) => Number.isSafeInteger(each.safePaymentDeadline))?.safePaymentDeadline;
  const time = seconds && new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" });
  return time && paragraph(t("safe.deadline", { time: time.format(new Date(seconds * 1_000)) }));
}

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

async function again(app, before, crossing) {
  const { poll } = await app.asset("poll.js");
  app.stopWatch();
  app.stopWatch = poll(async () => {
    const outcome = await app.load();
    const way = await crossingIn(app, outcome.body ?? {}, paymentNote(app));
    if (outcome.kind === "open" && way?.isUnderWay) outcome.kind = "sent"; // the link is not locked, but it is paid soon
    const told = outcome.kind === "completed" ? sentIn(outcome.body) : [];
    const isSame = JSON.stringify([way?.crossing ?? null, told]) === crossing;
    if (outcome.kind === before && isSame) return false;
    if (outcome.kind === "open") return location.reload(), true; // the link can be paid again
    Object.assign(app, { paidHere: before === "safe" || Boolean(paymentNote(app)?.txHash), end: outcome.kind });
    await ended(app, outcome);
    return true;
  }, { first: 4_000, most: 30_000 });
}
