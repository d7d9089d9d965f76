"""The secrets of those who announce transactions of a link, by which they are told from other readers of the link."""

import re
from hashlib import sha256

FORM = r"^[a-f0-9]{64}$"
"""Its form: 32 bytes in hexadecimal."""
HEADER = "x-announcer-secret"


def announcer_of(secret: str | None) -> str | None:
    """The SHA-256 hash of a secret, by which it is stored; None for another text than a secret.

    A plain hash is enough, because a secret is as long as the hash and random.
    """
    return sha256(secret.encode()).hexdigest() if secret is not None and re.fullmatch(FORM, secret) else None
