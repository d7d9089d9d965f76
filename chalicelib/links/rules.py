"""Secure payment links, their requests and payments: the records, and when a link may be read or paid."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chalicelib.core import money
from chalicelib.core.errors import Conflict, Forbidden, Locked
from chalicelib.core.money import BaseUnits
from chalicelib.core.networks import network


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


class RequestStatus(StrEnum):
    CREATED = "created"
    PARTIALLY_PAID = "partially_paid"
    PAID = "paid"


@dataclass(frozen=True)
class Link:
    """One secure payment link; `token` is its ULID and the capability that opens it.

    `creator_wallet` is who pays a payout. `parent_token` is the multicall that claimed it last, `child_tokens` are a
    multicall's children in their order. `successor_token` is the batch link that an invalidated one was merged into.
    """

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


@dataclass(frozen=True)
class Request:
    """One amount owed to one payee. Amounts are base units; `paid` is what the chain has confirmed so far."""

    link_token: str
    position: int
    request_id: str
    salt: str
    payment_reference: str
    payee: str
    network: str
    currency: str
    amount: BaseUnits
    status: RequestStatus
    paid: BaseUnits
    tx_hash: str | None
    reference: str | None = None
    """The merchant's own, of the link it was made for, where that was merged into a batch."""
    version: int = 0


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
class SafeIntent:
    """A multisig transaction that is on its way for a link, which nobody else may pay meanwhile.

    `safe` and `nonce` are None until they are known. `deadline` is the payer's, `ends_at` when it is given up at the
    latest. `scanned_to` is the last block that was looked through for its execution, `executed_block` the one it was
    executed in; `check_at` is when it is looked at again. `span` is how many blocks the node is asked for at once,
    where it refused more; None for as many as anybody's. `by_page` is set for what the payment page announced, which
    anybody with the link may do; `in_vain` counts what it announced for the link before, none of which paid it.
    """

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


class PaymentStatus(StrEnum):
    CONFIRMED = "confirmed"
    REVERSED = "reversed"


@dataclass(frozen=True)
class Place:
    """Where a log stands. A transaction that a fork moves to another block leaves a log in another place."""

    network: str
    block_hash: str
    log_index: int


@dataclass(frozen=True)
class Payment:
    """One confirmed transfer that counts for a request, identified by the place of its log."""

    request_id: str
    network: str
    block_hash: str
    log_index: int
    block_number: int
    tx_hash: str
    amount: BaseUnits
    fee_amount: BaseUnits
    fee_address: str
    status: PaymentStatus
    detected_at: datetime
    paid_at: datetime | None = None
    """The time of its block."""
    version: int = 0

    @property
    def place(self) -> Place:
        return Place(self.network, self.block_hash, self.log_index)


@dataclass(frozen=True)
class StrayTransfer:
    """A transfer with a request's reference that does not count for it; `reason` says why.

    Addresses are as the log has them: lower-case hex on every network; `token_address` is None for the native coin.
    """

    request_id: str
    network: str
    block_hash: str
    log_index: int
    block_number: int
    tx_hash: str
    token_address: str | None
    payee: str
    amount: BaseUnits
    reason: str
    detected_at: datetime
    paid_at: datetime | None = None
    status: PaymentStatus = PaymentStatus.CONFIRMED
    version: int = 0

    @property
    def place(self) -> Place:
        return Place(self.network, self.block_hash, self.log_index)


def status_at(link: Link, now: datetime) -> LinkStatus:
    """A pending link is expired from its expiry on, whether or not the sweep has written that down yet."""
    if link.status is LinkStatus.PENDING and now >= link.expires_at:
        return LinkStatus.EXPIRED
    return link.status


def check_payable(payment: SecurePayment, now: datetime) -> None:
    """Raises Conflict when the link is completed, Locked while a multisig transaction is on its way for it, Forbidden
    when it is expired or invalidated (supplement, error bodies 7.2)."""
    status = status_at(payment.link, now)
    if payment.is_paid:
        raise Conflict(
            "Secure payment has already been completed",
            status=LinkStatus.COMPLETED.value,
            **_for_page(payment.link),
            requestStatuses=[
                {"requestId": r.request_id, "hasBeenPaid": True, "txHash": r.tx_hash} for r in payment.requests
            ],
        )
    check_unlocked(payment)
    if status is not LinkStatus.PENDING:
        told = _for_page(payment.link)
        raise Forbidden("Secure payment token expired or invalid status", status=status.value, **told)


def check_unlocked(payment: SecurePayment) -> None:
    """Raises Locked while a multisig transaction is on its way for the link; one that is paid waits for none."""
    intent = payment.intent
    if intent is not None and payment.is_locked:
        raise Locked(
            "Secure payment is in progress",
            status=LinkStatus.PENDING.value,
            **_for_page(payment.link),
            requestStatuses=[_in_progress(request, intent) for request in payment.requests],
        )


def _for_page(link: Link) -> dict[str, object]:
    """What the payment page shows of a link that cannot be paid: the way back, and the branding, which a flow adds."""
    return {"branding": None, "redirectUrl": link.redirect_url, "redirectLabel": link.redirect_label}


def _in_progress(request: Request, intent: SafeIntent) -> dict[str, object]:
    known = network(intent.network)
    assert known is not None, "an intent is recorded on a catalogued network"
    facts = {
        "requestId": request.request_id,
        "hasBeenPaid": request.status is RequestStatus.PAID,
        "safeTxHash": intent.safe_tx_hash,
        "chainId": known.chain_id,
    }
    deadline = {"safePaymentDeadline": int(intent.deadline.timestamp())} if intent.deadline else {}
    return {**facts, **deadline}


def remaining(request: Request) -> BaseUnits:
    """What is still owed, in base units; never below zero."""
    return BaseUnits(max(request.amount - request.paid, 0))


def fee_on(amount: BaseUnits, link: Link) -> BaseUnits:
    """The platform fee that is paid on top of `amount`, in base units, rounded down."""
    if link.fee_percentage is None or link.fee_address is None:
        return BaseUnits(0)
    return money.fee_of(amount, money.parse_percentage(link.fee_percentage))


def amount_with_fee(amount: BaseUnits, link: Link) -> BaseUnits:
    """What a payer is debited for `amount`."""
    return BaseUnits(amount + fee_on(amount, link))
