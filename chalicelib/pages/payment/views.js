// Views of the page with a connected wallet: the transactions to sign, in words, and the progress of the payment.

import { approximately, ending, rates } from "./conversion.js";
import { copyField, transaction } from "./outcomes.js";
import { chainOf } from "./identity.js";
import { isPayment } from "./notes.js";
import { poll } from "./poll.js";
import { totalsWithFee } from "./quote.js";

const WALLET_TROUBLES = ["rejected", "busy", "timeout", "unsupported", "lied", "poor"];
const NETWORK_TROUBLES = ["wrong-chain", "add-chain-refused"];
const HOPELESS = ["unsupported", "lied"]; // only another wallet can help
const SUMMARY_LENGTH = 1_000;
const ASKING = ["switching", "signing", "slow"];

// The full address is in the facts above; word joiners keep the short form on one line.
const short = (address) => `${address.slice(0, 8)}\u2060\u2026\u2060${address.slice(-6)}`;

export class Views {
  constructor(app, wallet, session) {
    Object.assign(this, { app, wallet, session, address: session.address, isSafe: session.family === "safe" });
  }

  /** The chain that is paid from: the link's own, unless another one was chosen. */
  get chain() {
    return this.source?.chain ?? chainOf(this.app.link);
  }

  /** The token that the wallet pays with, if it is paid from another chain. */
  get unit() {
    const { route } = this.quote;
    return route && { symbol: route.source.symbol, decimals: route.source.decimals };
  }

  /** The connected account, with a button to choose another wallet. */
  account() {
    const { el, code, clean } = this.app;
    const name = el("span", { class: "name" }, clean(this.wallet.name));
    return el("div", { class: "who" }, el("div", {}, name, code(this.address)), this.otherWallet());
  }

  otherWallet() {
    return this.app.button("other-wallet", this.app.t("wallet.other"), () => this.changeWallet(), "quiet");
  }

  changeWallet() {
    this.leave();
    this.app.stored.set("wallet", null);
    this.app.choose();
  }

  // ---- before anything is signed

  /** What the payment takes is read; the wallet is asked for nothing yet. */
  preparing() {
    const { app } = this;
    app.show("reading", () => ({ title: app.t("reading.title"), tone: "busy" }));
  }

  review() {
    const { app } = this;
    const { t, button, paragraph, clean } = app;
    const isShort = this.quote.metadata.hasEnoughBalance !== true;
    app.show("review", () => {
      const amount = approximately(t, this.due, this.total());
      const steps = this.isSafe ? [{ kind: "safe", index: 0 }] : this.verdict.steps;
      const act = this.isSafe ? "act.safe" : steps.length > 1 ? "act.steps" : "act.pay";
      const pay = button("pay", t(act, { amount }), () => this.exclusively(() => this.sign()));
      const again = button("again", t("balance.again"), () => void ((this.sources = null), this.prepare()));
      const isGasless = this.quote.metadata.hasEnoughGas === false && !this.isSafe;
      const energy = this.session.energyOf?.(this);
      const isRefused = isShort || energy?.refusal;
      return {
        title: t("review.title"),
        text: !isRefused && t("review.text", { count: this.batch?.isWanted ? 1 : steps.length }),
        body: [
          this.isChanged && paragraph(t("account.changed"), "note"),
          isShort && paragraph(t("balance.short"), "note bad"),
          energy ? energy.refusal : isGasless && paragraph(t("gas.none", { coin: clean(this.chain.nativeCurrency.symbol) }), "note bad"),
          this.isChosen && paragraph(t("from.enough", { network: clean(chainOf(app.link).name) }), "note"),
          ...[this.account(), this.sourceChoice(), ...rates(app, this.due), ...(this.quote.route ? this.bridgeTransfer.routeFacts(this, ending) : []), this.balances()],
          energy?.facts,
          this.stepsOf(steps),
          !isShort && this.batch?.choice(this),
        ],
        acts: [isRefused ? again : pay],
      };
    });
    if (isShort) app.say(t("balance.short"), true);
  }

  /** All that is debited, in one text. */
  total() {
    const { route } = this.quote;
    if (route) return this.app.money(route.amount, route.source.decimals, route.source.symbol);
    return this.app.joinSums(totalsWithFee(this.due, this.verdict), (each) => each.left + each.fee + each.extra);
  }

  /** What can be paid with, if that is more than the link's own token. */
  sourceChoice() {
    return this.sources?.buttons?.(this.app, this.sources, this.source, (source) => this.choose(source));
  }

  /** A button to pay on the link's own chain instead, if another one was chosen. */
  ownChain() {
    const { app } = this;
    if (!this.source) return [];
    const text = app.t("from.own", { network: app.clean(chainOf(app.link).name) });
    return [app.button("own-chain", text, () => this.choose(null))];
  }

  /** What the wallet has and what is needed, by the service's response; gas is an estimate. */
  balances() {
    const { t, el, joinSums } = this.app;
    const { balance, estimatedNetworkFee: gas } = this.quote.metadata;
    const sums = totalsWithFee(this.due, this.verdict);
    const first = this.unit ?? sums[0];
    const row = (name, value, tone = "") =>
      el("div", { class: `row ${tone}` }, el("dt", {}, t(name)), el("dd", {}, value));
    const rows = [];
    if (typeof balance === "string") rows.push(row("balance", this.amount(balance, first)));
    else rows.push(...this.ownBalances.map((each) => row("balance", each)));
    const extra = sums.filter((each) => each.extra > 0n);
    if (extra.length > 0) rows.push(row("fee.batch", joinSums(extra, (each) => each.extra)));
    if (typeof gas === "string" && !this.isSafe) rows.push(row("gas", t("about", { amount: this.rough(gas) })));
    for (const each of this.missing(first)) rows.push(row("missing", each, "bad"));
    return rows.length > 0 && el("dl", { class: "balances" }, rows);
  }

  /** The account's balance of each token, by its wallet's node, if the response of the service has no single balance. */
  async holdings(due) {
    const tokens = [...new Map(due.map((each) => [each.token, each])).values()].filter(({ token }) => token);
    if (tokens.length < 2) return [];
    if ((await this.session.chainId().catch(() => null)) !== this.chain.chainId) return [];
    const data = `0x70a08231${this.address.slice(2).toLowerCase().padStart(64, "0")}`; // balanceOf(address)
    const balances = tokens.map(async ({ token, decimals, symbol }) => {
      const output = await this.session.call({ to: token, data }).catch(() => "");
      return /^0x[0-9a-f]{64}$/i.test(output) && this.app.money(BigInt(output), decimals, symbol);
    });
    return (await Promise.all(balances)).filter(Boolean);
  }

  /** An amount of native coin with four significant digits. */
  rough(text) {
    const { language, units, need, clean } = this.app;
    const { decimals, symbol } = this.chain.nativeCurrency;
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
    const { hasEnoughBalance, balance, requiredAmount, insufficientTokens } = this.quote.metadata;
    if (hasEnoughBalance === true) return [];
    if (typeof balance === "string") return [this.amount(requiredAmount, first, balance)];
    return (Array.isArray(insufficientTokens) ? insufficientTokens : []).map((each) => {
      const token = this.due.find(({ currency }) => currency === each.tokenSymbol) ?? first;
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
    const { app } = this;
    const { t, link } = app;
    const owed = this.due ?? link.payments.filter((each) => each.left > 0n); // this.due: as it was checked
    const money = (units, decimals, symbol) => approximately(t, owed, app.money(units, decimals, symbol));
    const { decimals, symbol } = this.quote?.route?.source ?? owed.find((each) => each.token === token) ?? owed[0];
    if (this.quote?.route && kind !== "reset") return this.bridgeTransfer.sentence(this, kind, app.money(amount, decimals, symbol), short);
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
    const signed = step.kind === "safe" ? (this.verdict?.steps ?? []) : [step];
    const lists = signed.map((each) => el("dl", {}, this.facts(each)));
    const summary = el("summary", { id: `exact-${step.index}` }, t("step.exact"));
    return lists.length > 0 && el("details", { class: "exact" }, summary, lists);
  }

  facts({ kind, index, call, spender, token, amount, payments, transaction: { to, value } }) {
    const { app } = this;
    const { t, el, code, money, clean } = app;
    const words = (text) => clean(text.slice(0, SUMMARY_LENGTH));
    const row = (name, ...nodes) => el("div", {}, el("dt", {}, t(name)), el("dd", {}, ...nodes));
    const { route } = this.quote;
    const { decimals, symbol } = route?.source ?? this.due.find((each) => each.token === token) ?? this.due[0];
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
    const summary = this.quote.explanation[index]?.summary;
    return [
      row("manual.contract", code(to), " ", code(call.includes(".") ? call : `${symbol}.${call}`)),
      spender && row("step.spender", code(spender)),
      (kind !== "pay" || route) && row("amount", money(amount, decimals, symbol)),
      route && kind === "pay" && row("network", clean(chainOf(this.app.link).name)),
      ...(kind === "pay" && app.commerce ? app.commerce.facts(app, row) : payments.flatMap((at) => paid(this.due[at]))),
      route && kind === "pay" && row("step.fallback", code(this.address)),
      BigInt(value) > 0n && row("manual.value", code(String(BigInt(value)))),
      typeof summary === "string" && row("step.summary", el("q", { lang: "en", dir: "ltr" }, words(summary))),
    ].flat();
  }

  // ---- while it is being paid

  /** Shows the progress of a step; `state` is the prefix of the message keys. Does nothing if the same is shown already. */
  progress(state, place, note = null, confirmations = 0) {
    const { app, chain } = this;
    const { t, el } = app;
    const now = [state, place, note?.txHash, confirmations].join();
    // More is to be signed.
    const isNext = ["waiting", "confirming"].includes(state) && note && !(isPayment(note) && note.isLast);
    if (now === this.shown && document.getElementById("main").dataset.state === state) return;
    this.shown = now;
    const steps = this.isSafe ? [{ kind: "safe", index: 0 }] : (this.verdict?.steps ?? []);
    const names = { wallet: app.clean(this.wallet.name), network: app.clean(chain.name) };
    const values = { ...names, count: confirmations, all: chain.confirmations };
    const bar = { max: chain.confirmations, value: confirmations };
    app.show(state, () => ({
      title: t(`${state}.title`, values),
      text: (note?.txHash || note?.batch) && this.isAway ? t("away.sent") : isNext ? t("next.text") : t(`${state}.text`, values),
      tone: "busy",
      body: [
        this.isStale && ASKING.includes(state) && app.paragraph(t(this.isStale), "note bad"),
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
    const { app, rateEndsAt: until } = this;
    const { t, el, paragraph } = app;
    if (!until || !["pay", "safe"].includes(step?.kind)) return [];
    if (app.now() >= until) return [paragraph(t(this.over()), "note bad")];
    const name = this.source ? "route.ends" : "rate.ends";
    const row = el("div", { class: "row" }, el("dt", {}, t(name)), el("dd", {}, ending(el, until)));
    return [el("dl", { class: "balances" }, row)];
  }

  /** Says once that the rate has ended, if the wallet is still being asked. */
  tellEnd() {
    const { app } = this;
    if (this.isRateEndSaid || !ASKING.includes(document.getElementById("main").dataset.state)) return;
    this.isRateEndSaid = true;
    app.renew();
    if (document.querySelector("#panel-body .note.bad")) app.say(app.t(this.over()), true);
  }

  over() {
    return this.source ? "route.over" : "rate.over";
  }

  // ---- errors

  // Asks the payer to look into the wallet whether the payment was sent. The payer can confirm that nothing was sent from
  // the time `from` on (milliseconds); 0: now; null: not yet, and the time is not shown.
  question(note, consent, from) {
    const { app, chain } = this;
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
      const again = !isFinal && app.button("again", app.t("again"), () => this.start());
      const head = { title: app.t(`${name}.title`), text: app.t(`${name}.text`) };
      return { ...head, tone: "bad", body: [text && app.paragraph(text), ...body, again] };
    });
  }

  /** The calldata differs from what the page shows: nothing is offered to be signed. */
  unsafe() {
    const more = () => ({ text: this.app.t(`unsafe.${this.verdict.reason}`), body: this.ownChain() });
    this.problem("unsafe", more, true);
  }

  waitForOtherTab() {
    const { app } = this;
    app.show("elsewhere", () => ({ title: app.t("elsewhere.title"), text: app.t("elsewhere.text"), tone: "busy" }));
    this.cancel();
    const stop = poll(async () => {
      const free = navigator.locks?.request(this.key, { ifAvailable: true }, (lock) => lock !== null);
      const isFree = (await free) ?? true;
      if (isFree) void this.start();
      return isFree || (await app.refresh());
    }, { first: 2_000, most: 30_000 });
    this.cancel = stop;
  }

  showError(trouble) {
    if (trouble.code === "account") return void (this.isStale = "account.changed"); // begins again with the new account
    if (typeof trouble.code !== "string") return this.app.showTrouble(trouble, () => this.start());
    if (NETWORK_TROUBLES.includes(trouble.code)) {
      const show = ({ showNetwork }) => showNetwork(this, trouble.code);
      return void this.app.asset("obstacles.js").then(show, (lacking) => this.showError(lacking));
    }
    const isHopeless = HOPELESS.includes(trouble.code);
    const other = () => ({ body: [["failed", "poor"].includes(trouble.code) && this.walletMessage(trouble), isHopeless && this.otherWallet()] });
    return this.problem(`wallet-${WALLET_TROUBLES.includes(trouble.code) ? trouble.code : "failed"}`, other);
  }
}
