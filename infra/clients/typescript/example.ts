/**
 * Creates a request, lists requests and payments, and verifies a webhook. Needs API_URL and API_KEY in the environment.
 *
 * HOOK_URL is where the service reaches this machine; locally http://127.0.0.1:<port>/hook.
 */

import { createServer } from "node:http";
import { Client, Conflict, InvalidSignature, type models, verifyWebhook } from "payment-requests";

const PAYEE = "0x1d2f9a3e8f6b7c4d5e6f708192a3b4c5d6e7f801";
const { API_URL = "", API_KEY = "", HOOK_URL = "" } = process.env;

/** The event of the first webhook that is verified. */
function receive(port: number, secret: string): Promise<models.WebhookEvent> {
  return new Promise((found) => {
    const server = createServer(async (request, response) => {
      const parts: Uint8Array[] = [];
      for await (const part of request) parts.push(part);
      try {
        const event = await verifyWebhook(Buffer.concat(parts), request.headers, secret);
        response.writeHead(204, { connection: "close" }).end(() => server.close(() => found(event)));
      } catch (error) {
        response.writeHead(error instanceof InvalidSignature ? 401 : 500).end();
      }
    }).listen(port, "127.0.0.1");
  });
}

const client = new Client(API_URL, { apiKey: API_KEY });
const currency = "fUSDC-sepolia";
const body = { amount: "12.5", payee: PAYEE, invoiceCurrency: currency, paymentCurrency: currency };
const made = await client.requests.create(body);
console.log("status", (await client.requests.get(made.requestId)).status);
let isListed = false;
for await (const each of client.requests.list({ limit: 1 })) isListed ||= each.requestId === made.requestId;
console.log("listed", isListed);
let havePaid = true;
for await (const payment of client.payments.list({ network: "sepolia" })) havePaid &&= Number(payment.amount) > 0;
console.log("payments", havePaid);
await client.requests.cancel(made.requestId);
try {
  await client.requests.pay(made.requestId, { wallet: PAYEE });
} catch (error) {
  if (!(error instanceof Conflict)) throw error;
  console.log("refused", error.status, error.text !== "", error.requestId !== null);
}
const webhook = await client.webhooks.create({ url: HOOK_URL, events: ["payment.confirmed"] });
const event = receive(Number(new URL(HOOK_URL).port), webhook.secret);
await client.webhooks.test({ eventType: "payment.confirmed" });
console.log("event", (await event).event);
await client.webhooks.delete(webhook.id);
