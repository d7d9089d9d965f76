/** What goes wrong, as classes of errors. */

export class PaymentRequestsError extends Error {
  override name = this.constructor.name;
}

/** No response was received: of what changes something it is not known whether it was done. */
export class ConnectionFailed extends PaymentRequestsError {}

/** A webhook that is not from the service, or not of now. */
export class InvalidSignature extends PaymentRequestsError {}

/** `code` is null if the body has none; `requestId` is what the operator finds the request by. */
export class ApiError extends PaymentRequestsError {
  constructor(
    readonly status: number,
    readonly code: string | null,
    readonly text: string,
    readonly requestId: string | null,
    readonly body: unknown,
  ) {
    super(`${status} ${text}${requestId ? ` (request ${requestId})` : ""}`);
  }
}

/** 202: the change was asked for, and takes effect once it is approved: `body.pendingChange`. */
export class WaitsForApproval extends ApiError {}
export class BadRequest extends ApiError {}
export class Unauthorized extends ApiError {}
export class Forbidden extends ApiError {}
export class NotFound extends ApiError {}
export class Conflict extends ApiError {}
export class Unprocessable extends ApiError {}
export class RateLimited extends ApiError {}
export class ServerError extends ApiError {}

const BY_STATUS: Record<number, typeof ApiError> = {
  202: WaitsForApproval,
  400: BadRequest,
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  422: Unprocessable,
  429: RateLimited,
};

/** The error that a response tells of. */
export function errorOf(status: number, body: unknown, requestId: string | null): ApiError {
  const fields = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const { code, message } = fields;
  const text = typeof message === "string" ? message : message ? JSON.stringify(message) : "the response has no message";
  const kind = BY_STATUS[status] ?? (status >= 500 ? ServerError : ApiError);
  return new kind(status, typeof code === "string" ? code : null, text, requestId, body);
}
