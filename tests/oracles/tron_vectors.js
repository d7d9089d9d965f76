// Writes the Tron vectors that the tests read, as tronweb makes them:
//   NODE_PATH=infra/local/node_modules node tests/oracles/tron_vectors.js > tests/core/vectors/tron/signatures.json
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
        { name: "seller", type: "Party" },
        { name: "buyers", type: "Party[]" },
        { name: "asset", type: "trcToken" },
        { name: "proof", type: "bytes" },
        { name: "open", type: "bool" },
      ],
      Party: [
        { name: "wallets", type: "address[2]" },
        { name: "weight", type: "int64" },
        { name: "tag", type: "bytes4" },
      ],
    },
    value: {
      seller: { wallets: [first, second], weight: "-5", tag: "0xdeadbeef" },
      buyers: [{ wallets: [third, third], weight: "7", tag: "0x00000000" }],
      asset: "1002000",
      proof: "0x010203",
      open: true,
    },
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

async function main() {
  const messageHex = "0x" + "2a".repeat(32);
  const vectors = {
    _about: { source: "npm tronweb 6.5.1 (MIT), by tests/oracles/tron_vectors.js", keys },
    addresses,
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
