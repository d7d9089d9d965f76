import { createHmac, timingSafeEqual } from "node:crypto";

/** Whether a webhook is from this service: its body as it was received, and the header x-service-signature. */
export function isGenuine(body: Uint8Array, signature: string, secret: string): boolean {
  const expected = Buffer.from(createHmac("sha256", secret).update(body).digest("hex"));
  const sent = Buffer.from(signature);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}
