// Reads [{raw_data, visible: false}] and writes [{raw_data_hex, txID}] as tronweb's protobuf has them.
const { utils } = require("tronweb");

const { txJsonToPb, txPbToRawDataHex, txPbToTxID } = utils.transaction;
const questions = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = questions.map((asked) => {
  const pb = txJsonToPb(asked);
  return { raw_data_hex: txPbToRawDataHex(pb).toLowerCase(), txID: txPbToTxID(pb).replace(/^0x/, "") };
});
process.stdout.write(JSON.stringify(answers));
