// What wallets answer: how long they are waited for, the error that every failure becomes, and what is believed.
//
// WalletError.code: those of CODES, "account" (another account is connected), "wrong-chain", "add-chain-refused",
//   "timeout", "lied" (an invalid result), "failed". After these three of send the transaction may have been sent; hash is
//   set if it is known.

export const [READ_MS, CONNECT_MS, SEND_MS] = [15_000, 120_000, 600_000]; // the last two wait for a person
const DETAIL_LENGTH = 200;
const CODES = { 4001: "rejected", 4100: "rejected", "-32002": "busy", 4200: "unsupported", "-32601": "unsupported" };
const UNKNOWN_CHAIN = 4902; // some wallets nest this code in another error

export class WalletError extends Error {
  constructor(code, detail = "", hash = null) {
    super(detail || code);
    Object.assign(this, { code, detail, hash });
  }
}

export function within(milliseconds, work, isInWords = false) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(reject, milliseconds, new WalletError("timeout"))));
  const failed = (error) => Promise.reject(translated(error, isInWords));
  return Promise.race([late, Promise.resolve().then(work)]).catch(failed).finally(() => clearTimeout(timer));
}

// Makes any error a WalletError. Only Tron wallets and Safes refuse by text (isInWords); in errors of other wallets such a
// text does not show that nothing was sent.
function translated(error, isInWords) {
  if (error instanceof WalletError) return error;
  const codes = [error?.data?.originalError?.code, error?.code].filter(Number.isInteger);
  const detail = shortText(typeof error === "string" ? error : error?.message, DETAIL_LENGTH);
  const known = codes.includes(UNKNOWN_CHAIN) ? "wrong-chain" : codes.map((code) => CODES[code]).find(Boolean);
  const refused = isInWords && codes.length === 0 && /reject|denied|declin|cancel/i.test(detail);
  return new WalletError(known ?? (refused ? "rejected" : "failed"), detail);
}

export function shortText(text, length) {
  return typeof text === "string" ? text.replace(/\p{C}+/gu, " ").trim().slice(0, length) : "";
}

export const isLike = (text, form) => typeof text === "string" && form.test(text);

/** Throws WalletError `lied` unless the condition holds for what a wallet returned. */
export function believe(condition, detail) {
  if (!condition) throw new WalletError("lied", detail);
}
