// Runs the page's wallets.js, sessions.js and tron.js against fake wallets. Output: what came of each scenario, by name; a
// second lasts a millisecond, so that what hangs is waited for. Each scenario has a window of its own.
const fs = require("fs");
const os = require("os");
const path = require("path");

const { ME, OTHER, HASH, OWNER, PROXY, TX_ID, icon, info, never, failing } = require("./fake_wallets.js");
const { announcing, framed, provider, tronBuilt, tronWeb } = require("./fake_wallets.js");

const PAGES = path.join(__dirname, "../../chalicelib/pages/payment");
const MODULES = [
  "abi.js", "addresses.js", "energy.js", "files.js",
  "link.js", "notes.js", "sessions.js", "tron.js", "wallets.js",
];
const BASE = {
  chainId: 8453,
  name: "Base",
  label: "BASE",
  confirmations: 10,
  explorerUrl: "https://basescan.org/tx/",
  publicRpcUrls: ["https://mainnet.base.org"],
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
};
const TRON = { ...BASE, chainId: 728126428, name: "Tron", confirmations: 1 };
const CALL = { to: OTHER, data: "0xc219a14d", value: "0x0" };

async function only(discover, family) {
  const found = discover(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  const wallets = found.list().filter((wallet) => wallet.family === family);
  if (wallets.length !== 1) throw new Error(`${wallets.length} wallets`);
  return wallets[0];
}

async function evm(discover, answers) {
  const mine = provider(answers);
  announcing("eip6963", { info: info("One", "io.one"), provider: mine });
  const wallet = await only(discover, "evm");
  return { mine, wallet, connect: () => wallet.connect() };
}

async function sending(discover, answers, transaction = CALL) {
  const { mine, connect } = await evm(discover, answers);
  const session = await connect();
  const outcome = await session.send(transaction, BASE).catch(told);
  const sent = mine.asked.filter(([method]) => method === "eth_sendTransaction").map(([, params]) => params);
  return { outcome, sent };
}

async function switching(discover, answers) {
  const { mine, connect } = await evm(discover, answers);
  const session = await connect();
  const outcome = await session.ensureChain(BASE).then(() => "there", told);
  return { outcome, asked: mine.asked.filter(([method]) => method.startsWith("wallet_")) };
}

async function onTron(discover, changes, provided = {}) {
  const web = tronWeb(changes);
  const mine = { ...provider({ eth_requestAccounts: [[OWNER]], eth_chainId: ["0x2b6653dc"], ...provided }), tronWeb: web };
  announcing("TIP6963", { info: info("Tron", "org.tron"), provider: mine });
  const session = await (await only(discover, "tron")).connect();
  return { web, mine, session };
}

async function sendingOnTron(discover, changes, provided) {
  const { web, session } = await onTron(discover, changes, provided);
  const transaction = { to: PROXY, data: "0xc219a14d", value: "0x0", feeLimit: 1000 };
  const outcome = await session.send(transaction, TRON).catch(told);
  return JSON.parse(JSON.stringify({ outcome, sent: web.sent }).replaceAll(web.id, TX_ID)); // its time is in its id
}

// The wallet shows what was built, and signs the bytes of something else.
function signingOnTron(discover, data, changes) {
  const sign = async ({ raw_data }) => ({ ...tronBuilt(data, changes), raw_data, signature: ["00"] });
  return sendingOnTron(discover, { trx: { sign } });
}

const SAFE = { safeAddress: ME, chainId: 8453 };
const told = ({ code, hash }) => (hash ? { code, hash } : { code });
const receipt = { transactionHash: HASH, blockNumber: "0x64", status: "0x1" };

const SCENARIOS = {
  async "two announced at once"(discover) {
    const first = { info: info("One", "io.one"), provider: provider() };
    const again = announcing("eip6963", first);
    announcing("eip6963", { info: info("One, again", "io.one", "another"), provider: provider() });
    announcing("eip6963", { info: info("Two", "io.two"), provider: provider() });
    let told = 0;
    const found = discover(() => told++);
    again();
    await null;
    const before = told;
    announcing("eip6963", { info: info("Three", "io.three"), provider: provider() })();
    await null;
    const list = found.list().map(({ id, name, family }) => [id, name, family]);
    found.stop();
    announcing("eip6963", { info: info("Four", "io.four"), provider: provider() })();
    await null;
    return { list, before: before > 0, after: told > before, stopped: found.list().length === 3 };
  },
  async "odd announcements"(discover) {
    const good = provider();
    for (const detail of [
      undefined,
      {},
      { info: info("No provider", "a.b") },
      { info: null, provider: good },
      { info: info({}, "a.c"), provider: good },
      { info: info("<b>Long</b>\n" + "x".repeat(500), "a.d"), provider: good },
      { info: { ...info("Web icon", "a.e"), icon: "https://example.com/i.png" }, provider: good },
      { info: { ...info("Big icon", "a.f"), icon: icon + "A".repeat(70_000) }, provider: good },
      { info: { ...info("No rdns", undefined, "some-uuid") }, provider: good },
      { info: { ...info("Odd rdns", "a b", "c d") }, provider: good },
    ]) {
      announcing("eip6963", detail);
    }
    return discover(() => {}).list().map(({ id, name, icon }) => [id, name, icon]);
  },
  async "window.ethereum when nobody is announced"(discover) {
    window.ethereum = provider();
    const found = discover(() => {});
    const alone = found.list();
    const same = found.list()[0] === alone[0];
    announcing("eip6963", { info: info("One", "io.one"), provider: provider() })();
    return { alone: alone.map(({ id }) => id), same, with: found.list().map(({ id }) => id) };
  },
  async "a wallet that comes late"(discover) {
    let told = 0;
    const found = discover(() => told++);
    window.ethereum = provider();
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { told, list: found.list().map(({ id }) => id) };
  },
  async "connects"(discover) {
    const { address, family } = await (await evm(discover)).connect();
    return { address, family };
  },
  "connection refused": async (discover) => (await evm(discover, { eth_requestAccounts: [failing(4001)] })).connect().catch(told),
  "connection busy": async (discover) => (await evm(discover, { eth_requestAccounts: [failing(-32002)] })).connect().catch(told),
  "connection hangs": async (discover) => (await evm(discover, { eth_requestAccounts: [never] })).connect().catch(told),
  "no account": async (discover) => (await evm(discover, { eth_requestAccounts: [[]] })).connect().catch(told),
  "accounts of another type": async (discover) => (await evm(discover, { eth_requestAccounts: ["0x"] })).connect().catch(told),
  "an address of another type": async (discover) => (await evm(discover, { eth_requestAccounts: [[[ME]]] })).connect().catch(told),
  "an address too short": async (discover) => (await evm(discover, { eth_requestAccounts: [["0x12"]] })).connect().catch(told),
  async "resumes without a prompt"(discover) {
    const { mine, wallet } = await evm(discover);
    return { address: (await wallet.resume()).address, asked: mine.asked };
  },
  "nothing to resume": async (discover) => (await evm(discover, { eth_accounts: [[]] })).wallet.resume(),
  "resuming fails": async (discover) => (await evm(discover, { eth_accounts: [failing(-32603)] })).wallet.resume(),
  "sends": (discover) => sending(discover),
  "sends coins": (discover) => sending(discover, {}, { ...CALL, value: { type: "BigNumber", hex: "0x0de0b6b3a7640000" } }),
  "sending refused": (discover) => sending(discover, { eth_sendTransaction: [failing(4001)] }),
  "sending refused in words": (discover) => sending(discover, { eth_sendTransaction: [failing(undefined, "User denied")] }),
  "sending fails": (discover) => sending(discover, { eth_sendTransaction: [failing(-32000, "insufficient funds")] }),
  "sending hangs": (discover) => sending(discover, { eth_sendTransaction: [never] }),
  "a hash of another type": (discover) => sending(discover, { eth_sendTransaction: [{ hash: HASH }] }),
  "a hash too short": (discover) => sending(discover, { eth_sendTransaction: ["0x12"] }),
  "a list of hashes": (discover) => sending(discover, { eth_sendTransaction: [[HASH]] }),
  "another account before sending": (discover) => sending(discover, { eth_accounts: [[OTHER, ME]] }),
  "no account before sending": (discover) => sending(discover, { eth_accounts: [[]] }),
  "another chain before sending": (discover) => sending(discover, { eth_chainId: ["0x1"] }),
  "a chain of another type before sending": (discover) => sending(discover, { eth_chainId: [[8453]] }),
  "a chain that is no whole number before sending": (discover) => sending(discover, { eth_chainId: [8453.5] }),
  "the chain as a number": (discover) => sending(discover, { eth_chainId: [8453] }),
  "the chain as decimal text": (discover) => sending(discover, { eth_chainId: ["8453"] }),
  "another chain as a number": (discover) => sending(discover, { eth_chainId: [1] }),
  "a chain in words before sending": (discover) => sending(discover, { eth_chainId: ["base"] }),
  "the chain hangs before sending": (discover) => sending(discover, { eth_chainId: [never] }),
  "already there": (discover) => switching(discover),
  "switches": (discover) => switching(discover, { eth_chainId: ["0x1", "0x2105"], wallet_switchEthereumChain: [null] }),
  "switches late": (discover) => switching(discover, { eth_chainId: ["0x1", "0x1", "0x1", "0x2105"], wallet_switchEthereumChain: [null] }),
  "says it has switched": (discover) => switching(discover, { eth_chainId: ["0x1"], wallet_switchEthereumChain: [null] }),
  "switching refused": (discover) => switching(discover, { eth_chainId: ["0x1"], wallet_switchEthereumChain: [failing(4001)] }),
  "switching unknown": (discover) => switching(discover, { eth_chainId: ["0x1"] }),
  "switching hangs": (discover) => switching(discover, { eth_chainId: ["0x1"], wallet_switchEthereumChain: [never] }),
  "adds the chain": (discover) =>
    switching(discover, {
      eth_chainId: ["0x1", "0x2105"],
      wallet_switchEthereumChain: [failing(4902)],
      wallet_addEthereumChain: [null],
    }),
  "adds the chain and switches": (discover) =>
    switching(discover, {
      eth_chainId: ["0x1", "0x1", "0x2105"],
      wallet_switchEthereumChain: [failing(-32603, "inner", { originalError: { code: 4902 } }), null],
      wallet_addEthereumChain: [null],
    }),
  ...Object.fromEntries(
    [
      ["an inner error alone", failing(-32603)],
      ["the code within data", failing(-32603, "inner", { code: 4902 })],
      ["the code within data, as text", failing("-32603", "inner", { code: "4902" })],
      ["no method to switch", failing(-32601)],
    ].map(([name, refusing]) => [
      `adds the chain after ${name}`,
      (discover) =>
        switching(discover, {
          eth_chainId: ["0x1", "0x2105"],
          wallet_switchEthereumChain: [refusing],
          wallet_addEthereumChain: [null],
        }),
    ]),
  ),
  "adds the chain and cannot switch": (discover) =>
    switching(discover, {
      eth_chainId: ["0x1"],
      wallet_switchEthereumChain: [failing(-32601)],
      wallet_addEthereumChain: [null],
    }),
  "adding refused": (discover) =>
    switching(discover, {
      eth_chainId: ["0x1"],
      wallet_switchEthereumChain: [failing(4902)],
      wallet_addEthereumChain: [failing(4001)],
    }),
  async "changes are told"(discover) {
    const { mine, connect } = await evm(discover);
    const session = await connect();
    const heard = [];
    const off = session.onChange((what) => heard.push(what));
    mine.emit("accountsChanged", [ME.toLowerCase()]);
    mine.emit("accountsChanged", [OTHER]);
    mine.emit("accountsChanged", []);
    mine.emit("accountsChanged", null);
    mine.emit("chainChanged", "0x1");
    mine.emit("disconnect");
    off();
    return { heard, left: Object.keys(mine.heard) };
  },
  async "a receipt"(discover) {
    const { connect } = await evm(discover, { eth_getTransactionReceipt: [receipt], eth_blockNumber: ["0x66"] });
    return (await connect()).receipt(HASH, BASE);
  },
  async "a failed receipt ahead of its block"(discover) {
    const failed = { ...receipt, status: "0x0" };
    const { connect } = await evm(discover, { eth_getTransactionReceipt: [failed], eth_blockNumber: ["0x60"] });
    return (await connect()).receipt(HASH, BASE);
  },
  async "odd receipts"(discover) {
    const odd = [{ ...receipt, status: "0x2" }, { ...receipt, transactionHash: "0x" + "11".repeat(32) }, { ...receipt, blockNumber: 100 }];
    const { connect } = await evm(discover, { eth_getTransactionReceipt: [...odd, null, { ...receipt, blockNumber: null }], eth_blockNumber: ["0x64"] });
    const session = await connect();
    const outcomes = [];
    for (let turn = 0; turn < 5; turn++) outcomes.push(await session.receipt(HASH, BASE).catch(told));
    return outcomes;
  },
  async "a receipt of another chain"(discover) {
    const { connect } = await evm(discover, { eth_chainId: ["0x1"], eth_getTransactionReceipt: [null] });
    return (await connect()).receipt(HASH, BASE).catch(told);
  },
  async "reads"(discover) {
    const { mine, connect } = await evm(discover, { eth_getTransactionCount: ["0x7", "0x8", 9], eth_call: ["0x05", "0x5", {}] });
    const session = await connect();
    const nonces = [await session.nonce(), await session.nonce("pending"), await session.nonce().catch(told)];
    const call = () => session.call({ to: OTHER, data: "0x" }).catch(told);
    const blocks = mine.asked.filter(([method]) => method === "eth_getTransactionCount").map(([, params]) => params[1]);
    return { nonces, blocks, calls: [await call(), await call(), await call()] };
  },
  "tron: sends": (discover) => sendingOnTron(discover),
  "tron: another transaction is built": (discover) => sendingOnTron(discover, { data: "ffff" }),
  "tron: another transaction is signed": (discover) =>
    sendingOnTron(discover, { trx: { sign: async (each) => ({ ...each, raw_data: tronBuilt("ffff").raw_data, signature: ["00"] }) } }),
  "tron: bytes of another call are signed": (discover) => signingOnTron(discover, "ffff"),
  "tron: bytes that go elsewhere are signed": (discover) =>
    signingOnTron(discover, "c219a14d", { value: { contract_address: "41" + "66".repeat(20) } }),
  "tron: bytes with coins are signed": (discover) => signingOnTron(discover, "c219a14d", { value: { call_value: 1 } }),
  "tron: bytes with a higher fee limit are signed": (discover) => signingOnTron(discover, "c219a14d", { feeLimit: 1001 }),
  "tron: bytes that are valid for a day are signed": (discover) => signingOnTron(discover, "c219a14d", { valid: 86_400_000 }),
  "tron: a higher fee limit is signed": (discover) =>
    sendingOnTron(discover, { trx: { sign: async (each) => ({ ...each, raw_data: { ...each.raw_data, fee_limit: 1001 }, signature: ["00"] }) } }),
  "tron: tokens are to go with it": (discover) => sendingOnTron(discover, { value: { call_token_value: 1, token_id: 1002000 } }),
  "tron: it is valid for a day": (discover) => sendingOnTron(discover, { valid: 86_400_000 }),
  "tron: the payer's clock is slow": (discover) => sendingOnTron(discover, { valid: 150_000, ahead: 90_000 }),
  "tron: it never expires": (discover) => sendingOnTron(discover, { valid: NaN }),
  "tron: another id": (discover) => sendingOnTron(discover, { id: "ee".repeat(32) }),
  "tron: it is signed for a day": (discover) =>
    sendingOnTron(discover, { trx: { sign: async (each) => ({ ...each, raw_data: tronBuilt("c219a14d", { valid: 86_400_000 }).raw_data, signature: ["00"] }) } }),
  "tron: signing refused": (discover) =>
    sendingOnTron(discover, { trx: { sign: () => Promise.reject("Confirmation declined by user") } }),
  "tron: signing hangs": (discover) => sendingOnTron(discover, { trx: { sign: never } }),
  "tron: the node refuses": (discover) =>
    sendingOnTron(discover, { trx: { sendRawTransaction: async () => ({ code: "TRANSACTION_EXPIRATION_ERROR" }) } }),
  "tron: the node refuses what it did not answer before": (discover) => {
    const answers = [failing(undefined, "timeout"), () => ({ code: "TRANSACTION_EXPIRATION_ERROR" })];
    return sendingOnTron(discover, { trx: { sendRawTransaction: async () => answers.shift()() } });
  },
  "tron: the node has it already": (discover) =>
    sendingOnTron(discover, { trx: { sendRawTransaction: async () => ({ code: "DUP_TRANSACTION_ERROR" }) } }),
  "tron: the node is away": (discover) => sendingOnTron(discover, { trx: { sendRawTransaction: never } }),
  "tron: another network": (discover) => sendingOnTron(discover, {}, { eth_chainId: ["0xcd8690dc"] }),
  "tron: the network by its first block": (discover) => sendingOnTron(discover, {}, { eth_chainId: [failing(4200)] }),
  "tron: an address of another family": async (discover) => onTron(discover, {}, { eth_requestAccounts: [[ME]] }).catch(told),
  async "tron: another account before sending"(discover) {
    const { web, session } = await onTron(discover);
    web.defaultAddress.base58 = PROXY;
    return session.send({ to: PROXY, data: "0xc219a14d", value: 0, feeLimit: 1000 }, TRON).catch(told);
  },
  async "tron: locked before sending"(discover) {
    const { web, session } = await onTron(discover);
    web.defaultAddress = { hex: false, base58: false };
    return session.send({ to: PROXY, data: "0xc219a14d", value: 0, feeLimit: 1000 }, TRON).catch(told);
  },
  async "tron: receipts"(discover) {
    const mined = { id: TX_ID, blockNumber: 7, receipt: { result: "SUCCESS" } };
    const infos = [{}, mined, { ...mined, result: "FAILED", receipt: { result: "REVERT" } }, { ...mined, id: "ee".repeat(32) }];
    const solid = [{}, {}, {}, {}, mined];
    const { session } = await onTron(discover, {
      trx: { getTransactionInfo: async () => solid.shift(), getUnconfirmedTransactionInfo: async () => infos.shift() },
    });
    const outcomes = [];
    for (let turn = 0; turn < 5; turn++) outcomes.push(await session.receipt(TX_ID, TRON).catch(told));
    return { outcomes, nonce: await session.nonce(), call: await session.call({ to: PROXY, data: "0x" }) };
  },
  async "tron: TronLink as it was"(discover) {
    window.tronWeb = tronWeb();
    window.tronWeb.defaultAddress = { base58: false };
    const answers = [{ code: 4001 }, { code: 4000 }, { code: 200 }];
    window.tronLink = { request: async ({ method }) => (method === "tron_requestAccounts" ? answers.shift() : never()), tronWeb: window.tronWeb };
    const wallet = await only(discover, "tron");
    const refused = [await wallet.resume(), await wallet.connect().catch(told), await wallet.connect().catch(told)];
    window.tronWeb.defaultAddress = { base58: OWNER };
    const session = await wallet.connect();
    const heard = [];
    session.onChange((what) => heard.push(what));
    const say = (action) => {
      const message = Object.assign(new Event("message"), { data: { isTronLink: true, message: { action } } });
      Object.defineProperty(message, "source", { value: window });
      window.dispatchEvent(message);
    };
    say("setAccount");
    say("setNode");
    window.tronWeb.defaultAddress = { base58: PROXY };
    say("setAccount");
    const resumed = (await wallet.resume()).address;
    return { id: wallet.id, refused, address: session.address, chain: await session.chainId(), heard, resumed };
  },
  async "tron: a bare tronWeb"(discover) {
    window.tronWeb = tronWeb();
    const session = await (await only(discover, "tron")).connect();
    return { address: session.address, there: await session.ensureChain(TRON).then(() => true), elsewhere: await session.ensureChain(BASE).catch(told) };
  },
  async "safe: found and sent to"(discover) {
    const asked = framed({ getSafeInfo: SAFE, sendTransactions: { safeTxHash: HASH } });
    const session = await (await only(discover, "safe")).connect();
    const answer = await session.send([{ ...CALL, value: "0x10" }, CALL], BASE);
    return { address: session.address, answer, last: asked.at(-1), first: asked[0] };
  },
  async "safe: a hash of another type"(discover) {
    framed({ getSafeInfo: SAFE, sendTransactions: { safeTxHash: "0x1" } });
    return (await (await only(discover, "safe")).connect()).send([CALL], BASE).catch(told);
  },
  async "safe: refused"(discover) {
    framed({ getSafeInfo: SAFE, sendTransactions: new Error("Transaction was rejected") });
    return (await (await only(discover, "safe")).connect()).send([CALL], BASE).catch(told);
  },
  async "safe: another chain"(discover) {
    framed({ getSafeInfo: { ...SAFE, chainId: "1" } });
    const session = await (await only(discover, "safe")).connect();
    return [await session.ensureChain(BASE).catch(told), await session.send([CALL], BASE).catch(told)];
  },
  async "safe: reads"(discover) {
    framed({ getSafeInfo: SAFE, rpcCall: "0x05" });
    const session = await (await only(discover, "safe")).connect();
    return { call: await session.call({ to: OTHER, data: "0x" }), nonce: await session.nonce() };
  },
  async "safe: nobody answers"(discover) {
    framed({});
    return only(discover, "safe").catch(({ message }) => message);
  },
  async "safe: somebody else answers"(discover) {
    framed({ getSafeInfo: SAFE }, { source: {} });
    return only(discover, "safe").catch(({ message }) => message);
  },
  async "safe: an odd answer"(discover) {
    framed({ getSafeInfo: { safeAddress: "0x1", chainId: 1 } });
    return only(discover, "safe").catch(({ message }) => message);
  },
  async "safe: another origin answers later"(discover) {
    framed({ getSafeInfo: SAFE, sendTransactions: { safeTxHash: HASH } }, { origin: (method) => (method === "getSafeInfo" ? "https://app.safe.global" : "https://evil.example") });
    return (await (await only(discover, "safe")).connect()).send([CALL], BASE).catch(told);
  },
};

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "wallets-"));
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  for (const name of MODULES) fs.copyFileSync(path.join(PAGES, name), path.join(folder, name));
  process.on("exit", () => fs.rmSync(folder, { recursive: true }));
  global.document = { querySelectorAll: () => [] };
  const { discover } = await import(path.join(folder, "wallets.js"));
  await import(path.join(folder, "tron.js")); // now, with sessions.js, as it is fetched while a wallet is waited for otherwise
  const later = globalThis.setTimeout;
  globalThis.setTimeout = (work, milliseconds, ...given) => later(work, milliseconds > 200 ? milliseconds / 1000 : milliseconds, ...given);
  const outcomes = {};
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    globalThis.window = new EventTarget();
    window.parent = window;
    outcomes[name] = (await scenario(discover)) ?? null;
  }
  process.stdout.write(JSON.stringify(outcomes), () => process.exit(0));
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
