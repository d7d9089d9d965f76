// Reads addresses in the forms of EVM networks and of Tron.

import { demand } from "./abi.js";

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** The 40 lower-case hexadecimal digits of an address, as in calldata; throws Refused for any other text. */
export function addressDigits(text, tron) {
  const form = tron ? /^T[1-9A-HJ-NP-Za-km-z]{33}$/ : /^0x[0-9a-fA-F]{40}$/;
  demand(typeof text === "string" && form.test(text));
  if (!tron) return text.slice(2).toLowerCase();
  const number = [...text].reduce((sum, letter) => sum * 58n + BigInt(BASE58.indexOf(letter)), 0n);
  const digits = number.toString(16);
  demand(digits.startsWith("41") && digits.slice(42) === sha256(sha256(digits.slice(0, 42))).slice(0, 8));
  return digits.slice(2, 42);
}

// SHA-256 of one block: digits of up to 55 bytes. The browser's own function is asynchronous and needs https.
function sha256(digits) {
  const [roots, cubes] = constants();
  const bits = (digits.length * 4).toString(16).padStart(16, "0");
  const block = (digits + "80").padEnd(112, "0") + bits;
  const words = block.match(/.{8}/g).map((word) => parseInt(word, 16));
  const turn = (x, ...by) => by.reduce((sum, n) => sum ^ ((x >>> n) | (x << (32 - n))), 0);
  let [a, b, c, d, e, f, g, h] = roots;
  for (let at = 0; at < 64; at++) {
    if (at > 15) {
      const [early, late] = [words[at - 15], words[at - 2]];
      const mixed = (turn(early, 7, 18) ^ (early >>> 3)) + (turn(late, 17, 19) ^ (late >>> 10));
      words[at] = (words[at - 16] + words[at - 7] + mixed) | 0;
    }
    const one = (h + turn(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + cubes[at] + words[at]) | 0;
    const two = (turn(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
  }
  const sums = [a, b, c, d, e, f, g, h].map((word, at) => (word + roots[at]) >>> 0);
  return sums.map((word) => word.toString(16).padStart(8, "0")).join("");
}

// The first 32 bits of the fractional parts of square and cube roots of primes (FIPS 180-4).
function constants() {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const fraction = (root) => (root * 2 ** 32) | 0;
  return [primes.slice(0, 8).map((n) => fraction(Math.sqrt(n))), primes.map((n) => fraction(Math.cbrt(n)))];
}
