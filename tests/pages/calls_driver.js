// Reads what wallets answer of batches with the page's calls.js. Input, by line: [[name, values]]; output: the answers.
const fs = require("fs");
const path = require("path");
const { createInterface } = require("readline");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const source = (name) => fs.readFileSync(path.join(PAGES, name), "utf8");
const url = (text) => `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;

async function main() {
  const of = (name, imported) => source(name).replace(/"\.\/([\w.]+)"/g, (_, each) => JSON.stringify(imported[each]));
  const link = url(source("link.js"));
  const notes = url(of("notes.js", { "link.js": link }));
  const denials = url(of("denials.js", { "notes.js": notes }));
  const signing = url(of("claims.js", { "link.js": link, "poll.js": url(source("poll.js")) }));
  const text = of("calls.js", { "denials.js": denials, "link.js": link, "claims.js": signing });
  const calls = await import(url(text));

  const answer = ([name, values]) => {
    try {
      return calls[name](...values);
    } catch (error) {
      return error.code ?? String(error);
    }
  };
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(JSON.parse(line).map(answer)) + "\n");
  }
}

void main();
