// Views of the page with a connected wallet: the transactions to sign, in words, and the progress of the payment.

import { approximately, ending, rates } from "./conversion.js";
import { copyField, transaction } from "./outcomes.js";
import { chainOf } from "./identity.js";
import { isPayment } from "./notes.js";
import { totalsWithFee } from "./quote.js";

const SUMMARY_LENGTH = 1_000;
const ASKING = ["switching", "signing", "slow"];

// The full address is in the facts above; word joiners keep the short form on one line.
const short = (address) => `${address.slice(0, 8)}\u2060\u2026\u2060${address.slice(-6)}`;

export class Views {
  /** @param payment The Payment that is shown: it is read and called here, and changed by itself alone. */
  constructor(payment) {
    Object.assign(this, { payment, app: payment.app, session: payment.session });
  }

  /** The connected account, with a button to choose another wallet. */
  account() {
    const { el, code, clean } = this.app;
    const name = el("span", { class: "name" }, clean(this.payment.wallet.name));
    return el("div", { class: "who" }, el("div", {}, name, code(this.payment.address)), this.otherWallet());
  }

  otherWallet() {
    return this.app.button("other-wallet", this.app.t("wallet.other"), () => this.payment.changeWallet(), "quiet");
  }

  // ---- before anything is signed

  /** What the payment takes is read; the wallet is asked for nothing yet. */
  preparing() {
    const { app } = this;
    app.show("reading", () => ({ title: app.t("reading.title"), tone: "busy" }));
  }

  review() {
    const { app, payment } = this;
    const { t, button, paragraph, clean } = app;
    const isShort = payment.quote.metadata.hasEnoughBalance !== true;
    app.show("review", () => {
      const amount = approximately(t, payment.due, this.total());
      const steps = payment.isSafe ? [{ kind: "safe", index: 0 }] : payment.verdict.steps;
      const act = payment.isSafe ? "act.safe" : steps.length > 1 ? "act.steps" : "act.pay";
      const pay = button("pay", t(act, { amount }), () => payment.exclusively(() => payment.signer.sign()));
      const again = button("again", t("balance.again"), () => payment.readAgain());
      const isGasless = payment.quote.metadata.hasEnoughGas === false && !payment.isSafe;
      const energy = this.session.energyOf?.(payment);
      const isRefused = isShort || energy?.refusal;
      return {
        title: t("review.title"),
        text: !isRefused && t("review.text", { count: payment.batch?.isWanted ? 1 : steps.length }),
        body: [
          payment.isChanged && paragraph(t("account.changed"), "note"),
          isShort && paragraph(t("balance.short"), "note bad"),
          energy ? energy.refusal : isGasless && paragraph(t("gas.none", { coin: clean(payment.chain.nativeCurrency.symbol) }), "note bad"),
          payment.isChosen && paragraph(t("from.enough", { network: clean(chainOf(app.link).name) }), "note"),
          ...[this.account(), this.sourceChoice(), ...rates(app, payment.due), ...(payment.quote.route ? payment.bridgeTransfer.routeFacts(payment, ending) : []), this.balances()],
          energy?.facts,
          this.stepsOf(steps),
          !isShort && payment.batch?.choice(payment),
        ],
        acts: [isRefused ? again : pay, ...(payment.isSignable && !isShort ? [button("gasless", t("act.gasless", { token: payment.due[0].symbol }), () => payment.askOffer(), "quiet")] : [])],
      };
    });
    if (isShort) app.say(t("balance.short"), true);
  }

  /** All that is debited, in one text. */
  total() {
    const { payment } = this;
    const { route } = payment.quote;
    if (route) return this.app.money(route.amount, route.source.decimals, route.source.symbol);
    return this.app.joinSums(totalsWithFee(payment.due, payment.verdict), (each) => each.left + each.fee + each.extra);
  }

  /** What can be paid with, if that is more than the link's own token. */
  sourceChoice() {
    const { payment } = this;
    return payment.sources?.buttons?.(this.app, payment.sources, payment.source, (source) => payment.choose(source));
  }

  /** A button to pay on the link's own chain instead, if another one was chosen. */
  ownChain() {
    const { app } = this;
    if (!this.payment.source) return [];
    const text = app.t("from.own", { network: app.clean(chainOf(app.link).name) });
    return [app.button("own-chain", text, () => this.payment.choose(null))];
  }

  /** What the wallet has and what is needed, by the service's response; gas is an estimate. */
  balances() {
    const { payment } = this;
    const { t, el, joinSums } = this.app;
    const { balance, estimatedNetworkFee: gas } = payment.quote.metadata;
    const sums = totalsWithFee(payment.due, payment.verdict);
    const first = payment.unit ?? sums[0];
    const row = (name, value, tone = "") =>
      el("div", { class: `row ${tone}` }, el("dt", {}, t(name)), el("dd", {}, value));
    const rows = [];
    if (typeof balance === "string") rows.push(row("balance", this.amount(balance, first)));
    else rows.push(...payment.ownBalances.map((each) => row("balance", each)));
    const extra = sums.filter((each) => each.extra > 0n);
    if (extra.length > 0) rows.push(row("fee.batch", joinSums(extra, (each) => each.extra)));
    if (typeof gas === "string" && !payment.isSafe) rows.push(row("gas", t("about", { amount: this.rough(gas) })));
    for (const each of this.missing(first)) rows.push(row("missing", each, "bad"));
    return rows.length > 0 && el("dl", { class: "balances" }, rows);
  }

  /** An amount of native coin with four significant digits. */
  rough(text) {
    const { language, units, need, clean } = this.app;
    const { decimals, symbol } = this.payment.chain.nativeCurrency;
    need(units(text, decimals) >= 0n);
    const format = new Intl.NumberFormat(language(), { maximumSignificantDigits: 4 });
    return `${format.format(text)} ${clean(symbol)}`;
  }

  /** The difference of two decimal amounts of the service. */
  amount(text, { decimals, symbol }, less = "0") {
    const { money, units, clean } = this.app;
    return money(units(text, decimals) - units(less, decimals), decimals, clean(symbol));
  }

  missing(first) {
    const { hasEnoughBalance, balance, requiredAmount, insufficientTokens } = this.payment.quote.metadata;
    if (hasEnoughBalance === true) return [];
    if (typeof balance === "string") return [this.amount(requiredAmount, first, balance)];
    return (Array.isArray(insufficientTokens) ? insufficientTokens : []).map((each) => {
      const token = this.payment.due.find(({ currency }) => currency === each.tokenSymbol) ?? first;
      return this.amount(each.required, token, each.available);
    });
  }

  /** The steps in words, each with its exact transaction; `place` is the position of the current one. */
  stepsOf(steps, place = -1) {
    const { t, el } = this.app;
    const state = (index) => (index < place ? "done" : index === place ? "now" : "todo");
    return el("ol", { class: "steps" }, steps.map((step, index) => {
      const words = [el("span", { class: "words" }, this.sentence(step)), this.details(step)];
      const hidden = place >= 0 && el("span", { class: "visually-hidden" }, t(`state.${state(index)}`));
      return el("li", { class: state(index), "aria-current": index === place && "step" }, hidden, ...words);
    }));
  }

  sentence({ kind, token, amount, payments = [] }) {
    const { app, payment } = this;
    const { t, link } = app;
    const owed = payment.due ?? link.payments.filter((each) => each.left > 0n); // payment.due: as it was checked
    const money = (units, decimals, symbol) => approximately(t, owed, app.money(units, decimals, symbol));
    const { decimals, symbol } = payment.quote?.route?.source ?? owed.find((each) => each.token === token) ?? owed[0];
    if (payment.quote?.route && kind !== "reset") return payment.bridgeTransfer.sentence(payment, kind, app.money(amount, decimals, symbol), short);
    if (["reset", "approve", "fund"].includes(kind)) {
      return t(`step.${kind}`, { amount: app.money(amount, decimals, symbol), token: symbol });
    }
    const paid = kind === "safe" ? owed : payments.map((position) => owed[position]);
    const total = approximately(t, paid, app.joinSums(app.totals(paid), (each) => each.left + each.fee));
    if (kind === "safe") return t("step.safe", { amount: total });
    if (paid.length > 1) return t("step.pay.many", { count: paid.length, amount: total });
    const [{ left, fee, payee, ...one }] = paid;
    const [amountPaid, feePaid] = [left, fee].map((units) => money(units, one.decimals, one.symbol));
    const values = { amount: amountPaid, fee: feePaid, payee: short(payee) };
    return t(fee > 0n ? "step.pay.fee" : "step.pay", values);
  }

  /** The exact content of the transactions, decoded from their bytes; last the service's explanation, which is unchecked. */
  details(step) {
    const { t, el } = this.app;
    const signed = step.kind === "safe" ? (this.payment.verdict?.steps ?? []) : [step];
    const lists = signed.map((each) => el("dl", {}, this.facts(each)));
    const summary = el("summary", { id: `exact-${step.index}` }, t("step.exact"));
    return lists.length > 0 && el("details", { class: "exact" }, summary, lists);
  }

  facts({ kind, index, call, spender, token, amount, payments, transaction: { to, value } }) {
    const { app, payment } = this;
    const { t, el, code, money, clean } = app;
    const words = (text) => clean(text.slice(0, SUMMARY_LENGTH));
    const row = (name, ...nodes) => el("div", {}, el("dt", {}, t(name)), el("dd", {}, ...nodes));
    const { route } = payment.quote;
    const { decimals, symbol } = route?.source ?? payment.due.find((each) => each.token === token) ?? payment.due[0];
    const paid = ({ payee, feeAddress, reference, token: paidIn, ...one }) => {
      const most = one.conversion?.most; // with it, the calldata has amount and fee in the invoice currency
      const { left, fee, ...unit } = most ? one.owed : one;
      return [
        row("payee", code(payee)),
        row("amount", money(left, unit.decimals, unit.symbol, unit.digits)),
        paidIn && row("token", code(paidIn)),
        fee > 0n && row("fee", money(fee, unit.decimals, unit.symbol, unit.digits), " ", code(feeAddress)),
        most && row("rate.most", money(most, one.decimals, one.symbol)),
        row("reference", code(reference)),
      ];
    };
    const summary = payment.quote.explanation[index]?.summary;
    return [
      row("manual.contract", code(to), " ", code(call.includes(".") ? call : `${symbol}.${call}`)),
      spender && row("step.spender", code(spender)),
      (kind !== "pay" || route) && row("amount", money(amount, decimals, symbol)),
      route && kind === "pay" && row("network", clean(chainOf(this.app.link).name)),
      ...(kind === "pay" && app.commerce ? app.commerce.facts(app, row) : payments.flatMap((at) => paid(payment.due[at]))),
      route && kind === "pay" && row("step.fallback", code(payment.address)),
      BigInt(value) > 0n && row("manual.value", code(String(BigInt(value)))),
      typeof summary === "string" && row("step.summary", el("q", { lang: "en", dir: "ltr" }, words(summary))),
    ].flat();
  }

  // ---- while it is being paid

  /** Shows the progress of a step; `state` is the prefix of the message keys. Does nothing if the same is shown already. */
  progress(state, place, note = null, confirmations = 0) {
    const { payment } = this;
    const { app, chain } = payment;
    const { t, el } = app;
    const now = [state, place, note?.txHash, confirmations].join();
    // More is to be signed.
    const isNext = ["waiting", "confirming"].includes(state) && note && !(isPayment(note) && note.isLast);
    if (now === this.shown && document.getElementById("main").dataset.state === state) return;
    this.shown = now;
    const steps = payment.isSafe ? [{ kind: "safe", index: 0 }] : (payment.verdict?.steps ?? []);
    const names = { wallet: app.clean(payment.wallet.name), network: app.clean(chain.name) };
    const values = { ...names, count: confirmations, all: chain.confirmations };
    const bar = { max: chain.confirmations, value: confirmations };
    app.show(state, () => ({
      title: t(`${state}.title`, values),
      text: (note?.txHash || note?.batch) && payment.follower.isAway ? t("away.sent") : isNext ? t("next.text") : t(`${state}.text`, values),
      tone: "busy",
      body: [
        payment.isStale && ASKING.includes(state) && app.paragraph(t(payment.isStale), "note bad"),
        state === "doubt" && this.walletMessage(note),
        ...(ASKING.includes(state) ? this.rateEnd(steps.at(place)) : []),
        steps.length > 0 && this.stepsOf(steps, place),
        state === "confirming" && el("progress", { ...bar, "aria-label": t("confirming.title", values) }),
        note?.txHash && note.step !== "safe" && transaction(app, note.txHash, chain),
      ],
    }));
  }

  /** Until when the rate is valid, while the wallet asks for a payment by it. */
  rateEnd(step) {
    const { app, rateEndsAt: until } = this.payment;
    const { t, el, paragraph } = app;
    if (!until || !["pay", "safe"].includes(step?.kind)) return [];
    if (app.now() >= until) return [paragraph(t(this.over()), "note bad")];
    const name = this.payment.source ? "route.ends" : "rate.ends";
    const row = el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, ending(el, until)));
    return [el("dl", { class: "balances" }, row)];
  }

  /** Says once that the rate has ended, if the wallet is still being asked. */
  tellEnd() {
    const { app } = this;
    const { rateEndsAt } = this.payment;
    if (this.saidEndOf === rateEndsAt || !ASKING.includes(document.getElementById("main").dataset.state)) return;
    this.saidEndOf = rateEndsAt;
    app.renew();
    if (document.querySelector("#panel-body .note.bad")) app.say(app.t(this.over()), true);
  }

  over() {
    return this.payment.source ? "route.over" : "rate.over";
  }

  // ---- errors

  // Asks the payer to look into the wallet whether the payment was sent. The payer can confirm that nothing was sent from
  // the time `from` on (milliseconds); 0: now; null: not yet, and the time is not shown.
  question(note, consent, from) {
    const { app, chain } = this.payment;
    const isOwn = note.token === app.token;
    const state = !isOwn ? "twin" : note.isUncounted ? "uncounted" : note.txHash || note.batch?.answered ? "unclear" : "asked";
    const name = state === "asked" && note.code ? `wallet-${note.code}` : state;
    const there = `?token=${encodeURIComponent(note.token)}`;
    const other = () => app.anchor(there, app.t("twin.open"), { class: "action", id: "twin" });
    const time = () => new Intl.DateTimeFormat(app.language(), { timeStyle: "short" }).format(from);
    const sent = () => {
      if (note.step === "safe") return copyField(app, app.t("safe.hash"), note.txHash, "safe-hash");
      return transaction(app, note.txHash, chain);
    };
    app.show(state, () => ({
      title: app.t(`${name}.title`),
      text: app.t(`${state}.text`),
      body: [
        this.walletMessage(note),
        !isOwn && other(),
        note.txHash && sent(),
        app.paragraph(app.t("asked.account")),
        app.code(note.wallet),
        from === 0 ? this.consentForm(consent, note.isUncounted ? "uncounted.sure" : "asked.sure") : from && app.paragraph(app.t("asked.when", { time: time() }), "note"),
      ],
    }));
  }

  /** The message of a wallet or its node that came in place of a hash. */
  walletMessage(note) {
    const { el, clean } = this.app;
    return note?.detail && el("p", { class: "note bad" }, el("bdi", {}, clean(note.detail)));
  }

  /** Says that the request, which may still be open in the wallet, must not be confirmed. */
  withdrawn() {
    const { app } = this;
    app.show("withdrawn", () => ({ title: app.t("withdrawn.title"), text: app.t("withdrawn.text"), tone: "bad" }));
  }

  consentForm(consent, sure, again = "asked.again") {
    const { app } = this;
    const button = app.button("ask-again", app.t(again), () => (consent.isWanted = true));
    const change = ({ target }) => (button.disabled = !(consent.isSure = target.checked));
    const box = app.el("input", { type: "checkbox", id: "ask-sure", checked: consent.isSure, on: { change } });
    button.disabled = !consent.isSure;
    return [app.el("label", { class: "tick", for: "ask-sure" }, box, app.t(sure)), button];
  }

  /** Shows an error; `more` returns a further text and nodes in the current language. */
  problem(name, more = () => ({}), isFinal = false) {
    const { app } = this;
    app.show(name, () => {
      const { text, body = [] } = more();
      const again = !isFinal && app.button("again", app.t("again"), () => this.payment.start());
      const head = { title: app.t(`${name}.title`), text: app.t(`${name}.text`) };
      return { ...head, tone: "bad", body: [text && app.paragraph(text), ...body, again] };
    });
  }

  /** The calldata differs from what the page shows: nothing is offered to be signed. */
  unsafe() {
    const more = () => ({ text: this.app.t(`unsafe.${this.payment.verdict.reason}`), body: this.ownChain() });
    this.problem("unsafe", more, true);
  }

}
