// Asks the wallet for the steps of a payment, one after the other or all at once. A note of each request is stored before
// the wallet is asked; while the note exists, nothing else is requested.

import { LOOKS, LOOKS_FAILED, findDoubt, hasMovedOn } from "./denials.js";
import { isPayment } from "./notes.js";
import { stands } from "./quote.js";
import { callsOf, claim, giveBack, watchLink } from "./claims.js";

const HARMLESS = ["rejected", "unsupported", "wrong-chain", "add-chain-refused", "account"]; // nothing was sent, it says
// It says that something went wrong: a transaction may have gone out before that.
const FAILED = ["failed", "poor"];

function sentHash(result) {
  const hash = typeof result === "string" ? result : result?.safeTxHash;
  if (!/^(0x)?[0-9a-f]{64}$/i.test(hash)) throw Object.assign(new Error("no hash"), { code: "lied" });
  return hash;
}

export class Signer {
  /** @param payment The Payment whose steps are asked for. */
  constructor(payment) {
    Object.assign(this, { payment, app: payment.app, session: payment.session });
  }

  /** Asks for every step that is left. What ends it otherwise is shown, or said by `next` of the payment. */
  async sign() {
    const { payment } = this;
    if (this.app.notes.own()) return payment.resumePayment();
    await payment.offered;
    const isWhole = payment.isSafe || payment.batch?.isWanted; // all transactions in one request
    const whole = { kind: payment.isSafe ? "safe" : "pay", index: 0 };
    const steps = isWhole ? [whole] : payment.verdict.steps;
    for (const [place, step] of steps.entries()) {
      if (await this.app.refresh()) return;
      const rest = isWhole ? payment.verdict.steps : steps.slice(place);
      const isCurrent = !payment.rateEndsAt || this.app.now() < payment.rateEndsAt;
      const isWarned = this.app.link.waiting && this.app.link.waiting !== this.app.sureOf;
      if (!isCurrent || isWarned || !stands(this.app.link, payment.quote, payment.owed, rest)) return void (payment.next = "prepare");
      const end = await this.request(step, isWhole && !payment.isSafe ? -1 : place, rest);
      if (end === "plain") return this.sign();
      if (end !== "done") return;
    }
  }

  // `rest` are the steps whose payments the link must still owe meanwhile. Place -1 stands for all transactions at once.
  /** Requests a step from the wallet; returns `plain` if its transactions may be asked for one after the other. */
  async request(step, place, rest) {
    const { payment } = this;
    const { session, chain } = payment;
    if (!payment.isSafe && (await session.chainId()) !== chain.chainId) {
      payment.views.progress("switching", place);
      await session.ensureChain(chain);
    }
    payment.views.preparing();
    if ((await session.chainId()) !== chain.chainId) throw Object.assign(new Error("chain"), { code: "wrong-chain" });
    if (session.address !== payment.address) throw Object.assign(new Error("account"), { code: "account" });
    const account = { wallet: payment.address, chainId: chain.chainId };
    const nonce = await session.nonce("pending").catch(() => session.nonce()); // some wallets know "latest" alone
    const references = [...(step.payments ?? payment.owed.payments.keys())].map((at) => payment.owed.payments[at].reference);
    const isLast = payment.isSafe || place < 0 || rest.length === 1;
    const isClaimed = isPayment({ step: step.kind }) && !this.app.link.isReclaim;
    const claimed = isClaimed ? await claim(payment, callsOf(payment.isSafe || place < 0 ? rest : [step])) : null;
    if (claimed === "settled") return claimed;
    if (place < 0 && !claimed) return payment.forgoBatch();
    const batch = place < 0 ? { id: claimed.id, answered: null } : undefined;
    const from = payment.source && { network: payment.source.network, symbol: payment.source.symbol };
    const facts = { ...account, step: step.kind, place, isLast, references, nonce, claim: claimed, batch };
    if (this.app.link.isReclaim) facts.isReclaim = true;
    let note = null;
    try {
      note = await this.app.notes.begin({ ...facts, ...(from && { source: from, fillBy: payment.verdict.fillBy }) });
    } finally {
      if (!note && !this.app.notes.own()) await giveBack(this.app, facts);
    }
    if (!note) return void (payment.next = "start");
    if (hasMovedOn(this.app, note)) return payment.follower.askPayer(Object.assign(note, { code: "declined", isDoubted: true }));
    payment.views.progress("signing", place);
    if (batch) return payment.batch.send(payment, note, rest);
    const stopWatching = this.watchLink(note, rest);
    try {
      const all = payment.verdict.steps.map((each) => each.transaction);
      note.txHash = sentHash(await session.send(payment.isSafe ? all : step.transaction, chain));
    } catch (trouble) {
      return this.handleNoHash(note, trouble, step.transaction);
    } finally {
      stopWatching();
    }
    note.sentAt = Date.now();
    if (this.app.commerce) void giveBack(this.app, note); // the escrow takes the amount once, whoever else allows it
    this.app.notes.write(note);
    return payment.follower.follow(note);
  }

  /** While the wallet asks: shows if it takes long, or if the link no longer owes the payment. Returns a stop function. */
  watchLink(note, rest) {
    const { app, payment } = this;
    const withdraw = () => {
      payment.views.withdrawn();
      app.notes.write(note);
    };
    const slow = () => payment.views.progress("slow", note.place);
    return watchLink(app, note, { stands: (link) => stands(link, payment.quote, payment.owed, rest), slow, withdraw });
  }

  /** The wallet returned no hash: deletes the note if nothing was sent or the step does not pay; else follows it. */
  async handleNoHash(note, trouble, transaction) {
    const { app, payment } = this;
    const { code, detail, hash } = trouble;
    const isUnsent = trouble.isUnasked || !isPayment(note);
    const isFailed = FAILED.includes(code);
    const isHarmless = isUnsent || HARMLESS.includes(code) || (isFailed && note.nonce !== null);
    if (isHarmless && !(hash && code === "timeout")) {
      const doubt = isUnsent ? null : await findDoubt(payment, note, isFailed ? LOOKS_FAILED : LOOKS);
      const found = doubt && (await this.session.sent(transaction).catch(() => null));
      const said = isFailed ? { code: "failed", detail } : { code: "declined" };
      const isOver = !doubt || (doubt === "still" && !found && !isFailed);
      const given = isOver && giveBack(app, note);
      if (doubt) app.notes.write(Object.assign(note, said, found && { txHash: found, sentAt: Date.now() }));
      await given;
      if (found) return payment.follower.follow(note);
      if (doubt) return doubt === "sent" ? payment.follower.doubt(note) : payment.follower.askPayer({ ...note, isDoubted: true });
      if (!isUnsent && note.nonce !== null) app.stored.set(`declined:${app.token}`, `${note.wallet} ${note.nonce}`);
      app.notes.undo(note);
      if (note.isWithdrawn && (await app.refresh())) return "settled";
      throw trouble;
    }
    if (code !== "timeout") Object.assign(note, { code, detail });
    if (hash) Object.assign(note, { txHash: hash, sentAt: Date.now() });
    app.notes.write(note);
    return payment.follower.follow(note);
  }
}
