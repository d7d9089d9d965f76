/** Calls of the API: credentials, retries with idempotency keys, and pages of lists. */

import { ConnectionFailed, errorOf } from "./errors.js";

const ATTEMPTS = 4;
const DELAY = 500;
const REPEATABLE = ["GET", "PUT", "DELETE"]; // RFC 9110, 9.2.2
const LONGEST = 30_000;
/** The statuses after which the same request may succeed. */
const LATER = [429, 500, 502, 503, 504];

export interface ClientOptions {
  apiKey?: string;
  clientId?: string;
  orchestratorKey?: string;
  /** The host of the operations under /v1, where a deployment has another one for them. */
  authUrl?: string;
  /** In milliseconds, of one attempt. */
  timeout?: number;
  fetch?: typeof fetch;
  /** Waits for so many milliseconds. */
  sleep?: (milliseconds: number) => Promise<unknown>;
}

export interface CallOptions {
  /** Where your program may itself repeat the call; otherwise a random one is sent. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

interface Request {
  verb: string;
  path: string;
  body?: unknown;
  query?: object;
  takesKey?: boolean;
}

/**
 * Calls operations with one or more credentials. A call is made up to four times: after 429, and, if repeating it has no
 * second effect, after 5xx and broken connections. GET, PUT and DELETE are repeated so, and all that takes an
 * idempotency key.
 */
export class Caller {
  private readonly url: string;
  private readonly authUrl: string;
  private readonly headers: Record<string, string>;

  constructor(
    url: string,
    private readonly options: ClientOptions,
  ) {
    this.url = url.replace(/\/+$/, "");
    this.authUrl = (options.authUrl ?? url).replace(/\/+$/, "");
    const { apiKey, clientId, orchestratorKey } = options;
    this.headers = {
      ...(apiKey ? { "x-api-key": apiKey } : {}),
      ...(clientId ? { "x-client-id": clientId } : {}),
      ...(orchestratorKey ? { "x-orchestrator-key": orchestratorKey } : {}),
    };
  }

  /** The JSON of the response. Throws ApiError, or ConnectionFailed if there is none. */
  async call<Result>(request: Request, options: CallOptions): Promise<Result> {
    const headers = { ...this.headers };
    if (request.body !== undefined) headers["content-type"] = "application/json";
    if (request.takesKey) headers["idempotency-key"] = options.idempotencyKey ?? crypto.randomUUID();
    const isRepeatable = request.takesKey === true || REPEATABLE.includes(request.verb);
    const sleep = this.options.sleep ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds)));
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt === ATTEMPTS - 1;
      let response: Response;
      let body: unknown;
      try {
        response = await this.send(request, headers, options);
        body = await jsonOf(response);
      } catch (error) {
        if (isLast || !isRepeatable || options.signal?.aborted) throw new ConnectionFailed(String(error), { cause: error });
        await sleep(delayOf(attempt, null));
        continue;
      }
      if (!isLast && (isRepeatable ? LATER : LATER.slice(0, 1)).includes(response.status)) {
        await sleep(delayOf(attempt, response.headers.get("retry-after")));
        continue;
      }
      const waits = response.status === 202 && typeof body === "object" && body !== null && "pendingChange" in body;
      if (response.ok && !waits) return body as Result;
      throw errorOf(response.status, body, response.headers.get("x-request-id"));
    }
  }

  private send(request: Request, headers: Record<string, string>, options: CallOptions): Promise<Response> {
    const url = new URL((request.path.startsWith("/v1/") ? this.authUrl : this.url) + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    }
    const timeout = AbortSignal.timeout(this.options.timeout ?? 35_000);
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    const body = request.body === undefined ? {} : { body: JSON.stringify(request.body) };
    return (this.options.fetch ?? fetch)(url, { method: request.verb, headers, signal, ...body });
  }
}

interface PageOf {
  nextCursor?: string | null | undefined;
  hasMore?: boolean | undefined;
  pagination?: { nextCursor?: string | null | undefined; hasMore?: boolean | undefined };
}

/** The entries of all pages, in order. A page is read when the first entry of it is asked for. */
export async function* pagesOf<Entry>(
  read: (place: string | null) => Promise<object>,
  field: string,
): AsyncGenerator<Entry, void> {
  let place: string | null = null;
  while (true) {
    const page: PageOf & Record<string, unknown> = (await read(place)) as PageOf & Record<string, unknown>;
    yield* page[field] as Entry[];
    const about: PageOf = page.pagination ?? page;
    place = about.nextCursor ?? null;
    if (place === null || about.hasMore === false) return;
  }
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The milliseconds until the next attempt: as long as the service asks for, or twice as long each time. */
function delayOf(attempt: number, retryAfter: string | null): number {
  if (retryAfter && /^\d+$/.test(retryAfter)) return Math.min(Number(retryAfter) * 1000, LONGEST);
  return (0.5 + Math.random() / 2) * DELAY * 2 ** attempt; // so that many clients do not come back together
}
