// Programs that create a link and check a webhook, with what the account has, to be copied and run.

import { html, useState } from "./vendor.js";
import { clean, t } from "./text.js";
import { API, SIGNATURE, call, me, query } from "./api.js";
import { Field, Loaded, Title, useLoad } from "./components.js";

const LANGUAGES = ["curl", "python", "node"];

/** What the account has: its client ids, the tokens, and who was paid last, else the wallet that is signed in. */
async function readOwn() {
  const [clients, currencies, { requests }] = await Promise.all([
    call("GET", "/v1/client-ids"), call("GET", "/v2/currencies"), call("GET", `/v2/request${query({ limit: 1 })}&cursor=`),
  ]);
  const [last] = requests;
  const wallet = me.value.identities.find((/** @type {any} */ each) => each.type === "wallet")?.name;
  const payee = last?.payee ?? wallet ?? "";
  const tokens = currencies.filter((/** @type {any} */ each) => each.network && (payee.startsWith("T") === (each.network === "tron")));
  return { clients: clients.filter((/** @type {any} */ each) => each.status === "active"), currencies: tokens, payee, currency: last?.paymentCurrency };
}

function Snippets() {
  const loaded = useLoad(readOwn, []);
  return html`
    <${Title}>${t("nav.snippets")}<//>
    <p class="hint">${t("snippets.text")}</p>
    <${Loaded} of=${loaded}>${(/** @type {any} */ own) => html`<${Programs} of=${own} />`}<//>
  `;
}

/** @param {any} props */
function Programs({ of: own }) {
  const [language, setLanguage] = useState("curl");
  const first = own.currencies.find((/** @type {any} */ each) => each.id === own.currency) ?? own.currencies[0];
  const [typed, setTyped] = useState({ payee: own.payee, currency: first?.id ?? "", amount: "12.50", clientId: "" });
  const change = (/** @type {string} */ name) => (/** @type {string} */ value) => setTyped({ ...typed, [name]: value });
  const programs = writePrograms({ ...typed, payee: clean(typed.payee.trim()), amount: typed.amount.trim() });
  return html`
    <section class="card">
      <div class="filters">
        <${Field} is="select" label=${t("snippets.language")} value=${language} onValue=${setLanguage}>${LANGUAGES.map((each) => html`<option key=${each} value=${each}>${t(`snippets.${each}`)}</option>`)}<//>
        <${Field} label=${t("payee")} spellcheck="false" value=${typed.payee} onValue=${change("payee")} problem=${!typed.payee.trim() && t("snippets.payee")} />
        <${Field} is="select" label=${t("token")} value=${typed.currency} onValue=${change("currency")}>${own.currencies.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.id}>${each.id}</option>`)}<//>
        <${Field} label=${t("amount")} inputmode="decimal" value=${typed.amount} onValue=${change("amount")} />
        ${own.clients.length > 0 && html`
          <${Field} is="select" label=${t("filter.clientId")} value=${typed.clientId} onValue=${change("clientId")}>
            <option value="">${t("none")}</option>${own.clients.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.clientId}>${clean(each.label)}</option>`)}
          <//>
        `}
      </div>
    </section>
    ${Object.entries(programs).map(([name, texts]) => html`<${Program} key=${name} name=${name} text=${texts[language]} />`)}
  `;
}

/** @param {any} props */
function Program({ name, text }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), () => {});
  return html`
    <section class="card" aria-labelledby=${`snippet-${name}`}>
      <div class="title"><h2 id=${`snippet-${name}`}>${t(`snippets.${name}`)}</h2><button type="button" class="quiet" onClick=${copy}>${t(isCopied ? "copied" : "copy")}</button></div>
      <p class="hint">${t(`snippets.${name}.text`)}</p>
      <pre class="program" tabindex="0" aria-labelledby=${`snippet-${name}`}>${text}</pre>
    </section>
  `;
}

/** @param {{ payee: string, currency: string, amount: string, clientId: string }} facts @returns {Record<string, Record<string, string>>} The text of each program by language. */
function writePrograms({ payee, currency, amount, clientId }) {
  const item = { amount, payee, invoiceCurrency: currency, paymentCurrency: currency };
  const body = JSON.stringify({ reference: "INV-1", requests: [item] }, null, 2);
  const url = `${API}/v2/secure-payments`;
  const [client, literal] = [clientId ? `\n  -H 'x-client-id: ${clientId}' \\` : "", clientId ? `, "x-client-id": ${JSON.stringify(clientId)}` : ""];
  return {
    create: {
      curl: `curl -sSf '${url}' \\
  -H "x-api-key: \${API_KEY:?}" \\${client}
  -H 'content-type: application/json' -d @- <<'JSON'
${body}
JSON
`,
      python: `import json, os, urllib.request

body = ${body}
headers = {"x-api-key": os.environ["API_KEY"], "content-type": "application/json"${literal}}
call = urllib.request.Request("${url}", json.dumps(body).encode(), headers)
with urllib.request.urlopen(call) as response:
    print(json.load(response)["securePaymentUrl"])
`,
      node: `const body = ${body};
const headers = { "x-api-key": process.env.API_KEY, "content-type": "application/json"${literal} };
const response = await fetch("${url}", { method: "POST", headers, body: JSON.stringify(body) });
if (!response.ok) throw new Error(await response.text());
console.log((await response.json()).securePaymentUrl);
`,
    },
    verify: {
      curl: `# body holds the bytes that were received, SIGNATURE the value of ${SIGNATURE}
computed=$(openssl dgst -sha256 -hmac "\${WEBHOOK_SECRET:?}" -r body | cut -d ' ' -f 1)
test "$computed" = "\${SIGNATURE:?}" && echo genuine
`,
      python: `import hashlib, hmac, os
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        expected = hmac.new(SECRET, body, hashlib.sha256).hexdigest().encode()
        is_genuine = hmac.compare_digest(expected, self.headers.get("${SIGNATURE}", "").encode())
        if is_genuine:
            print(body.decode(), flush=True)
        self.send_response(204 if is_genuine else 401)
        self.end_headers()


HTTPServer(("", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
`,
      node: `import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const expected = createHmac("sha256", process.env.WEBHOOK_SECRET).update(body).digest("hex");
  const sent = [expected, String(request.headers["${SIGNATURE}"])].map((each) => Buffer.from(each));
  const isGenuine = sent[0].length === sent[1].length && timingSafeEqual(...sent);
  if (isGenuine) console.log(body.toString());
  response.writeHead(isGenuine ? 204 : 401).end();
}).listen(Number(process.env.PORT ?? 8080));
`,
    },
  };
}

export const views = { snippets: Snippets };
