// Pays with a wallet that has answered: asks what to sign, checks it, asks the wallet for it and follows each step.
// What a wallet is asked for is written down before. As long as that note is there, nothing else is asked for.

import { transaction } from "./ends.js";
import { locked } from "./link.js";
import { poll } from "./poll.js";
import { expected, readQuote, stands, verify } from "./quote.js";
import { Views } from "./views.js";

const FAST = { first: 1_500, most: 12_000 }; // milliseconds between two looks at a transaction
const VALID = 120_000; // milliseconds after which a transaction of Tron cannot come: no longer one is signed
const PER_CONFIRMATION = 15_000;
const UNTIL_SEEN = 120_000; // milliseconds from the last confirmation until the service knows: its schedule, its scan
const LOST_AFTER = 1_800_000; // milliseconds after which a transaction that is in no block may never come
const AGAIN_AFTER = 300_000; // milliseconds after which the payer may say that nothing was sent
const GONE_AFTER = 3; // looks in a row in which its nonce was taken and it was nowhere
const SLOW = 30_000; // milliseconds after which a wallet that was asked may be hidden or stuck
const LATE_AFTER = 5; // looks at a link that ended otherwise while the chain already has the payment
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

class Payment extends Views {
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
      const end = await this.request(step, place, place === steps.length - 1);
      if (end !== "done") return;
    }
  }

  async request(step, place, isLast) {
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
    const facts = { step: step.kind, place, isLast, references, nonce, startedAt: Date.now() };
    if (!(await this.app.notes.claim({ ...who, ...facts }))) return void (this.next = "start");
    const note = this.app.notes.own() ?? { ...who, ...facts, token: this.app.token }; // kept nowhere in some frames
    const slow = setTimeout(() => this.progress("slow", place), SLOW);
    try {
      const all = this.verdict.steps.map((each) => each.transaction);
      note.txHash = hashOf(await session.send(this.isSafe ? all : step.transaction, chain));
    } catch (trouble) {
      return this.unsent(note, trouble);
    } finally {
      clearTimeout(slow);
    }
    note.sentAt = Date.now();
    this.app.notes.write(note);
    return this.follow(note);
  }

  /** The wallet gave no hash. Only when it is certain that nothing was sent, or it does no harm, the note goes. */
  async unsent(note, trouble) {
    if (trouble.hash) {
      note.txHash = trouble.hash;
      this.app.notes.write(note);
      return this.follow(note);
    }
    const isHarmless = trouble.isUnasked || HARMLESS.includes(trouble.code) || !["pay", "safe"].includes(note.step);
    if (!isHarmless) return this.follow(note);
    this.app.notes.undo(note);
    throw trouble;
  }

  // ---- following what was asked

  /** Calls `task` now and then until it gives something, which is given on; `left` when nobody waits any more. */
  until(task) {
    this.cancel();
    return new Promise((resolve) => {
      const stop = poll(async () => {
        const end = await task();
        if (end) resolve(end);
        return end;
      }, FAST);
      this.cancel = () => void (stop(), resolve("left"));
    });
  }

  /** Follows a step to its end: `done` when the next one may be asked for. */
  async follow(note) {
    if (!note.txHash || note.isLost) return this.asked(note);
    if (note.isAnnounced) return this.asked({ ...note, isDoubted: true }); // and its owners have not executed it yet
    if (note.step === "safe") return this.announce(note);
    this.gone = 0;
    this.progress("waiting", note.place, note);
    const end = await this.until(() => this.lookAt(note));
    if (end === "gone") return note.step === "pay" ? this.doubt(note) : this.again(note);
    if (end === "lost") return this.asked({ ...note, isDoubted: true, isLost: true });
    if (end === "done") this.app.notes.over(note);
    if (end === "failed") {
      this.app.notes.undo(note);
      this.problem("failed", () => ({ body: [transaction(this.app, note.txHash, this.chain)] }));
    }
    return end;
  }

  /** What can be asked for again is forgotten. */
  again(note) {
    this.app.notes.over(note);
    return this.afresh();
  }

  /** Whether the link is paid. That it has expired since counts only when the payment is deep and still not seen. */
  async isOverNow(isDeep = false) {
    const { app } = this;
    const outcome = await app.load().catch((trouble) => {
      if (trouble.wait) throw trouble;
    });
    if (!outcome) return false;
    app.paidHere = true;
    const isEnd = ["open", "completed", "safe"].includes(outcome.kind);
    this.late = isDeep && !isEnd ? (this.late ?? 0) + 1 : 0;
    return isEnd || this.late > LATE_AFTER ? app.settle(outcome) : false;
  }

  async lookAt(note) {
    const isHere = (await this.session.chainId().catch(() => null)) === note.chainId;
    const receipt = isHere ? await this.session.receipt(note.txHash, this.chain).catch(() => undefined) : undefined;
    const isPayment = note.step === "pay";
    const isDeep = receipt?.confirmations >= this.chain.depth;
    if (receipt?.status === "failed" && isDeep) return "failed"; // before that, another block may undo the failure
    if (receipt?.status === "success") return this.counted(note, receipt);
    this.progress(isHere ? "waiting" : "away-chain", note.place, note);
    if (isPayment && (await this.isOverNow())) return "settled";
    const isTaken = receipt === null && (await this.isNonceTaken(note));
    this.gone = isTaken ? this.gone + 1 : 0;
    const isLost = receipt === null && Date.now() - (note.sentAt ?? note.startedAt) > LOST_AFTER;
    return this.gone >= GONE_AFTER ? "gone" : isLost && "lost";
  }

  async counted(note, { confirmations }) {
    const { chain } = this;
    if (note.step !== "pay") return "done";
    const isDeep = confirmations >= chain.confirmations;
    this.progress(isDeep ? "settling" : "confirming", note.place, note, Math.min(confirmations, chain.confirmations));
    if (!isDeep) return null;
    if (await this.isOverNow(true)) return "settled";
    return this.isPaid(note) ? "done" : null;
  }

  /** Whether the service knows that what a step paid is paid, and there is another one: only then is that asked for. */
  isPaid({ references, isLast }) {
    const { payments } = this.app.link;
    const left = references.map((each) => payments.find(({ reference }) => reference === each)?.left);
    return !isLast && left.length > 0 && left.every((each) => each === 0n);
  }

  /** Whether what was sent can no longer come: its nonce is taken, or on Tron, which has none, its time is over. */
  async isNonceTaken(note, block = "latest") {
    if (this.session.family === "tron") return Date.now() - (note.sentAt ?? note.startedAt) > VALID;
    if (note.nonce === null || this.session.address !== note.wallet) return false;
    const nonce = await this.session.nonce(block).catch(() => null);
    return nonce !== null && nonce > note.nonce;
  }

  /** Something else has its nonce, which may be the same payment at a higher fee: until the service must know, wait. */
  async doubt(note) {
    const { app, chain } = this;
    note.doubtAt ??= Date.now();
    app.notes.write(note);
    const patience = 2 * (UNTIL_SEEN + chain.confirmations * PER_CONFIRMATION);
    const body = () => (note.txHash ? [transaction(app, note.txHash, chain)] : []);
    app.show("doubt", () => ({ title: app.t("doubt.title"), text: app.t("doubt.text"), tone: "busy", body: body() }));
    const end = await this.until(async () => {
      if (await this.isOverNow()) return "settled";
      if (this.isPaid(note)) return "done";
      if (await this.isBack(note)) return "back";
      if (Date.now() - note.doubtAt < patience) return null;
      const outcome = await app.load();
      return outcome.kind === "open" ? "never" : (await app.settle(outcome)) && "settled";
    });
    if (end === "back") return this.follow({ ...note, doubtAt: undefined });
    if (end === "done") app.notes.over(note);
    return end === "never" ? this.asked({ ...note, isDoubted: true }) : end;
  }

  /** Whether a transaction that was lost has turned up, or can again. Without its hash nobody can tell. */
  async isBack(note) {
    const isHere = (await this.session.chainId().catch(() => null)) === note.chainId;
    if (!note.txHash || note.step === "safe" || !isHere) return false;
    const receipt = await this.session.receipt(note.txHash, this.chain).catch(() => null);
    return receipt !== null || !(note.isLost || (await this.isNonceTaken(note)));
  }

  /** What became of it nobody knows. An approval may be asked for again; a payment only when the payer has looked. */
  async asked(note) {
    const { notes } = this.app;
    if (!["pay", "safe"].includes(note.step)) return this.again(note);
    notes.write(note);
    const word = { isSure: false, isWanted: false };
    const from = note.isDoubted ? 0 : note.startedAt + AGAIN_AFTER;
    const isDue = () => Date.now() >= from;
    let isOffered = isDue();
    const show = () => this.question(note, word, isOffered ? 0 : from);
    show();
    const end = await this.until(async () => {
      if (await this.isOverNow()) return "settled";
      if (this.isPaid(note)) return "done";
      const isHere = (await this.session.chainId()) === note.chainId;
      if (await this.isBack(note)) return "back";
      if (isHere && !note.isDoubted && (await this.isOnItsWay(note))) return "gone";
      if (!isOffered && isDue()) show((isOffered = true));
      if (!word.isWanted || !word.isSure) return null;
      return isHere ? "again" : this.session.ensureChain(this.chain).then(() => null, (trouble) => trouble);
    });
    if (end === "back") return this.follow({ ...note, doubtAt: undefined, isDoubted: false, isLost: false });
    if (end === "gone") return this.doubt(note);
    if (end === "done") notes.over(note);
    if (end === "again") return notes.release(note), this.afresh();
    if (end.code) this.stumbled(end);
    return end;
  }

  afresh() {
    this.next = "prepare";
    return "left";
  }

  /** Another link that pays one of these requests was begun here: that one's page knows how to follow it. */
  async waitFor(twin) {
    const { app, session, chain } = this;
    const word = { isSure: false, isWanted: false };
    const due = ({ txHash, startedAt }) => startedAt + (txHash ? LOST_AFTER : AGAIN_AFTER);
    const show = (note, isOffered) => this.question(note, word, isOffered ? 0 : note.txHash ? null : due(note));
    let isOffered = false;
    show(twin, isOffered);
    const end = await this.until(async () => {
      if (await app.look()) return "settled";
      const note = app.notes.twin();
      if (!note) return "free";
      const receipt = note.txHash ? await session.receipt(note.txHash, chain).catch(() => undefined) : null;
      if (receipt?.status === "failed" && receipt.confirmations >= chain.depth) return app.notes.undo(note), "free";
      const isDue = receipt === null && Date.now() >= due(note); // in no block, as far as this wallet's node knows
      if (isDue !== isOffered) show(note, (isOffered = isDue));
      return isDue && word.isWanted && word.isSure ? (app.notes.release(note), "free") : null;
    });
    if (end === "free") await this.prepare();
  }

  /** Whether the wallet's node has heard of something with the nonce that was asked for. Tron has none. */
  async isOnItsWay(note) {
    return this.session.family !== "tron" && this.isNonceTaken(note, "pending");
  }

  /** Tells the service of a Safe's transaction, so that nobody else pays while its owners sign. */
  async announce(note) {
    const { app, chain } = this;
    const token = app.link.payments[0].currency;
    const intent = { safeTxHash: note.txHash, chain: chain.label, token, payerAddress: note.wallet };
    this.progress("settling", note.place, note);
    const end = await this.until(async () => {
      const answer = await app.ask("/intent", intent);
      if (answer.status === 400) return "open";
      if (answer.status !== 200) return (await app.settle(app.outcomeOf(answer))) ? "settled" : null;
      note.isAnnounced = true;
      app.notes.write(note);
      return (await app.look()) ? "settled" : "open";
    });
    return end === "open" ? this.asked({ ...note, isDoubted: true }) : end; // its owners may execute it all the same
  }
}
