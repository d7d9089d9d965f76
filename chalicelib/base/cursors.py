"""Cursors of lists: opaque texts that continue one list of one account, and no other."""

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256

from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.frozen import frozen

_CHECK_BYTES = 9
_LONGEST = 2_000
_REFUSED = "is not one of this list: send nextCursor as it was given, with the same filters, or start again"


@frozen
class Position:
    """Where a page ended.

    `place` is that of its last record, `indexes` are those that the list is read by, `offset` is the number of records
    up to here, and `total` that of all, as it was counted for the first page; None if it was not.
    """

    place: str
    indexes: tuple[str, ...]
    offset: int
    total: int | None


def cursor_of(position: Position, scope: Sequence[str]) -> str:
    """The cursor of a position. `scope` are the account and the filters, with which alone it continues."""
    text = json.dumps([position.place, position.indexes, position.offset, position.total], separators=(",", ":"))
    return urlsafe_b64encode(_check(text, scope) + text.encode()).decode().rstrip("=")


def position_of(cursor: str, scope: Sequence[str]) -> Position:
    """The position of a cursor. Raises ValidationFailed if it was altered, or belongs to another list."""
    try:
        raw = urlsafe_b64decode(cursor[:_LONGEST].encode() + b"==")
        text = raw[_CHECK_BYTES:].decode()
    except (UnicodeError, binascii.Error):
        raw, text = b"", ""
    if not text or raw[:_CHECK_BYTES] != _check(text, scope) or cursor != urlsafe_b64encode(raw).decode().rstrip("="):
        raise ValidationFailed((Problem(("cursor",), _REFUSED),))
    place, indexes, offset, total = json.loads(text)
    return Position(place, tuple(indexes), offset, total)


def _check(text: str, scope: Sequence[str]) -> bytes:
    """Ties a position to its list. It need not be secret: a position shows nothing but records of the caller."""
    return sha256(json.dumps([text, *scope]).encode()).digest()[:_CHECK_BYTES]
