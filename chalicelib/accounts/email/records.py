"""Stored record: what a link in an e-mail permits."""

from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import SESSIONS, KeyPattern, Record


class Purpose(StrEnum):
    """What a link is for. One that was made for another purpose does not count."""

    REGISTER = "register"
    CONFIRM = "confirm"
    RESET = "reset"


@frozen
class EmailToken(Record):
    """What the link to an e-mail address permits, once. Only the hash of its token is stored.

    To register: `account_id` and `password_hash` are those that the person will have, `locale` the language of their
    mails. To confirm an address or to set a password: `person_id` is whose; empty for an address that nobody has. The
    link to confirm works as long as `sessions_since` is that of the person, the link to set a password as long as the
    password is the one of `password_mark`.
    """

    KEY = KeyPattern(SESSIONS, "MAILED#{token_hash:.64}", "MAILED")

    token_hash: str
    purpose: Purpose
    name: str
    expires_at: datetime
    person_id: str = ""
    password_mark: str = ""
    account_id: str = ""
    password_hash: str | None = None
    locale: str = "en"
    sessions_since: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at
