"""Reads of all that is listed, for `reindex`."""

from collections.abc import Iterator
from itertools import chain

from chalicelib.base.records import Record
from chalicelib.payments.links.records import Link
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.store import Store
from chalicelib.webhooks.records import Event


def everything(
    store: Store, segment: int, segments: int, *others: type[Record]
) -> Iterator[tuple[Record, bool]]:
    """Every link, request, payment and event, and `others` of their table, each with whether it is in the lists that it
    belongs to.

    `segment` is one of `segments` parts of the tables, which several processes can read at once.
    """
    kept = ((Link, Request, Payment, *others), (Event,))
    return chain.from_iterable(store.scan(kinds, segment, segments) for kinds in kept)


def again(store: Store, record: Record) -> Record | None:
    """A record as it is stored now."""
    return store.get(type(record), record.key)
