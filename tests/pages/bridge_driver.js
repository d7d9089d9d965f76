// Asks the page's bridge.js. Input, by line: [{expected, transactions}], amounts as text; output: for each what checkRoute says of the
// transactions, and which bytes of the last one can be turned over without that it says otherwise; and the page's lists.
const fs = require("fs");
const os = require("os");
const path = require("path");
const { createInterface } = require("readline");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const MODULES = [
  "abi.js", "addresses.js", "bridge.js", "calldata.js",
  "contracts.js", "deposits.js", "identity.js", "sources.js",
];

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "bridge-"));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  for (const name of MODULES) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  const { checkRoute } = await import(path.join(folder, "bridge.js"));
  const { DIAMOND } = await import(path.join(folder, "deposits.js"));
  const { BRIDGES, isBridgeable, sourceAt } = await import(path.join(folder, "sources.js"));
  fs.rmSync(folder, { recursive: true });
  const answer = ({ expected, transactions, flips }) => {
    const { source, payment, amount, ...given } = expected;
    const paid = { ...payment, amount: BigInt(payment.amount), fee: BigInt(payment.fee) };
    const asked = { ...given, source: sourceAt(...source), payment: paid, amount: BigInt(amount) };
    const accepted = [];
    for (const [index, { data }] of flips ? transactions.entries() : []) {
      for (let at = 2; at < data.length; at += 2) {
        const byte = (parseInt(data.slice(at, at + 2), 16) ^ (1 + (at % 255))).toString(16).padStart(2, "0");
        const other = { ...transactions[index], data: data.slice(0, at) + byte + data.slice(at + 2) };
        if (checkRoute(transactions.with(index, other), asked).ok) accepted.push([index, at / 2 - 1]);
      }
    }
    return { ...checkRoute(transactions, asked), accepted };
  };
  const sources = Object.entries(BRIDGES).map(([network, [label]]) => {
    return [network, ["USDC", "USDT", "DAI"].map((symbol) => sourceAt(label, symbol)?.token ?? null)];
  });
  const links = [["single", "base", "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"], ["batch", "base", "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"],
    ["single", "base", "ETH", null], ["single", "sepolia", "USDC", "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"], ["single", "base", "DAI", "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb"]];
  const bridgeable = links.map(([kind, network, tokenSymbol, token]) => isBridgeable({ kind, network, payments: [{ tokenSymbol, token }] }));
  for await (const line of createInterface({ input: process.stdin })) {
    const found = { answers: JSON.parse(line).map(answer), bridges: BRIDGES, diamond: DIAMOND, sources, bridgeable };
    process.stdout.write(JSON.stringify(found, (_, value) => (typeof value === "bigint" ? `${value}` : value)) + "\n");
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
