// Finds conversion payments among logs with npm @requestnetwork/payment-detection, which reads no node here.
// Input: in each line a JSON array of questions; output: for each line a JSON array of the payments found for each.
const { createInterface } = require("node:readline");
const { BigNumber } = require("ethers");
const RETRIEVERS = "@requestnetwork/payment-detection/dist/any/retrievers";
const { AnyToErc20InfoRetriever } = require(`${RETRIEVERS}/any-to-erc20-proxy`);
const { AnyToEthInfoRetriever } = require(`${RETRIEVERS}/any-to-eth-proxy`);

const SECOND =
  "event TransferWithConversionAndReference(uint256 amount, address currency, bytes indexed paymentReference, uint256 feeAmount, uint256 maxRateTimespan)";
const FIRST = {
  token:
    "event TransferWithReferenceAndFee(address tokenAddress, address to, uint256 amount, bytes indexed paymentReference, uint256 feeAmount, address feeAddress)",
  coin: "event TransferWithReferenceAndFee(address to, uint256 amount, bytes indexed paymentReference, uint256 feeAmount, address feeAddress)",
};

// A node that has these logs and nothing else.
function provider(logs) {
  const has = (log, { address, topics }) =>
    log.address.toLowerCase() === address.toLowerCase() &&
    topics.every((topic, index) => topic === null || topic === log.topics[index]);
  return { getLogs: async (filter) => logs.filter((log) => has(log, filter)), getBlock: async () => ({ timestamp: 0 }) };
}

// {currency: {hash, type, decimals ...}, reference, proxy, payee, token or null, maxRateAge, logs}
async function payments(asked) {
  const Retriever = asked.token ? AnyToErc20InfoRetriever : AnyToEthInfoRetriever;
  const abi = [SECOND, asked.token ? FIRST.token : FIRST.coin];
  const tokens = asked.token ? [asked.token] : undefined;
  const retriever = new Retriever(
    asked.currency, asked.reference, asked.proxy, 0, abi, asked.payee, "payment", "mainnet", tokens, asked.maxRateAge,
  );
  retriever.provider = provider(asked.logs);
  const found = await retriever.getTransferEvents();
  return found.map(({ amount, parameters }) => ({
    amount,
    moved: BigNumber.from(parameters.amountInCrypto).toString(),
    txHash: parameters.txHash,
  }));
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const answers = [];
  for (const asked of JSON.parse(line)) answers.push(await payments(asked));
  process.stdout.write(`${JSON.stringify(answers)}\n`);
});
