"""Reads of request pointers and references, payments and unmatched transfers."""

from collections.abc import Iterable

from chalicelib.requests.records import Payment, Reference, Refund, RequestPointer, UnmatchedTransfer
from chalicelib.storage.store import Store

_LONGEST_REQUEST_ID = 66


def pointer(store: Store, request_id: str) -> RequestPointer | None:
    """The index entry from a request id to its link. One read."""
    if len(request_id) > _LONGEST_REQUEST_ID:
        return None
    return store.get(RequestPointer, RequestPointer.KEY.of(request_id=request_id))


def references(store: Store, topics: Iterable[str]) -> list[Reference]:
    """The references of these topics, without those that do not exist; read in batches of 100."""
    keys = {Reference.KEY.of(topic=topic): Reference for topic in topics}
    return list(store.get_many(keys).values())


def refunds(store: Store, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Refund]:
    """The refunds by topic and currency, without those that do not exist; read in batches of 100."""
    keys = {Refund.KEY.of(topic=topic, currency=currency): Refund for topic, currency in wanted}
    return {(each.topic, each.currency): each for each in store.get_many(keys).values()} if keys else {}


def payments(store: Store, request_id: str) -> tuple[Payment, ...]:
    """The payments of a request, in the order of their log positions. One query."""
    return store.query(Payment, Payment.KEY.all(request_id=request_id))


def unmatched_transfers(store: Store, request_id: str) -> tuple[UnmatchedTransfer, ...]:
    """The unmatched transfers of a request, in the order of their log positions. One query."""
    return store.query(UnmatchedTransfer, UnmatchedTransfer.KEY.all(request_id=request_id))
