// Reads [{to, data, value, feeLimit}] and writes [{owner, bytes}]: how long each call is when tronweb has built and signed it.
const { TronWeb, utils } = require("tronweb");

const tron = new TronWeb({ fullHost: "http://127.0.0.1:1" }); // neither building nor signing asks a node
const key = "a7".repeat(32);
const owner = TronWeb.address.fromPrivateKey(key);
const blockHeader = { ref_block_bytes: "267e", ref_block_hash: "9a447d222e8de9f2", expiration: 1767225660000, timestamp: 1767225600000 };

async function bytesOf({ to, data, value, feeLimit }) {
  const options = { input: data.slice(2), callValue: value, feeLimit, txLocal: true, blockHeader };
  const { transaction } = await tron.transactionBuilder.triggerSmartContract(to, "", options, [], owner);
  const signed = await tron.trx.sign(transaction, key);
  const pb = utils.transaction.txJsonToPb(signed);
  signed.signature.forEach((each) => pb.addSignature(Uint8Array.from(Buffer.from(each.replace(/^0x/, ""), "hex"))));
  return { owner, bytes: pb.serializeBinary().length };
}

const questions = JSON.parse(require("fs").readFileSync(0, "utf8"));
Promise.all(questions.map(bytesOf)).then((answers) => process.stdout.write(JSON.stringify(answers)));
