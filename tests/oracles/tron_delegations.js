// Reads [{owner, receiver, balance, resource, takesBack, header, permissionId}] and writes [{raw_data_hex, txID, value}]
// as tronweb's builder makes them without a node.
const { TronWeb } = require("tronweb");

const { transactionBuilder } = new TronWeb({ fullHost: "http://127.0.0.1:1" });
const questions = JSON.parse(require("fs").readFileSync(0, "utf8"));

async function build({ owner, receiver, balance, resource, takesBack, header, permissionId }) {
  const options = { blockHeader: header, ...(permissionId ? { permissionId } : {}) };
  const built = takesBack
    ? await transactionBuilder.undelegateResource(balance, receiver, resource, owner, options)
    : await transactionBuilder.delegateResource(balance, receiver, resource, owner, false, undefined, options);
  const { raw_data_hex, txID, raw_data } = built;
  return { raw_data_hex, txID, type: raw_data.contract[0].type, value: raw_data.contract[0].parameter.value };
}

Promise.all(questions.map(build)).then((built) => process.stdout.write(JSON.stringify(built)));
