// The notes of what wallets were asked for, which the browser stores before a wallet is asked.

import { Trouble, keepSent } from "./link.js";

const FORM = { wallet: "string", chainId: "number", step: "string", place: "number", startedAt: "number" };

/** Whether a step pays; approvals do not. */
export const isPayment = ({ step }) => ["pay", "safe"].includes(step);

/** The note of a stored text, or null if the page did not write it. */
function noteOf(token, text) {
  try {
    const note = JSON.parse(text);
    const isOurs = Object.entries(FORM).every(([name, type]) => typeof note?.[name] === type);
    const isHash = note?.txHash === undefined || /^(0x)?[0-9a-f]{64}$/i.test(note.txHash);
    const isSource = !note?.source || ["network", "symbol"].every((name) => typeof note.source[name] === "string");
    return isOurs && isHash && isSource && Array.isArray(note.references) ? { ...note, token } : null;
  } catch {
    return null;
  }
}

/** What wallets were asked for. While a note exists, no wallet is asked for another payment of the same request. */
export class Notes {
  constructor(app) {
    this.app = app;
  }

  /** The notes of this link, and of other links that pay one of its open requests. */
  all() {
    const { token, link, stored } = this.app;
    const open = new Set(link.payments.filter((each) => each.left > 0n).map(({ reference }) => reference));
    const pays = (note) => isPayment(note) && note.references.some((each) => open.has(each));
    const tokens = stored.keys().filter((key) => key.startsWith("pay:")).map((key) => key.slice(4));
    const others = tokens.filter((each) => each !== token).map((each) => this.of(each));
    return [this.of(token), ...others.filter((note) => note && pays(note))].filter(Boolean);
  }

  /** The note of a link, or null. */
  of(token) {
    return noteOf(token, this.app.stored.get(`pay:${token}`));
  }

  /** The note of this link, or null if the payer has confirmed that nothing was sent. */
  own() {
    return this.all().find((note) => note.token === this.app.token && !note.isReleased) ?? null;
  }

  /** The note of this link if it is of a payment. */
  paying() {
    const note = this.own();
    return note && isPayment(note) ? note : null;
  }

  /** The note of a payment that was sent from another chain. */
  bridgeTransfer() {
    const note = this.paying();
    return note?.source && note.txHash ? note : null;
  }

  /** The note of another link that pays one of the open requests. */
  twin() {
    return this.all().find((note) => note.token !== this.app.token && !note.isReleased) ?? null;
  }

  /** Stores a note unless another tab is at a later step; keeps a transaction hash that is stored already. */
  write(note) {
    const now = this.of(note.token);
    if (now?.startedAt > note.startedAt) return;
    const hash = now?.startedAt === note.startedAt ? now.txHash : undefined;
    const isOwn = note.token === this.app.token && !this.app.commerce;
    const isKept = isOwn && note.txHash && note.step === "pay" && !note.source;
    if (isKept) keepSent(this.app, note.txHash);
    const isStored = this.app.stored.set(`pay:${note.token}`, JSON.stringify({ ...note, txHash: note.txHash ?? hash }));
    // A Safe's frame may have no storage; for Safes the service locks the link while the owners sign.
    if (!isStored && note.step !== "safe") throw new Trouble("storage");
  }

  /** Stores and returns the note of a step before the wallet is asked for it; null if another tab has stored one. */
  begin(facts) {
    const { token } = this.app;
    return withLock("pay", {}, () => {
      if (this.own() || this.twin()) return null;
      const earlier = this.of(token) ?? undefined;
      const startedAt = Math.max(Date.now(), (earlier?.startedAt ?? 0) + 1); // the clock may have been set back
      const note = { ...facts, token, startedAt, earlier };
      this.write(note);
      return note;
    });
  }

  /** Deletes the note of a finished step. An earlier one that the payer gave up stays: the wallet may still show it. */
  over({ token, startedAt, earlier }) {
    if (this.of(token)?.startedAt > startedAt) return; // the stored note is of a later step, of another tab
    this.app.stored.set(`pay:${token}`, earlier ? JSON.stringify(earlier) : null);
  }

  /** Deletes the note of a step that was not made; restores notes given up before, as the wallet may still send those. */
  undo(note) {
    this.over(note);
    for (const each of this.all()) if (each.isReleased) this.write({ ...each, isReleased: false });
  }

  /** Marks a note after the payer confirmed that nothing was sent; `undo` reverts this if a new request is refused. */
  release(note) {
    this.write({ ...note, isReleased: true });
  }
}

/** Calls `work` with a lock, with null if another tab has it, or with true if the browser has no locks. */
export async function withLock(key, options, work) {
  let isCalled = false;
  const callback = (lock) => ((isCalled = true), work(lock));
  try {
    return await navigator.locks.request(key, options, callback);
  } catch (trouble) {
    if (isCalled) throw trouble;
    return work(true);
  }
}
