"""What a wallet is asked to sign, as it is stored."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Challenge:
    """A text that a wallet is asked to sign, once. `chain_id` is where a contract wallet is asked."""

    challenge_id: str
    nonce: str
    address: str
    family: str
    chain_id: int
    message: str
    expires_at: datetime
    version: int = 0
