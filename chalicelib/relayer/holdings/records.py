"""Stored records of what the service's account holds for others, and what a call changes in them."""

from dataclasses import field
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, Counts, KeyPattern, Record

TOTAL = "held"
"""The name of the only count of HoldingsTotal."""
RETENTION = timedelta(days=90)
"""How long an entry is kept after everything that was received for it is spent."""


@frozen
class Move:
    """Tokens that a call moves into the service's account (`inward`) or out of it; `amount` is in base units.

    `owner` names for whom: a call that moves tokens out spends what calls with the same owner have moved in.
    """

    owner: str
    token: str
    amount: BaseUnits
    inward: bool

    @property
    def place(self) -> tuple[str, str]:
        """The token, in lower case, and the owner of its entry."""
        return self.token.lower(), self.owner


@frozen
class Holding(Record):
    """What the service's account holds of a token for one owner, in base units.

    `received` is what calls have moved in whose outcome is proven. `spent` is what accepted calls move out, until one
    of them is proven to have had no effect.
    """

    KEY = KeyPattern(PAYMENTS, "HOLDINGS#{network}#{account}", "FOR#{token}#{owner}")

    network: str
    account: str
    token: str
    owner: str
    changed_at: datetime
    received: BaseUnits = BaseUnits(0)
    spent: BaseUnits = BaseUnits(0)

    @property
    def left(self) -> int:
        """What can be spent. It is negative if a fork has undone what was received, after it was spent."""
        return self.received - self.spent

    @property
    def vanishes_at(self) -> datetime | None:
        """90 days after its last change, once nothing is left."""
        return self.changed_at + RETENTION if self.left == 0 else None


@frozen
class HoldingsTotal(Record):
    """The sum of what is left of the entries of a token: what the service's account must have of it."""

    KEY = KeyPattern(PAYMENTS, "HOLDINGS#{network}#{account}", "SUM#{token}")

    network: str
    account: str
    token: str
    amounts: Counts = field(default_factory=lambda: Counts({}))
    """In base units, under the name TOTAL."""

    @property
    def total(self) -> int:
        return self.amounts.get(TOTAL, 0)
