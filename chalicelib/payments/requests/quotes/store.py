"""Reads of quotes, and of rates that are locked for one payment."""

from collections.abc import Iterable

from chalicelib.payments.requests.quotes.records import LockedRate, Quote
from chalicelib.platform.storage.store import Store


def newest(store: Store, request_ids: Iterable[str]) -> dict[str, Quote]:
    """The newest quotes of the requests that ever had one, by request id. One query for each."""
    partitions = [Quote.KEY.partition(request_id=each) for each in request_ids]
    return {quote.request_id: quote for quote in store.newest_of_each(Quote, partitions)}


def first(store: Store, request_ids: Iterable[str]) -> dict[str, Quote]:
    """The first quotes of the requests that ever had one, by request id; read in batches of 100."""
    keys = {Quote.KEY.of(request_id=each, number=0): Quote for each in request_ids}
    return {quote.request_id: quote for quote in store.get_many(keys).values()} if keys else {}


def page(store: Store, request_id: str, before: str | None, limit: int) -> tuple[tuple[Quote, ...], str | None]:
    """A page of the quotes of a request, newest first, and the cursor of the next one. One query."""
    return store.page(Quote, Quote.KEY.partition(request_id=request_id), before, limit, consistent=True)


def find_locked_rate(store: Store, request_id: str, intent_id: str) -> LockedRate | None:
    """The rate that is locked for the payment of a payment intent. One read."""
    return store.get(LockedRate, LockedRate.KEY.of(request_id=request_id, intent_id=intent_id))


def all_locked(store: Store, request_id: str) -> tuple[LockedRate, ...]:
    """The rates that are or were held for payments of a request. One query."""
    return store.query(LockedRate, LockedRate.KEY.all(request_id=request_id))
