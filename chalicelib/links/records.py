"""Links and multisig intents, as they are stored."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.records import PAYMENTS, KeyPattern, Record
from chalicelib.requests.records import Request, RequestStatus

ASSEMBLY_TIME = timedelta(minutes=5)
"""How long a multicall may take to claim its children; one that takes longer was left by a crash."""


class PaymentType(StrEnum):
    SINGLE = "single"
    BATCH = "batch"
    MULTICALL = "multicall"
    """A parent that pays links which stay links of their own; it has no requests itself."""


class Flow(StrEnum):
    GET_PAID = "get_paid"
    PAY = "pay"
    """A payout: made by the one who pays."""


class LinkStatus(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    EXPIRED = "expired"
    INVALIDATED = "invalidated"
    """Merged into a batch link, which has its requests now."""
    COMPLIANCE_FAILED = "compliance_failed"
    PARTIALLY_SETTLED = "partially_settled"
    """Of a multicall, of which some children are paid; computed from them and never stored."""
    ASSEMBLING = "assembling"
    """A multicall whose children are being claimed: not a link yet for any reader."""


@dataclass(frozen=True)
class Link(Record):
    """A secure payment link; `token` is its ULID, and whoever knows it can open the link.

    `creator_wallet` is who pays a payout. `parent_token` is the multicall that claimed it last, `child_tokens` are a
    multicall's children in their order. `successor_token` is the batch link that an invalidated one was merged into.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{token}", "LINK")

    token: str
    account_id: str
    client_id: str | None
    origin: str | None
    payment_type: PaymentType
    status: LinkStatus
    created_at: datetime
    expires_at: datetime
    fee_percentage: str | None
    fee_address: str | None
    reference: str | None
    payer_identifier: str | None
    redirect_url: str | None
    redirect_label: str | None
    flow: Flow = Flow.GET_PAID
    creator_wallet: str | None = None
    recipient_identifier: str | None = None
    parent_token: str | None = None
    child_tokens: tuple[str, ...] = ()
    execution_kind: str | None = None
    successor_token: str | None = None
    completed_at: datetime | None = None
    version: int = 0

    @property
    def next_due(self) -> datetime | None:
        """While pending, when it expires (but for a multicall); while assembling, when it counts as abandoned."""
        if self.status is LinkStatus.ASSEMBLING:
            return self.created_at + ASSEMBLY_TIME
        if self.status is LinkStatus.PENDING and self.payment_type is not PaymentType.MULTICALL:
            return self.expires_at
        return None


class IntentStatus(StrEnum):
    PENDING = "pending"
    SETTLED = "settled"
    """Executed, and what it paid was seen."""
    FAILED = "failed"
    """Executed without paying: its inner call failed, or it was no payment of this link."""
    REPLACED = "replaced"
    """Another transaction took its nonce."""
    LAPSED = "lapsed"
    """Its deadline passed, the Safe's service did not get to know it, or the link's owner withdrew it."""


@dataclass(frozen=True)
class SafeIntent(Record):
    """A multisig transaction that is to pay a link; while it is pending, nobody else may pay the link.

    `safe` and `nonce` are None until they are known. `deadline` is the payer's; at `ends_at` the service
    gives the intent up. `scanned_to` is the last block that was searched for its execution, `executed_block` the one it
    was executed in; `check_at` is when it is looked at again. `span` is how many blocks the node is asked for at once,
    if it refused more; None for the usual number. `by_page` says that the payment page announced it, which anybody who
    has the link can do; `in_vain` counts the intents that the page announced for the link before and that did not pay.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{link_token}", "INTENT")
    DUE_GROUP = "INTENT"

    link_token: str
    intent_id: str
    network: str
    safe_tx_hash: str
    safe: str | None
    nonce: int | None
    deadline: datetime | None
    payer_address: str | None
    status: IntentStatus
    created_at: datetime
    ends_at: datetime
    check_at: datetime
    scanned_to: int
    executed_block: int | None = None
    transaction_hash: str | None = None
    span: int | None = None
    by_page: bool = False
    in_vain: int = 0
    version: int = 0

    @property
    def next_due(self) -> datetime | None:
        """While pending, when it is looked at again."""
        return self.check_at if self.status is IntentStatus.PENDING else None


@dataclass(frozen=True)
class SecurePayment:
    """A link with its requests, in their order, and the last multisig intent for it."""

    link: Link
    requests: tuple[Request, ...]
    intent: SafeIntent | None = None

    @property
    def is_paid(self) -> bool:
        """Of a multicall, which has no requests of its own: with those of its children."""
        all_paid = bool(self.requests) and all(request.status is RequestStatus.PAID for request in self.requests)
        return all_paid or self.link.status is LinkStatus.COMPLETED

    @property
    def is_locked(self) -> bool:
        """Whether a multisig transaction is on its way for what is not paid yet."""
        return self.intent is not None and self.intent.status is IntentStatus.PENDING and not self.is_paid
