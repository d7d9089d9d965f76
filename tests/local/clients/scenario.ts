// The demo's scenario with the client that @hey-api/openapi-ts generated: argv[2] is the description of the stack.
// Prints the transactions that pay the link, waits for a line on standard input, and prints what it reads then.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import {
  createSecurePayment,
  createWebhook,
  listCurrencies,
  listDeliveries,
  listTransfers,
  paySecurePayment,
  readSecurePayment,
} from './client';
import { client } from './client/client.gen';

const stack = JSON.parse(readFileSync(process.argv[2], 'utf-8'));
client.setConfig({ baseUrl: stack.base_url, auth: (scheme) => (scheme.name === 'x-api-key' ? stack.api_key : undefined) });
const wallet: string = stack.payer.address;

const EVENTS = 2; // payment.confirmed and payment.confirmed.checkout

async function aLine(): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  await new Promise((resolve) => lines.once('line', resolve));
  lines.close();
}

async function run(): Promise<void> {
  const currencies = await listCurrencies({ query: { network: 'sepolia', symbol: 'fUSDC' }, throwOnError: true });
  const [token] = [currencies.data].flat();
  const hook = await createWebhook({ body: { url: 'http://127.0.0.1:64999/typescript' }, throwOnError: true });
  if (!('id' in hook.data)) throw new Error(JSON.stringify(hook.data)); // it waits for an approval
  const item = { amount: '12.50', payee: stack.payee, invoiceCurrency: token.id, paymentCurrency: token.id };
  const created = await createSecurePayment({
    body: { requests: [item], reference: 'generated', feePercentage: '1', feeAddress: stack.payee },
    headers: { 'Idempotency-Key': 'typescript-1' },
    throwOnError: true,
  });
  const path = { token: created.data.token };
  const shown = await readSecurePayment({ path, query: { wallet }, throwOnError: true });
  if (shown.data.paymentType !== 'single' || shown.data.amount !== '12.5') throw new Error(JSON.stringify(shown.data));
  const calldata = await paySecurePayment({ path, query: { wallet }, throwOnError: true });
  console.log(JSON.stringify(calldata.data.transactions));
  await aLine();

  let transfers = await listTransfers({ path, throwOnError: true });
  let deliveries = await listDeliveries({ path: { webhook_id: hook.data.id }, throwOnError: true });
  const told = () => transfers.data.transfers.length && deliveries.data.deliveries.length >= EVENTS;
  for (let tries = 0; tries < 300 && !told(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    transfers = await listTransfers({ path, throwOnError: true });
    deliveries = await listDeliveries({ path: { webhook_id: hook.data.id }, throwOnError: true });
  }
  const completed = await readSecurePayment({ path });
  const [transfer] = transfers.data.transfers;
  const events = [...new Set(deliveries.data.deliveries.map((each) => each.event))].sort();
  console.log(JSON.stringify({ status: completed.error?.statusCode, counted: transfer.counted, amount: transfer.amount, events }));
}

run().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
