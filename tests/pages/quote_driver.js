// Asks the page's quote.js. Input: [{link, then, steps}], amounts as text; output: for each whether the transactions of
// `steps`, which pay what `link` owed, still stand for the link as it is then.
const fs = require("fs");
const os = require("os");
const path = require("path");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const MODULES = [
  "abi.js", "addresses.js", "calldata.js", "contracts.js",
  "conversion.js", "identity.js", "link.js", "quote.js",
];

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "quote-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  for (const name of MODULES) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  const { expectedPayments, stands } = await import(path.join(folder, "quote.js"));
  const read = ({ payments, ...link }) => {
    return { ...link, payments: payments.map((each) => ({ ...each, left: BigInt(each.left), fee: BigInt(each.fee) })) };
  };
  const questions = JSON.parse(fs.readFileSync(0));
  const quote = { conversions: {} };
  const answers = questions.map(({ link, then, steps }) =>
    stands(read(then), quote, expectedPayments(read(link), quote, "0x1"), steps));
  process.stdout.write(JSON.stringify(answers));
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
