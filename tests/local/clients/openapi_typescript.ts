// Pays a request with the types that openapi-typescript made, by openapi-fetch.

import createClient from 'openapi-fetch';
import type { paths } from './client/schema';
import { item, run, stack, whilePaying } from './shared';

const client = createClient<paths>({ baseUrl: stack.base_url, headers: { 'x-api-key': stack.api_key } });

run(async () => {
  const made = await client.POST('/v2/request', {
    body: item('fUSDC-sepolia'),
    params: { header: { 'Idempotency-Key': 'openapi-typescript' } },
  });
  if (!made.data) throw new Error(JSON.stringify(made.error));
  const path = { request_id: made.data.requestId };
  const calldata = await client.GET('/v2/request/{request_id}/pay', {
    params: { path, query: { wallet: stack.payer.address } },
  });
  if (!calldata.data || !('transactions' in calldata.data)) throw new Error(JSON.stringify(calldata.error));
  await whilePaying(calldata.data.transactions, async () => {
    const found = await client.GET('/v2/request/{request_id}', { params: { path } });
    if (!found.data) throw new Error(JSON.stringify(found.error));
    return found.data;
  });
});
