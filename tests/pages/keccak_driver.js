// Asks the page's keccak.js. Input: texts in hexadecimal; output: the hash of each.
const fs = require("fs");
const path = require("path");

async function main() {
  const source = fs.readFileSync(path.join(__dirname, "../../chalicelib/pages/payment/keccak.js")).toString("base64");
  const { keccak256 } = await import(`data:text/javascript;base64,${source}`);
  const texts = JSON.parse(fs.readFileSync(0));
  process.stdout.write(JSON.stringify(texts.map((each) => Buffer.from(keccak256(Buffer.from(each, "hex"))).toString("hex"))));
}

void main();
