// The contracts that take payments, as the page itself knows them: a response alone cannot name another one. By network,
// where coin is the pseudo token address of the native coin in a batch and in a conversion; and the hash of the dollar,
// which is its address in a path of conversions.

const chain = (chainId, erc20, batch, native, coin, conversion, coinConversion) =>
  ({ chainId, erc20, batch, native, coin, conversion, coinConversion });
// Written by `make docs`, up to the next mark: contracts
export const USD = "775eb53d00dd0acd3ec1696472105d579b9b386b";
export const CONTRACTS = {
  mainnet: chain(
    1, "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C", "0x3cF63891928B8CeebB81C95426600a18cd59C03f",
    "0xfCFBcfc4f5A421089e3Df45455F7f4985FE2D6a8", "0xf5af88e117747e87fc5929f2ff87221b1447652e",
    "0xe72Ecea44b6d8B2b3cf5171214D9730E86213cA2", "0x7Ebf48a26253810629C191b56C3212Fd0D211c26",
  ),
  "arbitrum-one": chain(
    42161, "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9", "0x3cF63891928B8CeebB81C95426600a18cd59C03f",
    "0xfCFBcfc4f5A421089e3Df45455F7f4985FE2D6a8", "0x0ee88324f875d378f9a06643830934cadff6b1e5",
  ),
  optimism: chain(
    10, "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE", "0x3cF63891928B8CeebB81C95426600a18cd59C03f",
    "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687", "0x058fa190e345e245c74b4f1adbff6adfcfd8fff3",
  ),
  base: chain(
    8453, "0x1892196E80C4c17ea5100Da765Ab48c1fE2Fb814", "0x1aF3f22685AcdDc788B3730ed415912d8f654420",
    "0xd9C3889eB8DA6ce449bfFE3cd194d08A436e96f2", "0xb678b03f3f3a6ea652ad1d183032fac176d83b08",
  ),
  matic: chain(
    137, "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9", "0x3cF63891928B8CeebB81C95426600a18cd59C03f",
    "0xfCFBcfc4f5A421089e3Df45455F7f4985FE2D6a8", "0x23c7fe5a44ca213deed6f3e2e714d747fcbcdbf0",
    "0xf0f49873C50765239F6f9534Ba13c4fe16eD5f2E", "0x7Ebf48a26253810629C191b56C3212Fd0D211c26",
  ),
  bsc: chain(
    56, "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9", "0x3cF63891928B8CeebB81C95426600a18cd59C03f",
    "0xfCFBcfc4f5A421089e3Df45455F7f4985FE2D6a8", "0x281162bd0b7a4162cb676bc4873734497b3af025",
  ),
  tron: chain(
    728126428, "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd", "TRZbXXuLd3HW5utzVysA3rpLgU7sVBrd1D",
  ),
  sepolia: chain(
    11155111, "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE", "0x67818703c92580c0e106e401F253E8A410A66f8B",
    "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687", "0xbb3546497a53cd710beb11b84c5240327f145bcb",
  ),
};
// Up to here.
