"""The lines by which the archive keeps payables, and the objects of such lines.

A line is JSON: the attributes of a payable's records by kind, as DynamoDB has them but without their types. So nothing
of a record is lost, and each is read again as the item that it was.

    {"Link": [{"token": "01J...", ...}], "Request": [{...}], "Payment": [{...}]}
"""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chalicelib.base.records import Record
from chalicelib.payments.archive.rules import Archived
from chalicelib.payments.links.records import Link, LinkAnnouncements, Payable, PayableLink
from chalicelib.payments.requests.payments.records import Payment, SentRefund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage import codec


def pack_lines(lines: Iterable[Archived]) -> bytes:
    """An object of the archive: a line for each payable, compressed by gzip. The same lines give the same bytes."""
    text = "".join(f"{json.dumps(_line(each), separators=(',', ':'))}\n" for each in lines)
    return gzip.compress(text.encode(), mtime=0)


def unpack_lines(content: bytes) -> list[Archived]:
    """The payables of an object."""
    return [_parse_line(json.loads(line)) for line in gzip.decompress(content).splitlines()]


def _line(archived: Archived) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for record in archived.records:
        found.setdefault(_name(type(record)), []).append(_remove_type({"M": codec.encode(record)}))
    return found


def _parse_line(line: Mapping[str, Sequence[Any]]) -> Archived:
    def all_of(kind: type[Record]) -> tuple[Any, ...]:
        return tuple(codec.decode(kind, _add_type(each)["M"]) for each in line.get(_name(kind), ()))

    links, announcements = all_of(Link), all_of(LinkAnnouncements)
    requests, known = all_of(Request), announcements[0] if announcements else None
    payable = PayableLink(requests, links[0], known) if links else Payable(requests)
    return Archived(payable, all_of(Payment), all_of(SentRefund), all_of(UnmatchedTransfer))


def _name(kind: type[Record]) -> str:
    """The name of a kind of record in a line, whatever its class is called now."""
    return "AnnouncedTransaction" if kind is LinkAnnouncements else kind.__name__


def _remove_type(attribute: Mapping[str, Any]) -> Any:
    """The value of an attribute of DynamoDB; numbers stay texts, as JSON readers round long ones."""
    ((kind, value),) = attribute.items()
    if kind == "M":
        return {name: _remove_type(each) for name, each in value.items()}
    return [_remove_type(each) for each in value] if kind == "L" else value


def _add_type(value: Any) -> dict[str, Any]:
    """An attribute that the codec reads as the one that the value is of: it looks at the types of fields alone."""
    if isinstance(value, dict):
        return {"M": {name: _add_type(each) for name, each in value.items()}}
    return {"L": [_add_type(each) for each in value]} if isinstance(value, list) else {"S": value}
