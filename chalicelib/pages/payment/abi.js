// Reads arguments that are encoded by the contract ABI; each value of dynamic size has to begin where the one before it
// ends.

export const ADDRESS = "address";
export const UINT = "uint256";
export const BYTES = "bytes";
export const array = (of) => ({ of });

const WORD = 64; // hexadecimal digits

/** Why something must not be signed: `reason`, and `index`, the position of the transaction, if it is known. */
export class Refused extends Error {
  constructor(reason, index) {
    super(reason);
    this.reason = reason;
    this.index = index;
  }
}

/** Throws Refused unless the condition holds. */
export function demand(condition, reason = "shape", index) {
  if (!condition) throw new Refused(reason, index);
}

/** The values of arguments that are encoded as the contracts do it; throws Refused for any other bytes. */
export function decode(kinds, hex) {
  const [values, end] = readStruct(kinds, hex, 0);
  demand(end === hex.length);
  return values;
}

function wordAt(hex, at) {
  demand(at + WORD <= hex.length);
  return BigInt("0x" + hex.slice(at, at + WORD));
}

function readStruct(kinds, hex, start) {
  let end = start + WORD * kinds.length;
  const values = kinds.map((kind, position) => {
    const at = start + WORD * position;
    const word = wordAt(hex, at);
    if (kind === UINT) return word;
    if (kind === ADDRESS) {
      demand(word >> 160n === 0n);
      return hex.slice(at + WORD - 40, at + WORD);
    }
    demand(word === BigInt((end - start) / 2));
    const [value, next] = readSized(kind, hex, end);
    end = next;
    return value;
  });
  return [values, end];
}

function readSized(kind, hex, start) {
  if (Array.isArray(kind)) return readStruct(kind, hex, start);
  const length = wordAt(hex, start);
  demand(length <= BigInt(hex.length));
  const count = Number(length);
  const first = start + WORD;
  if (kind !== BYTES) return readStruct(Array(count).fill(kind.of), hex, first);
  const end = first + WORD * Math.ceil(count / 32);
  const padding = hex.slice(first + 2 * count, end);
  demand(end <= hex.length && /^0*$/.test(padding));
  return [hex.slice(first, first + 2 * count), end];
}
