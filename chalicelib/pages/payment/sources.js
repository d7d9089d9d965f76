// What a wallet can pay with: the link's own token, or USDC and USDT of other chains, by what it has of each.

import { BRIDGES, sourceAt } from "./bridge.js";
import { NETWORKS } from "./identity.js";

/** The choices by a response of the service: [{ source, balance, needed }], the link's own with source null; and `unread`. */
export function readSources({ paymentOptions, unavailableChains }, link, { units }) {
  const found = [];
  for (const [label, tokens] of Object.entries(paymentOptions ?? {})) {
    for (const [symbol, { balance, neededAmount }] of Object.entries(tokens)) {
      const source = sourceAt(label, symbol);
      if (!source) continue;
      const amounts = { balance: units(balance, source.decimals), needed: units(neededAmount, source.decimals) };
      found.push({ source: source.network === link.network ? null : source, unit: source, ...amounts });
    }
  }
  const named = Object.entries(BRIDGES).filter(([, [label]]) => [unavailableChains].flat().includes(label));
  const rank = ({ source, balance, needed }) => (source === null ? 0 : balance >= needed ? 1 : 2);
  const choices = found.filter(({ source, balance }) => source === null || balance > 0n);
  const dollars = ({ balance, unit }) => Number(balance) / 10 ** unit.decimals;
  choices.sort((one, other) => rank(one) - rank(other) || dollars(other) - dollars(one));
  return { choices, unread: named.map(([network]) => NETWORKS[network][1]) };
}

/** The choices as buttons; `chosen` is the source that is paid with, null for the link's own chain. */
export function sourceButtons(app, { choices, unread }, chosen, choose) {
  const { t, el, money, clean, paragraph, language } = app;
  if (choices.every(({ source }) => source === null) && unread.length === 0) return null;
  const key = (source) => source && `${source.network} ${source.symbol}`;
  const item = ({ source, unit, balance, needed }) => {
    const name = t("from.token", { token: clean(unit.symbol), network: clean(unit.chain.name) });
    const has = t("from.balance", { amount: money(balance, unit.decimals, unit.symbol) });
    const words = el("span", { class: "choice" }, el("span", { class: "name" }, name), el("span", { class: "has" }, has));
    const isChosen = key(source) === key(chosen);
    const button = app.button(`from-${unit.network}-${unit.symbol}`, [words], () => !isChosen && choose(source), "wallet");
    button.setAttribute("aria-pressed", String(isChosen));
    button.disabled = source !== null && balance < needed && !isChosen;
    return el("li", {}, button);
  };
  const list = new Intl.ListFormat(language(), { type: "conjunction" });
  return el("div", { class: "from", role: "group", "aria-labelledby": "from-title" },
    el("h3", { id: "from-title" }, t("from.choose")),
    el("ul", { class: "wallets" }, choices.map(item)),
    unread.length > 0 && paragraph(t("from.unread", { networks: list.format(unread.map(clean)) }), "note"));
}
