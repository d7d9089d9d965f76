// Builds payments, and finds conversion paths, with npm @requestnetwork/payment-processor.
// Input: in each line a JSON array of {ask, ...}; output: for each line a JSON array of the answers, in order.
const { createInterface } = require("node:readline");
const { BigNumber, providers } = require("ethers");
const { CurrencyManager } = require("@requestnetwork/currency");
const PAYMENTS = "@requestnetwork/payment-processor/dist/payment";
const { prepareAnyToErc20ProxyPaymentTransaction } = require(`${PAYMENTS}/any-to-erc20-proxy`);
const { prepareAnyToEthProxyPaymentTransaction } = require(`${PAYMENTS}/any-to-eth-proxy`);
const batches = require(`${PAYMENTS}/batch-conversion-proxy`);

// The feeds of the newest currency package, which has moved on since the processor's own.
const FEEDS = "../../../infra/local/node_modules/@requestnetwork/currency/dist/aggregators";
const NETWORKS = ["mainnet", "matic"];
const feeds = Object.fromEntries(NETWORKS.map((name) => [name, require(`${FEEDS}/${name}.json`)]));
const currencyManager = new CurrencyManager(CurrencyManager.getDefaultList(), undefined, feeds);
const BATCH_VERSION = "0.1.0";
const nowhere = new providers.StaticJsonRpcProvider("http://127.0.0.1:1", { name: "none", chainId: 1 });
const VERSIONS = {
  "pn-any-to-erc20-proxy": "0.1.0",
  "pn-any-to-eth-proxy": "0.2.0",
  "pn-erc20-fee-proxy-contract": "0.2.0",
  "pn-eth-fee-proxy-contract": "0.2.0",
};

// An item: {id (of the payment network), network, currency, token, amount, payee, ... maxToSpend}.
function request(item) {
  const values = {
    salt: item.salt,
    paymentAddress: item.payee,
    feeAddress: item.feeAddress,
    feeAmount: item.feeAmount,
    network: item.network,
    acceptedTokens: item.token ? [item.token] : undefined,
    maxRateTimespan: item.maxRateTimespan,
  };
  const extension = { id: item.id, type: "payment-network", version: VERSIONS[item.id], values };
  return {
    requestId: item.requestId,
    expectedAmount: item.amount,
    currencyInfo: item.currency,
    extensions: { [item.id]: extension },
    extensionsData: [],
    balance: null,
  };
}

function settings(item) {
  const currency = item.token ? { type: "ERC20", value: item.token, network: item.network } : undefined;
  return { currency, currencyManager, maxToSpend: item.maxToSpend };
}

const plain = ({ to, data, value }) => ({ to, data, value: BigNumber.from(value).toString() });

const answers = {
  path({ from, to, network }) {
    return currencyManager.getConversionPath({ hash: from }, { hash: to }, network);
  },

  erc20({ item }) {
    return plain(prepareAnyToErc20ProxyPaymentTransaction(request(item), settings(item)));
  },

  native({ item }) {
    return plain(prepareAnyToEthProxyPaymentTransaction(request(item), settings(item)));
  },

  // What the processor says of the value lacks the fees of native payments, so it is not answered. With an amount to
  // approve, the data of the approval is answered too.
  batch({ items, approve }) {
    const enriched = items.map((item) => ({
      paymentNetworkId: item.id,
      request: request(item),
      paymentSettings: settings(item),
    }));
    const options = { conversion: { currencyManager }, skipFeeUSDLimit: true, version: BATCH_VERSION };
    const { to, data } = batches.prepareBatchConversionPaymentTransaction(enriched, options);
    if (!approve) return { to, data };
    const { request: first } = enriched[0];
    const amount = BigNumber.from(approve);
    return { to, data, approval: batches.encodeApproveErc20BatchConversion(first, nowhere, amount, undefined, BATCH_VERSION) };
  },

  // The processor seconds that it takes to answer a question a number of times, this process's start left out.
  seconds({ question, times }) {
    const before = process.cpuUsage();
    for (let count = 0; count < times; count++) answers[question.ask](question);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  },
};

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(JSON.parse(line).map((question) => answers[question.ask](question))) + "\n");
  }
}

main();
