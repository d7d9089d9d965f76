"""Stored records: quotes, and rates that are locked for one payment."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record
from chalicelib.payments.rates.records import Rate

RETENTION = timedelta(days=30)
"""How long a quote is kept after it has ended. A payment that is found later is valued by the rate of its time."""


@frozen
class Quote(Record):
    """A rate that is locked for the payers of one request from `at` to `ends_at`.

    A payment in a block of that time is valued by it, however the rate has moved.
    """

    KEY = KeyPattern(PAYMENTS, "QUOTES#{request_id}", "QUOTE#{number:06}")

    request_id: str
    number: int
    """Counts the quotes of the request from 0; two processes cannot both write the next one."""
    rate: Rate
    at: datetime
    ends_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it has ended."""
        return self.ends_at + RETENTION


@frozen
class LockedRate(Record):
    """A rate that is locked until `ends_at` for the one payment of a request that a payment intent makes.

    It is not a quote: it is not offered, and values no other payment. The payment is known by the deposit that
    brings it: `fill_key` (chains/nodes/bridges/deposits.py), None until the deposit was read. It is of `amount` base
    units, and comes from a deposit of the `payer` on the `source` network. `tx_hash` and `event_key` are those of the
    payment once it is recorded: a second one in its transaction is valued as any other.
    """

    KEY = KeyPattern(PAYMENTS, "LOCKED#{request_id}", "{intent_id}")

    request_id: str
    intent_id: str
    rate: Rate
    amount: BaseUnits
    source: str
    payer: str
    ends_at: datetime
    fill_key: str | None = None
    tx_hash: str | None = None
    event_key: str | None = None

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it has ended."""
        return self.ends_at + RETENTION
