"""Stored record: the challenge that a wallet signs."""


from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import SESSIONS, KeyPattern, Record


@frozen
class Challenge(Record):
    """A text that a wallet signs to sign in, once. `chain_id` is the chain of a contract wallet."""

    KEY = KeyPattern(SESSIONS, "CHALLENGE#{challenge_id:.64}", "CHALLENGE")

    challenge_id: str
    nonce: str
    address: str
    family: str
    chain_id: int
    message: str
    expires_at: datetime
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at
