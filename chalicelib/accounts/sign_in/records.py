"""What a wallet is asked to sign, as it is stored."""

from dataclasses import dataclass
from datetime import datetime

from chalicelib.base.records import SESSIONS, KeyPattern, Record


@dataclass(frozen=True)
class Challenge(Record):
    """A text that a wallet is asked to sign, once. `chain_id` is the chain on which a contract wallet is asked."""

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
