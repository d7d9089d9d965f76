"""Cursors of lists: opaque texts that continue one list of one account, and no other."""

import binascii
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Container, Sequence
from hashlib import sha256

from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.frozen import frozen

_CHECK_BYTES = 9
_LONGEST = 2_000
_PLACE = re.compile("[!-~]{1,1000}")
"""DynamoDB refuses sort keys of more than 1,024 bytes."""
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


def position_of(
    cursor: str, scope: Sequence[str], ways: Container[tuple[str, ...]] = ((),), field: str = "cursor"
) -> Position:
    """The position of a cursor. `ways` are the `indexes` that it can have in this list, `field` is what sends it.

    Raises ValidationFailed if it was altered, made by somebody else, or belongs to another list.
    """
    try:
        raw = urlsafe_b64decode(cursor[:_LONGEST].encode() + b"==")
        text = raw[_CHECK_BYTES:].decode()
    except (UnicodeError, binascii.Error):
        raw, text = b"", ""
    is_own = raw[:_CHECK_BYTES] == _check(text, scope) and cursor == urlsafe_b64encode(raw).decode().rstrip("=")
    position = _parse_position(text) if is_own else None
    if position is None or position.indexes not in ways:
        raise ValidationFailed((Problem((field,), _REFUSED),))
    return position


def _parse_position(text: str) -> Position | None:
    try:
        match json.loads(text):
            case [str(place), list(indexes), int(offset), int() | None as total] if _PLACE.fullmatch(place):
                return Position(place, tuple(map(str, indexes)), offset, total)
    except (ValueError, RecursionError):
        pass
    return None


def _check(text: str, scope: Sequence[str]) -> bytes:
    """Ties a position to its list. It need not be secret: whoever makes one up is shown records of his own alone."""
    return sha256(json.dumps([text, *scope]).encode()).digest()[:_CHECK_BYTES]
