// For payers without a wallet in this browser: the page and each transaction as a QR image, and as fields to copy.

import { copyField } from "./ends.js";
import { expected, readQuote, verify } from "./quote.js";

/** Fills the section with what an account without an approval would sign; nothing when that is not what is shown. */
export async function show(app) {
  const { t, el, paragraph } = app;
  const place = document.getElementById("manual-body");
  const fill = (...nodes) => place.replaceChildren(...nodes);
  fill(paragraph(t("loading")));
  try {
    const answer = await app.ask("/pay");
    if (answer.status !== 200) return fill(paragraph(t("manual.none")));
    const verdict = verify(app.link, readQuote(answer.body, app.need).transactions, expected(app.link, null));
    if (!verdict.ok) return fill(paragraph(t(`unsafe.${verdict.reason}`), "note bad"));
    const steps = verdict.steps.map((step, index) => el("li", {}, oneStep(app, step, index)));
    const lead = paragraph(t("manual.steps", { count: steps.length }));
    fill(paragraph(t("manual.text")), thisPage(app), lead, el("ol", {}, steps), paragraph(t("manual.after"), "note"));
  } catch {
    fill(paragraph(t("away.title"), "note bad"));
  }
}

/** The address of this page, to be opened in the browser of a wallet on a phone. */
function thisPage(app) {
  const address = copyField(app, app.t("manual.address"), location.href, "manual-address");
  return figure(app, "page", app.t("manual.page"), address);
}

function oneStep(app, { kind, transaction: { to, data, value } }, index) {
  const { t } = app;
  const coins = BigInt(value) > 0n && copyField(app, t("manual.value"), String(BigInt(value)), `manual-value-${index}`);
  const fields = [
    copyField(app, t("manual.contract"), to, `manual-to-${index}`),
    coins,
    copyField(app, t("manual.data"), data, `manual-data-${index}`),
  ];
  return figure(app, index, t(`manual.${kind}`), ...fields);
}

/** A QR image, which the server draws: of the page or of a transaction, beside the fields that say the same. */
function figure({ el, token, t }, step, title, ...fields) {
  const src = `/pages/qr.svg?token=${encodeURIComponent(token)}&step=${step}`;
  const image = el("img", { class: "qr", alt: t("manual.qr", { what: title }), width: 168, height: 168, src });
  image.addEventListener("error", () => image.remove());
  const beside = el("div", { class: "beside" }, image, el("div", {}, ...fields));
  return el("figure", {}, el("figcaption", {}, title), beside);
}
