// What became of a link that nobody can pay now: paid, expired, waiting for the owners of a Safe, and the like.

import { Notes, isPayment } from "./link.js";

const HASH = /^(0x)?[0-9a-f]{64}$/i;
const DEFAULT_LABEL = "Go Back and Close"; // what the service says for a link without a label of its own
const TONES = { completed: "good", safe: "busy" };

// Of the networks: no other is linked, whoever names one.
const EXPLORERS = [
  "https://etherscan.io/tx/", "https://arbiscan.io/tx/", "https://optimistic.etherscan.io/tx/",
  "https://basescan.org/tx/", "https://polygonscan.com/tx/", "https://bscscan.com/tx/",
  "https://tronscan.org/#/transaction/", "https://sepolia.etherscan.io/tx/",
];

/** A hash, linked to the explorer where there is one. */
export function transaction({ t, el, code, anchor }, hash, chain) {
  const href = EXPLORERS.includes(chain?.explorerUrl) ? chain.explorerUrl + hash : null;
  const label = [t("transaction"), " ", code(`${hash.slice(0, 10)}\u2026${hash.slice(-8)}`)];
  const shown = href ? anchor(href, label, { target: "_blank", id: `sent-${hash}` }) : el("span", {}, ...label);
  return el("p", { class: "transaction" }, shown);
}

/** A text with a button that copies it. */
export function copyField({ t, el, say }, label, text, id) {
  const input = el("input", { id, readOnly: true, value: text, dir: "ltr", on: { focus: () => input.select() } });
  const copy = () => navigator.clipboard.writeText(text).then(() => say(t("copied")), () => input.focus());
  const named = { type: "button", class: "small", "aria-label": t("copy.what", { what: label }), on: { click: copy } };
  const press = el("button", named, t("copy"));
  return el("div", { class: "field" }, el("label", { for: id }, label), el("div", { class: "pair" }, input, press));
}

/** Shows the end of a link. While a Safe's owners sign, or something was sent for it, it is looked at again. */
export async function ended(app, outcome) {
  const { kind, body = {}, link = app.link } = outcome;
  const told = Array.isArray(body.requestStatuses) ? body.requestStatuses.filter((each) => each instanceof Object) : [];
  const known = ["completed", "safe", "expired", "invalidated", "missing"].includes(kind) ? kind : "closed";
  const note = noted(app);
  const sent = note?.txHash?.toLowerCase();
  const said = told.map((each) => String(each[known === "safe" ? "safeTxHash" : "txHash"]).toLowerCase());
  const isDone = known === "completed" && !(note?.isLate && !said.includes(sent)); // else it was paid before that
  const key = known === "completed" && !(isDone && (app.paidHere || sent)) ? "paid" : known;
  const valid = [...new Set([...said, sent])].filter((hash) => HASH.test(hash));
  if (isDone) app.stored.set(`pay:${app.token}`, null);
  if (app.link) app.summary(app.link);
  app.show(known, () => ({
    title: app.t(`${key}.title`),
    text: app.t(`${key}.text`),
    tone: TONES[known] ?? "plain",
    body: [
      ...valid.map((hash) => shown(app, known, hash, link?.chain ?? body.chain)),
      note && !isDone && known !== "safe" && begun(app, note),
      known === "safe" && deadline(app, told),
      ...(known === "completed" ? back(app, link ?? body) : []),
    ],
  }));
  if (known === "safe" || (note && known !== "completed")) await again(app, kind);
}

/** What a wallet was asked to pay here, if one was: sent, or not answered. */
function noted(app) {
  const note = new Notes(app).of(app.token);
  return note && isPayment(note) && !note.isReleased ? note : null;
}

/** Whoever pays the next link for it may pay twice. */
function begun({ t, el, code }, { txHash, wallet, code: trouble }) {
  const key = txHash ? "late.text" : trouble ? "unclear.title" : "asked.title";
  return el("p", { class: "note" }, t(key), " ", !txHash && code(wallet));
}

function shown(app, kind, hash, chain) {
  if (kind !== "safe") return transaction(app, hash, chain);
  return copyField(app, app.t("safe.hash"), hash, "safe-hash");
}

function deadline({ t, paragraph, language }, told) {
  const seconds = told.find((each) => Number.isSafeInteger(each.safePaymentDeadline))?.safePaymentDeadline;
  const time = seconds && new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" });
  return time && paragraph(t("safe.deadline", { time: time.format(new Date(seconds * 1_000)) }));
}

/** The way back to the shop: a link that a person follows, or does not, and where it goes, whatever its label says. */
function back({ t, anchor, webAddress, clean, code }, { redirectUrl, redirectLabel }) {
  const href = webAddress(redirectUrl);
  if (!href) return [];
  const isOwn = typeof redirectLabel === "string" && redirectLabel !== DEFAULT_LABEL;
  const target = window.parent === window ? "_top" : "_blank"; // who frames the page keeps their own
  const options = { class: "action", target, id: "back", "aria-describedby": "back-host" };
  const host = Object.assign(code(new URL(href).host), { id: "back-host" });
  return [anchor(href, isOwn ? clean(redirectLabel) : t("back"), options), host];
}

async function again(app, before) {
  const { poll } = await app.asset("poll.js");
  app.stopWatch = poll(async () => {
    const outcome = await app.load();
    if (outcome.kind === before) return false;
    if (outcome.kind === "open") return location.reload(), true; // free to be paid by anybody again
    Object.assign(app, { paidHere: before === "safe" || Boolean(noted(app)?.txHash), end: outcome.kind });
    await ended(app, outcome);
    return true;
  }, { first: 4_000, most: 30_000 });
}

/** A multicall of which some payments cannot be made: which ones and why, and those that are left, one by one. */
export function blocked(app) {
  const { t, el, code, anchor, clean, link } = app;
  const isPart = link.status === "partially_settled";
  const reason = ({ blockReason }) => {
    const said = t(`reason.${blockReason}`);
    return said === `reason.${blockReason}` ? clean(blockReason) : said;
  };
  const item = (each) => el("li", {}, code(each.payee ?? each.securePaymentToken), el("span", {}, reason(each)));
  const address = (each) => `?token=${encodeURIComponent(each.securePaymentToken)}`;
  const left = (each) => el("li", {}, code(each.payee), anchor(address(each), t("blocked.open")));
  app.show("blocked", () => ({
    title: t(isPart ? "part.title" : "blocked.title"),
    text: t(isPart ? "part.text" : "blocked.text"),
    tone: isPart ? "plain" : "bad",
    body: [
      el("ul", { class: "reasons" }, link.blocked.map(item)),
      isPart && link.free.length > 0 && el("ul", { class: "reasons" }, link.free.map(left)),
      link.canPay && app.button("again", t("again"), () => app.payment.start()), // who would sign was refused alone
    ],
  }));
}
