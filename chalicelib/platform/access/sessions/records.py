"""Stored records: sessions, and the wallet that signed in."""


from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import SESSIONS, KeyPattern, Record


@frozen
class SessionPointer(Record):
    """Points from an account to one of its sessions."""

    KEY = KeyPattern(SESSIONS, "ACCOUNT#{account_id}", "SESSION#{session_id:.64}")

    account_id: str
    session_id: str
    token_hash: str
    expires_at: datetime
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """When its session expires."""
        return self.expires_at


class SessionKind(StrEnum):
    WALLET = "wallet"
    EMAIL = "email"


@frozen
class Session(Record):
    """An open session. Its token is stored only as a hash. `subject` is the wallet address or the e-mail address.

    `chain_id` is the chain of a contract wallet. It is None for a private key, which is the same on every chain.
    `user_version` is that of the user's record when the session was opened; a new password ends those of earlier ones.
    """

    KEY = KeyPattern(SESSIONS, "SESSION#{token_hash}", "SESSION")

    token_hash: str
    session_id: str
    account_id: str
    kind: SessionKind
    subject: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    chain_id: int | None = None
    user_version: int = 0
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at


@frozen
class Wallet:
    """A wallet: a private key, on every chain, or the contract at an address of one chain, `chain_id`."""

    address: str
    chain_id: int | None = None

    @property
    def name(self) -> str:
        return self.address if self.chain_id is None else f"{self.address}@eip155:{self.chain_id}"
