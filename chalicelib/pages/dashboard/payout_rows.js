// The rows of a table of payouts: which cell is what, and what is wrong with each.

import { parseCsv } from "./csv.js";
import { addressProblem, amountProblem } from "./drafts.js";
import { amount as shown, decimal, t } from "./text.js";

export const MOST_ROWS = 200;
export const COLUMNS = ["recipient", "amount", "currency"];
/** @typedef {{ number: number, recipient: string, amount: string, currency: string, id: string, network?: string, problems: Record<string, string> }} Row `number` is that of the row below the header; `id` is that of the currency, `network` where it is. */

/** @param {string} text @param {any[]} currencies Those of the API. @returns {{ rows: Row[], problem?: string, ignored: string[] }} The rows, unless the table as a whole has a problem. */
export function readPayouts(text, currencies) {
  const given = text.replace(/^\ufeff/, "");
  const nothing = (/** @type {string} */ problem) => ({ rows: [], problem, ignored: [] });
  if (given.includes("\ufffd") || given.includes("\0")) return nothing(t("import.encoding"));
  const found = [",", ";", "\t"].map((separator) => ({ separator, ...parseCsv(given, separator) }));
  const { lines, isOpen, separator } = found.find(({ lines: [head = []] }) => named(head).includes("amount")) ?? found[0];
  const [head = [], ...rest] = lines;
  const names = named(head);
  const missing = COLUMNS.filter((name) => !names.includes(name));
  if (missing.length) return nothing(t("import.columns", { missing: missing.join(", ") }));
  const called = names.filter(Boolean);
  if (new Set(called).size < called.length) return nothing(t("import.twice"));
  if (isOpen) return nothing(t("import.quote"));
  if (rest.length > MOST_ROWS) return nothing(t("import.many", { count: shown(String(rest.length)), most: MOST_ROWS }));
  const cell = (/** @type {string[]} */ line, /** @type {string} */ name) => (line[names.indexOf(name)] ?? "").trim();
  const rows = rest.map((line, at) => {
    const [recipient, amount, currency] = COLUMNS.map((name) => cell(line, name));
    const token = currencies.find(({ id, type }) => type !== "ISO4217" && id.toLowerCase() === currency.toLowerCase());
    return { number: at + 1, recipient, amount, currency, id: token?.id ?? "", network: token?.network, decimals: token?.decimals, isExtra: line.length > names.length, isVague: separator !== "," && /^\d{1,3}\.\d{3}$/.test(amount) };
  });
  const network = rows.find((each) => each.network)?.network;
  const ignored = called.filter((name) => !COLUMNS.includes(name));
  return { rows: rows.map((row) => ({ ...row, problems: problemsOf(row, network, rows.length) })), ignored };
}

/** @param {string[]} head The names of columns as they are known. */
const named = (head) => head.map((cell) => cell.trim().toLowerCase());

/** @param {any} row Where no commas separate cells, they may be decimal ones, and 1.000 is `isVague`. @param {string | undefined} network That of the first row, which all have. @param {number} count What is wrong with a row, by column. */
function problemsOf(row, network, count) {
  const { recipient, amount, currency, decimals } = row;
  const isElsewhere = row.network && row.network !== network;
  const problems = {
    recipient: row.network || !recipient ? addressProblem(row.network, recipient) : undefined,
    amount: row.isExtra ? t("import.extra") : row.isVague ? t("create.amount.odd") : amountProblem(amount, decimals),
    currency: !row.network ? t(currency ? "import.currency" : "import.currency.missing") : isElsewhere ? t("import.network", { network }) : network === "tron" && count > 1 ? t("import.tron") : undefined,
  };
  return /** @type {Record<string, string>} */ (Object.fromEntries(Object.entries(problems).filter(([, problem]) => problem)));
}

/** @param {Row[]} rows The body's `requests`. */
export const requestsOf = (rows) =>
  rows.map(({ recipient, amount, id }) => ({ payee: recipient, amount: decimal(amount), invoiceCurrency: id, paymentCurrency: id }));
