"""Stored records: what a wallet on Tron has of the operator's stake to pay a link, and the use of each day."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record

RETENTION = timedelta(days=3)
"""How long a delegation is kept after its end, and a day's use after the day began."""


class Stage(StrEnum):
    """How far a delegation is."""

    GIVEN = "given"
    """Its transactions are signed, and may be in a block."""
    TAKING = "taking"
    """What the nodes say of it is being taken back."""
    ENDED = "ended"
    """Nothing is delegated, and no transaction that was signed can get into a block any more."""


@frozen
class EnergyDelegation(Record):
    """The last delegation of the operator's stake (`owner`) to a wallet, for the payment of one link.

    `energy` in units and `bandwidth` in bytes are what the wallet lacked; `energy_stake` and `bandwidth_stake` are the
    parts of the stake that give so much, in sun. `signed` are the last signed transactions, in hexadecimal, which no
    block of a time after `signed_until` (in milliseconds, of the chain) takes. `unpaid` is whether it had ended without
    a payment although the wallet had it.
    """

    KEY = KeyPattern(PAYMENTS, "ENERGY#{wallet}", "DELEGATION")
    DUE_GROUP = "GASLESS"

    wallet: str
    account_id: str
    link_token: str
    owner: str
    energy: int
    bandwidth: int
    energy_stake: BaseUnits
    bandwidth_stake: BaseUnits
    created_at: datetime
    until: datetime
    """From then on it is taken back, paid or not."""
    signed: tuple[str, ...]
    signed_until: int
    stage: Stage = Stage.GIVEN
    taking_since: datetime | None = None
    unpaid: bool = False
    ended_at: datetime | None = None
    check_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.stage is not Stage.ENDED

    @property
    def next_due(self) -> datetime | None:
        """When it is looked at next; None once it has ended."""
        return self.check_at

    @property
    def vanishes_at(self) -> datetime | None:
        """Three days after its end; None before that."""
        return None if self.ended_at is None else self.ended_at + RETENTION


@frozen
class EnergyUse(Record):
    """The energy that was delegated in a day (UTC date) for the payments of one account, or of all (ALL), in units."""

    KEY = KeyPattern(PAYMENTS, "ENERGY_USE#{account_id}", "DAY#{day}")

    account_id: str
    day: str
    energy: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """Three days after its day began."""
        return datetime.fromisoformat(self.day).replace(tzinfo=UTC) + RETENTION


ALL = "*"
"""The account of the use of a day by all accounts."""
