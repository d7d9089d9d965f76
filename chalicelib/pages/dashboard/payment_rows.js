// Payments as GET /v2/payments writes them in its table, which needs no filter: rows by column, page by page. And which of them were returned.

import { t } from "./text.js";
import { call, query, respond } from "./api.js";
import { isReturned } from "./attention.js";
import { parseCsv, readCell } from "./csv.js";

/** How many payments a call reads that wants all, and how many of these calls there are at most. */
export const [PART, MOST_PARTS] = [5_000, 40];
/** How many events of refunds a call reads, and how many of these calls there are at most. */
const [REFUNDS_READ, MOST_PAGES] = [100, 10];

/** @type {string[]} */
let columns = [];

/** @param {string} search The query string of a page: { rows, next } where `next` is that of the page after, or "". */
export async function readPayments(search) {
  const response = await respond("GET", `/v2/payments${search}`, { headers: { accept: "text/csv" } });
  const { lines } = parseCsv(await response.text());
  if (lines[0]?.[0] === "timestamp") columns = /** @type {string[]} */ (lines.shift());
  const rows = lines.map((cells) => Object.fromEntries(columns.map((name, at) => [name, readCell(cells[at] ?? "")])));
  return { rows, next: nextOf(response) };
}

/** @param {Response} response The query string of the page after it, or "". */
export function nextOf({ headers }) {
  const next = /<([^>]*)>; rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return next ? new URL(next, location.href).search : "";
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

/** @param {any[]} events Of payments. Those of them that none of the newest MOST_PAGES of refunds since then has returned, and whether these are all refunds since then. */
export async function readUnreturned(events) {
  const fromDate = events.map(({ createdAt }) => createdAt).sort()[0];
  let [left, cursor, page] = [events, "", 0];
  while (left.length > 0) {
    if (page++ === MOST_PAGES) return { left, isKnown: false };
    const wanted = { kind: "payment.refunded", limit: REFUNDS_READ, fromDate, cursor };
    const { events: refunds, nextCursor } = await call("GET", `/v1/webhook/events${query(wanted)}`);
    left = left.filter((each) => !isReturned(each, refunds));
    if (!nextCursor) break;
    cursor = nextCursor;
  }
  return { left, isKnown: true };
}
