// Answers questions about messages, typed data and signatures with viem, siwe and tronweb.
// Input: in each line a JSON array of {ask, ...}; output: for each line a JSON array of the answers, in order.
const { createInterface } = require("node:readline");
const { createPublicClient, hashMessage, hashTypedData, http, verifyMessage, verifyTypedData } = require("viem");
const { encodeFunctionData, parseAbi, toHex } = require("viem");
const { mainnet } = require("viem/chains");
const { namehash, normalize, packetToBytes, toCoinType } = require("viem/ens");
const { privateKeyToAccount } = require("viem/accounts");
const { parseSiweMessage } = require("viem/siwe");
const { SiweMessage } = require("siwe");
const { TronWeb, utils } = require("tronweb");
const { ContractFactory, getCreate2Address, keccak256, ZeroHash } = require("ethers");
const FACTORIES = "@requestnetwork/smart-contracts/dist/src/types/factories/src/contracts";
const { ERC20SingleRequestProxy__factory: SingleRequestProxy } = require(`${FACTORIES}/ERC20SingleRequestProxy__factory`);

const ADDRESS_ABI = parseAbi([
  "function addr(bytes32 node) view returns (address)",
  "function addr(bytes32 node, uint256 coinType) view returns (bytes)",
]);
const RESOLVER_ABI = parseAbi([
  "function resolve(bytes name, bytes data) view returns (bytes, address)",
  "function reverse(bytes lookupAddress, uint256 coinType) view returns (string, address, address)",
]);
const tron = new TronWeb({ fullHost: "http://127.0.0.1:1" }); // signing needs no node

const answers = {
  // an EVM wallet signs a message: personal_sign
  async personal({ key, message }) {
    const account = privateKeyToAccount(key);
    const signature = await account.signMessage({ message });
    return { address: account.address, digest: hashMessage(message), signature };
  },

  // an EVM wallet signs typed data: eth_signTypedData_v4
  async typed({ key, typed }) {
    const account = privateKeyToAccount(key);
    const signature = await account.signTypedData(typed);
    return { address: account.address, digest: hashTypedData(typed), signature };
  },

  // a Tron wallet signs a message, in both versions (v1 signs 32 bytes in hex, nothing else)
  async tron({ key, message, hex }) {
    const digest = utils.message.hashMessage(message);
    const address = TronWeb.address.fromPrivateKey(key.slice(2));
    const v1 = hex && (await tron.trx.signMessage(hex, key.slice(2)));
    return { address, digest, signature: tron.trx.signMessageV2(message, key.slice(2)), v1 };
  },

  // a Tron wallet signs typed data: TIP-712
  async tronTyped({ key, typed }) {
    const { domain, types, message } = typed;
    return {
      address: TronWeb.address.fromPrivateKey(key.slice(2)),
      digest: utils._TypedDataEncoder.hash(domain, types, message),
      signature: tron.trx._signTypedData(domain, types, message, key.slice(2)),
    };
  },

  // ENS: the form of a name, null if it has none; and the calls to the universal resolver
  async normalize({ name }) {
    try {
      return normalize(name);
    } catch {
      return null;
    }
  },
  async ens({ name, address, chainId }) {
    const coin = toCoinType(chainId);
    const node = namehash(name);
    const data = encodeFunctionData({
      abi: ADDRESS_ABI,
      functionName: "addr",
      args: chainId === 1 ? [node] : [node, coin],
    });
    const call = (functionName, args) => encodeFunctionData({ abi: RESOLVER_ABI, functionName, args });
    return {
      coin: String(coin),
      resolver: mainnet.contracts.ensUniversalResolver.address,
      resolve: call("resolve", [toHex(packetToBytes(name)), data]),
      reverse: call("reverse", [address, coin]),
    };
  },

  // what the libraries say about signatures that others made
  async verify({ address, message, signature }) {
    return verifyMessage({ address, message, signature });
  },
  async verifyTyped({ address, typed, signature }) {
    return verifyTypedData({ address, signature, ...typed });
  },
  async verifyTron({ message, signature }) {
    return tron.trx.verifyMessageV2(message, signature);
  },
  async verifyTronTyped({ address, typed, signature }) {
    return tron.trx.verifyTypedData(typed.domain, typed.types, typed.message, signature, address);
  },

  // where a deployer puts an ERC20SingleRequestProxy with these constructor arguments, with salt 0
  async singleRequestProxy({ deployer, of }) {
    const { data } = await new ContractFactory(SingleRequestProxy.abi, SingleRequestProxy.bytecode).getDeployTransaction(...of);
    return { creation: data, address: getCreate2Address(deployer, ZeroHash, keccak256(data)) };
  },

  // a sign-in message is read back, and verified
  async siwe({ message, signature }) {
    const parsed = new SiweMessage(message);
    const verdict = await parsed.verify({ signature, time: parsed.issuedAt }, { suppressExceptions: true });
    const seen = parseSiweMessage(message);
    return { again: parsed.prepareMessage(), valid: verdict.success, address: seen.address, nonce: seen.nonce };
  },

  // any wallet's signature, contract wallets included, on a chain
  async onChain({ url, address, digest, signature }) {
    const client = createPublicClient({ transport: http(url) });
    return client.verifyHash({ address, hash: digest, signature });
  },
};

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    const found = [];
    for (const question of JSON.parse(line)) found.push(await answers[question.ask](question));
    process.stdout.write(JSON.stringify(found) + "\n");
  }
}

main();
