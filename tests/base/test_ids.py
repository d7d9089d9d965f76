"""Identifiers and secrets: their form, and that every character comes from the random bytes."""

import string
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import ceil, log2

import pytest

from chalicelib.base import ids
from chalicelib.base.ids import Entropy

NOW = datetime(2026, 3, 15, 10, 0, 0, 123_000, tzinfo=UTC)
ALPHANUMERICS = string.ascii_letters + string.digits


def drawn(made: Callable[[Entropy], str], fill: int = 0xA7) -> tuple[str, list[int]]:
    """What `made` returns, and the numbers of random bytes that it asked for."""
    sizes: list[int] = []

    def entropy(size: int) -> bytes:
        sizes.append(size)
        return bytes((fill * (index + 1)) % 256 for index in range(size))

    return made(entropy), sizes


def number_of(text: str, alphabet: str) -> int:
    """The number that a text is in the positional system of its alphabet."""
    value = 0
    for character in text:
        value = value * len(alphabet) + alphabet.index(character)
    return value


def test_a_ulid_holds_the_milliseconds_and_ten_random_bytes() -> None:
    text, sizes = drawn(lambda entropy: ids.ulid(NOW, entropy))
    tail = bytes((0xA7 * (index + 1)) % 256 for index in range(10))
    assert (len(text), sizes) == (26, [10])
    value = number_of(text, "0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    assert value.to_bytes(16, "big") == int(NOW.timestamp() * 1000).to_bytes(6, "big") + tail
    assert ids.ulid_from(NOW, tail) == text


def test_ulids_sort_by_their_time() -> None:
    later = NOW + timedelta(milliseconds=1)
    assert ids.ulid_from(NOW, b"\xff" * 10) < ids.ulid_from(later, bytes(10))


@pytest.mark.parametrize(
    ("made", "prefix", "size"), [(ids.request_id, "01", 32), (ids.salt, "", 8), (ids.webhook_secret, "", 32)]
)
def test_hexadecimal_ids_are_their_random_bytes(made: Callable[[Entropy], str], prefix: str, size: int) -> None:
    assert drawn(made) == (prefix + bytes((0xA7 * (index + 1)) % 256 for index in range(size)).hex(), [size])


@pytest.mark.parametrize(
    ("made", "prefix", "length"),
    [
        (ids.client_id, "cli_", 30),
        (ids.api_key, "key_", 43),
        (ids.session_token, "", 43),
        (ids.orchestrator_key, "orc_live_", 43),
    ],
)
def test_alphanumeric_secrets_are_a_random_number_with_64_bits_to_spare(
    made: Callable[[Entropy], str], prefix: str, length: int
) -> None:
    text, (size,) = drawn(made)
    characters = text.removeprefix(prefix)
    assert text == prefix + characters
    assert len(characters) == length
    assert size == ceil((length * log2(62) + 64) / 8)
    random = int.from_bytes(bytes((0xA7 * (index + 1)) % 256 for index in range(size)), "big")
    assert number_of(characters[::-1], ALPHANUMERICS) == random % 62**length


def test_a_key_of_43_alphanumerics_holds_256_bits() -> None:
    assert 62**43 > 2**256 > 62**42
