// Asks the page's conversion.js. Input: [{payment, conversion, now}], amounts as text, `conversion` as in metadata of /pay;
// output: for each what is due in the token, until when the rate is held, or why the conversion is refused.
const fs = require("fs");
const os = require("os");
const path = require("path");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "amounts-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  for (const name of ["conversion.js", "link.js"]) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  const { dueAt, readConversion } = await import(path.join(folder, "conversion.js"));
  const { need, units } = await import(path.join(folder, "link.js"));
  const answers = JSON.parse(fs.readFileSync(0)).map(({ payment, conversion, now }) => {
    const owed = { ...payment, left: BigInt(payment.left), fee: BigInt(payment.fee) };
    try {
      const read = readConversion(conversion, owed, { need, units, now: () => now });
      const { left, fee, isHigh } = dueAt(owed, read);
      return { left: `${left}`, fee: `${fee}`, isHigh, endsAt: read.endsAt };
    } catch (error) {
      return { refused: error.kind ?? String(error) };
    }
  });
  process.stdout.write(JSON.stringify(answers));
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
