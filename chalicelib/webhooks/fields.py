"""The fields of events: what each means, its type and form, and whether it is personal data.

kinds.py says which kind of event has which of them. A client id is public, so whoever sends it can register a webhook.
Until the account confirms such a webhook it is sent the values of what is declared by `public` alone: what is public on
the chain, such as who paid, is no secret. What is declared by `personal` is about the merchant's customer, and empty.
"""

from typing import Any

from chalicelib.base.frozen import frozen

ABSENT: Any = object()
"""As an example: a sample does not have the field."""
ALWAYS = "always"
REQUEST_ID, ORIGINAL_ID = "01" + "7e57" * 16, "01" + "0a57" * 16
_TX_HASH = "0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef"
_WALLET = "0x742d35Cc6634C0532925a3b844Bc454e4438f44e"


@frozen
class Field:
    """A field of events, or a part of one that is an object.

    `type` is one of TYPES, with ` or null` after it if the value may be null. `present` says when an event has it.
    `values` are all that it may have; none if there are others. Those with `parts` are objects of the model `model`.
    In a sample it has the value `example`.
    """

    name: str
    type: str
    meaning: str
    example: Any = ABSENT
    present: str = ALWAYS
    values: tuple[Any, ...] = ()
    model: str = ""
    parts: tuple["Field", ...] = ()
    is_personal: bool = False

    @property
    def is_required(self) -> bool:
        """Whether every webhook is sent it with every event that has it."""
        return self.present == ALWAYS


TYPES = ("text", "amount", "time", "boolean", "number", "object", "list of objects", "list of texts")
"""An *amount* is decimal text, a *time* ISO 8601 in UTC with milliseconds."""


def public(name: str, type: str, meaning: str, example: Any = ABSENT, **more: Any) -> Field:
    """A field whose value every webhook is sent."""
    return Field(name, type, meaning, example, **more)


def personal(name: str, type: str, meaning: str, example: Any = ABSENT, **more: Any) -> Field:
    """A field that is empty for a webhook which a client id alone registered, until it is confirmed."""
    return Field(name, type, meaning, example, is_personal=True, **more)


EVENT = public("event", "text", "The kind of the event")
TIMESTAMP = public("timestamp", "time", "When the service recorded it")
SEQUENCE = public(
    "sequence",
    "number",
    "Higher than that of every earlier event about the same thing: they happened in this order, however they arrive",
    1,
    present="if it was stored by a version that numbers events",
)
PAYMENT_ID = (
    public("requestId", "text", "The id of the request: `01` and 64 hex digits", REQUEST_ID),
    public("requestID", "text", "The same as `requestId`", REQUEST_ID),
    public(
        "paymentReference", "text", "The 8-byte reference in the payment's calldata, as 0x hex", "0x7e57abcdef123456"
    ),
    public(
        "explorer",
        "text",
        "`EXPLORER_URL/request/<requestId>`; on the local stack it opens the payment page of the link, or shows the "
        "state of a request without one",
    ),
)
PROCESSOR = public(
    "paymentProcessor",
    "text",
    "The setting `PAYMENT_PROCESSOR`; of events about the way to a bank account `FIAT_PROCESSOR`",
)
CREATED = public(
    "createdWith",
    "text",
    "What the request was created with: `apiKey`, `clientId`, `orchestrator` or `session`",
    "apiKey",
    present="if known",
    values=("apiKey", "clientId", "orchestrator", "session"),
)
REQUEST = (EVENT, *PAYMENT_ID, TIMESTAMP, PROCESSOR, CREATED)
"""What every event about a request has."""

AMOUNT = public("amount", "amount", "What this payment counts for, in the invoice currency", "100")
TOTAL = public("totalAmountPaid", "amount", "What is paid of the request in all, in the invoice currency", "100")
EXPECTED = public("expectedAmount", "amount", "What the request asks for, in the invoice currency", "100")
TX_HASH = public("txHash", "text", "The hash of the transaction of the payment, transfer or refund", _TX_HASH)
FAILED_TX_HASH = public(
    "txHash",
    "text or null",
    "The hash of the transaction of the payment; `null` if a recurring payout is paused, if a payout to a bank account "
    "failed before its payment, and if no transaction ended a commerce payment",
    _TX_HASH,
)
NETWORK = public("network", "text", "The network of the payment, transfer or refund", "mainnet")
CURRENCY = public("currency", "text", "The symbol of the invoice currency; for a refund, of the token", "USDC")
PAYMENT_CURRENCY = public("paymentCurrency", "text", "The symbol of the token that was paid", "USDC")
IS_FIAT = public("isCryptoToFiat", "boolean", "Whether it is paid out to a bank account", False)
IS_PAID_OUT = public("isCryptoToFiat", "boolean", "Whether it is paid out to a bank account", True, values=(True,))
_CONVERTED = "if it was converted"
CONVERSION = (
    public("conversionRate", "amount", "What one token is worth in the invoice currency", present=_CONVERTED),
    public(
        "conversionRateSource", "amount", "What one unit of the invoice currency costs in the token", present=_CONVERTED
    ),
    public("conversionRateDestination", "amount", "The same as `conversionRate`", present=_CONVERTED),
    public("convertedAmountSource", "amount", "What was paid, in units of the token", present=_CONVERTED),
    public("convertedAmountDestination", "amount", "The same as `amount`", present=_CONVERTED),
    public("rateProvider", "text", "Who gave the rate, such as `chainlink` or `coingecko`", present=_CONVERTED),
)
RECURRING_PAYMENT = public(
    "recurringPayment",
    "object",
    "The recurring payout",
    present="if the request is a period of a recurring payout",
    model="EventRecurringPayment",
    parts=(public("id", "text", "As POST /v2/payouts returned it"),),
)
FACTS = (AMOUNT, TOTAL, EXPECTED)
PLACE = (NETWORK, CURRENCY, PAYMENT_CURRENCY, IS_FIAT, *CONVERSION, RECURRING_PAYMENT)

PAYEE = public("payee", "text", "The address that received it, EIP-55 or base58", _WALLET)
REFERENCE = public("reference", "text or null", "Your own reference of the link or request", "INV-1")
PAYER = public(
    "payerAddress", "text or null", "Who sent it, by the word of one node; `null` if the chain does not tell", _WALLET
)
CLIENT_ID = public("clientId", "text", "That client id", "cli_test", present="if the link or request has a client id")
ORIGIN = public(
    "origin",
    "text",
    "The origin that it was created from; empty if none was sent",
    "https://shop.example",
    present="if the link or request has a client id",
)
_CUSTOMER_ADDRESS = tuple(
    public(name, "text", meaning, present="if it was given")
    for name, meaning in (
        ("street", "Street and number"),
        ("city", "The town"),
        ("state", "State or province"),
        ("postalCode", "Postal code"),
        ("country", "Two letters, such as US"),
    )
)
EXCESS = public("excessAmount", "amount", "By how much, in the invoice currency", present="if it is overpaid")
STATED = public(
    "statedAmount",
    "amount",
    "What the payment itself says was paid, in units of the token. A token that keeps a part of what it moves pays "
    "less",
    present="if less arrived",
)
CONFIRMED = (
    STATED,
    public("subStatus", "text", "Always empty", "", values=("",)),
    public(
        "fees",
        "list of objects",
        "The fees in the token that reached the fee address of the link or request (`platform`), and that of the "
        "off-ramp provider (`crypto-to-fiat`); empty if there is none",
        [{"type": "platform", "amount": "1", "currency": "USDC"}],
        model="EventFee",
        parts=(
            public("type", "text", "platform, or crypto-to-fiat for that of the off-ramp provider"),
            public("amount", "text", "In units of the token"),
            public("currency", "text", "The symbol of the token"),
        ),
    ),
    PAYEE,
    REFERENCE,
    personal("payerIdentifier", "text or null", "What the link was created with; `null` without a link", None),
    PAYER,
    public(
        "labels",
        "list of texts",
        "`over`: more than is owed is paid with it; `under`: less than the amount is, which the owner has accepted "
        "if it is confirmed; `late`: its block is of the time of the link's expiry or later. Empty if it is as it was "
        "asked for",
        [],
        values=("over", "under", "late"),
    ),
    EXCESS,
    personal(
        "customerInfo",
        "object",
        "As the request was created with, as far as it was sent",
        present="if the request was created with it",
        model="EventCustomer",
        parts=(
            public("firstName", "text", "The given name", present="if it was given"),
            public("lastName", "text", "The family name", present="if it was given"),
            public("email", "text", "The e-mail address", present="if it was given"),
            public(
                "address",
                "object",
                "Where the customer lives",
                present="if it was given",
                model="EventAddress",
                parts=_CUSTOMER_ADDRESS,
            ),
        ),
    ),
    CLIENT_ID,
    ORIGIN,
)
"""What only `payment.confirmed` and `payment.partial` have; `EXCESS` only the first."""

RAW_OF_ORDER = personal(
    "rawPayload",
    "object",
    "`status`: what the provider said; `providerId`: its own id",
    {"status": "ongoing_checks", "providerId": "provider_test123"},
)
OFFRAMP_ID = public("offrampId", "text", "The id of the off-ramp provider's order", f"offramp_{REQUEST_ID}")
STEP = public(
    "subStatus",
    "text",
    "`initiated`, `pending_internal_assessment`, `ongoing_checks`, `sending_fiat`, `fiat_sent`, in this order; beside "
    "them `retry_required` and `bounced`",
    "ongoing_checks",
)
FAILED = (
    public(
        "subStatus",
        "text",
        "`bounced`: the bank returned the money, or the payer of another chain has the tokens back; "
        "`insufficient_funds`: the payer of a recurring payout or on another chain does not have the amount, or fewer "
        "tokens arrived at the off-ramp provider than were ordered",
        "failed",
        values=("failed", "bounced", "insufficient_funds"),
    ),
    public(
        "failureReason",
        "text",
        "`chain_reorganization`; why the payment of a recurring payout failed: `Insufficient token allowance`, "
        "`Insufficient token balance`, or what the contract says; a code of the off-ramp provider, or its status: also "
        "`cancelled`, `refunded`; what became of a payment from another chain, in words; of a commerce payment "
        "`voided`, `reclaimed` or `expired`",
        "chain_reorganization",
    ),
    public(
        "offrampId",
        "text",
        "The id of the off-ramp provider's order",
        present="if it is about a payout to a bank account",
    ),
    personal("rawPayload", "object", "As in `payment.processing`", present="if it is about a payout to a bank account"),
)
"""What a `payment.failed` has besides the amounts."""

REFUNDED = (
    public("refundedTo", "text", "The address that received it", _WALLET),
    public("refundAmount", "amount", "The amount of this transfer, in units of the token", "100"),
)
TRANSFER_STATUS = public(
    "status",
    "text",
    "`confirmed`, or `reversed` if a chain reorganization has removed a transfer that an event told of as confirmed",
    "confirmed",
    values=("confirmed", "reversed"),
)
UNNOTIFIED = public(
    "untoldCount", "number", "How many such transfers of the request since the last event were too many to be told", 0
)
UNEXPECTED_LABELS = public(
    "labels",
    "list of texts",
    "`duplicate`: the request was paid or cancelled before; `late`: its block is of the time of the link's expiry or "
    "later; `wrong_token`, `wrong_network`, `wrong_payee`: it does not count, because it is in another token, on "
    "another network, or was received by another address than was asked for",
    ["duplicate"],
    values=("duplicate", "late", "wrong_token", "wrong_network", "wrong_payee"),
)
RECEIVED = public("receivedAmount", "amount", "What was sent, in units of `paymentCurrency`", "100")

ORIGINAL = (
    public("originalRequestId", "text", "The first request of the series, which may be this one", ORIGINAL_ID),
    public("originalRequestPaymentReference", "text", "Its reference", "0x0a57abcdef123456"),
)

PERSON = personal("clientUserId", "text", "Your own id of the person", "user_test123456789")
COMPLIANCE = (
    personal(
        "kycStatus",
        "text",
        "Of the identity check: `not_started`, `pending`, `approved`, `rejected` or `retry_required`. The provider's "
        "own word is in `rawPayload`",
        "approved",
    ),
    personal(
        "agreementStatus",
        "text",
        "Of the agreement: `not_started`, `pending`, `completed`, `rejected` or `failed`",
        "completed",
    ),
    personal("isCompliant", "boolean", "Whether the person may be paid out: `approved` and `completed`", True),
)
BANK_ACCOUNT = personal("paymentDetailsId", "text", "The bank account", "7e577e57-7e57-4e57-9e57-7e577e577e57")
BANK_ACCOUNT_STATUS = (
    personal("status", "text", "Of its check: `pending`, `approved` or `failed`", "approved"),
    personal("rejectionMessage", "text", "Why", present="if it failed and the provider says why"),
)

FAILING = (
    personal("webhookId", "text", "The webhook, as `GET /v1/webhook` lists it", "01KM7E57FA111NGWEBH00K0000"),
    personal("failingSince", "time", "When the first of the attempts failed", "2026-03-15T10:00:00.000Z"),
)

CHANGE = (
    personal("changeId", "text", "The change, as `GET /v1/changes` lists it", "01KM7E57C4ANGE00000000K000"),
    personal("operation", "text", "The operation that asks for it", "change_own_payee_destination"),
    public(
        "state",
        "text",
        "`pending` until it is decided; `applied` once it has taken effect",
        "pending",
        values=("pending", "applied", "refused", "withdrawn", "expired", "failed"),
    ),
    personal("askedBy", "text", "The kind and id of the person or credential", "person:01KM7E57PERS0N0000000000K0"),
    personal("approvedBy", "list of texts", "Who has approved it", []),
    personal("takesEffectAt", "time or null", "When it takes effect unless it is refused", "2026-03-16T10:00:00.000Z"),
    personal("expiresAt", "time", "When it ends without effect", "2026-03-23T10:00:00.000Z"),
    personal("decidedBy", "text or null", "Who decided it; `service` if its delay was over", None),
    personal("reason", "text or null", "Why it failed", None),
)
"""What events about a change that waits for approval have."""


def raw_of_person(**facts: str) -> Field:
    """What the provider said of a person; `facts` are in the example."""
    said = {"userId": "7e577e57-7e57-4e57-8e57-7e577e577e57", **facts}
    return personal("rawPayload", "object", "What the provider said", said)
