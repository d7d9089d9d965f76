"""Passwords: argon2id hashes in the PHC string format, and a check that takes the same time for unknown users.

One hash takes 19 MiB and 2 passes on one lane, as OWASP recommends: about 20 ms on one core of a desktop computer for
each login or registration. argon2-cffi is imported by the first of these.
"""

from chalicelib.base.errors import BadRequest

MIN_LENGTH, MAX_LENGTH = 8, 100
"""In code points (specification, Limits)."""
MEMORY_KIB, PASSES, LANES = 19 * 1024, 2, 1
SALT_BYTES, HASH_BYTES = 16, 32
DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$ACLZoEAOVPkfKguZYbSFrpX7QbJAa2axonBu1tLaRIk"
"""Checked for an unknown user, to take the same time. It has the parameters above and matches no known password."""


def check_password(password: str) -> None:
    """Raises BadRequest unless the text can be a password."""
    _bytes(password)


def password_hash(password: str, salt: bytes) -> str:
    """`$argon2id$v=19$m=...,t=...,p=...$salt$hash`; `salt` is SALT_BYTES of entropy. Raises BadRequest."""
    from argon2 import low_level

    kind = low_level.Type.ID
    return low_level.hash_secret(_bytes(password), salt, PASSES, MEMORY_KIB, LANES, HASH_BYTES, kind).decode()


def is_password(password: str, stored: str | None) -> bool:
    """Whether the password matches the hash. For None it returns False, after the same time.

    Raises BadRequest unless the text can be a password.
    """
    from argon2 import low_level
    from argon2.exceptions import VerifyMismatchError

    secret = _bytes(password)
    try:
        low_level.verify_secret((stored or DUMMY_HASH).encode(), secret, low_level.Type.ID)
    except VerifyMismatchError:
        return False
    return stored is not None


def _bytes(password: str) -> bytes:
    """The password in UTF-8, not normalised; NUL counts. Raises BadRequest for a wrong length or lone surrogates."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise BadRequest(f"password must have {MIN_LENGTH} to {MAX_LENGTH} characters")
    try:
        return password.encode()
    except UnicodeEncodeError:
        raise BadRequest("password must be text in UTF-8") from None
