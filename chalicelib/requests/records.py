"""Requests, their payments and the transfers that do not count, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chalicelib.base.money import BaseUnits


@dataclass(frozen=True)
class Reference:
    """Leads from the indexed topic of a log (keccak256 of the reference) to the request it pays."""

    topic: str
    link_token: str
    position: int
    version: int = 0


@dataclass(frozen=True)
class RequestPlace:
    """Leads from a request id to the link it belongs to."""

    request_id: str
    link_token: str
    position: int
    version: int = 0

class RequestStatus(StrEnum):
    CREATED = "created"
    PARTIALLY_PAID = "partially_paid"
    PAID = "paid"


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
