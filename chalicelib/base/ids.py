"""Identifiers and secrets, built from the time and the random bytes that the caller passes in."""

import re
import string
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

Entropy = Callable[[int], bytes]
"""Returns the given number of random bytes; `secrets.token_bytes` in production."""


class Source(NamedTuple):
    """What ids and secrets are drawn from: `ulid(*source)`."""

    at: datetime
    entropy: Entropy


_TEST_TOKEN = re.compile(r"test_([0-9A-Za-z]{1,30})_[0-9A-HJKMNP-TV-Z]{26}")
_ALPHANUMERIC = string.ascii_letters + string.digits


def ulid(now: datetime, entropy: Entropy) -> str:
    """26 characters of Crockford base32: 48 bits of milliseconds and 80 random bits."""
    return ulid_from(now, entropy(10))


def ulid_from(now: datetime, tail: bytes) -> str:
    """The ULID of `now` whose random part is the 10 bytes of `tail`."""
    from ulid import ULID

    milliseconds = int(now.timestamp() * 1000)
    return str(ULID(milliseconds.to_bytes(6, "big") + tail))


def link_token(now: datetime, entropy: Entropy, sandbox: str | None = None) -> str:
    """A ULID; in the sandbox of an account after `test_` and the account's id, by which the payment page finds it."""
    return ulid(now, entropy) if sandbox is None else f"test_{sandbox}_{ulid(now, entropy)}"


def sandbox_of(token: str) -> str | None:
    """The account in whose sandbox a link with this token is; None for the token of a live link."""
    found = _TEST_TOKEN.fullmatch(token)
    return found and found[1]


def request_id(entropy: Entropy) -> str:
    """66 hex characters: the multi-format prefix `01` and 32 random bytes (supplement, conventions)."""
    return "01" + entropy(32).hex()


def uuid4(entropy: Entropy) -> str:
    """A random UUID (RFC 9562, version 4)."""
    from uuid import UUID

    return str(UUID(bytes=entropy(16), version=4))


def salt(entropy: Entropy) -> str:
    """16 hex characters, one salt per request: makes the payment reference unguessable."""
    return entropy(8).hex()


def client_id(entropy: Entropy, is_test: bool = False) -> str:
    """`cli_`, or `cli_test_` in test mode, and 30 mixed-case alphanumerics."""
    return ("cli_test_" if is_test else "cli_") + _alphanumeric(30, entropy)


def api_key(entropy: Entropy, is_test: bool = False) -> str:
    """`key_`, or `key_test_` in test mode, and 43 mixed-case alphanumerics: 256 bits, shown once."""
    return ("key_test_" if is_test else "key_") + _alphanumeric(43, entropy)


def session_token(entropy: Entropy) -> str:
    """The random part of a session's token: 43 mixed-case alphanumerics: 256 bits."""
    return _alphanumeric(43, entropy)


def orchestrator_key(entropy: Entropy) -> str:
    """`orc_live_` and 43 mixed-case alphanumerics."""
    return "orc_live_" + _alphanumeric(43, entropy)


def webhook_secret(entropy: Entropy) -> str:
    """64 lower-case hex characters: the HMAC key of one webhook."""
    return entropy(32).hex()


def _alphanumeric(length: int, entropy: Entropy) -> str:
    """Characters of a random number in base 62. The number has 64 more bits than needed, so they are nearly uniform."""
    number = int.from_bytes(entropy(length * 6 // 8 + 8 + 1), "big")
    characters = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        characters.append(_ALPHANUMERIC[digit])
    return "".join(characters)
