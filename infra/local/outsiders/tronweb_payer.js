// A payer with npm tronweb: signs and broadcasts the given contract calls and waits for the block of each.
// Input: {url, privateKey, feeLimit, transactions: [{to, data, value, feeLimit?}]}; output: the node's info of each.
const fs = require("fs");
const { TronWeb } = require("tronweb");

const WAIT_MS = 200;
const PATIENCE_MS = 60_000;

async function inBlock(tron, id) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const info = await tron.trx.getUnconfirmedTransactionInfo(id);
    if (info.id) return info;
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
  throw new Error(`no block took ${id}`);
}

async function main() {
  const { url, privateKey, feeLimit, transactions } = JSON.parse(fs.readFileSync(0));
  const tron = new TronWeb({ fullHost: url, privateKey });
  const owner = tron.defaultAddress.base58;
  const infos = [];
  for (const { to, data, value, feeLimit: limit } of transactions) {
    const options = { input: data.slice(2), feeLimit: limit ?? feeLimit, callValue: Number(value) };
    const built = await tron.transactionBuilder.triggerSmartContract(to, "", options, [], owner);
    const signed = await tron.trx.sign(built.transaction);
    const sent = await tron.trx.sendRawTransaction(signed);
    if (!sent.result) throw new Error(`${sent.code}: ${TronWeb.toUtf8(sent.message)}`);
    infos.push(await inBlock(tron, sent.txid));
  }
  process.stdout.write(JSON.stringify(infos));
}

main().catch((error) => {
  process.stderr.write(`${error.message ?? error}\n`);
  process.exit(1);
});
