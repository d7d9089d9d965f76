// Writes the Tron vectors that the tests read, as tronweb makes them:
//   NODE_PATH=infra/local/node_modules node tests/oracles/tron_vectors.js > tests/base/vectors/tron/signatures.json
const { TronWeb, utils } = require("tronweb");

const tron = new TronWeb({ fullHost: "http://127.0.0.1:1" }); // signing needs no node
const keys = ["11", "22", "a7"].map((byte) => byte.repeat(32));
const [first, second, third] = keys.map((key) => TronWeb.address.fromPrivateKey(key));

const messages = [
  "hello",
  "",
  "a line\nand another\r\n\tindented",
  "žluťoučký kůň 🐎 馬",
  "x".repeat(1000),
  `pay.example.test wants you to sign in with your Tron account:\n${first}\n\nSign in.\n\nURI: https://pay.example.test\nVersion: 1\nNonce: 00ff\nIssued At: 2030-01-01T00:00:00.000Z`,
];

const typed = [
  {
    domain: { name: "Example", version: "1", chainId: 728126428 },
    types: {
      Route: [
        { name: "wallet", type: "address" },
        { name: "token", type: "address" },
        { name: "chainId", type: "uint256" },
        { name: "action", type: "string" },
      ],
    },
    value: { wallet: first, token: second, chainId: 728126428, action: "add" },
  },
  {
    domain: { name: "Order book", chainId: 3448148188, verifyingContract: third },
    types: {
      Order: [
        { name: "seller", type: "address" },
        { name: "amount", type: "uint128" },
        { name: "proof", type: "bytes" },
        { name: "digest", type: "bytes32" },
        { name: "open", type: "bool" },
      ],
    },
    value: { seller: second, amount: "1002000", proof: "0x010203", digest: "0x" + "2a".repeat(32), open: true },
  },
];

const addresses = keys.map((key) => {
  const base58 = TronWeb.address.fromPrivateKey(key);
  const hex41 = TronWeb.address.toHex(base58);
  return { base58, hex41, evm: "0x" + hex41.slice(2), valid: TronWeb.isAddress(base58) };
});
for (const base58 of [first.toLowerCase(), first.slice(0, -1), first.slice(0, -1) + "9"]) {
  addresses.push({ base58, valid: TronWeb.isAddress(base58) });
}

// What the fee proxy and the batch contract are asked, in a transaction made without a node.
const [USDT, PROXY, BATCH] = [
  "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
  "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd",
  "TRZbXXuLd3HW5utzVysA3rpLgU7sVBrd1D",
];
const references = ["0x0102030405060708", "0xffeeddccbbaa9988", "0x1000000000000001"];
const calls = [
  ["approve", USDT, "approve(address,uint256)", [["address", BATCH], ["uint256", "6060000"]]],
  ["withdraw", USDT, "approve(address,uint256)", [["address", PROXY], ["uint256", "0"]]],
  [
    "pay",
    PROXY,
    "transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)",
    [["address", USDT], ["address", first], ["uint256", "1000000"], ["bytes", references[0]], ["uint256", "10000"], ["address", third]],
  ],
  [
    "pay a batch",
    BATCH,
    "batchERC20PaymentsWithReference(address,address[],uint256[],bytes[],uint256[],address)",
    [
      ["address", USDT],
      ["address[]", [first, second, first]],
      ["uint256[]", ["1000000", "2000000", "3000000"]],
      ["bytes[]", references],
      ["uint256[]", ["10000", "20000", "30000"]],
      ["address", third],
    ],
  ],
];
const blockHeader = { ref_block_bytes: "267e", ref_block_hash: "9a447d222e8de9f2", expiration: 1767225660000, timestamp: 1767225600000 };

async function trigger([id, contract, functionSelector, pairs]) {
  const parameters = pairs.map(([type, value]) => ({ type, value }));
  const options = { feeLimit: 300000000, txLocal: true, blockHeader };
  const built = await tron.transactionBuilder.triggerSmartContract(contract, functionSelector, options, parameters, first);
  const data = "0x" + built.transaction.raw_data.contract[0].parameter.value.data;
  return { id, contract, functionSelector, parameters, data };
}

async function main() {
  const messageHex = "0x" + "2a".repeat(32);
  const vectors = {
    _about: { source: "npm tronweb 6.5.1 (MIT), by tests/oracles/tron_vectors.js", keys },
    addresses,
    triggers: await Promise.all(calls.map(trigger)),
    messages: messages.map((message, at) => {
      const key = keys[at % keys.length];
      const owner = TronWeb.address.fromPrivateKey(key);
      const signature = tron.trx.signMessageV2(message, key);
      return { message, hash: utils.message.hashMessage(message), signature, owner };
    }),
    typedData: typed.map(({ domain, types, value }) => ({
      domain,
      types,
      value,
      hash: utils._TypedDataEncoder.hash(domain, types, value),
      signature: tron.trx._signTypedData(domain, types, value, keys[0]),
      owner: first,
    })),
    legacyV1: { messageHex, signature: await tron.trx.signMessage(messageHex, keys[0]), owner: first },
  };
  process.stdout.write(JSON.stringify(vectors, null, 1) + "\n");
}

main();
