// Asks the page's apps.js. Input, by line: [[network, address of the page, token]]; output: the links of each.
const fs = require("fs");
const path = require("path");
const { createInterface } = require("readline");

async function main() {
  const source = fs.readFileSync(path.join(__dirname, "../../chalicelib/pages/payment/apps.js"), "utf8");
  const text = Buffer.from(source.replace(/^import .*$/m, "")).toString("base64"); // of what shows the links alone
  const { linksOf } = await import(`data:text/javascript;base64,${text}`);
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(JSON.parse(line).map((each) => linksOf(...each))) + "\n");
  }
}

void main();
