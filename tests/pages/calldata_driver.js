// Asks the page's calldata.js. Input: [{expected, transactions}], amounts as text; output: for each what it says of the
// transactions, and which mutations of them it accepts: every byte turned over, one after the other.
const fs = require("fs");
const os = require("os");
const path = require("path");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const MODULES = ["abi.js", "addresses.js", "calldata.js", "contracts.js"];
const CHANGED = process.env.CHANGED_SCRIPT; // the path of a script that is read in place of the one of its name
const MOST_FLIPS = 250; // for each transaction

function* flipped(transaction, turn) {
  const { to, data, value } = transaction;
  const digits = data.slice(2);
  const stride = Math.max(1, Math.floor(digits.length / 2 / MOST_FLIPS));
  for (let at = turn() % stride; at < digits.length / 2; at += stride) {
    yield [`data ${at}`, { ...transaction, data: "0x" + flip(digits, at, turn()) }];
  }
  for (let at = 0; at < to.length; at++) yield [`to ${at}`, { ...transaction, to: otherLetter(to, at, turn()) }];
  const units = BigInt(value).toString(16).padStart(64, "0");
  for (let at = 0; at < 32; at++) yield [`value ${at}`, { ...transaction, value: "0x" + flip(units, at, turn()) }];
}

function flip(digits, at, mask) {
  const byte = parseInt(digits.slice(2 * at, 2 * at + 2), 16) ^ (mask % 255 || 255);
  return digits.slice(0, 2 * at) + byte.toString(16).padStart(2, "0") + digits.slice(2 * at + 2);
}

// Another digit: the same one in the other case would be the same address on EVM chains.
function otherLetter(text, at, turn) {
  const letters = text.startsWith("0x") ? "0123456789abcdef" : "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  const letter = letters[(letters.indexOf(text[at]) + 1 + (turn % (letters.length - 2))) % letters.length];
  const other = letter.toLowerCase() === text[at].toLowerCase() ? "8" : letter;
  return text.slice(0, at) + (other === text[at] ? "9" : other) + text.slice(at + 1);
}

function generator(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 0x7fffffff);
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "calldata-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  for (const name of MODULES) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  if (CHANGED) fs.copyFileSync(CHANGED, path.join(folder, path.basename(CHANGED)));
  const { checkTransactions } = await import(path.join(folder, "calldata.js"));
  const { CONTRACTS } = await import(path.join(folder, "contracts.js"));
  const answers = JSON.parse(fs.readFileSync(0)).map(({ expected, transactions, flips }, seed) => {
    const payments = expected.payments.map((each) => {
      const { amount, fee, conversion } = each;
      const limits = conversion && { ...conversion, most: BigInt(conversion.most), age: BigInt(conversion.age) };
      return { ...each, amount: BigInt(amount), fee: BigInt(fee), conversion: limits };
    });
    const asked = { ...expected, payments };
    const accepted = [];
    let tried = 0;
    for (const [index, transaction] of flips ? transactions.entries() : []) {
      for (const [where, other] of flipped(transaction, generator(seed + 1))) {
        tried++;
        if (checkTransactions(transactions.with(index, other), asked).ok) accepted.push(`${index}: ${where}`);
      }
    }
    return { ...checkTransactions(transactions, asked), accepted, tried };
  });
  const text = JSON.stringify({ answers, contracts: CONTRACTS }, (_, value) => (typeof value === "bigint" ? `${value}` : value));
  process.stdout.write(text);
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
