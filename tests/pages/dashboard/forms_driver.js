// Asks the dashboard's csv.js, text.js, drafts.js, imported.js, looking.js and told.js. Input: [{name, arguments}]; output: what each function
// returns. Messages are their keys, as none are loaded.
const fs = require("fs");
const os = require("os");
const path = require("path");

const PAGES = path.join(__dirname, "../../../chalicelib/pages/dashboard");

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "forms-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  const names = ["csv.js", "text.js", "drafts.js", "imported.js", "looking.js", "told.js"];
  for (const name of names) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  const found = Object.assign({}, ...(await Promise.all(names.map((name) => import(path.join(folder, name))))));
  const answers = JSON.parse(fs.readFileSync(0)).map((each) => found[each.name](...each.arguments) ?? null);
  process.stdout.write(JSON.stringify(answers));
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
