// Pays with a wallet that has answered: asks what to sign, checks it, and asks the wallet for one step after the other.
// What a wallet is asked for is written down before. As long as that note is there, nothing else is asked for.

import { Follower } from "./follow.js";
import { isPayment, locked } from "./link.js";
import { poll } from "./poll.js";
import { expected, readQuote, stands, verify } from "./quote.js";

const SLOW = 30_000; // milliseconds after which a wallet that was asked may be hidden or stuck
const BESIDE = { first: 3_000, most: 15_000 }; // milliseconds between two looks at the link while the wallet asks
const HARMLESS = ["rejected", "unsupported", "wrong-chain", "add-chain-refused", "account"];

/** Takes over for the session of a wallet. */
export async function begin(app, wallet, session) {
  app.payment?.leave();
  app.payment = new Payment(app, wallet, session);
  await app.payment.start();
}

function hashOf(answer) {
  const hash = typeof answer === "string" ? answer : answer?.safeTxHash;
  if (!/^(0x)?[0-9a-f]{64}$/i.test(hash)) throw Object.assign(new Error("no hash"), { code: "lied" });
  return hash;
}

class Payment extends Follower {
  constructor(app, wallet, session) {
    super(app, wallet, session);
    Object.assign(this, { key: `pay:${app.token}`, turn: 0, cancel: () => {}, next: null });
    this.off = session.onChange((what) => what !== "chain" && this.changed());
    this.heard = ({ key }) => {
      const isOurs = key === this.key || (key?.startsWith("pay:") && app.notes.twin());
      if (isOurs && !this.isBusy) void this.start();
    };
    addEventListener("storage", this.heard);
  }

  leave() {
    this.turn += 1;
    this.off();
    this.cancel();
    removeEventListener("storage", this.heard);
  }

  /** Runs `task` unless another tab is at it; whatever goes wrong in it is shown. */
  async exclusively(task) {
    if (this.isBusy) return;
    this.isBusy = this.app.paying = true;
    try {
      const isDone = await locked(this.key, { ifAvailable: true }, (lock) => lock && task().then(() => true));
      if (!isDone) this.elsewhere();
    } catch (trouble) {
      this.stumbled(trouble);
    } finally {
      this.isBusy = this.app.paying = false;
    }
    const other = this.app.notes.own() ? "start" : "changed";
    const next = this.isStale && !this.app.end ? other : this.next;
    Object.assign(this, { next: null, isStale: false });
    if (next && this.app.payment === this) await this[next]();
  }

  /** Starts afresh, or where an earlier visit or another tab has left off. */
  async start() {
    this.turn += 1; // what is being prepared is out of date
    if (this.app.notes.own()) await this.exclusively(() => this.resumed());
    else await this.prepare();
  }

  async resumed() {
    const note = this.app.notes.own();
    const end = note ? await this.follow(note) : "done";
    if (end === "done") this.next = "prepare";
  }

  /** The account of the wallet is another one now: what was prepared for the first is worth nothing. */
  async changed() {
    this.isStale = true;
    if (this.isBusy || this.app.end) return;
    const session = await this.wallet.resume().catch(() => null);
    if (session) await begin(this.app, this.wallet, session);
    else this.app.choose();
  }

  // ---- what is to be signed

  async prepare() {
    const { app } = this;
    if (app.notes.own()) return this.start();
    const turn = (this.turn += 1);
    this.cancel();
    app.show("reading", () => ({ title: app.t("reading.title"), tone: "busy" }));
    try {
      if (await app.look()) return;
      if (!app.link.canPay) return void (await app.asset("ends.js")).blocked(app);
      const twin = app.notes.twin();
      if (twin) return this.waitFor(twin);
      const asSafe = this.isSafe ? "&isSafe=true" : "";
      const answer = await app.ask(`/pay?wallet=${encodeURIComponent(this.address)}${asSafe}`);
      if (turn !== this.turn) return;
      if (answer.status !== 200) return void (await this.refusedBy(answer));
      this.owed = expected(app.link, this.address);
      this.due = app.link.payments.filter((each) => each.left > 0n);
      this.quote = readQuote(answer.body, app.need);
      this.verdict = verify(app.link, this.quote.transactions, this.owed);
      this.held = this.verdict.ok ? await this.holdings() : [];
      if (turn !== this.turn) return;
      if (this.verdict.ok) this.review();
      else this.unsafe();
    } catch (trouble) {
      if (turn === this.turn) app.failed(trouble, () => this.prepare());
    }
  }

  async refusedBy(answer) {
    const { app } = this;
    const { body, status } = answer;
    if (status === 403 && typeof body.creatorWalletAddress === "string") return this.foreign(body.creatorWalletAddress);
    if (status === 400 && Array.isArray(body.failures)) return (await app.asset("ends.js")).blocked(app);
    if (status !== 400) return void (await app.settle(app.outcomeOf(answer)));
    const said = typeof body.message === "string" ? app.clean(body.message.slice(0, 300)) : "";
    return this.problem("unpayable", () => ({ text: said }));
  }

  // ---- asking the wallet

  async sign() {
    if (this.app.notes.own()) return this.resumed();
    const steps = this.isSafe ? [{ kind: "safe", index: 0 }] : this.verdict.steps;
    for (const [place, step] of steps.entries()) {
      if (await this.app.look()) return;
      const rest = this.isSafe ? this.verdict.steps : steps.slice(place);
      if (!stands(this.app.link, this.owed, rest)) return void (this.next = "prepare");
      const end = await this.request(step, place, rest);
      if (end !== "done") return;
    }
  }

  /** Asks for a step; `rest` is what the link still has to ask for until the wallet answers. */
  async request(step, place, rest) {
    const { session, chain } = this;
    if (!this.isSafe && (await session.chainId()) !== chain.chainId) {
      this.progress("switching", place);
      await session.ensureChain(chain);
    }
    this.progress("signing", place);
    if ((await session.chainId()) !== chain.chainId) throw Object.assign(new Error("chain"), { code: "wrong-chain" });
    if (session.address !== this.address) throw Object.assign(new Error("account"), { code: "account" });
    const who = { wallet: this.address, chainId: chain.chainId };
    const nonce = await session.nonce("pending");
    const references = [...(step.payments ?? this.owed.payments.keys())].map((at) => this.owed.payments[at].reference);
    const isLast = this.isSafe || rest.length === 1;
    const note = await this.app.notes.claim({ ...who, step: step.kind, place, isLast, references, nonce });
    if (!note) return void (this.next = "start");
    const answered = this.beside(note, rest);
    try {
      const all = this.verdict.steps.map((each) => each.transaction);
      note.txHash = hashOf(await session.send(this.isSafe ? all : step.transaction, chain));
    } catch (trouble) {
      return this.unsent(note, trouble);
    } finally {
      answered();
    }
    note.sentAt = Date.now();
    this.app.notes.write(note);
    return this.follow(note);
  }

  /** While a wallet asks: says so when it takes long, and when the link no longer asks for it. Gives how to end that. */
  beside(note, rest) {
    const { app } = this;
    let isAnswered = false;
    const slow = setTimeout(() => this.progress("slow", note.place), SLOW);
    const stop = poll(async () => {
      const { kind, link } = await app.load();
      if (isAnswered || (kind === "open" && stands(link, this.owed, rest))) return isAnswered;
      clearTimeout(slow);
      this.withdrawn();
      app.notes.write(Object.assign(note, { isWithdrawn: true, isLate: kind !== "expired" })); // nobody else paid that
      return true;
    }, BESIDE);
    return () => void (clearTimeout(slow), stop(), (isAnswered = true));
  }

  /** The wallet gave no hash. Only when it is certain that nothing was sent, or it does no harm, the note goes. */
  async unsent(note, trouble) {
    const { app } = this;
    const { code, detail, hash } = trouble;
    const isHarmless = trouble.isUnasked || HARMLESS.includes(code) || !isPayment(note);
    if (isHarmless && !(hash && code === "timeout")) {
      app.notes.undo(note);
      if (note.isWithdrawn && (await app.look())) return "settled";
      throw trouble;
    }
    if (code !== "timeout") Object.assign(note, { code, detail });
    if (hash) Object.assign(note, { txHash: hash, sentAt: Date.now() });
    app.notes.write(note);
    return this.follow(note);
  }
}
