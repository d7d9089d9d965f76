"""Stored records: sessions, and the wallet that signed in."""

from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import SESSIONS, KeyPattern, Record


@frozen
class SessionPointer(Record):
    """Points from a person to one of their sessions."""

    KEY = KeyPattern(SESSIONS, "PERSON#{person_id}", "SESSION#{session_id:.64}")

    person_id: str
    session_id: str
    token_hash: str
    expires_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """When its session expires."""
        return self.expires_at


class SessionKind(StrEnum):
    WALLET = "wallet"
    EMAIL = "email"
    PASSKEY = "passkey"


class PresenceProof(StrEnum):
    """How a person has proved that they are there."""

    PASSKEY = "passkey"
    WALLET = "wallet"
    PASSWORD = "password"  # noqa: S105 - a kind, no secret


@frozen
class Session(Record):
    """An open session of a person in an account. Its token is stored only as a hash.

    `subject` is the wallet address or the e-mail address that signed in; with a passkey, what others see of the person.
    `chain_id` is the chain of a contract wallet. It is None for a private key, which is the same on every chain.
    `member_since` is when the person joined the account: the session counts only while this membership exists.
    `person_version` is that of the person's record when the session was opened; a new password ends those of earlier
    ones. `proved_at` and `proved_by` are the last proof of presence. `has_second_factor` is set unless a password is
    the only proof there was.
    """

    KEY = KeyPattern(SESSIONS, "SESSION#{token_hash}", "SESSION")

    token_hash: str
    session_id: str
    account_id: str
    person_id: str
    member_since: datetime
    kind: SessionKind
    subject: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    proved_at: datetime
    proved_by: PresenceProof
    has_second_factor: bool
    chain_id: int | None = None
    person_version: int = 0

    @property
    def name(self) -> str:
        """The name of the identity that signed in."""
        return Wallet(self.subject, self.chain_id).name

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
