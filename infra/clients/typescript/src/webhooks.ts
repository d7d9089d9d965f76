/** Verifies webhooks, in the form of Standard Webhooks. */

import { InvalidSignature } from "./errors.js";
import type { WebhookEvent } from "./models.js";

/** By how many seconds the time of an attempt may differ from the clock. */
const TOLERANCE = 300;

/**
 * The event that a webhook tells of. Throws InvalidSignature if it is not from the service, or not of now.
 *
 * `body` is what was received, before anything parses it; `secret` is `secret` or `standardSecret`, as it was returned once.
 * A delivery may come twice: its id is the header `webhook-id`.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string,
  now: number = Date.now() / 1000,
): Promise<WebhookEvent> {
  const sent = headers instanceof Headers ? Object.fromEntries(headers) : headers;
  const named = new Map(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => named.get(name));
  if (!id || !timestamp || !signatures) throw new InvalidSignature("a header of the signature is missing");
  if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > TOLERANCE) {
    throw new InvalidSignature("the webhook is not of now");
  }
  const encoder = new TextEncoder();
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const start = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + bytes.length);
  signed.set(start);
  signed.set(bytes, start.length);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", keyOf(secret), algorithm, false, ["verify"]);
  for (const entry of signatures.split(" ")) {
    const [version, value] = entry.split(",");
    const signature = version === "v1" && value ? bytesOf(value) : null;
    if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
      return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
    }
  }
  throw new InvalidSignature("no signature of the webhook is by this secret");
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = secret.startsWith("whsec_") ? bytesOf(secret.slice("whsec_".length)) : new TextEncoder().encode(secret);
  if (key === null) throw new InvalidSignature("the secret is not base64");
  return key;
}

/** What base64 text stands for; null if it is none. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  } catch {
    return null;
  }
}
