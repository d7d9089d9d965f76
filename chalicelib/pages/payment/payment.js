// Pays with a connected wallet: fetches the transactions, checks them, and has one step asked for after the other.
// signer.js asks the wallet, follow.js follows what was sent, views.js shows it.

import { approximately, endOf } from "./conversion.js";
import { Follower } from "./follow.js";
import { chainOf } from "./identity.js";
import { withLock } from "./notes.js";
import { poll } from "./poll.js";
import { expectedPayments, readQuote, verify } from "./quote.js";
import { Signer } from "./signer.js";
import { Views } from "./views.js";

const WALLET_TROUBLES = ["rejected", "busy", "timeout", "unsupported", "lied", "poor"];
const NETWORK_TROUBLES = ["wrong-chain", "add-chain-refused"];
const HOPELESS = ["unsupported", "lied"]; // only another wallet can help

/** Starts paying with the session of a wallet; `isChanged` if the wallet had another account before. */
export async function begin(app, wallet, session, isChanged = false) {
  app.payment?.leave();
  const payment = (app.payment = Object.assign(new Payment(app, wallet, session), { isChanged }));
  await payment.recall().catch(() => undefined); // without the choice that was made before, the page asks again
  if (app.payment === payment) await payment.start();
}

/** One attempt to pay with one wallet: what is paid, from where, by which quote, and what is done next. */
class Payment {
  constructor(app, wallet, session) {
    Object.assign(this, { app, wallet, session, address: session.address, isSafe: session.family === "safe" });
    Object.assign(this, { key: `pay:${app.token}`, turn: 0, next: null });
    // isChosen: the page has chosen the source, because the link's own chain has too little; isPicked: the payer has.
    Object.assign(this, { source: null, sources: null, batch: null, isPlain: false, isChosen: false, isPicked: false });
    Object.assign(this, { views: new Views(this), follower: new Follower(this), signer: new Signer(this) });
    this.stopListening = session.onChange((what) => what !== "chain" && this.beginAgain(what));
    this.onStorage = ({ key }) => {
      const isOurs = key === this.key || (key?.startsWith("pay:") && app.notes.twin());
      if (isOurs && !this.isBusy) void this.start();
    };
    addEventListener("storage", this.onStorage);
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

  leave() {
    this.turn += 1;
    this.stopListening();
    this.follower.cancel();
    removeEventListener("storage", this.onStorage);
  }

  changeWallet() {
    this.leave();
    this.app.stored.set("wallet", null);
    this.app.choose();
  }

  /** Runs `task` unless another tab has the lock; shows its errors. */
  async exclusively(task) {
    if (this.isBusy) return;
    this.isBusy = this.app.paying = true;
    try {
      const isDone = await withLock(this.key, { ifAvailable: true }, (lock) => lock && task().then(() => true));
      if (!isDone) this.waitForOtherTab();
    } catch (trouble) {
      this.showError(trouble);
    } finally {
      this.isBusy = this.app.paying = false;
    }
    const other = this.app.notes.own() ? "start" : "beginAgain";
    const next = this.isStale && !this.app.end ? other : this.next;
    Object.assign(this, { next: null, isStale: false });
    if (next && this.app.payment === this) await this[next]();
  }

  /** Shows that another tab has the payment, until it has ended. */
  waitForOtherTab() {
    const { app } = this;
    app.show("elsewhere", () => ({ title: app.t("elsewhere.title"), text: app.t("elsewhere.text"), tone: "busy" }));
    this.follower.cancel();
    const stop = poll(async () => {
      const free = navigator.locks?.request(this.key, { ifAvailable: true }, (lock) => lock !== null);
      const isFree = (await free) ?? true;
      if (isFree) void this.start();
      return isFree || (await app.refresh());
    }, { first: 2_000, most: 30_000 });
    this.follower.cancel = stop;
  }

  showError(trouble) {
    if (trouble.code === "account") return void (this.isStale = "account.changed"); // begins again with the new account
    if (typeof trouble.code !== "string") return this.app.showTrouble(trouble, () => this.start());
    if (NETWORK_TROUBLES.includes(trouble.code)) {
      const show = ({ showNetwork }) => showNetwork(this, trouble.code);
      return void this.app.asset("obstacles.js").then(show, (lacking) => this.showError(lacking));
    }
    const isHopeless = HOPELESS.includes(trouble.code);
    const other = () => ({ body: [["failed", "poor"].includes(trouble.code) && this.views.walletMessage(trouble), isHopeless && this.views.otherWallet()] });
    return this.views.problem(`wallet-${WALLET_TROUBLES.includes(trouble.code) ? trouble.code : "failed"}`, other);
  }

  /** Continues a step that an earlier visit or another tab has begun, else prepares a new one. */
  async start() {
    this.turn += 1; // a preparation in progress is out of date
    if (this.app.notes.own()) await this.exclusively(() => this.resumePayment());
    else await this.prepare();
  }

  async resumePayment() {
    const note = this.app.notes.own();
    if (note) this.source = note.source ? await this.sourceOf(note.source) : null;
    const end = note ? await this.follower.follow(note) : "done";
    if (end === "done") this.next = "prepare";
  }

  /** The wallet has changed its account or disconnected: begins again, because transactions depend on the account. */
  async beginAgain(what) {
    this.isStale = what === "disconnect" ? "connect.locked" : "account.changed";
    if (this.isBusy && !this.app.end) this.app.renew();
    if (this.isBusy || this.app.end) return;
    const session = await this.wallet.resume().catch(() => null);
    if (session) await begin(this.app, this.wallet, session, session.address !== this.address);
    else this.app.choose("connect.locked");
  }

  // ---- preparing what is to be signed

  async prepare() {
    const { app } = this;
    if (app.notes.own()) return this.start();
    const turn = (this.turn += 1);
    this.follower.cancel();
    this.views.preparing();
    try {
      if (await app.refresh()) return;
      const twin = app.notes.twin();
      if (twin) return this.follower.waitFor(twin);
      if (!app.link.canPay) return void (await app.asset("obstacles.js")).showBlocked(app);
      if (app.link.waiting && app.link.waiting !== app.sureOf) return (await app.asset("obstacles.js")).warnOfOther(this);
      await this.fetchQuote(turn);
    } catch (trouble) {
      if (turn === this.turn) this.showUnpriced(trouble);
    }
  }

  /** Fetches the transactions and shows them for review, unless the payer has gone on since `turn`. */
  async fetchQuote(turn) {
    const { app, source } = this;
    const asSafe = this.isSafe ? "&isSafe=true" : "";
    const from = source ? `&chain=${source.label}&token=${source.symbol}` : "";
    const path = app.link.isReclaim ? "/reclaim" : "/pay";
    const asked = app.ask(`${path}?wallet=${encodeURIComponent(this.address)}${asSafe}${from}`)
      .catch((trouble) => (this.isChosen ? trouble : Promise.reject(trouble)));
    const needed = source ? ["bridge.js", "bridge_transfer.js"] : []; // the latter once it is sent, when it must not be missing
    const [response, bridge, bridgeTransfer] = await Promise.all([asked, ...needed.map(app.asset)]);
    const isOver = () => turn !== this.turn || this.isBusy;
    if (isOver()) return;
    // There is no way from there: back to the link's own chain.
    if (response.status !== 200 && this.isChosen) {
      Object.assign(this, { source: null, isChosen: false, isPicked: true });
      return this.fetchQuote(turn);
    }
    if (response.status !== 200) return void (await this.showRefusal(response));
    const quote = readQuote(response.body, app, source);
    const owed = expectedPayments(app.link, quote, this.address);
    const verdict = verify(app.link, quote, owed, app.now(), bridge?.checkRoute ?? app.commerce?.check);
    const ownBalances = verdict.ok ? await this.readBalances(quote.due) : [];
    if (isOver()) return;
    if (verdict.ok && quote.metadata.hasEnoughBalance === false && (await this.chooseEnough())) return this.fetchQuote(turn);
    if (isOver()) return;
    const ends = [endOf(quote.due), quote.route?.endsAt].filter(Boolean);
    const rateEndsAt = ends.length ? Math.min(...ends) : null;
    Object.assign(this, { quote, owed, verdict, ownBalances, due: quote.due, rateEndsAt, bridgeTransfer });
    if (!verdict.ok) return this.views.unsafe();
    if (this.rateEndsAt && this.rateEndsAt <= app.now()) throw new app.Trouble("rate");
    this.offered = this.fetchBatch().catch(() => {});
    const { hasEnoughBalance, hasEnoughGas } = quote.metadata;
    const isWithoutCoin = hasEnoughBalance === true && hasEnoughGas === false;
    if (isWithoutCoin && !this.isPaidWithGas && this.isSignable && (await this.offerSignature())) return;
    this.views.review();
    void this.fetchSources().catch(() => {}); // without them the link is paid on its own chain
  }

  /** The account's balance of each token, by its wallet's node, if the response of the service has no single balance. */
  async readBalances(due) {
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

  /** Reads again what the wallet has, and prepares the payment anew. */
  readAgain() {
    this.sources = null;
    return this.prepare();
  }

  /** Has the payment prepared anew once what is under way has ended. */
  prepareAgain() {
    this.next = "prepare";
    return "left";
  }

  // ---- without gas

  /** Whether it may be paid by a signature: the service may offer that for the link, to an account of the page's own, and the wallet signs. */
  get isSignable() {
    const { app, session, source, isSafe } = this;
    return app.link.isGasless && document.querySelector(`meta[name="gasless"][content*="${app.link.network} "]`) && !source && !isSafe && session.family === "evm" && session.signs !== false;
  }

  /** As `offer` of gasless.js, which is loaded for those alone who may need it. */
  async offerSignature(isAsked = false) {
    return (await this.app.asset("gasless.js")).offer(this, isAsked);
  }

  /** The payer asks for that. */
  askOffer() {
    this.views.preparing();
    return this.offerSignature(true).catch((trouble) => this.app.showTrouble(trouble, () => this.prepare()));
  }

  /** Asks for transactions from now on. */
  forgoSignature() {
    this.isPaidWithGas = true;
    this.views.review();
    void this.fetchSources().catch(() => {}); // as in fetchQuote
  }

  // ---- all transactions at once

  /** Asks a wallet that has to make several transactions whether it can make them at once, and offers that. */
  async fetchBatch() {
    const { app, session, verdict, chain } = this;
    const isPossible = session.capabilities && !this.isPlain && verdict.steps.length > 1;
    if (!isPossible || this.batch?.chain.chainId !== chain.chainId) this.batch = null;
    if (!isPossible || this.batch) return;
    this.capabilities ??= session.capabilities();
    const found = await this.capabilities;
    const { batchOf } = /atomic/.test(JSON.stringify(found)) ? await app.asset("calls.js") : {};
    if (verdict !== this.verdict) return;
    this.batch = batchOf?.(found, chain) ?? null;
    if (this.batch && document.getElementById("main").dataset.state === "review" && !this.isBusy) app.renew();
  }

  /** Asks for single transactions from now on. */
  forgoBatch() {
    Object.assign(this, { batch: null, isPlain: true });
    this.app.say(this.app.t("review.text", { count: this.verdict.steps.length }));
    return "plain";
  }

  // ---- paying from another chain

  /** Reads what the wallet has on the chains that can be paid from, and offers it; once for each wallet. */
  async fetchSources() {
    const { app } = this;
    const found = this.sources ? null : await this.crossable();
    if (!found || this.sources) return;
    this.sources = {};
    const response = await app.ask(`?wallet=${encodeURIComponent(this.address)}`);
    const { readSources, sourceButtons: buttons } = found;
    if (response.status === 200) this.sources = { ...readSources(response.body, app.link, app), buttons };
    if (document.getElementById("main").dataset.state === "review" && !this.isBusy) app.renew();
  }

  /** Chooses another chain that has enough, where the link's own has too little; returns whether there is one. */
  async chooseEnough() {
    if (this.source || this.isPicked) return false;
    // Without them the link is paid on its own chain.
    await this.fetchSources().catch(() => {});
    const found = this.sources?.choices?.find(({ source, balance, needed }) => source && balance >= needed);
    if (found) Object.assign(this, { source: found.source, isChosen: true });
    return Boolean(found);
  }

  /** Prepares the payment from another source, null for the link's own chain. The next visit begins with it. */
  choose(source) {
    Object.assign(this, { source, isChosen: false, isPicked: true });
    this.app.stored.set(`from:${this.app.token}`, source && `${source.network} ${source.symbol}`);
    void this.prepare();
  }

  async sourceOf({ network, symbol }) {
    const { sourceOf } = await this.app.asset("sources.js");
    return sourceOf(network, symbol);
  }

  /** Chooses the source that an earlier visit has chosen. */
  async recall() {
    const kept = this.app.stored.get(`from:${this.app.token}`)?.split(" ");
    const found = kept ? await this.crossable() : null;
    if (found) Object.assign(this, { source: found.sourceOf(...kept), isPicked: true });
  }

  // It is loaded for those alone who may need it.
  /** The module of what can be paid with, if this wallet can pay this link from another chain; else null. */
  async crossable() {
    const { app, isSafe, session } = this;
    const isStable = !app.commerce && app.link.payments.every(({ tokenSymbol }) => ["USDC", "USDT"].includes(tokenSymbol));
    if (isSafe || session.isOnOneChain || session.family !== "evm" || app.link.kind !== "single" || !isStable) return null;
    const found = await app.asset("sources.js");
    return found.isBridgeable(app.link) ? found : null;
  }

  // ---- the rate of an invoice in another currency

  /** Once a second: at the end of a rate fetches the next one; while the wallet asks, says that it has ended. */
  tick() {
    const { app } = this;
    if (!this.rateEndsAt || app.now() < this.rateEndsAt || app.end) return;
    if (this.isBusy) return this.views.tellEnd();
    if (this.isRenewing || document.getElementById("main").dataset.state !== "review") return;
    this.isRenewing = true;
    void this.renewQuote().finally(() => (this.isRenewing = false));
  }

  async renewQuote() {
    const { app } = this;
    const turn = this.turn;
    try {
      if (await app.refresh()) return;
      const before = this.quote;
      await this.fetchQuote(turn);
      if (this.quote === before || !this.verdict.ok) return;
      const key = this.source ? "route.renewed" : "rate.renewed";
      app.say(app.t(key, { amount: approximately(app.t, this.due, this.views.total()) }));
    } catch (trouble) {
      if (turn === this.turn && !this.isBusy) this.showUnpriced(trouble);
    }
  }

  showUnpriced(trouble) {
    const { app } = this;
    const isConverted = app.link?.payments.some((each) => each.invoice);
    if (!isConverted || !["away", "rate"].includes(trouble.kind)) return app.showTrouble(trouble, () => this.prepare());
    const message = typeof trouble.serviceMessage === "string" ? app.clean(trouble.serviceMessage.slice(0, 300)) : "";
    const body = () => (message ? [app.el("q", { lang: "en", dir: "ltr" }, message)] : []);
    this.views.problem("norate", () => ({ body: body() }));
  }

  async showRefusal(response) {
    const { app } = this;
    const { body, status } = response;
    if (status === 403 && typeof body.creatorWalletAddress === "string") return (await app.asset("obstacles.js")).showForeign(this, body.creatorWalletAddress);
    if (status === 400 && Array.isArray(body.failures)) return (await app.asset("obstacles.js")).showBlocked(app);
    if (app.commerce && (await app.refresh())) return;
    if (status !== 400 && !app.link.isReclaim) return void (await app.settle(app.outcomeOf(response)));
    const message = typeof body.message === "string" ? app.clean(body.message.slice(0, 300)) : "";
    return this.views.problem("unpayable", () => ({ text: message, body: this.views.ownChain() }));
  }
}
