"""Stored records: requests, their payments, and their unmatched transfers."""


from datetime import datetime
from enum import StrEnum

from chalicelib.access.modes import Mode
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record


@frozen
class Reference(Record):
    """Index entry from a log's topic, keccak256 of a payment reference, to the request of that reference.

    `is_refund` means that the reference is that of a refund of the request, and the topic that of Refunds.
    """

    KEY = KeyPattern(PAYMENTS, "REFERENCE#{topic}", "REFERENCE")

    topic: str
    link_token: str
    position: int
    is_refund: bool = False
    version: int = 0


@frozen
class RequestPointer(Record):
    """Index entry from a request id to the link that the request belongs to."""

    KEY = KeyPattern(PAYMENTS, "REQUEST#{request_id}", "REQUEST")

    request_id: str
    link_token: str
    position: int
    version: int = 0


class RequestStatus(StrEnum):
    CREATED = "created"
    PARTIALLY_PAID = "partially_paid"
    PAID = "paid"


@frozen
class Request(Record):
    """One amount owed to one payee. Amounts are base units; `paid` is the sum of all confirmed payments.

    The totals change in the transaction that records a transfer, so that recording reads no earlier payments.
    `payment_count` is the number of its Payments, confirmed or reversed; None in items that were written before it
    existed, and they have no other totals either. `unlisted_count` and `unlisted_amount` are the payments that are too
    small to have a Payment; the last three fields are the numbers of its UnmatchedTransfers by kind.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{link_token}", "REQUEST#{position:04}")

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
    """The merchant's reference of the original link, if that link was merged into a batch."""
    created_with: Mode | None = None
    """The credential that the request was created with, also after a merge; None in items from before it was kept."""
    payment_count: int | None = None
    unlisted_count: int = 0
    unlisted_amount: BaseUnits = BaseUnits(0)
    unknown_token_count: int = 0
    other_payee_count: int = 0
    right_payee_count: int = 0
    version: int = 0


class PaymentStatus(StrEnum):
    CONFIRMED = "confirmed"
    REVERSED = "reversed"


@frozen
class Payment(Record):
    """One confirmed transfer that counts for a request, identified by its transaction and event key (chain/logs.py).

    So it stays the same payment if a fork moves the transaction to another block. `is_announced` means that the
    merchant was told of it by an event.
    """

    KEY = KeyPattern(PAYMENTS, "PAYMENTS#{request_id}", "{network}#{tx_hash}#{event_key}")

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
    """The block's timestamp."""
    event_key: str = ""
    is_announced: bool = True
    version: int = 0


@frozen
class Refund(Record):
    """What was offered to be returned to one payer of a request in one token, and what of it was sent.

    `topic` is that of the refund's own reference, which is made of the request and the payer; `payer` is the address as
    its network writes it. `sent` is the sum of all transfers with the reference that reached the payer, in base units,
    and `sent_count` their number; `tx_hash` and `block_number` are those of the newest.
    """

    KEY = KeyPattern(PAYMENTS, "REFUND#{topic}", "REFUND#{currency}")

    topic: str
    currency: str
    request_id: str
    link_token: str
    network: str
    payer: str
    offered_at: datetime
    sent: BaseUnits = BaseUnits(0)
    sent_count: int = 0
    tx_hash: str | None = None
    block_number: int | None = None
    announced_count: int = 0
    """The number of transfers that the merchant was told of by an event."""
    version: int = 0


@frozen
class UnmatchedTransfer(Record):
    """A transfer with a request's reference that does not count for it; `reason` says why. Identified as a Payment.

    Addresses are lower-case hex on every network, as in the log; `token_address` is None for the native coin.
    """

    KEY = KeyPattern(PAYMENTS, "STRAYS#{request_id}", "{network}#{tx_hash}#{event_key}")

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
    event_key: str = ""
    version: int = 0
