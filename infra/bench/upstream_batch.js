// Builds a batch with npm @requestnetwork/payment-processor: the approval and the payment.
// First line in: {requests: [...], approval: amount}; out: {to, data, approval} as built. Every further line in is a
// number of builds; out: the CPU seconds that they took, this process's start and the reading of its input left out.
const readline = require("readline");
const { BigNumber, providers } = require("ethers");
const processor = require("@requestnetwork/payment-processor/dist/payment/batch-conversion-proxy.js");
const { CurrencyManager } = require("@requestnetwork/currency");

const VERSION = "0.1.0";

async function main() {
  const currencyManager = CurrencyManager.getDefault();
  const provider = new providers.StaticJsonRpcProvider("http://127.0.0.1:1", { name: "none", chainId: 1 });
  let input;

  function build() {
    const paymentNetworkId = "pn-erc20-fee-proxy-contract";
    const paymentSettings = { currencyManager };
    const enriched = input.requests.map((request) => ({ paymentNetworkId, request, paymentSettings }));
    const options = { conversion: { currencyManager }, skipFeeUSDLimit: true, version: VERSION };
    const payment = processor.prepareBatchConversionPaymentTransaction(enriched, options);
    const amount = BigNumber.from(input.approval);
    const [first] = input.requests;
    const approval = processor.encodeApproveErc20BatchConversion(first, provider, amount, undefined, VERSION);
    return { to: payment.to, data: payment.data, approval };
  }

  for await (const line of readline.createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    if (input === undefined) {
      input = asked;
      process.stdout.write(JSON.stringify(build()) + "\n");
      continue;
    }
    const before = process.cpuUsage();
    for (let count = 0; count < asked; count++) build();
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(JSON.stringify((user + system) / 1e6) + "\n");
  }
}

main();
