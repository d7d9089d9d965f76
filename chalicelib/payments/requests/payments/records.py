"""Stored records: payments of requests, refunds, and unmatched transfers."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import lists, place_of
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.requests import list_names

NOTICED = 100
"""What is paid beyond the amount is announced if it is at least this part of the amount. Less comes from a rate that
has changed, or from somebody who pays next to nothing to be seen."""


class PaymentStatus(StrEnum):
    CONFIRMED = "confirmed"
    REVERSED = "reversed"


class PaymentKind(StrEnum):
    DIRECT = "direct"
    CONVERSION = "conversion"
    """Invoice and payment are in different currencies."""
    RECURRING = "recurring"
    """It pays one period of a recurring payout."""
    CROSSCHAIN = "crosschain"
    """A bridge brought it from another network."""


class Direction(StrEnum):
    """Whether tokens reached the payee of a request, or were returned."""

    IN = "in"
    OUT = "out"


@frozen
class Origin:
    """Where a payment that a bridge brought came from: a network, and the transaction there if it was announced.

    `refund_to` is the address on the payment's network that the payer named for tokens that cannot be paid; None as
    long as that is not known.
    """

    network: str
    tx_hash: str | None = None
    refund_to: str | None = None


@frozen
class Payment(Record):
    """One confirmed transfer that counts for a request, identified by its transaction and event key
    (chains/nodes/history/logs.py).

    So it stays the same payment if a fork moves the transaction to another block. `is_announced` means that the
    merchant was notified of it by an event.

    `amount` and `fee_amount` are in base units of `currency`, the token that moved. `value` is what counts for the
    request, in the units of the request's amount; `rate` is how it was valued, None if invoice and payment are in the
    same currency. From `account_id` to `reference` it repeats the request, so that payments are found and shown without
    it; `invoice_currency` is `currency` if they are the same.
    """

    KEY = KeyPattern(PAYMENTS, "PAYMENTS#{request_id}", "{network}#{tx_hash}#{event_key}")

    request_id: str
    network: str
    block_hash: str
    log_index: int
    block_number: int
    tx_hash: str
    event_key: str
    amount: BaseUnits
    value: BaseUnits
    fee_amount: BaseUnits
    fee_address: str
    status: PaymentStatus
    detected_at: datetime
    account_id: str
    payee: str
    currency: str
    invoice_currency: str
    payment_reference: str
    client_id: str | None = None
    reference: str | None = None
    paid_at: datetime | None = None
    """The block's timestamp."""
    is_announced: bool = True
    payer: str | None = None
    """Who paid, as its network writes addresses; None if the chain does not tell."""
    type: PaymentKind = PaymentKind.DIRECT
    rate: Rate | None = None
    dollar_rate: Rate | None = None
    """What one US dollar was in `currency` when it was paid; None if the invoice is in dollars, which `rate` is of, or
    if no rate could be had when it was recorded."""
    is_counted: bool = False
    """Whether the daily counts of its account have it (payments/recording/payment_counts.py)."""
    recurring_payment_id: str | None = None
    is_payout: bool = False
    """Whether the account has paid it, and was not paid; False of one that was recorded before there was this field."""
    is_unexpected: bool = False
    """Whether the merchant was notified of it by `payment.unexpected` (payments/recording/notices.py)."""
    direction: Direction = Direction.IN
    """OUT is that of a SentRefund, among the payments in a list."""
    origin: Origin | None = None
    """Of a payment that a bridge brought; `payer` is then the wallet that deposited it on the other network."""
    excess: BaseUnits = BaseUnits(0)
    """What of it was not owed when it was recorded, in the units of `value`."""
    stated_amount: BaseUnits | None = None
    """What the event of the proxy says, if another `amount` arrived; else None."""

    @property
    def payment_id(self) -> str:
        """26 characters of Crockford base32, which stay the same if a fork moves the payment to another block."""
        from ulid import ULID

        name = "#".join((self.request_id, self.network, self.tx_hash, self.event_key))
        return str(ULID(sha256(name.encode()).digest()[:16]))

    @property
    def source_network(self) -> str:
        """The network that the payer paid from."""
        return self.network if self.origin is None else self.origin.network

    @property
    def source_hash(self) -> str | None:
        """The transaction that the payer sent; None if a bridge brought it and it was not announced."""
        return self.tx_hash if self.origin is None else self.origin.tx_hash

    @property
    def at(self) -> datetime:
        """When the payment was made; when it was detected, if the time of its block was not kept."""
        return self.paid_at or self.detected_at

    @property
    def listed(self) -> Mapping[str, str]:
        if self.status is not PaymentStatus.CONFIRMED:
            return {}
        origin = self.origin and self.origin.tx_hash
        found_by = {
            "by_client": self.client_id,
            "by_payer": list_names.wallet(self.payer) if self.payer else None,
            "by_payee": list_names.wallet(self.payee),
            "by_reference": self.reference,
            "by_tx": list_names.transaction(self.tx_hash),
            "by_source_tx": list_names.transaction(origin) if origin else None,
            "by_request": self.request_id,
            "by_network": self.network,
            "by_type": self.type,
            "by_currency": self.currency,
            "by_invoice": self.invoice_currency,
        }
        return lists(self.account_id, list_names.PAYMENT, found_by)

    @property
    def listed_at(self) -> str:
        return place_of(self.at, self.payment_id)


@frozen
class SentRefund(Payment):
    """A transfer that returned something of a request's payments, in the lists of payments beside them.

    `amount` is what of it counts (payments/recording/causes/refund_totals.py), `payer` who sent it, `payee` who
    received it, and `value` the part of what the payments count that `amount` is of what they moved.
    """

    KEY = KeyPattern(PAYMENTS, "RETURNED#{request_id}", "{network}#{tx_hash}#{event_key}")


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
    event_key: str
    paid_at: datetime | None = None
    status: PaymentStatus = PaymentStatus.CONFIRMED
    is_unexpected: bool = False
    stated_amount: BaseUnits | None = None
    """Both as in Payment."""


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
    payable_id: str = field(metadata={"attribute": "link_token"})
    network: str
    payer: str
    offered_at: datetime
    sent: BaseUnits = BaseUnits(0)
    sent_count: int = 0
    tx_hash: str | None = None
    block_number: int | None = None
    announced_count: int = 0
    """The number of transfers that the merchant was notified of by an event."""
