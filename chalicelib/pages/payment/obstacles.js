// What is shown of a link that cannot be paid as it is: a multicall whose payments cannot be made at once, a transaction
// of somebody else that may still pay it, a wallet that may not pay it, a network that the wallet does not know, and what was
// paid beyond what is due.

import { copyField, transaction } from "./outcomes.js";
import { chainOf } from "./identity.js";

/** Shows a multicall that is not paid at once: which payments cannot be made and why, and links to those that are made alone. */
export function showBlocked(app) {
  const { t, el, code, anchor, clean, money, units, link } = app;
  const isPart = link.status === "partially_settled";
  const isApart = isPart || (link.isMixed && link.blocked.length === 0);
  const name = isPart ? "part" : isApart ? "apart" : "blocked";
  const reason = ({ blockReason }) => {
    const message = t(`reason.${blockReason}`);
    return message === `reason.${blockReason}` ? clean(blockReason) : message;
  };
  const item = (each) => el("li", {}, code(each.payee ?? each.securePaymentToken), el("span", {}, reason(each)));
  const address = (each) => `?token=${encodeURIComponent(each.securePaymentToken)}`;
  const owed = ({ remainingAmount, decimals, paymentCurrency: id }) => money(units(remainingAmount, decimals), decimals, clean(id));
  const open = (each) => [link.isMixed && `${owed(each)} `, anchor(address(each), t("blocked.open"))];
  const left = (each) => el("li", {}, code(each.payee), el("span", {}, open(each)));
  app.show("blocked", () => ({
    title: t(`${name}.title`),
    text: t(`${name}.text`),
    tone: isApart ? "plain" : "bad",
    body: [
      link.blocked.length > 0 && el("ul", { class: "reasons" }, link.blocked.map(item)),
      isApart && link.free.length > 0 && el("ul", { class: "reasons" }, link.free.map(left)),
      // The link can be paid: only this payer was refused.
      link.canPay && app.button("again", t("again"), () => app.payment.start()),
    ],
  }));
}

/** A transaction that paid more than was due: how much, and what to do unless that is said already. */
export function describeSurplus(app, { txHash, excessAmount: text, currency }, isOwn) {
  const { t, el, money, units, clean, paragraph } = app;
  const decimals = /^\d{1,40}(\.\d{1,20})?$/.test(text) ? (text.split(".")[1]?.length ?? 0) : -1;
  const amount = decimals < 0 ? "" : money(units(text, decimals), decimals, clean(String(currency).split("-")[0]));
  const field = copyField(app, t("transaction"), txHash, `surplus-${txHash}`);
  return [!isOwn && paragraph(t("surplus.other"), "note"), amount && el("p", {}, amount), field];
}

// It is not locked for it any more, so that nobody can hold the link with a transaction that costs nothing.
/** Warns that a transaction sent elsewhere can still pay the link, until that is over or the payer pays all the same. */
export async function warnOfOther(payment) {
  const { app } = payment;
  const { waiting } = app.link;
  const consent = { isSure: false, isWanted: false };
  app.show("warned", () => ({
    title: app.t("warned.title"),
    text: app.t("warned.text"),
    tone: "bad",
    body: [
      ...waiting.split(",").map((hash) => transaction(app, hash, chainOf(app.link))),
      ...payment.views.consentForm(consent, "warned.sure", "route.again"),
    ],
  }));
  const end = await payment.follower.until(async () => {
    if (await app.refresh()) return "settled";
    if (consent.isSure && consent.isWanted) app.sureOf = waiting;
    return (app.link.waiting !== waiting || app.sureOf === waiting) && "free";
  });
  if (end === "free") await payment.prepare();
}

/** The link can only be paid by another wallet, that of its creator. */
export function showForeign(payment, creator) {
  const { code, paragraph, t } = payment.app;
  payment.views.problem("foreign", () => ({ body: [paragraph(t("foreign.wallet")), code(creator), payment.views.account()] }));
}

/** The wallet did not switch to the link's network: shows the network's settings to be entered by hand. */
export function showNetwork(payment, code) {
  const { app, chain } = payment;
  const { t, clean } = app;
  const rpc = chain.publicRpcUrls.find((each) => app.webAddress(each));
  const { symbol } = chain.nativeCurrency;
  const facts = { name: chain.name, "chain-id": String(chain.chainId), rpc, coin: symbol };
  const settings = Object.entries(facts).filter(([, value]) => value);
  const field = ([name, value]) => copyField(app, t(`network.${name}`), clean(value), `network-${name}`);
  payment.views.problem("network", () => ({
    text: t(`network.${code}`, { network: clean(chain.name) }),
    body: [app.el("div", { class: "fields" }, settings.map(field))],
  }));
}
