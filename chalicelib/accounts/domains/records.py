"""Stored record: the domain of a client id, and when its proof was found."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import PAYMENTS, KeyPattern, Record

EVERY = timedelta(days=1)
"""How often the proof is looked for."""
KEPT = timedelta(days=3)
"""How long a domain counts as verified after its proof was last found: a day on which DNS or a server fails changes
nothing for payers."""
GIVEN_UP = timedelta(days=30)
"""After so long without a proof it is looked for no more, until the owner asks."""


@frozen
class PageDomain(Record):
    """The domain that the payment page shows for the links of a client id, while it is verified.

    `proof` is what its owner publishes. `verified_at` is when it was last found, `checked_at` when it was last looked
    for, and `problem` what was wrong then; None if it was found. It is not in the table of credentials, which nothing
    that asks foreign servers may write to.
    """

    KEY = KeyPattern(PAYMENTS, "DOMAIN#{client_id_hash:.64}", "DOMAIN")
    DUE_GROUP = "DOMAIN"

    client_id_hash: str
    record_id: str
    account_id: str
    domain: str
    proof: str
    set_at: datetime
    checked_at: datetime | None = None
    verified_at: datetime | None = None
    problem: str | None = None

    @property
    def verified_until(self) -> datetime | None:
        return None if self.verified_at is None else self.verified_at + KEPT

    @property
    def next_due(self) -> datetime | None:
        """EVERY day, from when it was set until it has been without proof for GIVEN_UP."""
        if self.checked_at is None:
            return self.set_at
        is_given_up = self.checked_at >= max(self.set_at, self.verified_at or self.set_at) + GIVEN_UP
        return None if is_given_up else self.checked_at + EVERY
