// Asks the page's authorize.js. Input, by line: [{terms, transactions, isReclaim}], numbers as text; without `escrows` they are the page's own.
// Output: `answers`, what it says of each, and `escrows`, the page's own.
const fs = require("fs");
const os = require("os");
const path = require("path");
const { createInterface } = require("readline");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const MODULES = ["abi.js", "addresses.js", "authorize.js"];

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "authorize-"));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type":"module"}');
  for (const name of MODULES) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  const { ESCROWS, checkAuthorization, checkReclaim } = await import(path.join(folder, "authorize.js"));
  fs.rmSync(folder, { recursive: true });
  const answer = ({ terms, transactions, isReclaim }) => {
    const [most, capturable, salt, now] = [terms.most, terms.capturable, terms.salt, terms.now].map(BigInt);
    const [expiries, fees] = [terms.expiries, terms.fees].map((each) => each.map(BigInt));
    const check = isReclaim ? checkReclaim : checkAuthorization;
    return check(transactions, { escrows: ESCROWS, ...terms, most, capturable, salt, now, expiries, fees });
  };
  const written = (_, value) => (typeof value === "bigint" ? `${value}` : value);
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify({ answers: JSON.parse(line).map(answer), escrows: ESCROWS }, written) + "\n");
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
