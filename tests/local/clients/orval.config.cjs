// The client by fetch, for the stack at BASE_URL, and the zod schemas of bodies and responses.

const input = process.env.DOCUMENT;

module.exports = {
  client: { input, output: { target: 'client/client.ts', client: 'fetch', baseUrl: process.env.BASE_URL } },
  schemas: { input, output: { target: 'client/zod.ts', client: 'zod' } },
};
