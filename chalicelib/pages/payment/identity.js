// The page's own list of networks and tokens; a link whose response differs from it is not paid.

// By network: chain id, title, native coin and its currency id; confirmations, explorer, public nodes; then one text per
// token: symbol as in its currency id, decimals, address.
// Written by `make docs`, up to the next mark: networks
export const NETWORKS = {
  mainnet: [
    1, "Ethereum", ["Ether", "ETH", 18], "ETH-mainnet",
    [12, "https://etherscan.io/tx/", "https://ethereum-rpc.publicnode.com"],
    "AAVE 18 0x7Fc66500c84A76Ad7e9c93437bFc5Ac33E2DDaE9",
    "BAT 18 0x0D8775F648430679A709E98d2b0Cb6250d2887EF",
    "BUSD 18 0x4Fabb145d64652a948d72533023f6E7A623C7C53",
    "COMP 18 0xc00e94Cb662C3520282E6f5717214004A7f26888",
    "DAI 18 0x6B175474E89094C44Da98b954EedeAC495271d0F",
    "ENS 18 0xC18360217D8F7Ab5e7c516566761Ea12Ce7F9D72",
    "EURS 2 0xdB25f211AB05b1c97D595516F45794528a807ad8",
    "FRAX 18 0x853d955aCEf822Db058eb8505911ED77F175b99e",
    "GRT 18 0xc944E90C64B2c07662A292be6244BDf05Cda44a7",
    "GUSD 2 0x056Fd409E1d7A124BD7017459dFEa2F387b6d5Cd",
    "INDA 2 0x433d86336dB759855A66cCAbe4338313a8A7fc77",
    "LDO 18 0x5A98FcBEA516Cf06857215779Fd812CA3beF1B32",
    "LINK 18 0x514910771AF9Ca656af840dff83E8264EcF986CA",
    "MANA 18 0x0F5D2fB29fb7d3CFeE444a200298f468908cC942",
    "MKR 18 0x9f8F72aA9304c8B593d555F12eF6589cC3A579A2",
    "OCEAN 18 0x967da4048cD07aB37855c090aAF366e4ce1b9F48",
    "REQ 18 0x8f8221aFbB33998d8584A2B05749bA73c37a938a",
    "SNX 18 0xC011a73ee8576Fb46F5E1c5751cA3B9Fe0af2a6F",
    "SUSD 18 0x57Ab1ec28D129707052df4dF418D58a2D46d5f51",
    "TUSD 18 0x0000000000085d4780B73119b644AE5ecd22b376",
    "UNI 18 0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
    "USDC 6 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    "USDP 18 0x8E870D67F660D95d5be530380D0eC0bd388289E1",
    "USDS 18 0xdC035D45d973E3EC169d2276DDab16f1e407384F",
    "USDT 6 0xdAC17F958D2ee523a2206206994597C13D831ec7",
    "WBTC 8 0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
    "WETH 18 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
    "YFI 18 0x0bc529c00C6401aEF6D220BE8C6Ea1667F6Ad93e",
  ],
  "arbitrum-one": [
    42161, "Arbitrum One", ["Ether", "ETH", 18], "AETH-arbitrum-one",
    [40, "https://arbiscan.io/tx/", "https://arb1.arbitrum.io/rpc"],
    "DAI 18 0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",
    "USDC 6 0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
    "USDS 18 0x6491c05A82219b8D1479057361ff1654749b876b",
    "USDT 6 0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
  ],
  optimism: [
    10, "OP Mainnet", ["Ether", "ETH", 18], "ETH-optimism-optimism",
    [10, "https://optimistic.etherscan.io/tx/", "https://mainnet.optimism.io"],
    "DAI 18 0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",
    "USDCn 6 0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",
    "USDS 18 0x4F13a96EC5C4Cf34e442b46Bbd98a0791F20edC3",
    "USDT 6 0x94b008aA00579c1307B0EF2c499aD98a8ce58e58",
  ],
  base: [
    8453, "Base", ["Ether", "ETH", 18], "ETH-base-base",
    [10, "https://basescan.org/tx/", "https://mainnet.base.org"],
    "DAI 18 0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb",
    "USDC 6 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "USDT 6 0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
  ],
  matic: [
    137, "Polygon", ["POL", "POL", 18], "MATIC-matic",
    [32, "https://polygonscan.com/tx/", "https://polygon-rpc.com"],
    "DAI 18 0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063",
    "mOCEAN 18 0x282d8efCe846A88B159800bd4130ad77443Fa1A1",
    "USDCn 6 0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
    "USDT 6 0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
    "YEL 18 0xD3b71117E6C1558c1553305b44988cd944e97300",
  ],
  bsc: [
    56, "BNB Smart Chain", ["BNB", "BNB", 18], "BNB-bsc",
    [15, "https://bscscan.com/tx/", "https://bsc-dataseed.bnbchain.org"],
    "BUSD 18 0xe9e7CEA3DedcA5984780Bafc599bD69ADd087D56",
    "DAI 18 0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3",
    "USDC 18 0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
    "USDT 18 0x55d398326f99059fF775485246999027B3197955",
  ],
  tron: [
    728126428, "Tron", ["Tronix", "TRX", 6], null,
    [1, "https://tronscan.org/#/transaction/"],
    "USDC 6 TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8",
    "USDT 6 TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
  ],
  sepolia: [
    11155111, "Sepolia", ["Sepolia Ether", "ETH", 18], "ETH-sepolia-sepolia",
    [2, "https://sepolia.etherscan.io/tx/", "https://ethereum-sepolia-rpc.publicnode.com"],
    "FAU 18 0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C",
    "fUSDC 6 0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
    "fUSDT 6 0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78",
  ],
};
// Up to here.

// Hashes by which the contracts know currencies that are not tokens, where they have price feeds.
// Written by `make docs`, up to the next mark: hashes
export const HASHES = {
  AUD: "0x4f99f266506be1475e943b2f097827011bfa4e93", BRL: "0xb50731ca2fd80afe3910a4800225d4845cad266f",
  CAD: "0xfa6faefc053e6c8e393a73dcc12b09fcde019d25", CHF: "0xfac26e3fd40adcdc6652f705d983b4830c00716c",
  CNY: "0x66710cc1372861ec5d5537c075b527b7b3c63c5f", EUR: "0x17b4158805772ced11225e77339f90beb5aae968",
  GBP: "0x013f29832cd6525c4c6df81c2aae8032a1ff2db2", HKD: "0xa25ef954247c614a0036730b129960bc94db36fa",
  IDR: "0x6ea6803339cfeadd84b5b62820c548f53ff7d8e9", ILS: "0x11485b23f0d3db30edb6c876abcc18d699a43e7d",
  INR: "0xab6ce0b86d905929340c640e8bcba8751feea10e", JPY: "0xf68fb12aa78e5c2b3eebd71441a990cd5757055c",
  KRW: "0x0bbb60891a1688271573e5ea4cba84f18cbc0f2d", NZD: "0xe6c09adc89ff4467cea20bc7760e3e59e7c0671d",
  SGD: "0xce80759e72fe1d3c07be79ffecc76a7a9b46c641", THB: "0x717774da93a8ed092f7dba0acbb6977bf4fef912",
  TRY: "0xb7a41bb9ad3cdc5db0e35c12e78106fa3f21693d", USD: "0x775eb53d00dd0acd3ec1696472105d579b9b386b",
  "ETH-mainnet": "0xf5af88e117747e87fc5929f2ff87221b1447652e",
};
// Up to here.

const normalized = (address) => (address.startsWith("0x") ? address.toLowerCase() : address); // base58: case matters

/** Whether name, symbol, decimals and address of a link's network, coin and tokens equal those of the list. */
export function isKnown({ network, chain, payments }) {
  if (!Object.hasOwn(NETWORKS, network)) return false;
  const [chainId, title, coin, native, , ...tokens] = NETWORKS[network];
  const { name, symbol, decimals } = chain.nativeCurrency;
  const fields = tokens.map((text) => text.split(" "));
  const listed = new Map(fields.map(([key, count, address]) => [normalized(address), [key, count]]));
  const isRight = ({ token, id, ...payment }) => {
    if (token === null) return id === native && payment.tokenDecimals === coin[2] && payment.tokenSymbol === coin[1];
    const [key, count] = listed.get(normalized(token)) ?? [];
    return id === `${key}-${network}` && String(payment.tokenDecimals) === count;
  };
  const isChain = chain.chainId === chainId && chain.name === title && String([name, symbol, decimals]) === String(coin);
  return isChain && payments.every(isRight);
}

/** The hash by which the contracts know an invoice currency of so many decimals; undefined if it is not in the lists. */
export function currencyHash(id, decimals, network) {
  const isListed = Object.hasOwn(HASHES, id) && decimals === (id.includes("-") ? 18 : 8);
  const [, , , , , ...tokens] = NETWORKS[network] ?? [];
  const token = tokens.find((text) => text.startsWith(`${id.replace(`-${network}`, "")} ${decimals} `));
  return isListed ? HASHES[id] : token?.split(" ")[2];
}

// The network of a link by the list above, not by the response. `confirmations` is the number that the service waits for;
// `depth` is at least the network's own number, at which a transaction is taken as final.
export function chainOf({ network, chain }) {
  if (!Object.hasOwn(NETWORKS, network)) return { ...chain, explorerUrl: null, publicRpcUrls: [], depth: Infinity };
  const [chainId, name, [coin, symbol, decimals], , [depth, explorerUrl, ...publicRpcUrls]] = NETWORKS[network];
  const { label, confirmations } = chain;
  const facts = { chainId, name, label, explorerUrl, publicRpcUrls, nativeCurrency: { name: coin, symbol, decimals } };
  return { ...facts, confirmations, depth: Math.max(confirmations, depth) };
}
