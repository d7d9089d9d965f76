"""The store's counters, pages and batches: exact, in order, and patient with a table that is busy."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.access.audit.records import AuditEntry
from chalicelib.access.credentials.records import Account, LastUse
from chalicelib.access.rate_limits.records import CallCounter
from chalicelib.storage.store import Delete, Store, Throttled, WriteConflict
from tests.fakes.world import PREFIX, START, World

COUNTER = CallCounter("tier#caller#1", START + timedelta(seconds=1))


class BusyClient:
    """A DynamoDB that leaves the keys of its first batches for later, as it does when a table is busy."""

    def __init__(self, client: Any, busy: int) -> None:
        self._client, self.left = client, busy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:
        if self.left == 0:
            return self._client.batch_get_item(RequestItems=RequestItems)
        self.left -= 1
        return {"Responses": {}, "UnprocessedKeys": RequestItems}


def accounts(world: World, count: int) -> dict[Any, type]:
    records = [Account(f"acct{number}", "n", START) for number in range(count)]
    for record in records:
        world.services.store.write(record)
    return {record.key: Account for record in records}


def test_a_refused_transaction_leaves_every_record_as_it_was(world: World) -> None:
    """What it would have written, replaced and deleted, in each of its tables."""
    store, used = world.services.store, LastUse("key1", START)
    line = AuditEntry("acct1", "01", START, "a", "b", "c", "", "")
    first, second = Account("acct1", "n", START), Account("acct2", "n", START)
    store.write(first, second, used)
    renamed, gone = replace(first, name="m", version=1), Delete(replace(second, version=1))
    with pytest.raises(WriteConflict):
        store.write(line, renamed, gone, used)
    kept = (store.get(Account, first.key), store.get(Account, second.key), store.get(LastUse, used.key))
    assert kept == tuple(replace(record, version=1) for record in (first, second, used))
    assert store.get(AuditEntry, line.key) is None
    store.write(line, renamed, gone, replace(used, version=1))
    assert store.get(Account, first.key) == replace(first, name="m", version=2)
    assert store.get(Account, second.key) is None and store.get(AuditEntry, line.key) is not None


def test_a_query_is_of_one_partition_in_the_order_of_its_keys(world: World) -> None:
    lines = [AuditEntry(f"acct{n % 2}", f"0{n}", START, "a", "b", "c", "", "") for n in (5, 3, 1, 4, 0, 2)]
    for line in lines:
        world.services.store.write(line)
    found = world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct1"))
    assert [line.entry_id for line in found] == ["01", "03", "05"]
    assert world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct2")) == ()


def test_a_window_counts_to_its_limit_and_no_further(world: World) -> None:
    assert [world.services.store.count(COUNTER, 3) for _ in range(5)] == [1, 2, 3, None, None]


def test_a_counter_vanishes_after_its_window(world: World) -> None:
    world.services.store.count(COUNTER, 3)
    key = {"pk": {"S": "RATE#tier#caller#1"}, "sk": {"S": "RATE"}}
    item = world.client.get_item(TableName=f"{PREFIX}-ops", Key=key)["Item"]
    assert COUNTER.ends_at.timestamp() < int(item["ttl"]["N"]) <= COUNTER.ends_at.timestamp() + 120


def test_a_batch_goes_on_with_what_a_busy_table_left(world: World) -> None:
    wanted = accounts(world, 3)
    store = Store(PREFIX, BusyClient(world.client, busy=3))
    assert store.get_many(wanted).keys() == wanted.keys()


def test_a_batch_gives_up_on_a_table_that_stays_busy(world: World) -> None:
    client = BusyClient(world.client, busy=1_000)
    with pytest.raises(Throttled):
        Store(PREFIX, client).get_many(accounts(world, 1))
    assert 1_000 - client.left < 20


def test_pages_go_from_the_newest_to_the_oldest_without_gap_or_repetition(world: World) -> None:
    store = world.services.store
    for number in range(7):
        store.write(AuditEntry("acct", f"{number:02}", START, "a", "b", "c", "d", "e"))
    seen: list[str] = []
    cursor = None
    while True:
        page, following = store.page(AuditEntry, AuditEntry.KEY.partition(account_id="acct"), cursor, 3)
        seen += [entry.entry_id for entry in page]
        if following is None:
            break
        cursor = following
    assert seen == [f"{number:02}" for number in reversed(range(7))]


@pytest.mark.parametrize("cursor", ["x" * 5_000, "\U0001f4b8" * 600, "\x00", " "])
def test_a_cursor_that_nobody_gave_is_no_failure(world: World, cursor: str) -> None:
    world.services.store.page(AuditEntry, AuditEntry.KEY.partition(account_id="acct"), cursor, 3)
