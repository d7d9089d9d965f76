// What the scenarios in TypeScript share: the stack of argv[2], a line of standard input, and waiting.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export const stack = JSON.parse(readFileSync(process.argv[2], 'utf-8'));

export const item = (currency: string) => ({
  amount: '12.50',
  payee: stack.payee as string,
  invoiceCurrency: currency,
  paymentCurrency: currency,
});

interface Found {
  hasBeenPaid: boolean;
  status: string;
  payments: { amount: string }[];
}

/** Prints the transactions, waits for a line, reads until the request is paid, and prints what was read last. */
export async function whilePaying(transactions: unknown, read: () => Promise<Found>): Promise<void> {
  console.log(JSON.stringify(transactions));
  const lines = createInterface({ input: process.stdin });
  await new Promise((resolve) => lines.once('line', resolve));
  lines.close();
  let found = await read();
  for (let tries = 0; tries < 300 && !found.hasBeenPaid; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    found = await read();
  }
  console.log(JSON.stringify({ paid: found.hasBeenPaid, status: found.status, amount: found.payments[0].amount }));
}

export function run(scenario: () => Promise<void>): void {
  scenario().catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
}
