/** A client of the Payment Request Service. */

export { Client } from "./client.js";
export type { CallOptions, ClientOptions } from "./core.js";
export {
  ApiError,
  BadRequest,
  Conflict,
  ConnectionFailed,
  Forbidden,
  InvalidSignature,
  NotFound,
  PaymentRequestsError,
  RateLimited,
  ServerError,
  Unauthorized,
  Unprocessable,
  WaitsForApproval,
} from "./errors.js";
export type * as models from "./models.js";
export { VERSION } from "./version.js";
export { verifyWebhook } from "./webhooks.js";
