"""Reads of the bills of requests, of references, payments and unmatched transfers."""

import re
from collections.abc import Iterable

from chalicelib.base.records import Key, Record
from chalicelib.requests.records import Payment, Reference, Refund, Request, RequestPointer, UnmatchedTransfer
from chalicelib.requests.references import reference_topic
from chalicelib.storage.store import Store

_REQUEST_ID = re.compile("[0-9a-f]{66}")
_PAYMENT_REFERENCE = re.compile("0x[0-9a-f]{16}")


def bill_id(store: Store, name: str) -> str | None:
    """The bill of the request with this id or payment reference, in any case of letters; None if there is none. One
    read, in which a request that stands by itself is found without a pointer."""
    name = name.lower()
    if _PAYMENT_REFERENCE.fullmatch(name):
        found = references(store, [reference_topic(bytes.fromhex(name[2:]))])
        return next((each.bill_id for each in found if not each.is_refund), None)
    return bill_ids(store, [name]).get(name)


def bill_ids(store: Store, request_ids: Iterable[str]) -> dict[str, str]:
    """The bills of the requests that exist, by request id. Two keys for each request, in batches of 100."""
    keys: dict[Key, type[Record]] = {}
    for request_id in request_ids:
        if _REQUEST_ID.fullmatch(request_id):
            keys[Request.KEY.of(bill_id=request_id, position=0)] = Request
            keys[RequestPointer.KEY.of(request_id=request_id)] = RequestPointer
    return {each.request_id: each.bill_id for each in store.get_many(keys).values()} if keys else {}


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
