"""Stored records: passkeys, and the challenges that they sign."""

from datetime import datetime

from chalicelib.accounts.sign_in.records import Purpose
from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, SESSIONS, KeyPattern, Record


@frozen
class Passkey(Record):
    """A passkey of a person. `passkey_id` is the SHA-256 of its credential id, in hex.

    `credential_id` and `public_key` (COSE) are base64url without padding. `is_synced` is its backup eligibility, which
    never changes: such passkeys may be on several devices, and their `sign_count` proves nothing.
    """

    KEY = KeyPattern(IDENTITY, "PERSON#{person_id}", "PASSKEY#{passkey_id:.64}")

    person_id: str
    passkey_id: str
    credential_id: str
    public_key: str
    sign_count: int
    is_synced: bool
    name: str
    created_at: datetime
    last_used_at: datetime | None = None


@frozen
class PasskeyChallenge(Record):
    """A random text that a passkey signs, once, for a purpose. `session_id` is its session; None to sign in."""

    KEY = KeyPattern(SESSIONS, "CHALLENGE#{challenge_hash}", "PASSKEY")

    challenge_hash: str
    purpose: Purpose
    session_id: str | None
    expires_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at
