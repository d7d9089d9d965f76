"""Stored records: requests, what finds them by reference and id, and the daily counts."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from chalicelib.base.addresses import hex_address
from chalicelib.base.frozen import frozen
from chalicelib.base.lists import lists, place_of
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import OPS, PAYMENTS, Counts, KeyPattern, Record
from chalicelib.payments.requests import list_names
from chalicelib.payments.requests.executions import Execution, ExecutionStatus
from chalicelib.payments.requests.plain_transfers.records import PlainTransfer
from chalicelib.platform.access.modes import Mode

RECURRING = "RECURRING"
"""The group of what recurs in the index `by_due`: these requests, and recurring payouts (recurring/records.py)."""
SHARDS = 4
"""The number of records that share the counts of a day, so that links that are recorded at once do not wait."""


@frozen
class Reference(Record):
    """Index entry from a log's topic, keccak256 of a payment reference, to the request of that reference.

    `is_refund` means that the reference is that of a refund of the request, and the topic that of Refunds.

    `payer` is set if the topic is the escrow's hash of the request's commerce payment with that wallet as payer. If any
    wallet may pay, each one that asks has such an entry, which vanishes after `expires_at` unless it has paid by then.
    """

    KEY = KeyPattern(PAYMENTS, "REFERENCE#{topic}", "REFERENCE")

    topic: str
    payable_id: str = field(metadata={"attribute": "link_token"})
    position: int
    is_refund: bool = False
    payer: str | None = None
    expires_at: datetime | None = None
    account_id: str = ""
    """Of the request."""

    @property
    def vanishes_at(self) -> datetime | None:
        """When it expires; None while it is needed."""
        return self.expires_at


@frozen
class FirstRequest(Record):
    """When the first request of a network was created, a moment before that. Blocks are read from then on, however late
    the network is read for the first time."""

    KEY = KeyPattern(OPS, "CHAIN#{network}", "FIRST")
    ARE_FEW = True

    network: str
    created_at: datetime


@frozen
class RequestPointer(Record):
    """Index entry from a request id to the payable that the request is part of."""

    KEY = KeyPattern(PAYMENTS, "REQUEST#{request_id}", "REQUEST")

    request_id: str
    payable_id: str = field(metadata={"attribute": "link_token"})
    position: int


class RequestStatus(StrEnum):
    CREATED = "created"
    PARTIALLY_PAID = "partially_paid"
    PAID = "paid"
    CANCELLED = "cancelled"
    """By its owner, before it was paid; it stays so, whatever is paid afterwards."""
    PROCESSING, FAILED = "processing", "failed"
    """Only as `Request.fiat`: it is paid and the fiat is not sent yet; the fiat was not sent, or came back."""


@frozen
class CustomerAddress:
    """The address of a customer, as the merchant sent it."""

    street: str | None = None
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None


@frozen
class CustomerInfo:
    """Who the invoice is for, as the merchant sent it."""

    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    address: CustomerAddress | None = None


class Frequency(StrEnum):
    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    YEARLY = "YEARLY"


@frozen
class Recurrence:
    """How often an invoice recurs: on each date after the first there is a new request
    (payments/requests/recurring.py)."""

    start_date: str
    """As it was sent: a date or an instant, in ISO 8601."""
    frequency: Frequency
    is_stopped: bool = False
    period: int = 1
    """The number of the last date that has its request or was passed over."""
    next_at: datetime | None = None
    """The date after that; None while it is stopped."""


@frozen
class PayeeName:
    """The name by which a payee was given, normalized, and when it was resolved to the address that is paid.

    `is_primary` is whether the address named itself so at that time: its reverse record was the same name.
    """

    name: str
    resolved_at: datetime
    is_primary: bool


@frozen
class Request(Record):
    """One amount owed to one payee, alone or as part of a link.

    Requests that are paid and recorded together are one payable: all those of a link, whose token is their
    `payable_id`, or a request without a link, whose `payable_id` is its own id.

    `amount` and `paid` are in the invoice currency, in the units that the conversion contracts count in: those of the
    token, or 8 decimals for fiat. `currency` is the token that is paid; `invoice_currency` is None if it is the same.
    `paid` is the value of all confirmed payments.

    The totals change in the transaction that records a transfer, so that recording reads no earlier payments.
    `payment_count` is the number of its Payments, confirmed or reversed; `confirmed_count` is the number of those that
    are confirmed, as lists have them. `dust_count` and `dust_amount` (a value, as `paid`) are the payments that
    are too small to have a Payment; the next three fields are the numbers of its UnmatchedTransfers by kind.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{payable_id}", "REQUEST#{position:04}")
    DUE_GROUP = RECURRING

    payable_id: str = field(metadata={"attribute": "link_token"})
    position: int
    request_id: str
    account_id: str
    """Its owner."""
    created_at: datetime
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
    """The merchant's reference of the request, or of the original link if that link was merged into a batch."""
    created_with: Mode | None = None
    """The credential that the request was created with, also after a merge."""
    payment_count: int = 0
    dust_count: int = 0
    dust_amount: BaseUnits = BaseUnits(0)
    unknown_token_count: int = 0
    other_payee_count: int = 0
    right_payee_count: int = 0
    surplus_hash: str | None = None
    """The newest one that paid more than was due, by enough to be told (payments/links/sent_transactions.py)."""
    client_id: str | None = None
    origin: str | None = None
    invoice_currency: str | None = None
    payer: str | None = None
    """Who is expected to pay; anybody can."""
    fee_percentage: str | None = None
    fee_address: str | None = None
    """The platform fee that its calldata asked for last; of a link's request the link has it."""
    customer_info: CustomerInfo | None = None
    recurrence: Recurrence | None = None
    original_request_id: str | None = None
    original_payment_reference: str | None = None
    listening_since: datetime | None = None
    """When calldata for it was first asked for; None before, and for the requests of links."""
    is_payout: bool = False
    """Whether the account pays it: of POST /v2/payouts, which has no link that says so."""
    is_moved: bool = False
    """Whether its link was merged into a batch, which has the request now: then this one is in no list."""
    is_crypto_to_fiat: bool = False
    """Whether what is paid may be sent to a bank account as fiat; then `payee` may be empty until the first /pay."""
    fiat: RequestStatus | None = None
    """How far its off-ramp order is: processing, paid or failed; None without one, and before it is paid."""
    recurring_payment_id: str | None = None
    """The recurring payout of which this is one period."""
    unpaid_at: datetime | None = None
    """When a fork took the payment of this period away, until its recurring payout has followed."""
    confirmed_count: int = 0
    execution: Execution | None = None
    """The last payment of it that a payer has signed and the service makes; None if there was none."""
    received: BaseUnits = BaseUnits(0)
    """What its confirmed payments moved, in base units of `currency`."""
    refunded: BaseUnits = BaseUnits(0)
    """What of that was returned, by as many transfers as `refund_count` says (refund_totals.py in
    payments/recording/causes)."""
    refund_count: int = 0
    unexpected_on: str | None = None
    """The day (UTC) of the last `payment.unexpected` of it; `unexpected_count` is their number of that day, and
    `unexpected_unnotified` that of the transfers since the last one that were too many to be told."""
    unexpected_count: int = 0
    unexpected_unnotified: int = 0
    counted_as: RequestStatus | None = None
    """The status under which the daily counts of its account have it (request_counts.py); None if they do not."""
    cancelled_at: datetime | None = None
    paid_when_cancelled: BaseUnits = BaseUnits(0)
    """What was paid of it until it was cancelled: what is paid afterwards is not owed."""
    accepted_at: datetime | None = None
    paid_when_accepted: BaseUnits | None = None
    """What was paid of it when its owner accepted that as full payment: so much is owed of it from then on."""
    note: str | None = None
    """The merchant's own, as it was sent."""
    payee_name: PayeeName | None = None
    """The name by which the payee was given, if it was not given by its address."""
    plain_transfer: PlainTransfer | None = None
    """Its address for plain transfers; None if it has none."""
    event_count: int = 0
    """The `sequence` of the newest event about it (number_events in payments/events.py)."""

    @property
    def next_due(self) -> datetime | None:
        """When the request recurs, or when its recurring payout has to follow a fork."""
        return self.recurrence.next_at if self.recurrence is not None else self.unpaid_at

    @property
    def link_token(self) -> str | None:
        """The link that it is part of; None if it stands by itself."""
        return None if self.payable_id == self.request_id else self.payable_id

    @property
    def shown_status(self) -> RequestStatus:
        """The status of the request as callers see it: with an off-ramp order it is paid when the fiat was sent."""
        return self.status if self.is_cancelled else self.fiat or self.status

    @property
    def is_cancelled(self) -> bool:
        return self.status is RequestStatus.CANCELLED

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is owed: it is paid, or cancelled."""
        return self.status in (RequestStatus.PAID, RequestStatus.CANCELLED)

    @property
    def due(self) -> BaseUnits:
        """What is owed of it in all, paid or not: its amount, or what was paid until it was accepted or cancelled."""
        if self.is_cancelled:
            return self.paid_when_cancelled
        return self.amount if self.paid_when_accepted is None else self.paid_when_accepted

    def as_cancelled(self) -> Self:
        """The request as cancelled, so that nothing more is owed of it."""
        return replace(self, status=RequestStatus.CANCELLED, paid_when_cancelled=self.paid)

    @property
    def is_executed(self) -> bool:
        """Whether the service is making a payment of it, so that it is not offered to be paid again."""
        return self.execution is not None and self.execution.status is ExecutionStatus.PENDING

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be done: it is paid and, with an off-ramp order, the fiat was sent."""
        return self.shown_status is RequestStatus.PAID

    @property
    def payee_in_logs(self) -> str | None:
        """The payee as logs write addresses; None if it is not known yet."""
        return hex_address(self.payee) if self.payee else None

    @property
    def listed(self) -> Mapping[str, str]:
        if self.is_moved:
            return {}
        found_by = {
            "by_client": self.client_id,
            "by_status": self.shown_status,
            "by_payer": list_names.wallet(self.payer) if self.payer else None,
            "by_payee": list_names.wallet(self.payee) if self.payee else None,
            "by_reference": self.reference,
        }
        return lists(self.account_id, list_names.REQUEST, found_by)

    @property
    def listed_at(self) -> str:
        return place_of(self.created_at, self.request_id)


@frozen
class DailyCount(Record):
    """How many records of a series an account has of a day (UTC), by what they have in common.

    A series is all confirmed payments of an account (`ACCOUNT`), of a client id (`CLIENT#...`), of a wallet
    (`WALLET#...`), or those with a reference (`REFERENCE#...`); all requests of an account (`REQUESTS`), or of a client
    id (`REQUESTS#...`), by their status. Series of wallets and references have records of their own for each
    `client_id`. The transaction that writes a payment or a request adds to the counts; nothing reads them before. The
    number of a day is the sum of all shards, in some of which a count may be negative.
    """

    KEY = KeyPattern(PAYMENTS, "COUNTS#{account_id}#{series}", "{day}#{client_id}#{shard}")

    account_id: str
    series: str
    day: str
    client_id: str
    shard: int
    counts: Counts = field(default_factory=lambda: Counts({}))
