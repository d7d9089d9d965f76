// What is shown once a wallet has answered: what it is about to sign, in words, and how far the payment is.

import { copyField, transaction } from "./ends.js";
import { poll } from "./poll.js";

const WALLET_TROUBLES = ["rejected", "busy", "timeout", "unsupported", "lied"];
const NETWORK_TROUBLES = ["wrong-chain", "add-chain-refused"];

const short = (address) => `${address.slice(0, 8)}\u2026${address.slice(-6)}`; // the whole is in the facts above

export class Views {
  constructor(app, wallet, session) {
    Object.assign(this, { app, wallet, session, address: session.address, isSafe: session.family === "safe" });
  }

  get chain() {
    return this.app.link.chain;
  }

  /** Who pays, and the way to another wallet. */
  who() {
    const { t, el, code, clean, button } = this.app;
    const other = button("other-wallet", t("wallet.other"), () => this.away(), "quiet");
    const account = el("div", {}, el("span", { class: "name" }, clean(this.wallet.name)), code(this.address));
    return el("div", { class: "who" }, account, other);
  }

  away() {
    this.leave();
    this.app.stored.set("wallet", null);
    this.app.choose();
  }

  // ---- before anything is signed

  review() {
    const { app } = this;
    const { t, el, button } = app;
    const { metadata } = this.quote;
    app.show("review", () => {
      const sums = this.withBatchFee(app.totals(app.link.payments));
      const amount = app.listed(sums, (each) => each.left + each.fee + each.extra);
      const steps = this.isSafe ? [{ kind: "safe", index: 0 }] : this.verdict.steps;
      const isShort = metadata.hasEnoughBalance !== true;
      const act = this.isSafe ? "act.safe" : steps.length > 1 ? "act.steps" : "act.pay";
      const pay = button("pay", t(act, { amount }), () => this.exclusively(() => this.sign()));
      const again = button("again", t("balance.again"), () => this.prepare());
      return {
        title: t("review.title"),
        text: t("review.text", { count: steps.length }),
        body: [this.who(), this.balances(), this.stepsOf(steps), el("div", { class: "acts" }, isShort ? again : pay)],
      };
    });
    if (metadata.hasEnoughBalance !== true) app.say(t("balance.short"), true);
  }

  /** What the wallet has against what is needed, in the service's words for numbers; an estimate where it is gas. */
  balances() {
    const { t, el, totals, listed, link, clean } = this.app;
    const { balance, estimatedNetworkFee: gas, hasEnoughGas } = this.quote.metadata;
    const { symbol } = this.chain.nativeCurrency;
    const sums = this.withBatchFee(totals(link.payments));
    const [first] = sums;
    const row = (name, value, tone = "") =>
      el("div", { class: `row ${tone}` }, el("dt", {}, t(name)), el("dd", {}, value));
    const rows = [];
    if (typeof balance === "string") rows.push(row("balance", this.amount(balance, first)));
    else rows.push(...this.held.map((each) => row("balance", each)));
    const extra = sums.filter((each) => each.extra > 0n);
    if (extra.length > 0) rows.push(row("fee.batch", listed(extra, (each) => each.extra)));
    if (typeof gas === "string" && !this.isSafe) rows.push(row("gas", t("about", { amount: this.rough(gas) })));
    for (const each of this.missing(first)) rows.push(row("missing", each, "bad"));
    if (hasEnoughGas === false && !this.isSafe) {
      rows.push(row("missing", t("gas.short", { coin: clean(symbol) }), "bad"));
    }
    return rows.length > 0 && el("dl", { class: "balances" }, rows);
  }

  /** The totals with what the batch contract takes for itself, as `extra`; `batchFee` is in hundredths of a per cent. */
  withBatchFee(sums) {
    const { batchFee, steps } = this.verdict;
    const calls = steps.map(({ payments }) => this.app.totals(payments.map((at) => this.due[at])));
    const ofOne = (token) => (call) => ((call.find((sum) => sum.token === token)?.left ?? 0n) * BigInt(batchFee)) / 10_000n;
    return sums.map((each) => ({ ...each, extra: calls.map(ofOne(each.token)).reduce((sum, fee) => sum + fee, 0n) }));
  }

  /** What the account has of each token, as its wallet's node says, where the service tells no single balance. */
  async holdings() {
    const { payments } = this.app.link;
    const tokens = [...new Map(payments.map((each) => [each.token, each])).values()].filter(({ token }) => token);
    if (tokens.length < 2) return [];
    if ((await this.session.chainId().catch(() => null)) !== this.chain.chainId) return [];
    const data = `0x70a08231${this.address.slice(2).toLowerCase().padStart(64, "0")}`; // balanceOf(address)
    const asked = tokens.map(async ({ token, decimals, symbol }) => {
      const answer = await this.session.call({ to: token, data }).catch(() => "");
      return /^0x[0-9a-f]{64}$/i.test(answer) && this.app.money(BigInt(answer), decimals, symbol);
    });
    return (await Promise.all(asked)).filter(Boolean);
  }

  /** An estimate of coins, to four digits. */
  rough(text) {
    const { language, units, need, clean } = this.app;
    const { decimals, symbol } = this.chain.nativeCurrency;
    need(units(text, decimals) >= 0n);
    const format = new Intl.NumberFormat(language(), { maximumSignificantDigits: 4 });
    return `${format.format(text)} ${clean(symbol)}`;
  }

  /** An amount that the service tells, less another one. */
  amount(text, { decimals, symbol }, less = "0") {
    const { money, units, clean } = this.app;
    return money(units(text, decimals) - units(less, decimals), decimals, clean(symbol));
  }

  missing(first) {
    const { hasEnoughBalance, balance, requiredAmount, insufficientTokens } = this.quote.metadata;
    if (hasEnoughBalance === true) return [];
    if (typeof balance === "string") return [this.amount(requiredAmount, first, balance)];
    return (Array.isArray(insufficientTokens) ? insufficientTokens : []).map((each) => {
      const token = this.app.link.payments.find(({ currency }) => currency === each.tokenSymbol) ?? first;
      return this.amount(each.required, token, each.available);
    });
  }

  /** The steps in words, each with what exactly is signed; `place` is the one that is being made. */
  stepsOf(steps, place = -1) {
    const { t, el } = this.app;
    const state = (index) => (index < place ? "done" : index === place ? "now" : "todo");
    return el("ol", { class: "steps" }, steps.map((step, index) => {
      const told = [el("span", { class: "words" }, this.sentence(step)), this.details(step)];
      const unseen = place >= 0 && el("span", { class: "unseen" }, t(`state.${state(index)}`));
      return el("li", { class: state(index), "aria-current": index === place && "step" }, unseen, ...told);
    }));
  }

  sentence({ kind, token, amount, index, payments = [] }) {
    const { app } = this;
    const { t, money, link } = app;
    const owed = this.due ?? link.payments.filter((each) => each.left > 0n); // as it was when it was checked
    const { decimals, symbol } = owed.find((each) => each.token === token) ?? owed[0];
    if (kind === "reset") return t("step.reset", { token: symbol });
    if (kind === "approve") return t("step.approve", { amount: money(amount, decimals, symbol) });
    if (!["pay", "safe"].includes(kind)) return app.clean(this.quote.explanation[index]?.summary ?? kind);
    const paid = kind === "safe" ? owed : payments.map((position) => owed[position]);
    const total = app.listed(app.totals(paid), (each) => each.left + each.fee);
    if (kind === "safe") return t("step.safe", { amount: total });
    if (paid.length > 1) return t("step.pay.many", { count: paid.length, amount: total });
    const [{ left, fee, payee, ...one }] = paid;
    const [amountPaid, feePaid] = [left, fee].map((units) => money(units, one.decimals, one.symbol));
    const values = { amount: amountPaid, fee: feePaid, payee: short(payee) };
    return t(fee > 0n ? "step.pay.fee" : "step.pay", values);
  }

  /** What the service decoded from the bytes, as it stands. */
  details({ index, kind, token }) {
    const { t, el, code, clean } = this.app;
    const told = kind === "safe" ? this.quote.explanation : [this.quote.explanation[index]];
    const texts = told.filter((each) => typeof each?.summary === "string");
    if (texts.length === 0) return null;
    const lines = (each) => [
      el("p", { lang: "en", dir: "ltr" }, clean(each.summary)),
      el("p", {}, code(`${each.contract ?? ""}.${each.function ?? "?"}`), " ", code(each.to ?? "")),
    ];
    const contract = token && el("p", {}, t("token"), " ", code(token));
    return el("details", { class: "exact" }, el("summary", {}, t("step.exact")), texts.flatMap(lines), contract);
  }

  // ---- while it is being paid

  /** How far a step is; `state` is the first part of its texts' keys. While it is the same, nothing is built anew. */
  progress(state, place, note = null, confirmations = 0) {
    const { app, chain } = this;
    const { t, el } = app;
    const now = [state, place, note?.txHash, confirmations].join();
    if (now === this.shown && document.getElementById("main").dataset.state === state) return;
    this.shown = now;
    const steps = this.isSafe ? [{ kind: "safe", index: 0 }] : (this.verdict?.steps ?? []);
    const names = { wallet: app.clean(this.wallet.name), network: app.clean(chain.name) };
    const values = { ...names, count: confirmations, all: chain.confirmations };
    const bar = { max: chain.confirmations, value: confirmations };
    app.show(state, () => ({
      title: t(`${state}.title`, values),
      text: t(`${state}.text`, values),
      tone: "busy",
      body: [
        steps.length > 0 && this.stepsOf(steps, place),
        state === "confirming" && el("progress", { ...bar, "aria-label": t("confirming.title", values) }),
        note?.txHash && note.step !== "safe" && transaction(app, note.txHash, chain),
      ],
    }));
  }

  // ---- what can go wrong

  /** Whether it was sent: the payer has to look into the wallet, and can say so from `from` on. */
  question(note, word, from) {
    const { app, chain } = this;
    const name = note.txHash ? "unclear" : "asked";
    const time = new Intl.DateTimeFormat(app.language(), { timeStyle: "short" }).format(from);
    app.show(name, () => ({
      title: app.t(`${name}.title`),
      text: app.t(`${name}.text`),
      body: [
        note.txHash && transaction(app, note.txHash, chain),
        app.paragraph(app.t("asked.account")),
        app.code(note.wallet),
        from ? app.paragraph(app.t("asked.when", { time }), "note") : this.promise(word),
      ],
    }));
  }

  promise(word) {
    const { app } = this;
    const press = app.button("ask-again", app.t("asked.again"), () => (word.isWanted = true));
    const change = ({ target }) => (press.disabled = !(word.isSure = target.checked));
    const box = app.el("input", { type: "checkbox", id: "ask-sure", checked: word.isSure, on: { change } });
    press.disabled = !word.isSure;
    return [app.el("label", { class: "tick", for: "ask-sure" }, box, app.t("asked.sure")), press];
  }

  /** `more` gives a text and nodes besides, in the language of the moment. */
  problem(name, more = () => ({}), isFinal = false) {
    const { app } = this;
    app.show(name, () => {
      const { text, body = [] } = more();
      const again = !isFinal && app.button("again", app.t("again"), () => this.start());
      const said = { title: app.t(`${name}.title`), text: app.t(`${name}.text`) };
      return { ...said, tone: "bad", body: [text && app.paragraph(text), ...body, again] };
    });
  }

  /** The calldata is not what the page shows: nothing is offered to be signed. */
  unsafe() {
    this.problem("unsafe", () => ({ text: this.app.t(`unsafe.${this.verdict.reason}`) }), true);
  }

  foreign(creator) {
    const { code, paragraph, t } = this.app;
    this.problem("foreign", () => ({ body: [paragraph(t("foreign.wallet")), code(creator), this.who()] }));
  }

  elsewhere() {
    const { app } = this;
    app.show("elsewhere", () => ({ title: app.t("elsewhere.title"), text: app.t("elsewhere.text"), tone: "busy" }));
    this.cancel();
    const stop = poll(async () => {
      const free = navigator.locks?.request(this.key, { ifAvailable: true }, (lock) => lock !== null);
      const isFree = (await free) ?? true;
      if (isFree) void this.start();
      return isFree || (await app.look());
    }, { first: 2_000, most: 15_000 });
    this.cancel = stop;
  }

  stumbled(trouble) {
    if (trouble.code === "account") return void (this.isStale = true); // begun anew with the other one
    if (trouble instanceof this.app.Trouble) return this.app.failed(trouble, () => this.start());
    if (NETWORK_TROUBLES.includes(trouble.code)) return this.network(trouble.code);
    return this.problem(`wallet-${WALLET_TROUBLES.includes(trouble.code) ? trouble.code : "failed"}`);
  }

  /** The wallet does not go to the network of the link: what it has to be told, to be entered by hand. */
  network(code) {
    const { app, chain } = this;
    const { t, clean } = app;
    const rpc = chain.publicRpcUrls.find((each) => app.webAddress(each));
    const { symbol } = chain.nativeCurrency;
    const facts = { name: chain.name, "chain-id": String(chain.chainId), rpc, coin: symbol };
    const told = Object.entries(facts).filter(([, value]) => value);
    const field = ([name, value]) => copyField(app, t(`network.${name}`), clean(value), `network-${name}`);
    this.problem("network", () => ({
      text: t(`network.${code}`, { network: clean(chain.name) }),
      body: [app.el("div", { class: "fields" }, told.map(field))],
    }));
  }
}
