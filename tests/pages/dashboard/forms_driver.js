// Asks the dashboard's csv.js, text.js, drafts.js, payout_rows.js, refresh.js and attention.js. Input, by line: [{name, arguments}]; output: what each function
// returns. Messages are their keys, as none are loaded.
const fs = require("fs");
const os = require("os");
const path = require("path");
const { createInterface } = require("readline");

const PAGES = path.join(__dirname, "../../../chalicelib/pages/dashboard");

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "forms-"));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  const names = ["vendor.js", "csv.js", "text.js", "drafts.js", "payout_rows.js", "refresh.js", "attention.js"];
  for (const name of names) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  const found = Object.assign({}, ...(await Promise.all(names.map((name) => import(path.join(folder, name))))));
  fs.rmSync(folder, { recursive: true });
  const answer = (each) => found[each.name](...each.arguments) ?? null;
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(JSON.parse(line).map(answer)) + "\n");
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
