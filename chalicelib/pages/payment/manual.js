// For payers without a wallet in this browser: the page's URL and each transaction as QR codes and as fields to copy;
// and the address to which an exchange can send, if the payment has one.

import { endOf, rates } from "./conversion.js";
import { copyField } from "./outcomes.js";
import { totalsWithFee, expectedPayments, readQuote, verify } from "./quote.js";

/** Fills the section with the transactions of an account without an allowance; with a message if check refuses them. */
export async function show(app) {
  const { t, el, paragraph } = app;
  const section = document.getElementById("manual-body");
  const fill = (...nodes) => section.replaceChildren(...nodes);
  fill(paragraph(t("loading")));
  if (app.link.own) app.asset("exchange.js").then((it) => it.show(app, section, figure), () => {});
  try {
    const response = app.commerce ? {} : await app.ask("/pay");
    if (response.status !== 200) return fill(paragraph(t("manual.none")));
    const quote = readQuote(response.body, app);
    const verdict = verify(app.link, quote, expectedPayments(app.link, quote, null));
    if (!verdict.ok) return fill(paragraph(t(`unsafe.${verdict.reason}`), "note bad"));
    app.manualUntil = endOf(quote.due) ?? undefined;
    if (app.manualUntil <= app.now()) throw new app.Trouble("rate");
    const isConverted = quote.due.some((each) => each.conversion);
    const steps = verdict.steps.map((step, index) => el("li", {}, oneStep(app, step, index, !isConverted)));
    const lead = paragraph(t("manual.steps", { count: steps.length }));
    const after = paragraph(t("manual.after"), "note");
    const sums = [...rates(app, quote.due), ...inAll(app, quote.due, verdict)];
    fill(paragraph(t("manual.text")), thisPage(app), ...sums, lead, el("ol", {}, steps), after);
    app.countDown();
  } catch ({ kind }) {
    const isConverted = app.link.payments.some((each) => each.invoice);
    fill(paragraph(t(kind === "stopped" ? "stopped.title" : isConverted ? "norate.title" : "away.title"), "note bad"));
  }
}

/** The fee of the batch contract, if it takes one, and the total with it: the summary of the link does not include it. */
function inAll({ t, el, joinSums }, due, verdict) {
  const sums = totalsWithFee(due, verdict);
  const extra = sums.filter((each) => each.extra > 0n);
  if (extra.length === 0) return [];
  const row = (name, amount) => el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, amount));
  const total = joinSums(sums, (each) => each.left + each.fee + each.extra);
  return [el("dl", {}, row("fee.batch", joinSums(extra, (each) => each.extra)), row("pay.total", total))];
}

/** The URL of this page, for the browser of a wallet on a phone. */
function thisPage(app) {
  const address = copyField(app, app.t("manual.address"), location.href, "manual-address");
  return figure(app, "step=page", app.t(app.isPhone ? "manual.app" : "manual.page"), address);
}

function oneStep(app, { kind, amount, transaction: { to, data, value } }, index, hasCode) {
  const { t } = app;
  const coins = BigInt(value) > 0n && copyField(app, t("manual.value"), String(BigInt(value)), `manual-value-${index}`);
  const fields = [
    copyField(app, t("manual.contract"), to, `manual-to-${index}`),
    coins,
    copyField(app, t("manual.data"), data, `manual-data-${index}`),
  ];
  // The amount is part of the URL because browsers reuse an image of the same URL. A code of a conversion might have
  // another rate by the time that it is drawn.
  return figure(app, hasCode && `of=${amount}&step=${index}`, t(`manual.${kind}`), ...fields);
}

// A phone cannot scan its own screen.
/** Fields, beside a QR code with the same content, which the server draws if `which` says of what; none on a phone. */
function figure({ el, token, t, isPhone }, which, title, ...fields) {
  const src = `pages/qr.svg?token=${encodeURIComponent(token)}&${which}`;
  const image = which && !isPhone && el("img", { class: "qr", alt: t("manual.qr", { what: title }), width: 168, height: 168, src });
  if (image) image.addEventListener("error", () => image.remove());
  const beside = el("div", { class: "beside" }, image, el("div", {}, ...fields));
  return el("figure", {}, el("figcaption", {}, title), beside);
}
