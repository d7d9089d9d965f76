"""Reads of what is archived: candidates, all records of a payable, and what finds it."""

from collections.abc import Callable
from typing import NamedTuple

from chalicelib.base.records import Key, Record
from chalicelib.payments.archive.records import ArchivePass
from chalicelib.payments.archive.rules import Archived
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Link
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import SentRefund
from chalicelib.payments.requests.records import Reference, Request, RequestPointer
from chalicelib.payments.requests.references import reference_topic
from chalicelib.platform.storage.store import Store


class Candidate(NamedTuple):
    """The id of a payable, and what reads its link or one of its requests: one that cannot be read stops no pass."""

    payable_id: str
    read: Callable[[], Record]


def find_pass(store: Store) -> ArchivePass | None:
    """The pass that is under way, or the last one; None before the first. One read."""
    return store.get(ArchivePass, ArchivePass.KEY.of())


def candidates(store: Store, after: Key | None) -> tuple[list[Candidate], Key | None]:
    """The links and requests on the next MB of the table, and where that ends (`Store.scan_on`)."""
    scanned, end = store.scan_on((Link, Request), after)
    return [Candidate(each.key.pk.partition("#")[2], each.read) for each in scanned], end


def whole(store: Store, payable_id: str) -> Archived | None:
    """A payable with all that was recorded of it, as it is stored now. One query, and three for each request."""
    payable = link_store.find_payable(store, payable_id)
    if payable is None or not payable.requests:
        return None
    ids = [each.request_id for each in payable.requests]
    return Archived(
        payable,
        tuple(each for name in ids for each in payment_store.payments(store, name)),
        tuple(each for name in ids for each in store.query(SentRefund, SentRefund.KEY.all(request_id=name))),
        tuple(each for name in ids for each in payment_store.list_unmatched_transfers(store, name)),
    )


def index_entries(store: Store, archived: Archived) -> list[Record]:
    """What finds the requests of a payable by their ids and references. One batch read for 50 requests."""
    wanted: dict[Key, type[Record]] = {}
    for each in archived.payable.requests:
        topic = reference_topic(bytes.fromhex(each.payment_reference[2:]))
        wanted[Reference.KEY.of(topic=topic)] = Reference
        wanted[RequestPointer.KEY.of(request_id=each.request_id)] = RequestPointer
    return list(store.get_many(wanted).values())
