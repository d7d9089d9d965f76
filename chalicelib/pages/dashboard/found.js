// Payments as GET /v2/payments writes them in its table, which needs no filter: rows by column, page by page.

import { respond } from "./api.js";
import { parseCsv } from "./csv.js";

/** @type {string[]} */
let columns = [];

/** @param {string} search The query string of a page: { rows, next } where `next` is that of the page after, or "". */
export async function readPayments(search) {
  const response = await respond("GET", `/v2/payments${search}`, { headers: { accept: "text/csv" } });
  const { lines } = parseCsv(await response.text());
  if (lines[0]?.[0] === "timestamp") columns = /** @type {string[]} */ (lines.shift());
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  const rows = lines.map((cells) => Object.fromEntries(columns.map((name, at) => [name, shown(cells[at] ?? "")])));
  return { rows, next: next ? new URL(next, location.href).search : "" };
}

/** @param {string} cell Without the apostrophe that keeps spreadsheets from running it. */
const shown = (cell) => (/^'\s*[=+\-@＝＋－＠]/.test(cell) ? cell.slice(1) : cell);
