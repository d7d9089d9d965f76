// Follows a step after the wallet was asked for it, through the wallet's node and the service, until its outcome is known.
// The step is offered again if it certainly failed, or if its time is over and the payer confirms that nothing was sent.

import { transaction } from "./outcomes.js";
import { chainOf } from "./identity.js";
import { sentHere } from "./link.js";
import { isPayment } from "./notes.js";
import { poll } from "./poll.js";
import { claimAgain, giveBack, keepClaim } from "./claims.js";

// In milliseconds, but for the last two.
const FAST = { first: 3_000, most: 30_000 }; // between two checks of a transaction
const VALID = 120_000; // lifetime of a Tron transaction: the page signs none that is valid for longer
const PER_CONFIRMATION = 15_000;
const UNTIL_RECORDED = 120_000; // from the last confirmation until the service has recorded it: its schedule and its scan
const LOST_AFTER = 1_800_000; // after this a transaction that is in no block counts as lost
const AGAIN_AFTER = 300_000; // after this the payer may say that nothing was sent
// The same where the account's number of transactions, which stands still, would show it.
const AGAIN_SOON = 60_000;
const GONE_AFTER = 3; // checks in a row in which the nonce is used and the transaction is unknown
// Checks in a row in which the wallet's node has neither the transaction nor its nonce.
const UNFOUND_AFTER = 2;
const ANNOUNCING = { first: 2_000, most: 60_000 };
const LATE_AFTER = 5; // reads of a link that has ended unpaid while the chain has the payment

export class Follower {
  /** @param payment The Payment whose steps are followed. */
  constructor(payment) {
    Object.assign(this, { payment, app: payment.app, session: payment.session, cancel: () => {} });
  }

  /** Polls `task` until it returns a truthy value and returns that; returns `left` after `cancel`. */
  until(task, pace = FAST) {
    this.cancel();
    return new Promise((resolve) => {
      const stop = poll(async () => {
        const end = await task();
        if (end) resolve(end);
        return end;
      }, pace);
      this.cancel = () => void (stop(), resolve("left"));
    });
  }

  /** Follows a step to its end; returns `done` if the wallet may be asked for the next one. */
  async follow(note) {
    const { payment } = this;
    this.entered = Date.now();
    const isBridged = note.source && isPayment(note) && note.txHash && !note.code;
    if (isBridged && (await this.followBridge(note))) return "settled";
    if (note.batch && !note.txHash && !note.isDoubted) return (await this.app.asset("calls.js")).follow(payment, note);
    if (note.txHash) this.announceSent(note);
    if (!note.txHash || note.isLost || note.isUncounted || note.isForeign) return this.askPayer(note);
    if (note.isAnnounced) return this.askPayer({ ...note, isDoubted: true }); // a Safe's owners have not executed it
    if (note.step === "safe") return this.app.commerce?.awaitOwners(payment, note) ?? this.announce(note);
    this.gone = 0;
    payment.views.progress(note.code ? "doubt" : "waiting", note.place, note);
    const end = await this.until(() => this.check(note));
    if (end === "gone" && note.step !== "pay") return this.again(note);
    if (end === "gone") return note.code ? this.askPayer({ ...note, isDoubted: true }) : this.doubt(note);
    if (end === "lost") return this.askPayer({ ...note, isDoubted: true, isLost: true });
    if (end === "never") return this.askPayer({ ...note, isDoubted: true, isUncounted: true });
    if (end === "done") this.app.notes.over(note);
    if (end === "failed") {
      const isOver = await this.isOver(note);
      if (!isOver && note.batch) return (await this.app.asset("calls.js")).foreign(payment, note);
      if (!isOver) return this.askPayer({ ...note, isDoubted: true, isForeign: true });
      this.app.notes.undo(note);
      await giveBack(this.app, note);
      payment.views.problem("failed", () => ({ body: [transaction(this.app, note.txHash, payment.chain)] }));
    }
    return end;
  }

  // A wallet may name a transaction that is not the one that it has sent.
  /** Whether the transaction of a note, which has failed, is the one that was asked for: nothing was paid then. */
  async isOver(note) {
    return !isPayment(note) || note.nonce === null || this.session.isOwn(note).catch(() => false);
  }

  // Its answer changes nothing here: what became of the transaction is read from the chain.
  /** Announces to the service a payment that was sent, so that other devices do not offer it; again once it is in a block. */
  announceSent(note, isMined = false) {
    const { app } = this;
    const announced = `${note.txHash} ${isMined}`;
    if (this.announced === announced || app.commerce || note.step !== "pay" || note.source) return;
    this.announced = announced;
    const token = app.link.payments[0].currency;
    const facts = { txHash: `0x${note.txHash.replace(/^0x/, "")}`, chain: chainOf(app.link).label, token, announcerSecret: sentHere(app)?.secret };
    const task = async () => Boolean(await app.ask("/intent", facts));
    if (facts.announcerSecret) task().catch(() => poll(async () => this.announced !== announced || task(), ANNOUNCING));
  }

  /** What `goOn` of bridge_transfer.js returns. */
  async followBridge(note) {
    const { goOn } = await this.app.asset("bridge_transfer.js");
    return goOn(this.app, note);
  }

  /** Deletes the note of a step, which is then offered again. */
  again(note) {
    this.app.notes.over(note);
    return this.payment.prepareAgain();
  }

  // While `txHash` is followed here, the wait of the link for a transaction is not an end.
  /** Whether the link is settled. That it has expired counts only if the payment is final and still not recorded. */
  async isSettled(isDeep = false, txHash = undefined) {
    const { app } = this;
    const outcome = await app.load().catch((trouble) => {
      this.tellAway(true);
      if (trouble.wait) throw trouble;
    });
    this.tellAway(!outcome);
    if (!outcome) return false;
    app.paidHere = true;
    if (["sent", "claimed", "gasless"].includes(outcome.kind) && txHash) return false;
    const isEnd = ["open", "completed", "escrow", "safe", "sent", "gasless"].includes(outcome.kind);
    this.late = isDeep && !isEnd ? (this.late ?? 0) + 1 : 0;
    return isEnd || this.late > LATE_AFTER ? app.settle(outcome) : false;
  }

  /** Says that the service does not answer, or no longer says so. */
  tellAway(isAway) {
    if ((this.isAway ?? false) === isAway) return;
    this.isAway = isAway;
    this.app.renew();
  }

  /** Whether the wallet's node has not heard of a transaction, which its wallet says it has sent, in several checks in a row. */
  async isUnfound({ txHash, nonce }) {
    const isKnown = nonce === null || (await this.session.isKnown(txHash).catch(() => true));
    const isNext = !isKnown && (await this.session.nonce("pending").catch(() => null)) === nonce;
    this.unfound = isNext ? (this.unfound ?? 0) + 1 : 0;
    return this.unfound >= UNFOUND_AFTER;
  }

  /** One check of a transaction: the outcome of the step, or a falsy value while it is open. */
  async check(note) {
    const { payment } = this;
    const chainId = await this.session.chainId().catch(() => null);
    const isHere = chainId === note.chainId;
    const receipt = isHere ? await this.session.receipt(note.txHash, payment.chain).catch(() => undefined) : undefined;
    const isDeep = receipt?.confirmations >= payment.chain.depth;
    if (receipt?.status === "failed" && isDeep) return "failed"; // before that, a reorganisation may undo the failure
    if (receipt) this.announceSent(note, true);
    if (receipt?.status === "success") return this.checkConfirmations(note, receipt);
    const isLate = receipt === null && Date.now() - this.notAfterEntry(note.sentAt ?? note.startedAt) > LOST_AFTER;
    const pending = isLate ? await this.pending(note) : null;
    const unfound = receipt === null && !isLate && (await this.isUnfound(note)) ? "unfound" : null;
    const open = pending ?? (note.code ? "doubt" : (unfound ?? "waiting"));
    payment.views.progress(isHere ? open : chainId === null ? "silent" : "away-chain", note.place, note);
    if (note.step === "pay" && (await this.isSettled(false, note.txHash))) return "settled";
    const isTaken = receipt === null && (await this.isNonceTaken(note));
    this.gone = isTaken ? this.gone + 1 : 0;
    if (receipt === null) note.deepAt = undefined; // a reorganisation may have removed it
    return this.gone >= GONE_AFTER ? "gone" : isLate && !pending && "lost";
  }

  async checkConfirmations(note, { confirmations }) {
    const { chain } = this.payment;
    if (note.step !== "pay") return "done";
    const isDeep = confirmations >= chain.confirmations;
    this.payment.views.progress(isDeep ? "settling" : "confirming", note.place, note, Math.min(confirmations, chain.confirmations));
    if (!isDeep) return null;
    if (await this.isSettled(true, note.txHash)) return "settled";
    if (this.isPaid(note)) return "done";
    return confirmations >= chain.depth ? this.checkRecorded(note, "deepAt") : null; // it may be of another link, or pay less
  }

  /** Returns `never` if the service has not recorded the payment in twice the usual time since `note[name]`. */
  async checkRecorded(note, name) {
    const { app, chain } = this.payment;
    const patience = 2 * (UNTIL_RECORDED + chain.confirmations * PER_CONFIRMATION);
    if (!(note[name] <= Date.now())) app.notes.write(Object.assign(note, { [name]: Date.now() }));
    if (Date.now() < note[name] + patience || app.now() < 1_000 * (note.fillBy ?? 0) + patience) return null;
    const outcome = await app.load();
    return outcome.kind === "open" ? "never" : (await app.settle(outcome)) && "settled";
  }

  /** The time, or the time at which following began if the clock was set back since. */
  notAfterEntry(time) {
    return Math.min(time, this.entered);
  }

  async isOn(chainId) {
    return (await this.session.chainId().catch(() => null)) === chainId;
  }

  /** Whether the service has recorded the payments of a step that is not the last: the next step may be asked for. */
  isPaid({ references, isLast }) {
    const { payments } = this.app.link;
    const left = references.map((each) => payments.find(({ reference }) => reference === each)?.left);
    return !isLast && left.length > 0 && left.every((each) => each === 0n);
  }

  /** Whether a transaction can no longer be mined: its nonce is used; on Tron, which has no nonces, it has expired. */
  async isNonceTaken(note, block = "latest") {
    if (this.session.family === "tron") return Date.now() - this.notAfterEntry(note.sentAt ?? note.startedAt) > VALID;
    if (note.nonce === null || this.session.address !== note.wallet) return false;
    const nonce = await this.session.nonce(block).catch(() => null);
    return nonce !== null && nonce > note.nonce;
  }

  /** Another transaction has used the nonce, perhaps the same payment at a higher fee: waits for the service to record it. */
  async doubt(note) {
    const { app, chain } = this.payment;
    note.doubtAt ??= Date.now();
    app.notes.write(note);
    const body = () => (note.txHash ? [transaction(app, note.txHash, chain)] : []);
    app.show("doubt", () => ({ title: app.t("doubt.title"), text: app.t("doubt.text"), tone: "busy", body: body() }));
    const end = await this.until(async () => {
      if (await this.isSettled()) return "settled";
      if (this.isPaid(note)) return "done";
      return (await this.isBack(note)) ? "back" : this.checkRecorded(note, "doubtAt");
    });
    if (end === "back") return this.follow({ ...note, doubtAt: undefined });
    if (end === "done") app.notes.over(note);
    return end === "never" ? this.askPayer({ ...note, isDoubted: true }) : end;
  }

  /** Whether a lost transaction is known again or can still be mined; false if its hash is not known. */
  async isBack(note) {
    if (note.batch && !note.txHash) return (await this.app.asset("calls.js")).isBack(this.payment, note);
    if (!note.txHash || note.isUncounted || note.isForeign || note.step === "safe" || !(await this.isOn(note.chainId))) return false;
    const receipt = await this.session.receipt(note.txHash, this.payment.chain).catch(() => null);
    if (receipt !== null) return true;
    return note.isLost ? (await this.pending(note)) !== null : !(await this.isNonceTaken(note));
  }

  /** The outcome is unknown: an approval is asked for again; a payment only after the payer confirms that none was sent. */
  async askPayer(note) {
    const { payment } = this;
    const { notes } = this.app;
    if (!isPayment(note)) return this.again(note);
    const refused = await this.claimAgain(note);
    if (["settled", "left"].includes(refused)) return refused;
    notes.write(note);
    const consent = { isSure: false, isWanted: false };
    const patience = note.batch || note.nonce === null ? AGAIN_AFTER : AGAIN_SOON;
    const from = note.isDoubted ? 0 : this.notAfterEntry(note.startedAt) + patience;
    const isDue = () => Date.now() >= from;
    let isOffered = isDue();
    const show = () => payment.views.question(note, consent, isOffered ? 0 : from);
    show();
    let isWithdrawn = false; // another device is being asked now
    const stop = keepClaim(this.app, note, () => void ((isWithdrawn = true), payment.views.withdrawn()));
    const end = await this.until(async () => {
      if (await this.isSettled()) return "settled";
      if (this.isPaid(note)) return "done";
      const isHere = (await this.session.chainId()) === note.chainId;
      if (await this.isBack(note)) return "back";
      if (isHere && !note.isDoubted && (await this.isNoncePending(note))) return "gone";
      if (!isOffered && !isWithdrawn && isDue()) show((isOffered = true));
      if (!consent.isWanted || !consent.isSure) return null;
      return isHere ? "again" : this.session.ensureChain(payment.chain).then(() => null, (trouble) => trouble);
    }).finally(stop);
    if (end === "back") return this.follow({ ...note, doubtAt: undefined, isDoubted: false, isLost: false });
    if (end === "gone") return this.doubt(note);
    if (end === "done") notes.over(note);
    if (end === "again") return await giveBack(this.app, note), notes.release(note), payment.prepareAgain();
    if (end.code) payment.showError(end);
    return end;
  }

  // Nobody is told to confirm what another device may be asked for.
  /** As claimAgain of claims.js; without an answer of the service it says not to confirm until there is one. */
  claimAgain(note) {
    const ask = () => claimAgain(this.app, note);
    return ask().catch(() => (this.payment.views.withdrawn(), this.until(() => ask().then((end) => end ?? "free"))));
  }

  /** Waits for a payment that was begun here by another link to one of these requests; its own page follows it. */
  async waitFor(twin) {
    const { payment } = this;
    const { app, session, chain } = payment;
    const consent = { isSure: false, isWanted: false };
    this.entered = Date.now();
    const due = ({ txHash, startedAt }) => this.notAfterEntry(startedAt) + (txHash ? LOST_AFTER : AGAIN_AFTER);
    const isTimeless = ({ txHash, source }) => txHash || source;
    const show = (note, reason) => payment.views.question(note, consent, reason ? 0 : isTimeless(note) ? null : due(note));
    let offered = null; // the reason why paying again is offered
    show(twin, offered);
    const end = await this.until(async () => {
      if (await app.refresh()) return "settled";
      const note = app.notes.twin();
      if (!note) return "free";
      if (note.source) return null; // its own page follows it, and the service says how it ends
      const isHere = await this.isOn(note.chainId);
      const receipt = isHere && note.txHash ? await session.receipt(note.txHash, chain).catch(() => undefined) : null;
      const isDeep = receipt?.confirmations >= chain.depth;
      if (receipt?.status === "failed" && isDeep && !note.batch && (await this.isOver(note))) return app.notes.undo(note), "free";
      const isUncounted = receipt?.status === "success" && isDeep && (await this.checkRecorded(note, "deepAt")) === "never";
      const isLate = receipt === null && Date.now() >= due(note); // in no block that could be read
      const reason = isUncounted ? "uncounted" : isLate && !(isHere && (await this.pending(note))) ? "late" : null;
      if (reason !== offered) {
        Object.assign(consent, { isSure: false, isWanted: false });
        show({ ...note, isUncounted }, (offered = reason));
      }
      if (!reason || !consent.isWanted || !consent.isSure) return null;
      if (!isHere) return session.ensureChain(chain).then(() => null, (trouble) => trouble);
      return app.notes.release(note), "free";
    });
    if (end === "free") await payment.prepare();
    if (end.code) payment.showError(end);
  }

  /** Whether the wallet's node knows a pending transaction with this nonce or a later one; false on Tron (no nonces). */
  async isNoncePending(note) {
    return this.session.family !== "tron" && this.isNonceTaken(note, "pending");
  }

  /** The state before a block: `pending` if the node has the transaction, `doubt` if another with its nonce, or null. */
  async pending(note) {
    if (note.txHash && (await this.session.isKnown(note.txHash).catch(() => false))) return "pending";
    return (await this.isNoncePending(note)) && !(await this.isNonceTaken(note)) ? "doubt" : null;
  }

  /** Sends a Safe's transaction hash to the service, which locks the link while the owners sign. */
  async announce(note) {
    const { app, chain } = this.payment;
    const token = app.link.payments[0].currency;
    const intent = { safeTxHash: note.txHash, chain: chain.label, token, payerAddress: note.wallet };
    this.payment.views.progress("settling", note.place, note);
    const end = await this.until(async () => {
      const response = await app.ask("/intent", intent);
      if (response.status === 400) return "open";
      if (response.status !== 200) return (await app.settle(app.outcomeOf(response))) ? "settled" : null;
      note.isAnnounced = true;
      app.notes.write(note);
      return (await app.refresh()) ? "settled" : "open";
    });
    return end === "open" ? this.askPayer({ ...note, isDoubted: true }) : end; // the owners may still execute it
  }
}
