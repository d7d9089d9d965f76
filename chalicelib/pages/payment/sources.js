// What a wallet can pay with: the link's own token, or USDC and USDT of other chains, by what it has of each;
// and the contracts of the bridge between them.

import { NETWORKS, chainOf } from "./identity.js";

// By network: label, the bridge's contract that takes tokens, and those that get them and pay: the bridge's, and LI.FI's
// where its address is known.
// Written by `make docs`, up to the next mark: bridges
const SYMBOLS = ["USDC", "USDT"];
export const BRIDGES = {
  base: [
    "BASE", "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64", "0x0F7Ae28dE1C8532170AD4ee566B5801485c13a0E",
    "0x33b255b5db44A78c34381f89f1a454bc0Ef49871",
  ],
  optimism: [
    "OPTIMISM", "0x6f26Bf09B1C792e3228e5467807a900A503c0281", "0x0F7Ae28dE1C8532170AD4ee566B5801485c13a0E",
  ],
  "arbitrum-one": [
    "ARBITRUM", "0xe35e9842fceaCA96570B734083f4a58e8F7C5f2A", "0x0F7Ae28dE1C8532170AD4ee566B5801485c13a0E",
    "0x33b255b5db44A78c34381f89f1a454bc0Ef49871",
  ],
  mainnet: [
    "ETHEREUM", "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5", "0x0F7Ae28dE1C8532170AD4ee566B5801485c13a0E",
  ],
  matic: [
    "POLYGON", "0x9295ee1d8C5b022Be115A2AD3c30C72E34e7F096", "0x0F7Ae28dE1C8532170AD4ee566B5801485c13a0E",
  ],
  bsc: [
    "BNB", "0x4e8E101924eDE233C13e2D8622DC8aED2872d505", "0xAC537C12fE8f544D712d71ED4376a502EEa944d7",
    "0x33b255b5db44A78c34381f89f1a454bc0Ef49871",
  ],
};
// Up to here.

/** A token that can be paid with from a network, by the page's own list: { network, label, symbol, decimals, token, chain }. */
export function sourceOf(network, symbol) {
  if (!Object.hasOwn(BRIDGES, network) || !SYMBOLS.includes(symbol)) return null;
  const fields = NETWORKS[network].slice(5).map((text) => text.split(" "));
  const found = [symbol, `${symbol}n`].map((key) => fields.find(([name]) => name === key)).find(Boolean);
  if (!found) return null;
  const [label] = BRIDGES[network];
  const [, decimals, token] = found;
  const chain = chainOf({ network, chain: { label, confirmations: NETWORKS[network][4][0] } });
  return { network, label, symbol, decimals: Number(decimals), token, chain };
}

/** The same by the label of a network, as the service names it. */
export function sourceAt(label, symbol) {
  const network = Object.keys(BRIDGES).find((each) => BRIDGES[each][0] === label);
  return network ? sourceOf(network, symbol) : null;
}

/** Whether a link can be paid from another chain: one payment in a token that the bridge brings, not by a contract's rate. */
export function isBridgeable({ kind, network, payments: [payment, ...others] }) {
  return kind === "single" && others.length === 0 && sourceOf(network, payment.tokenSymbol)?.token === payment.token;
}

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
