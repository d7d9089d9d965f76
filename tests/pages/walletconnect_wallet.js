// A wallet on another device, by the library that wallets use: pairs by an address, approves or rejects as it is told, and
// passes on what it is asked for. A JSON text per line: in { do, ... }, out { event, ... }.

const { createInterface } = require("node:readline");
const { SignClient } = require("@walletconnect/sign-client");
const scan = require("jsqr");

const tell = (body) => process.stdout.write(JSON.stringify(body) + "\n");
let client = null;
let answer = null; // to the next proposal

const doing = {
  async start({ relayUrl, projectId, name, redirect }) {
    const metadata = { name, description: "", url: "https://wallet.example", icons: [], redirect };
    client = await SignClient.init({ projectId, relayUrl, metadata, telemetryEnabled: false, logger: "silent" });
    client.core.verify.resolve = async () => undefined; // asks a third host
    client.on("session_proposal", ({ id, params }) => void propose(id, params).catch((error) => tell({ event: "failed", error: String(error.stack) })));
    client.on("session_request", ({ id, topic, params }) => tell({ event: "asked", id, topic, chain: params.chainId, ...params.request }));
    client.on("session_delete", ({ topic }) => tell({ event: "deleted", topic }));
    tell({ event: "started" });
  },
  async pair({ uri, ...how }) {
    answer = how;
    await client.pair({ uri });
  },
  scan({ side, dark }) {
    const [scale, edge] = [4, side * 4];
    const pixels = new Uint8ClampedArray(edge * edge * 4).fill(255);
    for (const [x, y] of dark) {
      for (let at = 0; at < scale * scale; at++) {
        const place = 4 * ((y * scale + Math.floor(at / scale)) * edge + x * scale + (at % scale));
        pixels.set([0, 0, 0], place);
      }
    }
    tell({ event: "scanned", text: scan(pixels, edge, edge)?.data ?? null });
  },
  answer: ({ topic, id, result, error }) => client.respond({ topic, response: { jsonrpc: "2.0", id, ...(error ? { error } : { result }) } }),
  disconnect: ({ topic }) => client.disconnect({ topic, reason: { code: 6000, message: "User disconnected." } }),
  update: async ({ topic, namespaces }) => {
    await (await client.update({ topic, namespaces })).acknowledged();
    tell({ event: "updated" });
  },
  // What pages ask of wallets and wallets of nobody: a wallet's events, a request, and a session on other terms.
  async turn({ topic, chainId, event, request, wanted }) {
    await client.emit({ topic, chainId, event });
    void client.request({ topic, chainId, request }).catch(() => {});
    const { pairingTopic } = client.session.get(topic);
    await client.connect({ pairingTopic, optionalNamespaces: wanted }).then(({ approval }) => void approval().catch(() => {}));
    tell({ event: "turned" });
  },
};

async function propose(id, { optionalNamespaces, requiredNamespaces, proposer }) {
  tell({ event: "proposed", proposer: proposer.metadata, wanted: optionalNamespaces, required: requiredNamespaces });
  const { reject, namespaces, ...more } = answer;
  if (reject) return client.reject({ id, reason: reject });
  const { topic, acknowledged } = await client.approve({ id, namespaces, ...more });
  await acknowledged().catch(() => {});
  tell({ event: "paired", topic });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { do: what, ...body } = JSON.parse(line);
  Promise.resolve().then(() => doing[what](body)).catch((error) => tell({ event: "failed", error: String(error.stack) }));
});
