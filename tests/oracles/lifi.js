// Asks a router with npm @lifi/sdk. Input and output as of wallets.js; what the library throws is {error}.
const { createInterface } = require("node:readline");
const { createClient, getContractCallsQuote, getStatus, getTokens } = require("@lifi/sdk");

const asked = { quote: getContractCallsQuote, status: getStatus, tokens: getTokens };

async function answer({ ask, url, apiKey, parameters }) {
  const client = createClient({ integrator: "tests", apiUrl: `${url}/v1`, apiKey, disableVersionCheck: true });
  try {
    return await asked[ask](client, parameters);
  } catch (error) {
    return { error: { status: error.cause?.status, message: error.message, body: error.cause?.responseBody } };
  }
}

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    const found = [];
    for (const question of JSON.parse(line)) found.push(await answer(question));
    process.stdout.write(JSON.stringify(found) + "\n");
  }
}

main();
