"""Stored record: how many payments an account has of a day."""

from dataclasses import field
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import PAYMENTS, Counts, KeyPattern, Record

SHARDS = 4
"""The number of records that share the counts of a day, so that links that are recorded at once do not wait."""


class Role(StrEnum):
    """What a wallet is in a payment."""

    PAYER = "payer"
    PAYEE = "payee"
    BOTH = "both"


@frozen
class Facets:
    """What the payments of one count have in common. `role` is that of the wallet in a series of a wallet."""

    currency: str
    invoice_currency: str
    type: str
    role: Role | None = None

    @property
    def name(self) -> str:
        return "|".join((self.currency, self.invoice_currency, self.type, self.role or ""))


@frozen
class DailyCount(Record):
    """How many confirmed payments of a series an account has of a day (UTC), by what they have in common.

    A series is all payments of an account (`ACCOUNT`), of a client id (`CLIENT#...`), of a wallet (`WALLET#...`), or
    those with a reference (`REFERENCE#...`). Series of wallets and references have records of their own for each
    `client_id`. The transaction that writes a payment adds to the counts; nothing reads them before.
    """

    KEY = KeyPattern(PAYMENTS, "COUNTS#{account_id}#{series}", "{day}#{client_id}#{shard}")

    account_id: str
    series: str
    day: str
    client_id: str
    shard: int
    counts: Counts = field(default_factory=lambda: Counts({}))
    version: int = 0
