"""What the link in an e-mail permits, and until when."""

import hashlib
import re
from datetime import datetime

from chalicelib.accounts.email.records import EmailToken, Purpose
from chalicelib.base.errors import BadRequest
from chalicelib.mail.records import MailKind
from chalicelib.mail.rules import LIFETIMES

_TOKEN = re.compile("[A-Za-z0-9]{43}")
PAGES = {Purpose.REGISTER: "confirm", Purpose.CONFIRM: "confirm", Purpose.RESET: "password"}
"""The page that a link leads to."""
_MAILS = {Purpose.REGISTER: MailKind.CONFIRM, Purpose.CONFIRM: MailKind.CONFIRM, Purpose.RESET: MailKind.RESET}


def is_token(text: str) -> bool:
    """Whether a text has the form of a link's token."""
    return _TOKEN.fullmatch(text) is not None


def permit(purpose: Purpose, name: str, now: datetime) -> EmailToken:
    """What a link permits for an address, before it has a token. It ends when its mail says so."""
    return EmailToken("", purpose, name, now + LIFETIMES[_MAILS[purpose]])


def check_token(token: EmailToken | None, now: datetime, *purposes: Purpose) -> EmailToken:
    """The token. Raises BadRequest unless it is for one of the purposes and has not expired.

    A token that was used does not exist any more. The error does not say which it was.
    """
    if token is None or token.purpose not in purposes or now >= token.expires_at:
        raise link_over()
    return token


def link_over() -> BadRequest:
    return BadRequest("This link was used already, or has expired: ask for a new one")


def mark_of(password_hash: str | None) -> str:
    """What tells a password from the next one, for a record that does not hold its hash."""
    return hashlib.sha256((password_hash or "").encode()).hexdigest()[:16]
