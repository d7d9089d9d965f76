// Compiles a contract of this folder: node compile.js Name. Writes {"creation": "0x...", "abi": [...]}.
//
// The same bytes for the same source everywhere: the compiler is pinned, and no hash of metadata is appended.
const { existsSync, readFileSync } = require("fs");
const { join } = require("path");
const solc = require("solc");

const MODULES = join(__dirname, "..", "node_modules");
const name = process.argv[2];
const source = `${name}.sol`;

const input = {
  language: "Solidity",
  sources: { [source]: { content: readFileSync(join(__dirname, source), "utf8") } },
  settings: {
    evmVersion: "paris",
    optimizer: { enabled: true, runs: 200 },
    metadata: { appendCBOR: false, bytecodeHash: "none" },
    outputSelection: { [source]: { [name]: ["abi", "evm.bytecode.object"] } },
  },
};
// A file of this folder, else one of a package.
function imported(path) {
  const own = join(__dirname, path);
  return { contents: readFileSync(existsSync(own) ? own : join(MODULES, path), "utf8") };
}

const output = JSON.parse(solc.compile(JSON.stringify(input), { import: imported }));
const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
if (errors.length) {
  console.error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  process.exit(1);
}
const compiled = output.contracts[source][name];
console.log(JSON.stringify({ creation: `0x${compiled.evm.bytecode.object}`, abi: compiled.abi }));
