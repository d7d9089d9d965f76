// Follows what a wallet was asked for, by its node and by the service, until it is known what became of it. It is
// offered again where it certainly came to nothing; else only when its time is over and the payer says to have looked.

import { transaction } from "./ends.js";
import { isPayment } from "./link.js";
import { poll } from "./poll.js";
import { Views } from "./views.js";

const FAST = { first: 1_500, most: 12_000 }; // milliseconds between two looks at a transaction
const VALID = 120_000; // milliseconds after which a transaction of Tron cannot come: no longer one is signed
const PER_CONFIRMATION = 15_000;
const UNTIL_SEEN = 120_000; // milliseconds from the last confirmation until the service knows: its schedule, its scan
const LOST_AFTER = 1_800_000; // milliseconds after which a transaction that is in no block may never come
const AGAIN_AFTER = 300_000; // milliseconds after which the payer may say that nothing was sent
const GONE_AFTER = 3; // looks in a row in which its nonce was taken and it was nowhere
const LATE_AFTER = 5; // looks at a link that ended otherwise while the chain already has the payment

export class Follower extends Views {
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
    this.entered = Date.now();
    if (!note.txHash || note.isLost || note.isUncounted) return this.asked(note);
    if (note.isAnnounced) return this.asked({ ...note, isDoubted: true }); // and its owners have not executed it yet
    if (note.step === "safe") return this.announce(note);
    this.gone = 0;
    this.progress(note.code ? "doubt" : "waiting", note.place, note);
    const end = await this.until(() => this.lookAt(note));
    if (end === "gone" && note.step !== "pay") return this.again(note);
    if (end === "gone") return note.code ? this.asked({ ...note, isDoubted: true }) : this.doubt(note);
    if (end === "lost") return this.asked({ ...note, isDoubted: true, isLost: true });
    if (end === "never") return this.asked({ ...note, isDoubted: true, isUncounted: true });
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
    const isHere = await this.isOn(note.chainId);
    const receipt = isHere ? await this.session.receipt(note.txHash, this.chain).catch(() => undefined) : undefined;
    const isDeep = receipt?.confirmations >= this.chain.depth;
    if (receipt?.status === "failed" && isDeep) return "failed"; // before that, another block may undo the failure
    if (receipt?.status === "success") return this.counted(note, receipt);
    const isLate = receipt === null && Date.now() - this.past(note.sentAt ?? note.startedAt) > LOST_AFTER;
    const pending = isLate ? await this.pending(note) : null;
    this.progress(isHere ? (pending ?? (note.code ? "doubt" : "waiting")) : "away-chain", note.place, note);
    if (note.step === "pay" && (await this.isOverNow())) return "settled";
    const isTaken = receipt === null && (await this.isNonceTaken(note));
    this.gone = isTaken ? this.gone + 1 : 0;
    if (receipt === null) note.deepAt = undefined; // another block may have undone it
    return this.gone >= GONE_AFTER ? "gone" : isLate && !pending && "lost";
  }

  async counted(note, { confirmations }) {
    const { chain } = this;
    if (note.step !== "pay") return "done";
    const isDeep = confirmations >= chain.confirmations;
    this.progress(isDeep ? "settling" : "confirming", note.place, note, Math.min(confirmations, chain.confirmations));
    if (!isDeep) return null;
    if (await this.isOverNow(true)) return "settled";
    if (this.isPaid(note)) return "done";
    return confirmations >= chain.depth ? this.unseen(note, "deepAt") : null; // it may be another one's, or pay less
  }

  /** From the time noted as `name` on the service has to know. `never` when it had twice as long, and does not. */
  async unseen(note, name) {
    const { app, chain } = this;
    const patience = 2 * (UNTIL_SEEN + chain.confirmations * PER_CONFIRMATION);
    if (!(note[name] <= Date.now())) app.notes.write(Object.assign(note, { [name]: Date.now() }));
    if (Date.now() - note[name] < patience) return null;
    const outcome = await app.load();
    return outcome.kind === "open" ? "never" : (await app.settle(outcome)) && "settled";
  }

  /** When something was, or when it was found where the clock says that it is still to come. */
  past(time) {
    return Math.min(time, this.entered);
  }

  async isOn(chainId) {
    return (await this.session.chainId().catch(() => null)) === chainId;
  }

  /** Whether the service knows that what a step paid is paid, and there is another one: only then is that asked for. */
  isPaid({ references, isLast }) {
    const { payments } = this.app.link;
    const left = references.map((each) => payments.find(({ reference }) => reference === each)?.left);
    return !isLast && left.length > 0 && left.every((each) => each === 0n);
  }

  /** Whether what was sent can no longer come: its nonce is taken, or on Tron, which has none, its time is over. */
  async isNonceTaken(note, block = "latest") {
    if (this.session.family === "tron") return Date.now() - this.past(note.sentAt ?? note.startedAt) > VALID;
    if (note.nonce === null || this.session.address !== note.wallet) return false;
    const nonce = await this.session.nonce(block).catch(() => null);
    return nonce !== null && nonce > note.nonce;
  }

  /** Something else has its nonce, which may be the same payment at a higher fee: until the service must know, wait. */
  async doubt(note) {
    const { app, chain } = this;
    note.doubtAt ??= Date.now();
    app.notes.write(note);
    const body = () => (note.txHash ? [transaction(app, note.txHash, chain)] : []);
    app.show("doubt", () => ({ title: app.t("doubt.title"), text: app.t("doubt.text"), tone: "busy", body: body() }));
    const end = await this.until(async () => {
      if (await this.isOverNow()) return "settled";
      if (this.isPaid(note)) return "done";
      return (await this.isBack(note)) ? "back" : this.unseen(note, "doubtAt");
    });
    if (end === "back") return this.follow({ ...note, doubtAt: undefined });
    if (end === "done") app.notes.over(note);
    return end === "never" ? this.asked({ ...note, isDoubted: true }) : end;
  }

  /** Whether a transaction that was lost has turned up, or can again. Without its hash nobody can tell. */
  async isBack(note) {
    if (!note.txHash || note.isUncounted || note.step === "safe" || !(await this.isOn(note.chainId))) return false;
    const receipt = await this.session.receipt(note.txHash, this.chain).catch(() => null);
    if (receipt !== null) return true;
    return note.isLost ? (await this.pending(note)) !== null : !(await this.isNonceTaken(note));
  }

  /** What became of it nobody knows. An approval may be asked for again; a payment only when the payer has looked. */
  async asked(note) {
    const { notes } = this.app;
    if (!isPayment(note)) return this.again(note);
    notes.write(note);
    const word = { isSure: false, isWanted: false };
    const from = note.isDoubted ? 0 : this.past(note.startedAt) + AGAIN_AFTER;
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
    this.entered = Date.now();
    const due = ({ txHash, startedAt }) => this.past(startedAt) + (txHash ? LOST_AFTER : AGAIN_AFTER);
    const show = (note, why) => this.question(note, word, why ? 0 : note.txHash ? null : due(note));
    let offered = null; // why it is
    show(twin, offered);
    const end = await this.until(async () => {
      if (await app.look()) return "settled";
      const note = app.notes.twin();
      if (!note) return "free";
      const isHere = await this.isOn(note.chainId);
      const receipt = isHere && note.txHash ? await session.receipt(note.txHash, chain).catch(() => undefined) : null;
      const isDeep = receipt?.confirmations >= chain.depth;
      if (receipt?.status === "failed" && isDeep) return app.notes.undo(note), "free";
      const isUncounted = receipt?.status === "success" && isDeep && (await this.unseen(note, "deepAt")) === "never";
      const isLate = receipt === null && Date.now() >= due(note); // in no block, as far as anybody can see
      const why = isUncounted ? "uncounted" : isLate && !(isHere && (await this.pending(note))) ? "late" : null;
      if (why !== offered) {
        Object.assign(word, { isSure: false, isWanted: false });
        show({ ...note, isUncounted }, (offered = why));
      }
      if (!why || !word.isWanted || !word.isSure) return null;
      if (!isHere) return session.ensureChain(chain).then(() => null, (trouble) => trouble);
      return app.notes.release(note), "free";
    });
    if (end === "free") await this.prepare();
    if (end.code) this.stumbled(end);
  }

  /** Whether the wallet's node has heard of something with the nonce that was asked for. Tron has none. */
  async isOnItsWay(note) {
    return this.session.family !== "tron" && this.isNonceTaken(note, "pending");
  }

  /** What the wallet's node has and no block yet: `pending` it itself, `doubt` something with its nonce, or null. */
  async pending(note) {
    if (note.txHash && (await this.session.isKnown(note.txHash).catch(() => false))) return "pending";
    return (await this.isOnItsWay(note)) && !(await this.isNonceTaken(note)) ? "doubt" : null;
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
