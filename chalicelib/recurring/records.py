"""Stored records: recurring payouts, their periods, and what payers owe to all of theirs together."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import lists, place_of
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, Counts, KeyPattern, Record
from chalicelib.chains.calldata.recurring import SchedulePermit
from chalicelib.payments.requests.records import RECURRING, Frequency, Request
from chalicelib.platform.access.modes import Mode

UNSIGNED_RETENTION = timedelta(days=30)
"""How long a recurring payout waits for the signature of its payer."""
COMMITTED = "committed"
"""The name of the only count of a Commitment."""
RECURRING_PAYOUTS = "RECURRING"
"""The kind of the lists of recurring payouts."""


class RecurringStatus(StrEnum):
    PENDING = "pending"
    """Its payer has not signed yet."""
    ACTIVE = "active"
    PAUSED = "paused"
    """Its payment failed too often; its owner can resume it."""
    CANCELLED = "cancelled"
    COMPLETED = "completed"


@frozen
class RecurringPayment(Record):
    """A payout that is paid once in each period, by a permit that its payer has signed once.

    The request of every period is a copy of `template`, which is not stored by itself. `permit` is what was signed, and
    `signature` its 65 bytes in 0x hex with 27 or 28 as v; None until the payer has signed.

    `processed` periods are paid. The period in work is the next one: `request_id` is its request, None until that is
    created; `sent_at` is when its payment was handed to the relayer, None if it is not. Each further attempt, after the
    one before failed for good, has the next number. `failures` counts them in a row. `unrecorded_since` is since when
    its payment is known to be made, and the recorder has not found it.

    `processed` follows the chain: a fork that takes the payment of a period away makes it the period in work again.
    """

    KEY = KeyPattern(PAYMENTS, "RECURRING#{recurring_id}", "SCHEDULE#{network}")
    DUE_GROUP = RECURRING

    recurring_id: str
    template: Request
    permit: SchedulePermit
    start: datetime
    frequency: Frequency
    created_at: datetime
    status: RecurringStatus = RecurringStatus.PENDING
    signature: str | None = None
    processed: int = 0
    failures: int = 0
    failure_reason: str | None = None
    last_payment_at: datetime | None = None
    original_request_id: str | None = None
    original_payment_reference: str | None = None
    request_id: str | None = None
    attempt: int = 1
    sent_at: datetime | None = None
    unrecorded_since: datetime | None = None
    check_at: datetime | None = None
    """When a run looks at it next; None if there is nothing to do."""

    @property
    def network(self) -> str:
        return self.template.network

    @property
    def account_id(self) -> str:
        return self.template.account_id

    @property
    def client_id(self) -> str | None:
        return self.template.client_id

    @property
    def created_with(self) -> Mode | None:
        return self.template.created_with

    @property
    def total(self) -> int:
        """The number of its payments."""
        return self.permit.total_payments

    @property
    def period(self) -> int:
        """The number of the period in work, from 1."""
        return self.processed + 1

    @property
    def remaining(self) -> BaseUnits:
        """What the payer still has to allow: all payments that are left with their fees, in base units."""
        return BaseUnits((self.total - self.processed) * self.permit.payment_total)

    @property
    def committed(self) -> int:
        """What the Commitment of its payer counts of it."""
        return self.remaining if self.status in (RecurringStatus.ACTIVE, RecurringStatus.PAUSED) else 0

    @property
    def next_due(self) -> datetime | None:
        """When the next payment is due or looked at again, while it is active."""
        return self.check_at

    @property
    def listed(self) -> Mapping[str, str]:
        return lists(self.account_id, RECURRING_PAYOUTS, {})

    @property
    def listed_at(self) -> str:
        return place_of(self.created_at, self.recurring_id)

    @property
    def vanishes_at(self) -> datetime | None:
        """30 days after its creation, unless it is signed."""
        is_unsigned = self.status is RecurringStatus.PENDING
        return self.created_at + UNSIGNED_RETENTION if is_unsigned else None


@frozen
class Period(Record):
    """One period of a recurring payout with its request, and the payment of that; None while it is not paid.

    `attempt` is the number of the last attempt when the recurring payout went on to another period.
    """

    KEY = KeyPattern(PAYMENTS, "RECURRING#{recurring_id}", "PERIOD#{number:03}")

    recurring_id: str
    number: int
    request_id: str
    payment_reference: str
    payment_id: str | None = None
    amount: BaseUnits | None = None
    paid_at: datetime | None = None
    tx_hash: str | None = None
    attempt: int = 1


@frozen
class Commitment(Record):
    """What all active and paused recurring payouts of a payer still take in one token: the sum of `remaining`.

    Their payer allows the contract this much. It changes in the transactions that activate, pay and cancel them.
    """

    KEY = KeyPattern(PAYMENTS, "COMMITMENT#{currency}#{payer}", "COMMITMENT")

    currency: str
    """The id of the token, which names its network, too."""
    payer: str
    amounts: Counts = field(default_factory=lambda: Counts({}))
    """In base units, under the name COMMITTED."""

    @property
    def committed(self) -> BaseUnits:
        return BaseUnits(self.amounts.get(COMMITTED, 0))
