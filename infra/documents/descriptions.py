"""What the OpenAPI document says of all operations: groups, credentials, path parameters, headers, error statuses."""

from typing import Any

from chalicelib.platform.access.idempotency.rules import MAX_KEY_LENGTH
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.sessions.rules import COOKIE

DESCRIPTION = (
    "Payment links and payouts in tokens on EVM networks and Tron. Amounts are decimal texts, times are ISO 8601 in "
    "UTC, unknown fields of a body are ignored unless its schema says otherwise, and a response may get new fields. "
    "`/openapi.json` has this in OpenAPI 3.1, with the events as `webhooks`; generators that make no usable client of "
    "these, such as openapi-generator, take `/openapi-3.0.json`, which has the same operations without them."
)

WAITS = "The account has approvals: nothing is changed yet, and this change waits for another person or for a delay"
TAGS = {
    "payments.requests": ("Requests", "Amounts that are owed: create them, change them"),
    "payments.search payments.archive": (
        "Search", "The status of a request, and lists of requests, payments and links",
    ),
    "books": ("Books", "Receipts of what was paid, and the journal in double entries"),
    "payments.links": ("Links", "Create payment links, payouts, and links over several payouts"),
    "checkout crosschain gasless": (
        "Checkout", "What a payer is shown and signs, and transactions that are on their way",
    ),
    "recurring": ("Recurring payouts", "Payouts in many payments that their payer signs once"),
    "commerce.service": ("Commerce payments", "Payments into an escrow, from which they are captured or given back"),
    "payments.transfers": ("Transfers", "Every transfer of a link or a request, and refunds"),
    "webhooks": ("Webhooks", "Receive events, and see what was delivered"),
    "sandbox": ("Test mode", "Pay on virtual chains, and move them and the clock, with an API key for test mode"),
    "payments.currencies": ("Currencies", "The tokens that are supported"),
    "offramp.payers": ("Payers", "Who is paid out in fiat: identity, agreement and bank accounts"),
    "offramp.service": ("Off-ramp", "What the compliance and off-ramp provider tells"),
    "accounts.payees": ("Payee destinations", "In which token and on which chain a wallet is paid"),
    "accounts.sign_in": ("Sign in", "Sessions by e-mail address or wallet"),
    "accounts.email": ("E-mail", "Confirming addresses, and passwords that were forgotten"),
    "accounts.passkeys": ("Passkeys", "Signing in and proving presence by WebAuthn"),
    "accounts.members": ("Members", "People in an account: roles and invitations"),
    "accounts.notifications": ("Notifications", "Which e-mails about payments an account wants"),
    "accounts.settings": ("Account", "Settings that concern all members"),
    "accounts.changes": ("Changes", "Changes of where money goes that wait for a second person"),
    "accounts.api_keys": ("API keys", "Credentials of servers"),
    "accounts.client_ids": ("Client ids", "Credentials of web pages, and what they may create"),
    "accounts.branding": ("Branding", "How payment pages of a client id look"),
    "accounts.domains": ("Domains", "The domain of a client id, as payment pages show it"),
    "accounts.orchestrators": ("Orchestrators", "Platforms that create links for other accounts"),
    "accounts.audit_log": ("Audit log", "Who changed what"),
    "payments.scanning": ("Networks", "How far each network is read"),
    "platform.http": ("Service", "Health, and this document"),
}
"""The name and description of each group of operations, in the order of reading, by its packages below chalicelib."""


def tag_of(api: str) -> str:
    """The name of the group of a module such as `chalicelib.payments.links.payouts.api`."""
    package = api.removeprefix("chalicelib.").removesuffix(".api")
    for keys, (name, _) in TAGS.items():
        if any(f"{package}.".startswith(f"{key}.") for key in keys.split()):
            return name
    raise LookupError(f"chalicelib.{package} is in no group of TAGS of infra/documents/descriptions.py: add it to one")


SECURITY_SCHEMES: dict[str, dict[str, str]] = {
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "For servers; a key can be limited to scopes and addresses",
    },
    "clientId": {
        "type": "apiKey",
        "in": "header",
        "name": "x-client-id",
        "description": "With an Origin header among the client id's allowed domains, unless it has none",
    },
    "orchestratorKey": {
        "type": "apiKey",
        "in": "header",
        "name": "x-orchestrator-key",
        "description": "Of a platform, mostly beside the client id that it acts for",
    },
    "sessionCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Set by signing in. A header x-signed-in-as: <personId>/<id>, as GET /v1/auth/me says both, has "
        "a call that is meant for somebody else refused (409)",
    },
    "sessionToken": {"type": "http", "scheme": "bearer", "description": "The value of the session cookie"},
}
SECURITY: dict[Mode, list[dict[str, list[str]]]] = {
    Mode.PUBLIC: [{}],
    Mode.ORCHESTRATOR: [{"orchestratorKey": [], "clientId": []}],
    Mode.ORCHESTRATOR_KEY: [{"orchestratorKey": []}],
    Mode.API_KEY: [{"apiKey": []}],
    Mode.CLIENT_ID: [{"clientId": []}],
    Mode.SESSION: [{"sessionCookie": []}, {"sessionToken": []}],
}
"""The entries of a list are alternatives; the names in an entry are needed together."""

PATH_PARAMETERS = {
    "change_id": "The change",
    "client_id": "A client id, as in x-client-id",
    "client_user_id": "Your own id of the person; an e-mail address has its @ sent as %40",
    "currency_id": "An `id` of GET /v2/currencies",
    "delivery_id": "The id of a delivery",
    "destination_id": "`<wallet>@eip155:<chain id>#<checksum>:<token address>`, the # sent as %23",
    "event_id": "The `id` of an event, as GET /v1/webhook/events lists them",
    "id": "The `id` of a client id's record",
    "identity_id": "The `id` of a way to sign in, as GET /v1/auth/me lists them",
    "intent_id": "The `paymentIntentId` of a payment intent",
    "payment_id": "The `gaslessPaymentId` of a gasless payment",
    "invitation_id": "The `id` of an invitation",
    "key_id": "The `id` of an API key",
    "orchestrator_id": "The `id` of an orchestrator",
    "passkey_id": "The `id` of a passkey",
    "person_id": "The `id` of a member",
    "recurring_id": "The `id` of a recurring payout",
    "request_id": "The id of a request; where it is read, its payment reference, too",
    "session_id": "The `id` of a session",
    "token": "The token of a link",
    "webhook_id": "The `id` of a webhook",
}
"""What stands at each place of a path."""

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A request that is sent again under its key within 24 hours has no second effect",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[ -~]*$"},
    "example": "order-1001",
}
HEADERS: dict[str, dict[str, Any]] = {
    "x-request-id": {"description": "Names the request, also in the service's log", "schema": {"type": "string"}},
    "RateLimit-Limit": {"description": "Calls allowed in the window", "schema": {"type": "integer", "minimum": 0}},
    "RateLimit-Remaining": {"description": "Calls left in the window", "schema": {"type": "integer", "minimum": 0}},
    "RateLimit-Reset": {"description": "Seconds until it ends", "schema": {"type": "integer", "minimum": 0}},
    "Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer", "minimum": 0}},
    "Idempotent-Replayed": {
        "description": "Sent if the response is the one stored for the Idempotency-Key",
        "schema": {"const": "true"},
    },
}
ERRORS = {
    400: ("The request cannot be used; the message says what to change", "amount: Amount must be greater than 0"),
    401: ("The credential is missing, unknown, expired or revoked", "Unauthorized"),
    403: ("The credential may not do this, or the link cannot be paid", "This API key lacks the scope audit:read"),
    404: ("It does not exist, or it belongs to another account", "Secure payment not found"),
    409: ("It conflicts with the present state, or the request with this key is running", "Payment completed"),
    413: ("The body is larger than 256 kB", "The body is larger than 256 kB: send less at once"),
    415: ("The body is not JSON", "Send the body as JSON, with content-type: application/json"),
    422: (
        "The idempotency key was used with another body",
        "This Idempotency-Key was used with another body: use a new key for a new request",
    ),
    423: ("A transaction that pays the link is pending", "Payment in progress"),
    429: ("A rate limit is exceeded", "Too many requests"),
    502: ("The Tron node did not confirm that it received the transaction", "The Tron node did not answer"),
    503: ("A node or another service did not answer", "The node of sepolia did not answer: try again"),
}
"""What an error status means, and a message with it."""
