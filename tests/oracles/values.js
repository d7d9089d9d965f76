// What front ends make of the values of transactions: the quantity that each sends to its wallet, null where it refuses.
// Input: a JSON array of transactions as /pay has them; output: for each an object by kind of front end.
const { Web3Provider } = require("@ethersproject/providers"); // ethers 5
const { BrowserProvider } = require("ethers"); // ethers 6
const { createWalletClient, custom } = require("viem");
const { sepolia } = require("viem/chains");

const PAYER = "0x90f79bf6eb2c4f870365e785982e1f101e93b906";
const HASH = `0x${"1".repeat(64)}`;

// A browser's wallet that sends nothing, and keeps what it is asked to send.
function wallet() {
  const answers = { eth_chainId: "0xaa36a7", eth_estimateGas: "0x30d40", eth_accounts: [PAYER], eth_requestAccounts: [PAYER] };
  const sent = [];
  const request = async ({ method, params }) => {
    if (method === "eth_sendTransaction") sent.push(params[0].value);
    return answers[method] ?? HASH;
  };
  return { request, sent };
}

const frontEnds = {
  "ethers 5": (own, tx) => new Web3Provider(own).getSigner(PAYER).sendUncheckedTransaction(tx),
  "ethers 6": async (own, tx) => (await new BrowserProvider(own).getSigner()).sendUncheckedTransaction(tx),
  "viem, `BigInt(value)`": (own, tx) => viem(own, { ...tx, value: BigInt(tx.value) }),
  "viem, `value === 0 ? 0n : BigInt(value.hex)`": (own, tx) => viem(own, { ...tx, value: tx.value === 0 ? 0n : BigInt(tx.value.hex) }),
  "viem, `BigInt(value.hex)`": (own, tx) => viem(own, { ...tx, value: BigInt(tx.value.hex) }),
};

function viem(own, { to, data, value }) {
  const client = createWalletClient({ account: PAYER, chain: sepolia, transport: custom(own) });
  return client.sendTransaction({ to, data, value, gas: 200_000n });
}

async function read(send, tx) {
  const own = wallet();
  try {
    await send(own, tx);
  } catch (error) {
    return null;
  }
  return own.sent[0] ?? "0x0"; // a value of zero may be left out
}

async function main() {
  const transactions = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
  const answers = [];
  for (const tx of transactions) {
    const each = {};
    for (const [name, send] of Object.entries(frontEnds)) each[name] = await read(send, tx);
    answers.push(each);
  }
  console.log(JSON.stringify(answers));
  process.exit(0);
}

main();
