// Pays a request with the client that orval made, and holds bodies and responses to the zod schemas that it made.

import { createRequest, payRequest, readRequest } from './client/client';
import { createRequestBody, payRequestResponse, readRequestResponse } from './client/zod';
import { item, run, stack, whilePaying } from './shared';

const options = { headers: { 'x-api-key': stack.api_key as string } };

run(async () => {
  const made = await createRequest(createRequestBody.parse(item('fUSDC-sepolia')), options);
  if (made.status !== 201) throw new Error(JSON.stringify(made.data));
  const calldata = await payRequest(made.data.requestId, { wallet: stack.payer.address }, options);
  if (calldata.status !== 200) throw new Error(JSON.stringify(calldata.data));
  const checked = payRequestResponse.parse(calldata.data);
  if (!('transactions' in checked)) throw new Error('a payment intent');
  await whilePaying(checked.transactions, async () => {
    const found = await readRequest(made.data.requestId, options);
    if (found.status !== 200) throw new Error(JSON.stringify(found.data));
    return readRequestResponse.parse(found.data);
  });
});
