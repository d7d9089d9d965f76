"""Searching a million payments, and as many requests: DynamoDB queries, what they read, and CPU, on near and far pages.

The local cloud would take an hour to load them, and reads whole tables for each query of an index. So the queries are
answered by a double of DynamoDB that makes the records of a list when they are read, as many as fit into 1 MB.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, TypeVar

from chalicelib.base.lists import MOST_QUERIES, place_at
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Counts, Record
from chalicelib.payments.recording.payment_counts import Facets
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import SHARDS, DailyCount, Request, RequestStatus
from chalicelib.payments.requests.request_counts import series_of
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.export import table
from chalicelib.payments.search.payments.records import Filters, Page
from chalicelib.payments.search.requests import listing
from chalicelib.payments.search.requests.listing import Wanted
from chalicelib.platform.storage.items import item_of
from chalicelib.platform.storage.pages import ListPage
from chalicelib.platform.storage.store import Store
from tests.bench.figures import Figure
from tests.platform.storage.kept_records import PAYMENT, REQUEST

PAYMENTS, DAYS, PAGE = 1_000_000, 1_000, 100
A_DAY = PAYMENTS // DAYS
FIRST = datetime(2023, 7, 1, tzinfo=UTC)
SPACE = timedelta(days=1) / A_DAY
MOST_BYTES = 1_000_000
P = TypeVar("P", Page, ListPage[Request])
ITEM_BYTES = 2_000
"""About what an item has with its index attributes."""


class Million:
    """A DynamoDB client: one account with a thousand records on each of a thousand days, all in every list.

    `make` returns the record of a number, `name` is the count that has it.
    """

    def __init__(self, make: Callable[[int], Record], series: str, name: str) -> None:
        self.queries, self.read = 0, 0
        self._make, self._series, self._name = make, series, name

    def query(self, **sent: Any) -> dict[str, Any]:
        self.queries += 1
        values = {name: each["S"] for name, each in sent["ExpressionAttributeValues"].items()}
        if "IndexName" not in sent:
            items = [item_of(each, each.key) for each in _counts(self._series, self._name)]
            self.read += sum(map(_size, items))
            return {"Items": items}
        if "ExclusiveStartKey" in sent:
            newest = self._newest_below(sent["ExclusiveStartKey"]["listed_at"]["S"]) - 1
        else:
            newest = self._newest_below(values[":last"])
        size = min(sent.get("Limit", PAYMENTS), MOST_BYTES // ITEM_BYTES, newest + 1)
        items = [item_of(each, each.key) for each in map(self._make, range(newest, newest - size, -1))]
        self.read += sum(map(_size, items))
        following = {"LastEvaluatedKey": {"listed_at": items[-1]["listed_at"]}} if size <= newest else {}
        return {"Items": items, "Count": len(items), **following}

    def _newest_below(self, place: str) -> int:
        """The number of the newest record up to a place."""
        low, high = -1, PAYMENTS - 1
        while low < high:
            middle = (low + high + 1) // 2
            if place_at(FIRST + middle * SPACE) <= place and self._make(middle).listed_at <= place:
                low = middle
            else:
                high = middle - 1
        return low


def measure() -> list[Figure]:
    return [*_payments(), *_requests()]


def _payments() -> list[Figure]:
    client = Million(_payment, "ACCOUNT", Facets("USDC-base", "USDC-base", "direct").name)
    services: Any = SimpleNamespace(store=WithoutRequests("bench", client))
    filters = Filters("acct", type="direct")
    first, at_first = _measured(client, lambda: payment_search.page_at(services, filters, 0, PAGE))
    _, second = _measured(client, lambda: payment_search.page_after(services, filters, first.cursor or "", PAGE))
    before, far = _measured(client, lambda: payment_search.page_at(services, filters, 4_998 * PAGE, PAGE))
    page, last = _measured(client, lambda: payment_search.page_after(services, filters, before.cursor or "", PAGE))
    assert (page.offset, page.payments[0].block_number) == (4_999 * PAGE, PAYMENTS - 4_999 * PAGE - 1)
    assert first.total == PAYMENTS
    whole, part = _measured(client, lambda: payment_search.page_after(services, filters, "", 2_000))
    started = time.process_time()
    table(whole.payments, with_head=True)
    row = (time.process_time() - started) / len(whole.payments)
    return [
        Figure("page 1 of 1,000,000 with its total", at_first["queries"], "queries", "goal", 2, 1),
        Figure("page 5,000 by cursor", last["queries"], "queries", "page 2 by cursor", second["queries"], 1),
        Figure("page 5,000 by cursor", last["kB"], "kB read", "page 2 by cursor", second["kB"], 1.05),
        Figure("page 5,000 by cursor", last["ms"], "ms CPU", "page 2 by cursor", second["ms"], 2),
        Figure("page 4,999 by offset", far["queries"], "queries", "page 1", at_first["queries"], 2),
        Figure("2,000 rows of CSV", part["queries"], "queries", "one for each MB", 2_000 * ITEM_BYTES / MOST_BYTES, 1.25),
        Figure("a row of CSV, written", row * 1e6, "us CPU", "reading it", part["ms"] * 1e3 / len(whole.payments), 0.5),
    ]


def _requests() -> list[Figure]:
    client = Million(_request, series_of(None), RequestStatus.CREATED)
    services: Any = SimpleNamespace(store=WithoutRequests("bench", client))
    wanted = Wanted("acct", status="created")
    first, at_first = _measured(client, lambda: listing.page(services, wanted, None, 0, PAGE).page)
    before, far = _measured(client, lambda: listing.page(services, wanted, None, 4_998 * PAGE, PAGE).page)
    page, last = _measured(client, lambda: listing.page(services, wanted, before.cursor, 0, PAGE).page)
    by_payee = Wanted("acct", payee=_request(0).payee.lower())
    capped, at_payee = _measured(client, lambda: listing.page(services, by_payee, None, 0, PAGE).page)
    assert (first.total, page.total, page.offset) == (PAYMENTS, PAYMENTS, 4_999 * PAGE)
    assert capped.total is not None and PAGE < capped.total < PAYMENTS
    return [
        Figure("requests, page 1 of 1,000,000 with its total", at_first["queries"], "queries", "goal", 2, 1),
        Figure("requests, page 4,999 by offset", far["queries"], "queries", "page 1", at_first["queries"], 2),
        Figure("requests, page 5,000 by cursor", last["queries"], "queries", "goal", 1, 1),
        Figure("requests of one payee, page 1", at_payee["queries"], "queries", "most", MOST_QUERIES + 1, 1),
    ]


class WithoutRequests(Store):
    """A store that has no records but those of its lists: the batch read of a page is measured elsewhere."""

    def get_many(self, wanted: Any) -> dict[Any, Any]:
        return {}


def _measured(client: Million, act: Callable[[], P]) -> tuple[P, dict[str, float]]:
    queries, read, started = client.queries, client.read, time.process_time()
    page = act()
    seconds = time.process_time() - started
    return page, {"queries": client.queries - queries, "kB": (client.read - read) / 1_000, "ms": seconds * 1_000}


def _counts(series: str, name: str) -> Iterator[DailyCount]:
    for day in range(DAYS):
        for shard in range(SHARDS):
            counts = Counts({name: A_DAY // SHARDS})
            yield DailyCount("acct", series, (FIRST + timedelta(days=day)).date().isoformat(), "", shard, counts)


def _payment(number: int) -> Payment:
    hash_ = f"0x{number:064x}"
    return replace(
        PAYMENT,
        request_id=f"01{number // 3:064x}",
        block_hash=hash_,
        block_number=number,
        tx_hash=hash_,
        amount=BaseUnits(12_500_000),
        paid_at=FIRST + number * SPACE,
        value=BaseUnits(12_500_000),
        account_id="acct",
        currency="USDC-base",
        invoice_currency="USDC-base",
        reference=f"ORDER-{number}",
        is_counted=True,
    )


def _request(number: int) -> Request:
    request_id, created = f"01{number:064x}", FIRST + number * SPACE
    return replace(
        REQUEST, payable_id=request_id, position=0, request_id=request_id, account_id="acct", created_at=created,
        reference=f"ORDER-{number}", counted_as=RequestStatus.CREATED,
    )


def _size(item: dict[str, Any]) -> int:
    return sum(len(name) + len(str(next(iter(value.values())))) for name, value in item.items())
