"""Names of domains, in the one form that DNS has them in."""

import re
import unicodedata

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def ascii_domain(text: str) -> str | None:
    """The domain in ASCII and lower case (IDNA 2008, `xn--...` for what is not ASCII); None if it cannot be one."""
    if text.isascii():
        lower = text.lower()
        return lower if all(len(each) < 64 and _LABEL.fullmatch(each) for each in lower.split(".")) else None
    import idna  # few domains need it

    try:
        return idna.encode(unicodedata.normalize("NFC", text), uts46=True).decode().lower()
    except (idna.IDNAError, UnicodeError):
        return None
