"""Reads of the payables of requests, of references and daily counts."""

import re
from collections.abc import Iterable
from datetime import datetime

from chalicelib.base.lists import day_of
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, Key, KeyRange, Record
from chalicelib.payments.requests.records import DailyCount, FirstRequest, Reference, Request, RequestPointer
from chalicelib.payments.requests.references import reference_topic
from chalicelib.platform.storage.store import Store

_REQUEST_ID = re.compile("[0-9a-f]{66}")
_PAYMENT_REFERENCE = re.compile("0x[0-9a-f]{16}")


def payable_id(store: Store, name: str) -> str | None:
    """The payable of the request with this id or payment reference, in any case of letters; None if there is none. One
    read, in which a request that stands by itself is found without a pointer."""
    found = _place(store, name)
    return found.payable_id if found else None


def request(store: Store, name: str) -> Request | None:
    """The request with this id or payment reference, in any case of letters, alone or in the link that it was created
    for; None if there is none. One read for the id of one that stands by itself, else two."""
    found = _place(store, name)
    if found is None or isinstance(found, Request):
        return found
    return request_at(store, found)


def request_at(store: Store, place: RequestPointer | Reference) -> Request | None:
    """The request that an index entry leads to; None if it is archived. One read."""
    return store.get(Request, Request.KEY.of(payable_id=place.payable_id, position=place.position))


def _place(store: Store, name: str) -> Request | RequestPointer | Reference | None:
    """The request with this id if it stands by itself, else what says where the one with this id or reference is."""
    name = name.lower()
    if _PAYMENT_REFERENCE.fullmatch(name):
        found = references(store, [reference_topic(bytes.fromhex(name[2:]))])
        return next((each for each in found if not each.is_refund), None)
    return pointers(store, [name]).get(name) if _REQUEST_ID.fullmatch(name) else None


def pointers(store: Store, request_ids: Iterable[str]) -> dict[str, Request | RequestPointer]:
    """The requests that stand by themselves, and the pointers to those of links, by request id; in batches of 100."""
    keys: dict[Key, type[Record]] = {}
    for request_id in request_ids:
        keys[Request.KEY.of(payable_id=request_id, position=0)] = Request
        keys[RequestPointer.KEY.of(request_id=request_id)] = RequestPointer
    return {each.request_id: each for each in store.get_many(keys).values()} if keys else {}


def standing_alone(store: Store, request_ids: Iterable[str]) -> dict[str, Request]:
    """The requests without a link that exist, by request id; in batches of 100."""
    keys = {Request.KEY.of(payable_id=each, position=0): Request for each in request_ids if _REQUEST_ID.fullmatch(each)}
    return {each.request_id: each for each in store.get_many(keys).values()} if keys else {}


def first_request(store: Store, network: str) -> FirstRequest | None:
    """When the first request of a network was created; None if none was. One read."""
    return store.get(FirstRequest, FirstRequest.KEY.of(network=network))


def networks_with_requests(store: Store, networks: Iterable[str]) -> set[str]:
    """Those of some networks on which a request was created. One read."""
    wanted = {FirstRequest.KEY.of(network=name): FirstRequest for name in networks}
    return {each.network for each in store.get_many(wanted).values()}


def references(store: Store, topics: Iterable[str]) -> list[Reference]:
    """The references of these topics, without those that do not exist; read in batches of 100."""
    keys = {Reference.KEY.of(topic=topic): Reference for topic in topics}
    return list(store.get_many(keys).values())


def daily_counts(
    store: Store, account_id: str, series: str, first: datetime | None, last: datetime | None, limit: int | None = None
) -> tuple[DailyCount, ...]:
    """The counts of a series from one day to another, or the first `limit`. One query for each MB, which is about five
    years of payments of one client id."""
    partition = DailyCount.KEY.partition(account_id=account_id, series=series)
    first_day = day_of(first) if first is not None else FIRST_SORT_KEY
    last_day = f"{day_of(last)}{LAST_SORT_KEY}" if last is not None else LAST_SORT_KEY
    keys = KeyRange(DailyCount.KEY.table, partition, first_day, last_day)
    return store.query(DailyCount, keys, limit)
