"""The formats of personal data: dates of birth, telephone numbers, tax numbers, IBANs. No message repeats one."""

import re
from datetime import datetime

from chalicelib.base.errors import Problem, ValidationFailed

PHONE = r"^\+?[1-9][0-9]{1,14}$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
COUNTRY = r"^[A-Za-z]{2}$"
CURRENCY = r"^[A-Za-z]{3}$"
SOCIAL_SECURITY = r"^(?!000)[0-9]{3}-?(?!00)[0-9]{2}-?(?!0000)[0-9]{4}$"
"""The number of a resident of the United States."""
TAX_NUMBER = r"^[0-9A-Za-z][0-9A-Za-z ./-]{0,63}$"
"""What takes its place elsewhere."""
BIC = r"^[A-Za-z]{6}[0-9A-Za-z]{2}([0-9A-Za-z]{3})?$"
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_EARLIEST = "1900-01-01"


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar as YYYY-MM-DD."""
    if not re.fullmatch(DAY, text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def check_birth(text: str, now: datetime) -> None:
    """Raises ValidationFailed for a day that cannot be the date of birth of a living person."""
    if not _EARLIEST <= text < now.date().isoformat():
        raise ValidationFailed((Problem(("dateOfBirth",), f"must be in the past, and not before {_EARLIEST}"),))


def iban(text: str) -> str | None:
    """An IBAN without spaces in upper case; None if it is not one, by its check digits too (ISO 13616)."""
    compact = text.replace(" ", "").upper()
    if not _IBAN.fullmatch(compact):
        return None
    digits = "".join(str(int(each, 36)) for each in compact[4:] + compact[:4])
    return compact if int(digits) % 97 == 1 else None
