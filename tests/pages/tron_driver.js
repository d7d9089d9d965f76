// Asks the page's tron.js. Input: [{transaction, owner, to, input, callValue, feeLimit, until}]; output: for each null, or
// why it is not the call that was asked for. An id that is missing is made of the bytes.
const { createHash } = require("crypto");
const fs = require("fs");
const os = require("os");
const path = require("path");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const MODULES = ["abi.js", "addresses.js", "energy.js", "link.js", "sessions.js", "tron.js"];

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tron-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  for (const name of MODULES) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  const { demandCall } = await import(path.join(folder, "tron.js"));
  const answers = JSON.parse(fs.readFileSync(0)).map(async ({ transaction, owner, to, until, ...options }) => {
    const txID = createHash("sha256").update(transaction.raw_data_hex, "hex").digest("hex");
    try {
      await demandCall({ txID, ...transaction }, owner, to, options, until);
      return null;
    } catch (error) {
      if (error.code !== "lied") throw error;
      return error.detail;
    }
  });
  process.stdout.write(JSON.stringify(await Promise.all(answers)));
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
