// Pays with a connected wallet: fetches the transactions, checks them, and requests one step after the other.
// A note of each request is stored before the wallet is asked; while the note exists, nothing else is requested.

import { Follower } from "./follow.js";
import { approximately, endOf } from "./conversion.js";
import { isPayment, locked } from "./link.js";
import { poll } from "./poll.js";
import { expected, readQuote, stands, verify } from "./quote.js";

const SLOW = 30_000; // milliseconds after which the page says that the wallet may be hidden or stuck
const WATCH = { first: 3_000, most: 15_000 }; // milliseconds between two reads of the link while the wallet asks
const HARMLESS = ["rejected", "unsupported", "wrong-chain", "add-chain-refused", "account"]; // nothing was sent, it says
const LOOKS = 4; // at the account after a wallet said that
const LOOKING = { first: 500, most: 2_000 }; // milliseconds between two of them: what it sends is known to its node by then

/** Starts paying with the session of a wallet. */
export async function begin(app, wallet, session) {
  app.payment?.leave();
  const payment = (app.payment = new Payment(app, wallet, session));
  await payment.recall().catch(() => undefined); // without the choice that was made before, the page asks again
  if (app.payment === payment) await payment.start();
}

function hashOf(result) {
  const hash = typeof result === "string" ? result : result?.safeTxHash;
  if (!/^(0x)?[0-9a-f]{64}$/i.test(hash)) throw Object.assign(new Error("no hash"), { code: "lied" });
  return hash;
}

class Payment extends Follower {
  constructor(app, wallet, session) {
    super(app, wallet, session);
    Object.assign(this, { key: `pay:${app.token}`, turn: 0, cancel: () => {}, next: null });
    Object.assign(this, { source: null, sources: null });
    this.stopListening = session.onChange((what) => what !== "chain" && this.changed());
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
      const isDone = await locked(this.key, { ifAvailable: true }, (lock) => lock && task().then(() => true));
      if (!isDone) this.waitForOtherTab();
    } catch (trouble) {
      this.showError(trouble);
    } finally {
      this.isBusy = this.app.paying = false;
    }
    const other = this.app.notes.own() ? "start" : "changed";
    const next = this.isStale && !this.app.end ? other : this.next;
    Object.assign(this, { next: null, isStale: false });
    if (next && this.app.payment === this) await this[next]();
  }

  /** Continues a step that an earlier visit or another tab has begun, else prepares a new one. */
  async start() {
    this.turn += 1; // a preparation in progress is out of date
    if (this.app.notes.own()) await this.exclusively(() => this.resumed());
    else await this.prepare();
  }

  async resumed() {
    const note = this.app.notes.own();
    if (note) this.source = note.source ? await this.sourceOf(note.source) : null;
    const end = note ? await this.follow(note) : "done";
    if (end === "done") this.next = "prepare";
  }

  /** The wallet has changed its account or disconnected: begins again, because transactions depend on the account. */
  async changed() {
    this.isStale = true;
    if (this.isBusy || this.app.end) return;
    const session = await this.wallet.resume().catch(() => null);
    if (session) await begin(this.app, this.wallet, session);
    else this.app.choose();
  }

  // ---- preparing what is to be signed

  async prepare() {
    const { app } = this;
    if (app.notes.own()) return this.start();
    const turn = (this.turn += 1);
    this.cancel();
    app.show("reading", () => ({ title: app.t("reading.title"), tone: "busy" }));
    try {
      if (await app.refresh()) return;
      const twin = app.notes.twin();
      if (twin) return this.waitFor(twin);
      if (!app.link.canPay) return void (await app.asset("blocked.js")).blocked(app);
      if (app.link.waiting && app.link.waiting !== app.sureOf) return this.warn();
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
    const asked = app.ask(`${path}?wallet=${encodeURIComponent(this.address)}${asSafe}${from}`);
    const needed = source ? ["bridge.js", "crossing.js"] : []; // the latter once it is sent, when it must not be missing
    const [response, bridge, crossing] = await Promise.all([asked, ...needed.map(app.asset)]);
    const isOver = () => turn !== this.turn || this.isBusy;
    if (isOver()) return;
    if (response.status !== 200) return void (await this.showRefusal(response));
    const quote = readQuote(response.body, app, source);
    const owed = expected(app.link, quote, this.address);
    const verdict = verify(app.link, quote, owed, app.now(), bridge?.checkRoute ?? app.held?.check);
    const held = verdict.ok ? await this.holdings(quote.due) : [];
    if (isOver()) return;
    const ends = [endOf(quote.due), quote.route?.endsAt].filter(Boolean);
    const rateEndsAt = ends.length ? Math.min(...ends) : null;
    Object.assign(this, { quote, owed, verdict, held, due: quote.due, rateEndsAt, crossing, isTold: false });
    if (!verdict.ok) return this.unsafe();
    if (this.rateEndsAt && this.rateEndsAt <= app.now()) throw new app.Trouble("rate");
    this.review();
    void this.fetchSources().catch(() => {}); // without them the link is paid on its own chain
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

  /** Prepares the payment from another source, null for the link's own chain. The next visit begins with it. */
  choose(source) {
    this.source = source;
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
    if (found) this.source = found.sourceOf(...kept);
  }

  // It is loaded for those alone who may need it.
  /** The module of what can be paid with, if this wallet can pay this link from another chain; else null. */
  async crossable() {
    const { app, isSafe, session } = this;
    const isStable = !app.held && app.link.payments.every(({ tokenSymbol }) => ["USDC", "USDT"].includes(tokenSymbol));
    if (isSafe || session.family !== "evm" || app.link.kind !== "single" || !isStable) return null;
    const found = await app.asset("sources.js");
    return found.isBridgeable(app.link) ? found : null;
  }

  // ---- the rate of an invoice in another currency

  /** Once a second: at the end of a rate fetches the next one; while the wallet asks, says that it is no longer held. */
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
    if (!isConverted || !["away", "rate"].includes(trouble.kind)) return app.failed(trouble, () => this.prepare());
    const told = typeof trouble.told === "string" ? app.clean(trouble.told.slice(0, 300)) : "";
    const body = () => (told ? [app.el("q", { lang: "en", dir: "ltr" }, told)] : []);
    this.problem("norate", () => ({ body: body() }));
  }

  async showRefusal(response) {
    const { app } = this;
    const { body, status } = response;
    if (status === 403 && typeof body.creatorWalletAddress === "string") return this.foreign(body.creatorWalletAddress);
    if (status === 400 && Array.isArray(body.failures)) return (await app.asset("blocked.js")).blocked(app);
    if (app.held && (await app.refresh())) return;
    if (status !== 400 && !app.link.isReclaim) return void (await app.settle(app.outcomeOf(response)));
    const message = typeof body.message === "string" ? app.clean(body.message.slice(0, 300)) : "";
    return this.problem("unpayable", () => ({ text: message, body: this.ownChain() }));
  }

  // ---- asking the wallet

  async sign() {
    if (this.app.notes.own()) return this.resumed();
    const steps = this.isSafe ? [{ kind: "safe", index: 0 }] : this.verdict.steps;
    for (const [place, step] of steps.entries()) {
      if (await this.app.refresh()) return;
      const rest = this.isSafe ? this.verdict.steps : steps.slice(place);
      const isHeld = !this.rateEndsAt || this.app.now() < this.rateEndsAt;
      const isWarned = this.app.link.waiting && this.app.link.waiting !== this.app.sureOf;
      if (!isHeld || isWarned || !stands(this.app.link, this.quote, this.owed, rest)) return void (this.next = "prepare");
      const end = await this.request(step, place, rest);
      if (end !== "done") return;
    }
  }

  /** Requests a step from the wallet; `rest` are the steps whose payments the link must still owe meanwhile. */
  async request(step, place, rest) {
    const { session, chain } = this;
    if (!this.isSafe && (await session.chainId()) !== chain.chainId) {
      this.progress("switching", place);
      await session.ensureChain(chain);
    }
    this.progress("signing", place);
    if ((await session.chainId()) !== chain.chainId) throw Object.assign(new Error("chain"), { code: "wrong-chain" });
    if (session.address !== this.address) throw Object.assign(new Error("account"), { code: "account" });
    const account = { wallet: this.address, chainId: chain.chainId };
    const nonce = await session.nonce("pending");
    const references = [...(step.payments ?? this.owed.payments.keys())].map((at) => this.owed.payments[at].reference);
    const isLast = this.isSafe || rest.length === 1;
    const from = this.source && { network: this.source.network, symbol: this.source.symbol };
    const facts = { ...account, step: step.kind, place, isLast, references, nonce };
    if (this.app.link.isReclaim) facts.isReclaim = true;
    const note = await this.app.notes.claim({ ...facts, ...(from && { source: from, fillBy: this.verdict.fillBy }) });
    if (!note) return void (this.next = "start");
    if (this.hasMovedOn(note)) return this.askPayer(Object.assign(note, { code: "declined", isDoubted: true }));
    const stopWatching = this.watchLink(note, rest);
    try {
      const all = this.verdict.steps.map((each) => each.transaction);
      note.txHash = hashOf(await session.send(this.isSafe ? all : step.transaction, chain));
    } catch (trouble) {
      return this.handleNoHash(note, trouble, step.transaction);
    } finally {
      stopWatching();
    }
    note.sentAt = Date.now();
    this.app.notes.write(note);
    return this.follow(note);
  }

  /** While the wallet asks: shows if it takes long, or if the link no longer owes the payment. Returns a stop function. */
  watchLink(note, rest) {
    const { app } = this;
    let isAnswered = false;
    const slow = setTimeout(() => this.progress("slow", note.place), SLOW);
    const stop = poll(async () => {
      const { kind, link } = await app.load();
      if (isAnswered || (kind === "open" && stands(link, this.quote, this.owed, rest))) return isAnswered;
      clearTimeout(slow);
      this.withdrawn();
      const isLate = !["expired", "awaiting"].includes(kind); // expired: nobody paid, as far as is known
      app.notes.write(Object.assign(note, { isWithdrawn: true, isLate }));
      return true;
    }, WATCH);
    return () => void (clearTimeout(slow), stop(), (isAnswered = true));
  }

  /** Whether the account has sent something since its wallet said that it has not sent this payment. */
  hasMovedOn(note) {
    const { stored, token } = this.app;
    const [wallet, nonce] = (isPayment(note) && stored.get(`declined:${token}`)?.split(" ")) || [];
    if (wallet) stored.set(`declined:${token}`, null);
    return wallet === note.wallet && note.nonce > Number(nonce);
  }

  // A contract's transactions are sent by others, so that its nonce says nothing.
  /** Whether the account has sent something although its wallet says it has not: `sent`, `unknown`, or null if not. */
  async whetherSent(note) {
    const { session } = this;
    if (note.nonce === null) return null; // a Safe proposes, and on Tron this page sends what a wallet has signed
    this.progress("checking", note.place, note);
    const isAlone = session.hasCode().then((has) => !has, () => false);
    let looks = 0;
    const end = await this.until(async () => {
      const nonces = await Promise.all(["pending", "latest"].map((block) => session.nonce(block).catch(() => null)));
      if (Math.max(...nonces) > note.nonce) return "sent";
      return ++looks === LOOKS && (nonces[0] !== null && (await isAlone) ? "none" : "unknown");
    }, LOOKING);
    return end === "none" ? null : end === "sent" ? end : "unknown";
  }

  /** The wallet returned no hash: deletes the note if nothing was sent or the step does not pay; else follows it. */
  async handleNoHash(note, trouble, transaction) {
    const { app } = this;
    const { code, detail, hash } = trouble;
    const isUnsent = trouble.isUnasked || !isPayment(note);
    const isHarmless = isUnsent || HARMLESS.includes(code);
    if (isHarmless && !(hash && code === "timeout")) {
      const doubt = isUnsent ? null : await this.whetherSent(note);
      const found = doubt && (await this.session.sent(transaction).catch(() => null));
      if (doubt) app.notes.write(Object.assign(note, { code: "declined" }, found && { txHash: found, sentAt: Date.now() }));
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
