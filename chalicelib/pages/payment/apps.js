// Links that open this page in the browser inside a wallet app, for phones whose own browser has no wallet.

import { copyField } from "./outcomes.js";

// By app: name, link, and the networks that it pays on. In a link {bare} is the address of the page without `https://`,
// {url} the address percent-encoded, {twice} the same encoded once more, for a link within a link.
// Written by `make docs`, up to the next mark: apps
const APPS = [
  ["MetaMask", "https://link.metamask.io/dapp/{bare}", "mainnet arbitrum-one optimism base matic bsc sepolia"],
  ["Coinbase Wallet", "https://go.cb-w.com/dapp?cb_url={url}", "mainnet arbitrum-one optimism base matic bsc"],
  ["Trust Wallet", "https://link.trustwallet.com/open_url?coin_id=60&url={url}", "mainnet arbitrum-one optimism base matic bsc"],
  ["Rabby", "https://go.rabby.io/mobile/?_cmd=open-dapp&dapp={url}", "mainnet arbitrum-one optimism base matic bsc"],
  ["Rainbow", "https://rnbwapp.com/dapp?url={url}", "mainnet arbitrum-one optimism base matic bsc"],
  ["OKX Wallet", "https://web3.okx.com/download?deeplink=okx%3A%2F%2Fwallet%2Fdapp%2Furl%3FdappUrl%3D{twice}", "mainnet arbitrum-one optimism base matic bsc"],
  ["TronLink", "tronlinkoutside://pull.activity?param=%7B%22url%22%3A%22{url}%22%2C%22action%22%3A%22open%22%2C%22protocol%22%3A%22TronLink%22%2C%22version%22%3A%221.0%22%7D", "tron"],
];
// Up to here.

/** The links to a payment's page for a network: [{ name, href }]; none without https, which the apps do not open. */
export function linksOf(network, page, token) {
  const { protocol, origin, pathname } = new URL(page);
  if (protocol !== "https:") return [];
  // Nothing else that the URL may have.
  const address = `${origin}${pathname}?token=${encodeURIComponent(token)}`;
  const url = encodeURIComponent(address);
  const forms = { bare: address.slice("https://".length), url, twice: encodeURIComponent(url) };
  const href = (link) => link.replace(/\{(\w+)\}/, (hole, form) => forms[form]);
  // MetaMask's app, whose link has {bare}, leaves out the slash after a path: the page would not find its scripts.
  const opens = ([, link, networks]) => networks.split(" ").includes(network) && (pathname === "/" || !link.includes("{bare}"));
  return APPS.filter(opens).map(([name, link]) => ({ name, href: href(link) }));
}

/** The same as a list, and what to do with another app; null if there are none. */
export function appList(app) {
  const { t, el, anchor, paragraph, link, token } = app;
  const found = linksOf(link.network, location.href, token);
  const item = ({ name, href }) => el("li", {}, anchor(href, t("apps.open", { wallet: name }), { class: "wallet" }));
  const address = () => copyField(app, t("manual.address"), location.href, "app-address");
  return found.length > 0 ? [el("ul", { class: "wallets" }, found.map(item)), paragraph(t("apps.other"), "note"), address()] : null;
}
