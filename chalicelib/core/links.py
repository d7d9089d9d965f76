"""Secure payment links, their requests and payments: the records, and when a link may be read or paid."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chalicelib.core import money
from chalicelib.core.errors import Conflict, Forbidden
from chalicelib.core.money import BaseUnits


class LinkStatus(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    EXPIRED = "expired"


class RequestStatus(StrEnum):
    CREATED = "created"
    PARTIALLY_PAID = "partially_paid"
    PAID = "paid"


@dataclass(frozen=True)
class Link:
    """One secure payment link; `token` is its ULID and the capability that opens it."""

    token: str
    account_id: str
    client_id: str | None
    origin: str | None
    payment_type: str
    status: LinkStatus
    created_at: datetime
    expires_at: datetime
    fee_percentage: str | None
    fee_address: str | None
    reference: str | None
    payer_identifier: str | None
    redirect_url: str | None
    redirect_label: str | None
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
    version: int = 0


@dataclass(frozen=True)
class SecurePayment:
    """A link with its requests, in their order."""

    link: Link
    requests: tuple[Request, ...]


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
    """Raises Conflict when the link is completed, Forbidden when it is expired (supplement, error bodies 7.2)."""
    status = status_at(payment.link, now)
    if status is LinkStatus.COMPLETED:
        raise Conflict(
            "Secure payment has already been completed",
            status=status.value,
            branding=None,
            requestStatuses=[
                {"requestId": r.request_id, "hasBeenPaid": True, "txHash": r.tx_hash} for r in payment.requests
            ],
        )
    if status is not LinkStatus.PENDING:
        raise Forbidden("Secure payment token expired or invalid status", status=status.value)


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
