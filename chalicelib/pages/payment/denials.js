// Looks at the account of a wallet that says that it has not sent: a transaction may have gone out all the same.

import { isPayment } from "./notes.js";

// Looks at the account after a wallet has refused, and after it has failed.
export const [LOOKS, LOOKS_FAILED] = [4, 8];
const LOOKING = { first: 500, most: 1_500 }; // milliseconds between two of them: what it sends is known to its node by then

// An approval that is the account's next transaction takes the place of what was denied.
/** Whether the account has sent something since its wallet said that it has not sent this payment. */
export function hasMovedOn({ stored, token }, note) {
  const [wallet, nonce] = stored.get(`declined:${token}`)?.split(" ") ?? [];
  const hasMoved = wallet === note.wallet && note.nonce > Number(nonce);
  if (hasMoved && !isPayment(note)) return false;
  if (wallet) stored.set(`declined:${token}`, null);
  return hasMoved;
}

// A contract's transactions are sent by others, so that its nonce says nothing. `still`: its number of transactions has not
// changed, nor what it has of the tokens of a batch.
/** Why the account may have sent although its wallet denies it: `sent`, `still` or `unknown`; null if it has not. */
export async function findDoubt(payment, note, most = LOOKS_FAILED) {
  const { app, session } = payment;
  if (note.nonce === null) return null; // a Safe proposes, and on Tron this page sends what a wallet has signed
  payment.views.progress("checking", note.place, note);
  const isAlone = session.hasCode().then((has) => !has, () => false);
  let looks = 0;
  const end = await payment.follower.until(async () => {
    const nonces = await Promise.all(["pending", "latest"].map((block) => session.nonce(block).catch(() => null)));
    if (Math.max(...nonces) > note.nonce) return "sent";
    return ++looks === most && (nonces[0] === null ? "unknown" : (await isAlone) ? "none" : "still");
  }, LOOKING);
  const isOpen = end === "still" && note.batch && (await (await app.asset("calls.js")).mayHavePaid(payment, note));
  return end === "none" ? null : end === "left" || isOpen ? "unknown" : end;
}
