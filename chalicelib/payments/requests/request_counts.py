"""Counts: what the requests of a transaction add to the daily counts of their accounts.

A request is counted under its status, on the day of its creation, as long as it is in lists. `Request.counted_as` says
under which status, and is written in the same transaction: so it is counted once, however often it is written.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from hashlib import sha256

from chalicelib.base.lists import day_of
from chalicelib.payments.requests.records import SHARDS, DailyCount, Request

LARGEST = 2
"""The most records that requests of one owner and day add to: account, client id."""
Amounts = list[tuple[DailyCount, dict[str, int]]]
"""What is added to the counts of which records, by name; each record stands there once."""


def mark_request(request: Request) -> Request:
    """The request with the mark that it has to be written with."""
    counted_as = request.shown_status if request.listed else None
    return request if request.counted_as is counted_as else replace(request, counted_as=counted_as)


def amounts(before: Iterable[Request], after: Iterable[Request]) -> Amounts:
    """What is added when requests are written that are `mark_request`; `before` are they as stored.

    All add to the shard of the first, so that a transaction writes few records.
    """
    known, changes, shard = {each.key: each for each in before}, list[tuple[DailyCount, str, int]](), None
    for request in after:
        shard = shard_of(request.request_id) if shard is None else shard
        for each, amount in ((known.get(request.key), -1), (request, 1)):
            if each is not None and each.counted_as is not None:
                changes += ((record, each.counted_as, amount) for record in _records(each, shard))
    return sums_of(changes)


def sums_of(changes: Iterable[tuple[DailyCount, str, int]]) -> Amounts:
    """The sum of changes, each of one count of a record, without those that cancel each other."""
    records: dict[Hashable, DailyCount] = {}
    total: dict[Hashable, Counter[str]] = {}
    for record, name, amount in changes:
        records[record.key] = record
        total.setdefault(record.key, Counter())[name] += amount
    by_key = ((key, {name: amount for name, amount in changed.items() if amount}) for key, changed in total.items())
    return [(records[key], changed) for key, changed in by_key if changed]


def shard_of(request_id: str) -> int:
    return sha256(request_id.encode()).digest()[0] % SHARDS


def series_of(client_id: str | None) -> str:
    """The series of the requests of a client id, or with None of the account."""
    return "REQUESTS" if client_id is None else f"REQUESTS#{client_id}"


def _records(request: Request, shard: int) -> list[DailyCount]:
    series = [series_of(None), *([series_of(request.client_id)] if request.client_id else [])]
    return [DailyCount(request.account_id, each, day_of(request.created_at), "", shard) for each in series]
