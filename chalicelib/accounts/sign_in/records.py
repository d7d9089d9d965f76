"""Stored record: the challenge that a wallet signs."""

from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import SESSIONS, KeyPattern, Record


class Purpose(StrEnum):
    """What a proof is for. One that was made for another purpose does not count."""

    SIGN_IN = "sign_in"
    ADD = "add"
    """Adding a way to sign in to the person of a session."""
    PROVE = "prove"
    """Proving the presence of the person of a session."""


@frozen
class Challenge(Record):
    """A text that a wallet signs, once, for a purpose. `chain_id` is the chain of a contract wallet.

    `session_id` is the session that it was made in; None to sign in.
    """

    KEY = KeyPattern(SESSIONS, "CHALLENGE#{challenge_id:.64}", "CHALLENGE")

    challenge_id: str
    nonce: str
    address: str
    family: str
    chain_id: int
    message: str
    expires_at: datetime
    purpose: Purpose = Purpose.SIGN_IN
    session_id: str | None = None

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at
