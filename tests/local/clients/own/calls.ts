/** Makes the calls of test_client_calls.py with the client in TypeScript, and prints what each led to as JSON. */

import { ApiError, Client, ConnectionFailed, InvalidSignature, verifyWebhook } from "payment-requests";

const [url = "", given = "[]"] = process.argv.slice(2);
const signing = { calls: "0x", announcerSecret: "s" };
let slept: number[] = [];
const sleep = async (milliseconds: number) => slept.push(milliseconds / 1000);
const client = new Client(url, { apiKey: "key", clientId: "cli_1", authUrl: `${url}/auth`, sleep });

async function outcome(call: () => Promise<unknown>): Promise<unknown> {
  slept = [];
  try {
    const result = await call();
    return ["returned", result, slept.filter(Number.isInteger), slept.length];
  } catch (error) {
    if (error instanceof ApiError) {
      return [error.name, error.status, error.code, error.text, error.requestId, error.body, slept.length];
    }
    if (error instanceof ConnectionFailed || error instanceof InvalidSignature) return [error.name, slept.length];
    throw error;
  }
}

async function all<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const found = [];
  for await (const each of entries) found.push(each);
  return found;
}

const calls: Record<string, () => Promise<unknown>> = {
  created: () => client.requests.create({ amount: "1", invoiceCurrency: "USD", paymentCurrency: "USDC-base" }),
  "with own key": () => client.requests.cancel("r/1 ?", { idempotencyKey: "mine" }),
  "once only": () => client.links.claimSigning("t", signing),
  limited: () => client.links.claimSigning("limited", signing),
  "reset once only": () => client.links.claimSigning("reset", signing),
  reset: () => client.requests.get("reset"),
  refused: () => client.requests.get("refused"),
  listed: () => all(client.payments.list({ network: "base", limit: 2 })),
  followed: () => all(client.events.listNext()),
  "one page": () => client.payments.listPage({ cursor: "c2" }),
  waits: () => client.webhooks.create({ url: "https://shop.example/" }),
  accepted: () => client.webhooks.redeliver("w", "d"),
  "no json": () => client.service.showStatus(),
};
const found: Record<string, unknown> = {};
for (const [name, call] of Object.entries(calls)) found[name] = await outcome(call);
const hooks = [];
for (const { body, headers, secret } of JSON.parse(given)) hooks.push(await outcome(() => verifyWebhook(body, headers, secret)));
console.log(JSON.stringify({ calls: found, hooks }));
