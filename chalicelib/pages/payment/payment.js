// Pays with a connected wallet: fetches the transactions, checks them, and requests one step after the other.
// A note of each request is stored before the wallet is asked; while the note exists, nothing else is requested.

import { Follower } from "./follow.js";
import { LOOKS, LOOKS_FAILED, findDoubt, hasMovedOn } from "./denials.js";
import { approximately, endOf } from "./conversion.js";
import { isPayment, withLock } from "./notes.js";
import { poll } from "./poll.js";
import { expectedPayments, readQuote, stands, verify } from "./quote.js";
import { claim, giveBack, keepClaim } from "./signing.js";

// Milliseconds after which the page says that the wallet may be hidden or stuck.
const SLOW = 15_000;
const WATCH = { first: 3_000, most: 15_000 }; // milliseconds between two reads of the link while the wallet asks
const HARMLESS = ["rejected", "unsupported", "wrong-chain", "add-chain-refused", "account"]; // nothing was sent, it says
// It says that something went wrong: a transaction may have gone out before that.
const FAILED = ["failed", "poor"];
/** Starts paying with the session of a wallet; `isChanged` if the wallet had another account before. */
export async function begin(app, wallet, session, isChanged = false) {
  app.payment?.leave();
  const payment = (app.payment = Object.assign(new Payment(app, wallet, session), { isChanged }));
  await payment.recall().catch(() => undefined); // without the choice that was made before, the page asks again
  if (app.payment === payment) await payment.start();
}

function sentHash(result) {
  const hash = typeof result === "string" ? result : result?.safeTxHash;
  if (!/^(0x)?[0-9a-f]{64}$/i.test(hash)) throw Object.assign(new Error("no hash"), { code: "lied" });
  return hash;
}

class Payment extends Follower {
  constructor(app, wallet, session) {
    super(app, wallet, session);
    Object.assign(this, { key: `pay:${app.token}`, turn: 0, cancel: () => {}, next: null });
    // isChosen: the page has chosen the source, because the link's own chain has too little; isPicked: the payer has.
    Object.assign(this, { source: null, sources: null, batch: null, isPlain: false, isChosen: false, isPicked: false });
    this.stopListening = session.onChange((what) => what !== "chain" && this.beginAgain(what));
    this.onStorage = ({ key }) => {
      const isOurs = key === this.key || (key?.startsWith("pay:") && app.notes.twin());
      if (isOurs && !this.isBusy) void this.start();
    };
    addEventListener("storage", this.onStorage);
  }

  leave() {
    this.turn += 1;
    this.stopListening();
    this.cancel();
    removeEventListener("storage", this.onStorage);
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

  /** Continues a step that an earlier visit or another tab has begun, else prepares a new one. */
  async start() {
    this.turn += 1; // a preparation in progress is out of date
    if (this.app.notes.own()) await this.exclusively(() => this.resumePayment());
    else await this.prepare();
  }

  async resumePayment() {
    const note = this.app.notes.own();
    if (note) this.source = note.source ? await this.sourceOf(note.source) : null;
    const end = note ? await this.follow(note) : "done";
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
    this.cancel();
    this.preparing();
    try {
      if (await app.refresh()) return;
      const twin = app.notes.twin();
      if (twin) return this.waitFor(twin);
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
    const ownBalances = verdict.ok ? await this.holdings(quote.due) : [];
    if (isOver()) return;
    if (verdict.ok && quote.metadata.hasEnoughBalance === false && (await this.chooseEnough())) return this.fetchQuote(turn);
    if (isOver()) return;
    const ends = [endOf(quote.due), quote.route?.endsAt].filter(Boolean);
    const rateEndsAt = ends.length ? Math.min(...ends) : null;
    Object.assign(this, { quote, owed, verdict, ownBalances, due: quote.due, rateEndsAt, bridgeTransfer, isRateEndSaid: false });
    if (!verdict.ok) return this.unsafe();
    if (this.rateEndsAt && this.rateEndsAt <= app.now()) throw new app.Trouble("rate");
    this.offered = this.fetchBatch().catch(() => {});
    this.review();
    void this.fetchSources().catch(() => {}); // without them the link is paid on its own chain
  }

  // ---- all transactions at once

  /** Asks a wallet that has to make several transactions whether it can make them at once, and offers that. */
  async fetchBatch() {
    const { app, session, verdict, chain } = this;
    this.batch = null;
    if (!session.capabilities || this.isPlain || this.source || app.commerce || verdict.steps.length < 2) return;
    this.capabilities ??= session.capabilities();
    const found = await this.capabilities;
    const { batchOf } = /atomic/.test(JSON.stringify(found)) ? await app.asset("calls.js") : {};
    if (verdict !== this.verdict || this.source) return;
    this.batch = batchOf?.(found, chain.chainId) ?? null;
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
    if (this.isBusy) return this.tellEnd();
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
      app.say(app.t(key, { amount: approximately(app.t, this.due, this.total()) }));
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
    this.problem("norate", () => ({ body: body() }));
  }

  async showRefusal(response) {
    const { app } = this;
    const { body, status } = response;
    if (status === 403 && typeof body.creatorWalletAddress === "string") return (await app.asset("obstacles.js")).showForeign(this, body.creatorWalletAddress);
    if (status === 400 && Array.isArray(body.failures)) return (await app.asset("obstacles.js")).showBlocked(app);
    if (app.commerce && (await app.refresh())) return;
    if (status !== 400 && !app.link.isReclaim) return void (await app.settle(app.outcomeOf(response)));
    const message = typeof body.message === "string" ? app.clean(body.message.slice(0, 300)) : "";
    return this.problem("unpayable", () => ({ text: message, body: this.ownChain() }));
  }

  // ---- asking the wallet

  async sign() {
    if (this.app.notes.own()) return this.resumePayment();
    await this.offered;
    const isWhole = this.isSafe || this.batch?.isWanted; // all transactions in one request
    const whole = { kind: this.isSafe ? "safe" : "pay", index: 0 };
    const steps = isWhole ? [whole] : this.verdict.steps;
    for (const [place, step] of steps.entries()) {
      if (await this.app.refresh()) return;
      const rest = isWhole ? this.verdict.steps : steps.slice(place);
      const isCurrent = !this.rateEndsAt || this.app.now() < this.rateEndsAt;
      const isWarned = this.app.link.waiting && this.app.link.waiting !== this.app.sureOf;
      if (!isCurrent || isWarned || !stands(this.app.link, this.quote, this.owed, rest)) return void (this.next = "prepare");
      const end = await this.request(step, isWhole && !this.isSafe ? -1 : place, rest);
      if (end === "plain") return this.sign();
      if (end !== "done") return;
    }
  }

  // `rest` are the steps whose payments the link must still owe meanwhile. Place -1 stands for all transactions at once.
  /** Requests a step from the wallet; returns `plain` if its transactions may be asked for one after the other. */
  async request(step, place, rest) {
    const { session, chain } = this;
    if (!this.isSafe && (await session.chainId()) !== chain.chainId) {
      this.progress("switching", place);
      await session.ensureChain(chain);
    }
    this.preparing();
    if ((await session.chainId()) !== chain.chainId) throw Object.assign(new Error("chain"), { code: "wrong-chain" });
    if (session.address !== this.address) throw Object.assign(new Error("account"), { code: "account" });
    const account = { wallet: this.address, chainId: chain.chainId };
    const nonce = await session.nonce("pending").catch(() => session.nonce()); // some wallets know "latest" alone
    const references = [...(step.payments ?? this.owed.payments.keys())].map((at) => this.owed.payments[at].reference);
    const isLast = this.isSafe || place < 0 || rest.length === 1;
    const isClaimed = isPayment({ step: step.kind }) && !this.app.link.isReclaim;
    const claimed = isClaimed ? await claim(this, this.isSafe || place < 0 ? rest : [step]) : null;
    if (claimed === "settled") return claimed;
    if (place < 0 && !claimed) return this.forgoBatch();
    const batch = place < 0 ? { id: claimed.id, answered: null } : undefined;
    const from = this.source && { network: this.source.network, symbol: this.source.symbol };
    const facts = { ...account, step: step.kind, place, isLast, references, nonce, claim: claimed, batch };
    if (this.app.link.isReclaim) facts.isReclaim = true;
    let note = null;
    try {
      note = await this.app.notes.begin({ ...facts, ...(from && { source: from, fillBy: this.verdict.fillBy }) });
    } finally {
      if (!note && !this.app.notes.own()) await giveBack(this.app, facts);
    }
    if (!note) return void (this.next = "start");
    if (hasMovedOn(this.app, note)) return this.askPayer(Object.assign(note, { code: "declined", isDoubted: true }));
    this.progress("signing", place);
    if (batch) return this.batch.send(this, note, rest);
    const stopWatching = this.watchLink(note, rest);
    try {
      const all = this.verdict.steps.map((each) => each.transaction);
      note.txHash = sentHash(await session.send(this.isSafe ? all : step.transaction, chain));
    } catch (trouble) {
      return this.handleNoHash(note, trouble, step.transaction);
    } finally {
      stopWatching();
    }
    note.sentAt = Date.now();
    if (this.app.commerce) void giveBack(this.app, note); // the escrow takes the amount once, whoever else allows it
    this.app.notes.write(note);
    return this.follow(note);
  }

  /** While the wallet asks: shows if it takes long, or if the link no longer owes the payment. Returns a stop function. */
  watchLink(note, rest) {
    const { app } = this;
    let isAnswered = false;
    const slow = setTimeout(() => this.progress("slow", note.place), SLOW);
    const withdraw = (isLate) => {
      if (isAnswered || note.isLate === isLate) return;
      clearTimeout(slow);
      this.withdrawn();
      app.notes.write(Object.assign(note, { isWithdrawn: true, isLate }));
    };
    const release = keepClaim(app, note, () => withdraw(false));
    const stop = poll(async () => {
      const { kind, link } = await app.load();
      if (isAnswered || (kind === "open" && stands(link, this.quote, this.owed, rest))) return isAnswered;
      withdraw(!["expired", "cancelled", "awaiting", "claimed"].includes(kind)); // nobody paid, as far as is known
      return kind !== "claimed";
    }, WATCH);
    return () => void (clearTimeout(slow), stop(), release(), (isAnswered = true));
  }

  /** The wallet returned no hash: deletes the note if nothing was sent or the step does not pay; else follows it. */
  async handleNoHash(note, trouble, transaction) {
    const { app } = this;
    const { code, detail, hash } = trouble;
    const isUnsent = trouble.isUnasked || !isPayment(note);
    const isFailed = FAILED.includes(code);
    const isHarmless = isUnsent || HARMLESS.includes(code) || (isFailed && note.nonce !== null);
    if (isHarmless && !(hash && code === "timeout")) {
      const doubt = isUnsent ? null : await findDoubt(this, note, isFailed ? LOOKS_FAILED : LOOKS);
      const found = doubt && (await this.session.sent(transaction).catch(() => null));
      const said = isFailed ? { code: "failed", detail } : { code: "declined" };
      const isOver = !doubt || (doubt === "still" && !found && !isFailed);
      const given = isOver && giveBack(app, note);
      if (doubt) app.notes.write(Object.assign(note, said, found && { txHash: found, sentAt: Date.now() }));
      await given;
      if (found) return this.follow(note);
      if (doubt) return doubt === "sent" ? this.doubt(note) : this.askPayer({ ...note, isDoubted: true });
      if (!isUnsent && note.nonce !== null) app.stored.set(`declined:${app.token}`, `${note.wallet} ${note.nonce}`);
      app.notes.undo(note);
      if (note.isWithdrawn && (await app.refresh())) return "settled";
      throw trouble;
    }
    if (code !== "timeout") Object.assign(note, { code, detail });
    if (hash) Object.assign(note, { txHash: hash, sentAt: Date.now() });
    app.notes.write(note);
    return this.follow(note);
  }
}
