"""Users: who signs in by a wallet or by e-mail, and the account that is theirs."""

import re
from dataclasses import dataclass
from datetime import datetime

from chalicelib.core.errors import BadRequest

_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(\.[^@\s.]+)+")
MAX_EMAIL_LENGTH = 254


@dataclass(frozen=True)
class User:
    """`name` is a wallet address in its canonical form or an e-mail address in lower case; one account each."""

    name: str
    account_id: str
    password_hash: str | None
    created_at: datetime
    version: int = 0


def email_address(text: str) -> str:
    """The address in lower case. Raises BadRequest unless it looks like one."""
    if len(text) > MAX_EMAIL_LENGTH or not _EMAIL.fullmatch(text) or not text.isprintable():
        raise BadRequest("email must be an e-mail address")
    return text.lower()
