// What npm packages of others say about tokens, chains, contracts, selectors and topics; one JSON object for all of it.
// The input is a JSON array of our networks, each as [name, chain id].
//
// Of @requestnetwork/currency only files that need none of its dependencies are read: package.json replaces those by
// empty packages (`overrides`), because its wallets and address validators would bring 200 packages.
const { readFileSync } = require("fs");
const { dirname, join } = require("path");
const ethers = require("ethers");
const viem = require("viem");
const chains = require("viem/chains");
const uniswap = require("@uniswap/default-token-list/build/uniswap-default.tokenlist.json");
const { nativeCurrencies } = require("@requestnetwork/currency/dist/native");
const fiat = require("@requestnetwork/currency/dist/iso4217").default;
const ARTIFACTS = require("@requestnetwork/smart-contracts/dist/src/lib/artifacts");
const SAFE = dirname(require.resolve("@safe-global/safe-contracts/package.json"));
const VIEM = dirname(require.resolve("viem/package.json"));
const ACROSS = dirname(require.resolve("@across-protocol/contracts/package.json"));
const { erc6492SignatureValidatorByteCode } = require(join(VIEM, "_cjs/constants/contracts.js"));
const FACTORIES = "@requestnetwork/smart-contracts/dist/src/types/factories/src/contracts";
const { ERC20SingleRequestProxy__factory: SingleRequestProxy } = require(`${FACTORIES}/ERC20SingleRequestProxy__factory`);
const { panicReasons } = require(join(VIEM, "_cjs/constants/solidity.js"));

// Our name of a network -> viem's, which is found by the chain id.
const viemsName = ([name, id]) => {
  const found = Object.keys(chains).find((each) => chains[each].id === id);
  if (!found) throw new Error(`viem knows no chain ${id}, which networks.json says of ${name}`);
  return [name, found];
};
const NETWORKS = Object.fromEntries(JSON.parse(readFileSync(0, "utf8")).map(viemsName));
const CONTRACTS = {
  ERC20FeeProxy: ARTIFACTS.erc20FeeProxyArtifact,
  EthereumFeeProxy: ARTIFACTS.ethereumFeeProxyArtifact,
  BatchConversionPayments: ARTIFACTS.batchConversionPaymentsArtifact,
  // Tron's ERC20BatchPayments is in no version of the package that is published; it has the functions of this one.
  ERC20BatchPayments: ARTIFACTS.batchPaymentsArtifact,
  Erc20ConversionProxy: ARTIFACTS.erc20ConversionProxy,
  EthConversionProxy: ARTIFACTS.ethConversionArtifact,
  ChainlinkConversionPath: ARTIFACTS.chainlinkConversionPath,
};

const PAYMENT_INFO = "(address operator, address payer, address receiver, address token, uint120 maxAmount, "
  + "uint48 preApprovalExpiry, uint48 authorizationExpiry, uint48 refundExpiry, uint16 minFeeBps, uint16 maxFeeBps, "
  + "address feeReceiver, uint256 salt) paymentInfo";
const BRIDGE_DATA = "(bytes32 transactionId, string bridge, string integrator, address referrer, "
  + "address sendingAssetId, address receiver, uint256 minAmount, uint256 destinationChainId, bool hasSourceSwaps, "
  + "bool hasDestinationCall)";
const SWAP_DATA = "(address callTo, address approveTo, address sendingAssetId, address receivingAssetId, "
  + "uint256 fromAmount, bytes callData, bool requiresDeposit)";
const ACROSS_DATA = "(bytes32 receiverAddress, bytes32 refundAddress, bytes32 receivingAssetId, uint256 outputAmount, "
  + "uint128 outputAmountMultiplier, bytes32 exclusiveRelayer, uint32 quoteTimestamp, uint32 fillDeadline, "
  + "uint32 exclusivityDeadline, bytes message)";

const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const acrossArtifact = (path) => read(join(ACROSS, "artifacts/contracts", path));
const safeArtifact = (path) => read(join(SAFE, "build/artifacts/contracts", path));
const mapped = (object, change) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));

function chain(name) {
  const known = chains[name];
  return {
    chainId: known.id,
    title: known.name,
    coin: known.nativeCurrency,
    explorer: known.blockExplorers.default.url,
    rpcUrls: known.rpcUrls.default.http,
    blockSeconds: known.blockTime === undefined ? null : known.blockTime / 1000,
    multicall3: known.contracts?.multicall3 ? ethers.getAddress(known.contracts.multicall3.address) : null,
  };
}

// Request Network's currency package: what it lists on a network, and the chain id it knows it by (of EVM networks).
function currencies(name) {
  const folder = name === "tron" ? "tron" : "evm";
  const data = require(`@requestnetwork/currency/dist/chains/${folder}/data/${name}`);
  return { chainId: data.chainId, tokens: data.currencies ?? {} };
}

function uniswapTokens(chainId) {
  const listed = uniswap.tokens.filter((token) => token.chainId === chainId);
  return Object.fromEntries(listed.map(({ address, name, symbol, decimals }) => [address, { name, symbol, decimals }]));
}

// The price feeds between currencies, by their hashes: {"0x775e...": {"0xa0b8...": 1}}.
function feeds(name) {
  return require(`@requestnetwork/currency/dist/aggregators/${name}.json`);
}

// Where Across is: {"AcrossSpokePool": {"base": "0x09ae..."}, ...} of our networks that it is on.
function acrossDeployments(contract) {
  const deployed = read(join(ACROSS, "dist/deployments/deployments.json"));
  const at = mapped(NETWORKS, (name) => deployed[chains[name].id]?.[contract]?.address);
  return Object.fromEntries(Object.entries(at).filter(([name, address]) => address && name !== "sepolia"));
}

// Where Across knows Permit2 to be, in the constants of its deployment scripts, as text: they load 100 packages.
function permit2(name) {
  const constants = readFileSync(join(ACROSS, "dist/deploy/consts.js"), "utf8");
  const entry = new RegExp(`CHAIN_IDs\\.${name.toUpperCase()}\\]: {[^}]*permit2: "(0x\\w{40})"`);
  return constants.match(entry)?.[1];
}

function deployments(artifact, version = artifact.lastVersion) {
  return mapped(artifact.info[version].deployment, (deployment) => deployment.address);
}

// Signatures by their first four bytes, of events by their first topic: {"a9059cbb": "transfer(address,uint256)"};
// and the parameters of each function by its selector: {"a9059cbb": [["to", "address"], ["amount", "uint256"]]}.
function described(abi) {
  const found = { signatures: {}, parameters: {} };
  const known = new ethers.Interface(abi);
  known.forEachFunction((each) => {
    found.signatures[each.selector.slice(2)] = each.format("sighash");
    found.parameters[each.selector.slice(2)] = each.inputs.map((input) => [input.name, input.format("sighash")]);
  });
  known.forEachError((each) => { found.signatures[each.selector.slice(2)] = each.format("sighash"); });
  known.forEachEvent((each) => { found.signatures[each.topicHash.slice(2)] = each.format("sighash"); });
  return found;
}

const multiSendCallOnly = safeArtifact("libraries/MultiSendCallOnly.sol/MultiSendCallOnly.json");
const safeSource = readFileSync(join(SAFE, "contracts/Safe.sol"), "utf8");

console.log(JSON.stringify({
  chains: mapped(NETWORKS, chain),
  currencies: mapped(NETWORKS, (_, name) => currencies(name)),
  uniswap: mapped(NETWORKS, (name) => uniswapTokens(chains[name].id)),
  native: nativeCurrencies.ETH.filter(({ network }) => network in NETWORKS),
  fiat,
  feeds: mapped({ mainnet: null, matic: null }, (_, name) => feeds(name)),
  deployments: {
    ...mapped(CONTRACTS, (artifact) => deployments(artifact)),
    "ChainlinkConversionPath 0.1.0": deployments(CONTRACTS.ChainlinkConversionPath, "0.1.0"),
    "ChainlinkConversionPath 0.2.0": deployments(CONTRACTS.ChainlinkConversionPath, "0.2.0"),
    AcrossSpokePool: acrossDeployments("SpokePool"),
    AcrossMulticallHandler: acrossDeployments("MulticallHandler"),
    Permit2: mapped(NETWORKS, permit2),
  },
  // Where the Safe singleton factory puts the bytecode of the npm package with salt 0, on every chain.
  multiSendCallOnly: ethers.getCreate2Address(
    "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7", ethers.ZeroHash, ethers.keccak256(multiSendCallOnly.bytecode)
  ),
  safeTxTypehash: safeSource.match(/SAFE_TX_TYPEHASH = (0x[0-9a-f]{64});/)[1],
  validator: { bytecode: erc6492SignatureValidatorByteCode, version: read(join(VIEM, "package.json")).version },
  singleRequestProxy: {
    creation: SingleRequestProxy.bytecode,
    sha256: ethers.sha256(SingleRequestProxy.bytecode).slice(2),
    version: require("@requestnetwork/smart-contracts/package.json").version,
  },
  panics: panicReasons,
  abis: {
    ...mapped(CONTRACTS, (artifact) => described(artifact.getContractAbi())),
    ERC20: described(viem.erc20Abi),
    ERC20SingleRequestProxy: described(SingleRequestProxy.abi),
    Multicall3: described(viem.multicall3Abi),
    Safe: described(safeArtifact("SafeL2.sol/SafeL2.json").abi),
    MultiSendCallOnly: described(multiSendCallOnly.abi),
    AcrossSpokePool: described(acrossArtifact("Ethereum_SpokePool.sol/Ethereum_SpokePool.json").abi),
    AcrossMulticallHandler: described(acrossArtifact("handlers/MulticallHandler.sol/MulticallHandler.json").abi),
    // AcrossFacetV4 and FeeForwarder of github.com/lifinance/contracts, which no package has.
    LiFiDiamond: described([
      "function startBridgeTokensViaAcrossV4(" + BRIDGE_DATA + " _bridgeData, " + ACROSS_DATA + " _acrossData) payable",
      "function swapAndStartBridgeTokensViaAcrossV4(" + BRIDGE_DATA + " _bridgeData, " + SWAP_DATA + "[] _swapData, "
        + ACROSS_DATA + " _acrossData) payable",
    ]),
    LiFiFeeForwarder: described([
      "function forwardERC20Fees(address _token, (address recipient, uint256 amount)[] _distributions)",
    ]),
    // SignatureTransfer and SignatureVerification of github.com/Uniswap/permit2; the package of its runtime has no ABI.
    Permit2: described([
      "function permitWitnessTransferFrom(((address token, uint256 amount)[] permitted, uint256 nonce, uint256 deadline) "
        + "permit, (address to, uint256 requestedAmount)[] transferDetails, address owner, bytes32 witness, "
        + "string witnessTypeString, bytes signature)",
      "error SignatureExpired(uint256 signatureDeadline)",
      ...["InvalidNonce", "InvalidSigner", "InvalidSignature", "InvalidContractSignature", "InvalidSignatureLength"]
        .map((name) => `error ${name}()`),
    ]),
    // The interface of github.com/base/commerce-payments, version 1.0, which no package has.
    AuthCaptureEscrow: described([
      ...["authorize(" + PAYMENT_INFO + ", uint256 amount, address tokenCollector, bytes collectorData)",
        "charge(" + PAYMENT_INFO + ", uint256 amount, address tokenCollector, bytes collectorData, uint16 feeBps, "
          + "address feeReceiver)",
        "capture(" + PAYMENT_INFO + ", uint256 amount, uint16 feeBps, address feeReceiver)",
        "void(" + PAYMENT_INFO + ")",
        "reclaim(" + PAYMENT_INFO + ")",
        "refund(" + PAYMENT_INFO + ", uint256 amount, address tokenCollector, bytes collectorData)",
        "paymentState(bytes32 paymentInfoHash) view returns (bool, uint120, uint120)",
      ].map((signature) => `function ${signature}`),
      "event PaymentCharged(bytes32 indexed paymentInfoHash, " + PAYMENT_INFO + ", uint256 amount, "
        + "address tokenCollector, uint16 feeBps, address feeReceiver)",
      "event PaymentAuthorized(bytes32 indexed paymentInfoHash, " + PAYMENT_INFO + ", uint256 amount, "
        + "address tokenCollector)",
      "event PaymentCaptured(bytes32 indexed paymentInfoHash, uint256 amount, uint16 feeBps, address feeReceiver)",
      "event PaymentVoided(bytes32 indexed paymentInfoHash, uint256 amount)",
      "event PaymentReclaimed(bytes32 indexed paymentInfoHash, uint256 amount)",
      "event PaymentRefunded(bytes32 indexed paymentInfoHash, uint256 amount, address tokenCollector)",
      ...["InvalidSender(address sender, address expected)", "ZeroAmount()", "AmountOverflow(uint256 amount, uint256 limit)",
        "ExceedsMaxAmount(uint256 amount, uint256 maxAmount)", "AfterPreApprovalExpiry(uint48 timestamp, uint48 expiry)",
        "InvalidExpiries(uint48 preApproval, uint48 authorization, uint48 refund)", "FeeBpsOverflow(uint16 feeBps)",
        "InvalidFeeBpsRange(uint16 minFeeBps, uint16 maxFeeBps)",
        "FeeBpsOutOfRange(uint16 feeBps, uint16 minFeeBps, uint16 maxFeeBps)", "ZeroFeeReceiver()",
        "InvalidFeeReceiver(address attempted, address expected)", "InvalidCollectorForOperation()",
        "TokenCollectionFailed()", "PaymentAlreadyCollected(bytes32 paymentInfoHash)",
        "AfterAuthorizationExpiry(uint48 timestamp, uint48 expiry)",
        "InsufficientAuthorization(bytes32 paymentInfoHash, uint256 authorizedAmount, uint256 requestedAmount)",
        "ZeroAuthorization(bytes32 paymentInfoHash)", "BeforeAuthorizationExpiry(uint48 timestamp, uint48 expiry)",
        "AfterRefundExpiry(uint48 timestamp, uint48 expiry)", "RefundExceedsCapture(uint256 refund, uint256 captured)",
      ].map((signature) => `error ${signature}`),
    ]),
    PreApprovalPaymentCollector: described([
      "function preApprove(" + PAYMENT_INFO + ")",
      "function isPreApproved(bytes32 paymentInfoHash) view returns (bool)",
      "event PaymentPreApproved(bytes32 indexed paymentInfoHash)",
      "error PaymentNotPreApproved(bytes32 paymentInfoHash)",
      "error PaymentAlreadyPreApproved(bytes32 paymentInfoHash)",
    ]),
    ERC3009: described([
      "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
      "function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, "
        + "bytes32 nonce, bytes signature)",
      "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
    ]),
    Simple7702Account: described(["function executeBatch((address target, uint256 value, bytes data)[] calls)"]),
    UniversalResolver: described([
      "function resolve(bytes name, bytes data) view returns (bytes answer, address resolver)",
      "function reverse(bytes address_, uint256 coinType) view returns (string name, address resolver, address reverse)",
      "error ResolverNotFound(bytes name)", "error ResolverNotContract(bytes name, address resolver)",
      "error UnsupportedResolverProfile(bytes4 selector)", "error ResolverError(bytes errorData)",
    ]),
    AddrResolver: described(["function addr(bytes32 node) view returns (address)"]),
    AddressResolver: described(["function addr(bytes32 node, uint256 coinType) view returns (bytes)"]),
    // EIP-3668 and ENSIP-21.
    Gateways: described([
      "error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)",
      "function query((address sender, string[] urls, bytes data)[] queries) view returns (bool[] failures, bytes[] responses)",
    ]),
    // ERC-2612, with the version that some tokens tell.
    ERC2612: described([
      "function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)",
      "function nonces(address owner) view returns (uint256)",
      "function DOMAIN_SEPARATOR() view returns (bytes32)",
      "function version() view returns (string)",
    ]),
    // AggregatorV3Interface of Chainlink's documentation; npm @chainlink/contracts would bring 100 packages.
    Aggregator: described([
      "function decimals() view returns (uint8)",
      "function getRoundData(uint80 roundId) view returns (uint80, int256, uint256, uint256, uint80)",
      "function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)",
    ]),
    // No published version of the package has ERC20RecurringPaymentProxy: the function and the errors of its interface.
    ERC20RecurringPaymentProxy: described([
      "function triggerRecurringPayment((address subscriber, address token, address recipient, address feeAddress, "
        + "uint128 amount, uint128 feeAmount, uint128 relayerFee, uint32 periodSeconds, uint32 firstPayment, "
        + "uint8 totalPayments, uint256 nonce, uint256 deadline, bool strictOrder) p, bytes signature, uint8 index, "
        + "bytes paymentReference)",
      ...["BadSignature", "SignatureExpired", "PaymentOutOfOrder", "IndexOutOfBounds", "NotDueYet", "AlreadyPaid"]
        .map((name) => `error ERC20RecurringPaymentProxy__${name}()`),
    ]),
    TokenErrors: described([
      "error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
      "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
    ]),
    // Errors that Solidity itself reverts with; every ethers Interface knows them.
    Solidity: described(["error Error(string)", "error Panic(uint256)"]),
  },
}));
