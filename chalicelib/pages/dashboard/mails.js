// Mails to payers, which the person's own mail program sends.

import { amount, clean, t, time } from "./text.js";

/** @param {string} to @param {{ total: string, reference: string, url: string, until: string }} terms The address that opens a mail which asks for a payment. */
export function mailTo(to, { total, reference, url, until }) {
  const named = clean(reference);
  const lines = [t("mail.text", { total }), url, named && `${t("reference")}: ${named}`, until && t("mail.until", { time: time(until) })];
  const parts = { subject: t(named ? "mail.subject.reference" : "mail.subject", { total, reference: named }), body: lines.filter(Boolean).join("\r\n\r\n") };
  return `mailto:${encodeURIComponent(to.trim())}?${Object.entries(parts).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
}

/** @param {any} request @param {any} link The mail that sends the link of one payment again, while nothing of it is paid; else null. */
export const mailAgain = (request, link) => link.status === "pending" && link.paymentType === "single" && !/[1-9]/.test(request.paidAmount)
  ? mailTo("", { total: `${amount(request.requestAmount)} ${clean(request.invoiceCurrency)}`, reference: request.reference ?? "", url: link.securePaymentUrl, until: link.expiresAt })
  : null;
