// Pays a request with the client that openapi-generator made for typescript-fetch.

import { CheckoutApi, Configuration, RequestsApi, SearchApi } from './client';
import { item, run, stack, whilePaying } from './shared';

const configuration = new Configuration({ basePath: stack.base_url, headers: { 'x-api-key': stack.api_key } });

run(async () => {
  const made = await new RequestsApi(configuration).createRequest({
    createRequest: item('fUSDC-sepolia'),
    idempotencyKey: 'typescript-fetch',
  });
  const requestId = made.requestId;
  const calldata = await new CheckoutApi(configuration).payRequest({ requestId, wallet: stack.payer.address });
  await whilePaying(calldata.transactions, () => new SearchApi(configuration).readRequest({ requestId }));
});
