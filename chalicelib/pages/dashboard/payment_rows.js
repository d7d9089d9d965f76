// Payments as GET /v2/payments writes them in its table, which needs no filter: rows by column, page by page. And which of them were returned.

import { t } from "./text.js";
import { call, query, respond } from "./api.js";
import { isReturned } from "./attention.js";
import { parseCsv } from "./csv.js";

/** How many payments a call reads that wants all, and how many of these calls there are at most. */
export const [PART, MOST_PARTS] = [5_000, 40];
/** How many events of refunds a call reads. */
const MOST_REFUNDS = 100;

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

/** @param {string} first The query string of the first part. @param {(rows: any[]) => void} take Gets each part. Throws if there are more than the browser should read. */
export async function readAll(first, take) {
  let [search, parts] = [first, 0];
  while (search) {
    if (parts++ === MOST_PARTS) throw tooMany();
    const { rows, next } = await readPayments(search);
    take(rows);
    search = next;
  }
}

export const tooMany = () => new Error(t("download.most", { count: PART * MOST_PARTS }));

/** @param {string} cell Without the apostrophe that keeps spreadsheets from running it. */
const shown = (cell) => (/^'\s*[=+\-@＝＋－＠]/.test(cell) ? cell.slice(1) : cell);

/** @param {any[]} events Of payments. Those of them that no refund has returned, however many refunds there are: the newest are read together, and if these are not all, those of each request. */
export async function readUnreturned(events) {
  if (events.length === 0) return [];
  const read = (/** @type {any} */ wanted) => call("GET", `/v1/webhook/events${query({ kind: "payment.refunded", limit: MOST_REFUNDS, ...wanted })}`);
  const fromDate = events.map(({ createdAt }) => createdAt).sort()[0];
  const { events: newest, nextCursor } = await read({ fromDate });
  const left = events.filter((each) => !isReturned(each, newest));
  if (!nextCursor) return left;
  const pages = await Promise.all([...new Set(left.map(({ body }) => body.requestId))].map((requestId) => read({ fromDate, requestId })));
  return left.filter((each) => !isReturned(each, pages.flatMap((page) => page.events)));
}
