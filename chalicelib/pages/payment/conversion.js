// Invoices in another currency than the token that is paid: the rate, what is due by it, and how long it is valid.

import { feeOf, string } from "./link.js";

const BASIS_POINTS = 10_000n;
const HIGHEST_SLIPPAGE = 1_000n; // basis points above the shown rate that a contract may be allowed to take
const SOURCES = { chainlink: "Chainlink", coingecko: "CoinGecko" };
const LEAD = 20_000; // milliseconds before a quote's end from which no payment is begun by it: a block has to take it, too

const whole = (text, need) => (need(/^[1-9]\d{0,399}$/.test(text)), BigInt(text));

// endsAt: until when a payment is begun at this rate, in milliseconds of the service's clock; null if a contract converts.
// most: the most base units of the token that the contract may take, age: of its rate in seconds; null if it is quoted.
/** The conversion of a payment in a response of /pay; throws Trouble if it is none of the payment's invoice currency. */
export function readConversion(raw, { invoice, tokenDecimals }, { need, units, now }) {
  need(raw instanceof Object && raw.invoiceCurrency === invoice && ["quoted", "on_chain"].includes(raw.way));
  const isQuoted = raw.way === "quoted";
  need(!isQuoted || Number.isSafeInteger(raw.quoteExpiresAt));
  return {
    numerator: whole(raw.rateNumerator, need),
    denominator: whole(raw.rateDenominator, need),
    source: string(raw.rateSource, 100),
    at: Date.parse(raw.rateAt),
    endsAt: isQuoted ? endsAt(raw.quoteExpiresAt, now()) : null,
    most: isQuoted ? null : units(raw.maxToSpend, tokenDecimals),
    age: isQuoted ? null : whole(String(raw.maxRateAge), need),
  };
}

/** Until when a payment is begun by an offer that ends at `seconds`, in milliseconds. */
function endsAt(seconds, now) {
  const left = seconds * 1_000 - now;
  return now + left - Math.min(LEAD, left / 10);
}

// Amounts are in units of the token then; `owed` are those of the invoice, which the calldata of a contract's conversion has.
/** What is due for a payment at the rate of a conversion. */
export function dueAt(payment, conversion) {
  const { left, fee, symbol, decimals, digits, percentage, tokenSymbol, tokenDecimals } = payment;
  const paid = cost(left, payment, conversion);
  const ownFee = conversion.most === null ? feeOf(paid, percentage) : cost(fee, payment, conversion);
  const inToken = { symbol: tokenSymbol, decimals: tokenDecimals, digits: 0, amount: paid, left: paid, fee: ownFee };
  const isHigh = conversion.most > cost(left + fee, payment, conversion, HIGHEST_SLIPPAGE);
  return { ...payment, ...inToken, invoice: null, conversion, isHigh, owed: { left, fee, symbol, decimals, digits } };
}

/** Base units of the token for an amount of the invoice at the rate, and `more` basis points, rounded up. */
function cost(amount, { decimals, tokenDecimals }, { numerator, denominator }, more = 0n) {
  const above = amount * numerator * 10n ** BigInt(tokenDecimals) * (BASIS_POINTS + more);
  const below = denominator * 10n ** BigInt(decimals) * BASIS_POINTS;
  return (above + below - 1n) / below;
}

/** The first end of a quoted rate; null if none is. */
export function endOf(due) {
  const ends = due.map((each) => each.conversion?.endsAt).filter(Boolean);
  return ends.length ? Math.min(...ends) : null;
}

/** The rates of what is due, where they are from, and until when they are valid or how much may be taken at most. */
export function rates({ t, el, paragraph, clean, language, joinSums, totals }, due) {
  const converted = due.filter((each) => each.conversion);
  if (converted.length === 0) return [];
  const row = (name, ...nodes) => el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, ...nodes));
  const time = new Intl.DateTimeFormat(language(), { dateStyle: "short", timeStyle: "short" });
  const texts = converted.map((each) => rateText(each, language()));
  const sourceOf = ({ conversion: { source, at } }) => [SOURCES[source] ?? clean(source), at > 0 && time.format(at)];
  const sources = new Map(converted.map(sourceOf).map((parts) => [String(parts), parts.filter(Boolean)]));
  const taken = converted.filter(({ conversion }) => conversion.most !== null);
  const most = totals(taken.map((each) => ({ ...each, left: each.conversion.most })));
  const ends = endOf(due);
  return [
    el("dl", { class: "balances" }, [
      row("pay.total", approximately(t, due, joinSums(totals(due), (each) => each.left + each.fee))),
      ...[...new Set(texts)].map((text) => row("rate", el("bdi", { dir: "ltr" }, text))),
      ...[...sources.values()].map((parts) => row("rate.source", ...parts.flatMap((part) => [" ", el("bdi", {}, part)]))),
      taken.length > 0 && row("rate.most", joinSums(most, (each) => each.left)),
      ends && row("rate.ends", ending(el, ends)),
    ]),
    paragraph(t(ends ? "rate.later" : "rate.chain")),
  ];
}

/** An amount that a contract finds out only when it is paid is said to be about that. */
export const approximately = (t, due, amount) =>
  due.some(({ conversion }) => conversion?.age) ? t("about", { amount }) : amount;

/** The time until the end of a rate; page.js counts it down. */
export const ending = (el, ends) => el("span", { "data-until": String(ends) });

/** Such as `1 USD = 0.9996 USDC`. */
function rateText({ owed, symbol, conversion: { numerator, denominator } }, language) {
  const format = new Intl.NumberFormat(language, { maximumSignificantDigits: 6 });
  const rate = format.format(`${(numerator * 10n ** 24n) / denominator}E-24`);
  return `${format.format(1)}\u00a0${owed.symbol} = ${rate}\u00a0${symbol}`;
}
