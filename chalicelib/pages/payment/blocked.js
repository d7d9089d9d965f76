// The view of a multicall whose payments cannot be made at once.

/** Shows a multicall that is not paid at once: which payments cannot be made and why, and links to those that are made alone. */
export function blocked(app) {
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
