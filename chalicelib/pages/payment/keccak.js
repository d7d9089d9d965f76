// Keccak-256, by which the contracts and the service name things, of a few hundred bytes.

const RATE = 136; // bytes that are taken in at once
const ROUNDS = 24;
const WORD = (1n << 64n) - 1n;
const rotate = (lane, by) => ((lane << BigInt(by)) | (lane >> BigInt(64 - by))) & WORD;

/** The hash of bytes, as bytes. */
export function keccak256(bytes) {
  const padded = new Uint8Array((Math.floor(bytes.length / RATE) + 1) * RATE);
  padded.set(bytes);
  padded[bytes.length] ^= 0x01;
  padded[padded.length - 1] ^= 0x80;
  const view = new DataView(padded.buffer);
  const lanes = Array(25).fill(0n);
  for (let start = 0; start < padded.length; start += RATE) {
    for (let at = 0; at < RATE / 8; at++) lanes[at] ^= view.getBigUint64(start + 8 * at, true);
    permute(lanes);
  }
  const hash = new DataView(new ArrayBuffer(32));
  for (let at = 0; at < 4; at++) hash.setBigUint64(8 * at, lanes[at], true);
  return new Uint8Array(hash.buffer);
}

/** Keccak-f[1600] on lanes, of which number x + 5 y is the one at (x, y). */
function permute(lanes) {
  let feedback = 1; // of the register that makes the round constants
  for (let round = 0; round < ROUNDS; round++) {
    const columns = [0, 1, 2, 3, 4].map((x) => lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20]);
    for (let at = 0; at < 25; at++) lanes[at] ^= columns[(at + 4) % 5] ^ rotate(columns[(at + 1) % 5], 1);
    let [x, y, current] = [1, 0, lanes[1]];
    for (let step = 0; step < 24; step++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const moved = rotate(current, (((step + 1) * (step + 2)) / 2) % 64);
      [current, lanes[x + 5 * y]] = [lanes[x + 5 * y], moved];
    }
    for (let row = 0; row < 25; row += 5) {
      const before = lanes.slice(row, row + 5);
      for (let at = 0; at < 5; at++) lanes[row + at] = before[at] ^ (~before[(at + 1) % 5] & WORD & before[(at + 2) % 5]);
    }
    for (let bit = 0; bit < 7; bit++) {
      feedback = ((feedback << 1) ^ ((feedback >> 7) * 0x71)) % 256;
      if (feedback & 2) lanes[0] ^= 1n << ((1n << BigInt(bit)) - 1n);
    }
  }
}
