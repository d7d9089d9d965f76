"""The store's counters, pages and batches: exact, in order, and patient with a table that is busy."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError

from chalicelib.payments.links.records import Link, LinkAnnouncements
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import UnrecordedTransfers
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import Account, LastUse
from chalicelib.platform.access.rate_limits.records import Ban, CallCounter
from chalicelib.platform.storage.items import DUE_SHARDS, item_of
from chalicelib.platform.storage.store import (
    LARGEST_TRANSACTION,
    Absent,
    Delete,
    Store,
    Throttled,
    Unchanged,
    WriteConflict,
)
from chalicelib.webhooks.records import Event
from infra.documents.data import record_classes
from tests.fakes.world import PREFIX, START, World
from tests.platform.storage.kept_records import ANNOUNCEMENTS, LINK, REQUEST

COUNTER = CallCounter("tier#caller#1", START + timedelta(seconds=1))


class BusyClient:
    """A DynamoDB that leaves the keys of its first batches, or all writes but one, for later, as busy tables do."""

    def __init__(self, client: Any, busy: int) -> None:
        self._client, self.left = client, busy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:
        if self.left == 0:
            return self._client.batch_get_item(RequestItems=RequestItems)
        self.left -= 1
        return {"Responses": {}, "UnprocessedKeys": RequestItems}


    def batch_write_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:
        if self.left == 0:
            return self._client.batch_write_item(RequestItems=RequestItems)
        self.left -= 1
        (table, requests), *_ = RequestItems.items()
        self._client.batch_write_item(RequestItems={table: requests[:1]})
        left = {name: each[name == table :] for name, each in RequestItems.items()}
        return {"UnprocessedItems": {name: each for name, each in left.items() if each}}


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


def test_a_batch_gives_up_on_a_table_that_stays_busy(world: World, pauses: list[float]) -> None:
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


def test_a_count_that_is_taken_back_leaves_room_for_one_more(world: World) -> None:
    store = world.services.store
    store.uncount(COUNTER)  # of a window that has passed: nothing to take back
    assert [store.count(COUNTER, 2) for _ in range(3)] == [1, 2, None]
    store.uncount(COUNTER)
    assert [store.count(COUNTER, 2) for _ in range(2)] == [2, None]


def test_an_amount_is_counted_whole_or_not_at_all(world: World) -> None:
    store = world.services.store
    assert [store.count(COUNTER, 10, amount) for amount in (11, 4, 7, 6, 1)] == [None, 4, None, 10, None]
    assert calls_of(world) == 10


def test_several_counters_are_counted_in_one_go_each_with_its_limit(world: World) -> None:
    store, other = world.services.store, replace(COUNTER, window="other")
    assert [store.count_in_each([(COUNTER, 1), (other, 2)]) for _ in range(3)] == [[1, 1], [None, 2], [None, None]]


def test_a_write_may_require_that_a_record_does_not_exist(world: World) -> None:
    store, given, wanted = world.services.store, Account("acct1", "n", START), Account("acct2", "n", START)
    store.write(wanted, Absent(given))
    store.write(given)
    with pytest.raises(WriteConflict):
        store.write(replace(wanted, name="m", version=1), Absent(given))
    assert store.get(Account, wanted.key) == replace(wanted, version=1)


def test_a_write_may_require_that_a_record_was_not_changed(world: World) -> None:
    store, given, wanted = world.services.store, Account("acct1", "n", START), Account("acct2", "n", START)
    store.write(given)
    read = replace(given, version=1)
    store.write(wanted, Unchanged(read))
    store.write(replace(read, name="m"))
    for expected in (read, replace(read, version=3), Account("acct3", "n", START, version=1)):
        with pytest.raises(WriteConflict):
            store.write(replace(wanted, name="m", version=1), Unchanged(expected))
    assert store.get(Account, wanted.key) == replace(wanted, version=1)
    assert store.get(Account, given.key) == replace(given, name="m", version=2), "a check writes nothing"


def test_what_is_due_is_found_by_its_group_the_longest_overdue_first(world: World) -> None:
    """The events are chosen so that all are in one shard: the order holds within a shard."""
    store = world.services.store
    event = Event("01", "kind", "acct", None, "{}", START, published=False)
    shard = shard_of(event)
    ids = [name for number in range(200) if shard_of(replace(event, event_id=(name := f"{number:03}"))) == shard][:4]
    for days, event_id in zip((3, 1, 2, 5), ids, strict=True):
        store.write(replace(event, event_id=event_id, created_at=START + timedelta(days=days)))
    store.write(replace(event, event_id="announced", published=True))
    found = [key.pk for key in store.due(Event, START + timedelta(days=3), 10)]
    assert found == [f"EVENT#{ids[1]}", f"EVENT#{ids[2]}", f"EVENT#{ids[0]}"], "one that is due at this instant, too"
    assert [key.pk for key in store.due(Event, START + timedelta(days=3), 2)] == found[:2], "at most so many a shard"


def test_the_groups_of_the_index_do_not_mix(world: World) -> None:
    store = world.services.store
    store.write(ANNOUNCEMENTS, LINK)
    end = START + timedelta(days=3650)
    assert [key.sk for key in store.due(LinkAnnouncements, end, 10)] == ["ANNOUNCED"]
    assert [key.sk for key in store.due(Link, end, 10)] == ["LINK"]


def test_records_of_several_kinds_in_one_partition_are_read_at_once(world: World) -> None:
    store = world.services.store
    store.write(REQUEST, replace(REQUEST, position=12), LINK, ANNOUNCEMENTS)
    found = store.query_mixed((Link, Request, LinkAnnouncements), LINK.key.pk)
    written = (ANNOUNCEMENTS, LINK, REQUEST, replace(REQUEST, position=12))
    assert found == [replace(record, version=1) for record in written]


def shard_of(record: Event) -> str:
    return str(item_of(record, record.key)["due_shard"]["S"])


@contextmanager
def refusing(world: World, operation: str, code: str, times: int = 1_000, reason: str = "") -> Iterator[list[int]]:
    """DynamoDB refuses the next calls of an operation, in the words of its API; yields the calls that were made."""
    calls: list[int] = []

    def refuse(**_: Any) -> tuple[AWSResponse, dict[str, Any]] | None:
        calls.append(1)
        if len(calls) > times:
            return None
        parsed = {"Error": {"Code": code, "Message": "no"}, "CancellationReasons": [{"Code": "None"}, {"Code": reason}]}
        return AWSResponse("http://dynamodb", 400, {}, None), parsed

    name = f"before-call.dynamodb.{operation}"
    world.client.meta.events.register(name, refuse)
    try:
        yield calls
    finally:
        world.client.meta.events.unregister(name, refuse)


def calls_of(world: World, counter: CallCounter = COUNTER) -> int | None:
    key = {"pk": {"S": f"RATE#{counter.window}"}, "sk": {"S": "RATE"}}
    item = world.client.get_item(TableName=f"{PREFIX}-ops", Key=key).get("Item")
    return int(item["calls"]["N"]) if item else None


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"])
def test_a_counter_that_takes_no_more_calls_is_throttled(world: World, code: str) -> None:
    with refusing(world, "UpdateItem", code):
        with pytest.raises(Throttled):
            world.services.store.count(COUNTER, 3)
        with pytest.raises(Throttled):
            world.services.store.uncount(COUNTER)


def test_a_count_never_falls_below_zero(world: World) -> None:
    store = world.services.store
    store.uncount(COUNTER)
    assert calls_of(world) is None
    store.count(COUNTER, 3)
    for _ in range(2):
        store.uncount(COUNTER)
    assert calls_of(world) == 0


def test_any_other_failure_of_a_counter_is_raised_as_it_is(world: World) -> None:
    with refusing(world, "UpdateItem", "ValidationException"):
        with pytest.raises(ClientError, match="ValidationException"):
            world.services.store.count(COUNTER, 3)
        with pytest.raises(ClientError, match="ValidationException"):
            world.services.store.uncount(COUNTER)


def test_a_counter_lives_a_minute_longer_than_its_window(world: World) -> None:
    world.services.store.count(COUNTER, 3)
    key = {"pk": {"S": "RATE#tier#caller#1"}, "sk": {"S": "RATE"}}
    ttl = world.client.get_item(TableName=f"{PREFIX}-ops", Key=key)["Item"]["ttl"]["N"]
    assert int(ttl) == int(COUNTER.ends_at.timestamp()) + 60


def test_more_than_100_keys_are_read_in_batches(world: World) -> None:
    wanted = accounts(world, 101)
    assert world.services.store.get_many(wanted).keys() == wanted.keys()
    unknown = Account("nobody", "n", START).key
    assert unknown not in world.services.store.get_many({**wanted, unknown: Account})


def test_a_batch_that_dynamodb_refuses_is_asked_again_and_then_throttled(world: World, pauses: list[float]) -> None:
    wanted = accounts(world, 1)
    with refusing(world, "BatchGetItem", "ThrottlingException") as calls, pytest.raises(Throttled):
        world.services.store.get_many(wanted)
    assert len(calls) == 8
    with refusing(world, "BatchGetItem", "ValidationException"), pytest.raises(ClientError, match="ValidationException"):
        world.services.store.get_many(wanted)


def test_a_batch_asks_eight_times_for_what_a_busy_table_leaves(world: World, pauses: list[float]) -> None:
    wanted = accounts(world, 1)
    assert Store(PREFIX, BusyClient(world.client, busy=7)).get_many(wanted).keys() == wanted.keys()
    client = BusyClient(world.client, busy=8)
    with pytest.raises(Throttled):
        Store(PREFIX, client).get_many(wanted)
    assert client.left == 0


def test_a_record_is_created_once_and_changed_only_by_who_read_its_last_version(world: World) -> None:
    store, record = world.services.store, Account("acct1", "n", START)
    store.write(record)
    with pytest.raises(WriteConflict):
        store.write(record)
    for version in (2, 3):
        with pytest.raises(WriteConflict):
            store.write(replace(record, version=version))
        with pytest.raises(WriteConflict):
            store.write(Delete(replace(record, version=version)))
    store.write(replace(record, name="m", version=1))
    with pytest.raises(WriteConflict):
        store.write(replace(record, version=1))
    with pytest.raises(WriteConflict):
        store.write(Delete(replace(record, version=1)))
    store.write(Delete(replace(record, version=2)))
    assert store.get(Account, record.key) is None


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of the store between its attempts, in seconds, which are noted in place of waiting."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.mark.parametrize("reason", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_that_meets_contention_is_tried_eight_times(world: World, reason: str, pauses: list[float]) -> None:
    store = world.services.store
    with refusing(world, "TransactWriteItems", "TransactionCanceledException", times=7, reason=reason):
        store.write(Account("acct1", "n", START), Account("acct2", "n", START))
    assert store.get(Account, Account("acct2", "n", START).key) is not None
    with refusing(world, "TransactWriteItems", "TransactionCanceledException", reason=reason) as calls, pytest.raises(WriteConflict):
        store.write(Account("acct3", "n", START), Account("acct4", "n", START))
    assert len(calls) == 8
    assert pauses[7:] == sorted(pauses[7:]) and len(pauses[7:]) == 8, "each pause is longer than the one before"


def test_a_record_that_a_transaction_holds_is_put_a_moment_later(world: World) -> None:
    record = Account("acct1", "n", START)
    with refusing(world, "PutItem", "TransactionConflictException", times=2) as calls:
        world.services.store.write(record)
    assert len(calls) == 3
    assert world.services.store.get(Account, record.key) is not None


def test_a_transaction_that_a_condition_cancels_is_not_tried_again(world: World) -> None:
    with refusing(world, "TransactWriteItems", "TransactionCanceledException", reason="ConditionalCheckFailed") as calls, pytest.raises(WriteConflict):
        world.services.store.write(Account("acct1", "n", START), Account("acct2", "n", START))
    assert len(calls) == 1


def test_a_transaction_that_is_cancelled_for_another_reason_is_an_error(world: World) -> None:
    with refusing(world, "TransactWriteItems", "TransactionCanceledException", reason="ValidationError") as calls, pytest.raises(ClientError, match="TransactionCanceled"):
        world.services.store.write(Account("acct1", "n", START), Account("acct2", "n", START))
    assert len(calls) == 1


def test_one_record_alone_is_put_and_anything_else_is_a_transaction(world: World) -> None:
    store, record = world.services.store, Account("acct1", "n", START)
    with refusing(world, "TransactWriteItems", "ValidationException"):
        store.write(record)
    with refusing(world, "PutItem", "ValidationException"):
        store.write(Delete(replace(record, version=1)))


def test_a_long_partition_is_read_whole(world: World) -> None:
    """DynamoDB answers a megabyte at once."""
    store = world.services.store
    for number in range(4):
        store.write(AuditEntry("acct", f"0{number}", START, "a", "b", "c", "x" * 350_000, "e"))
    found = store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct"))
    assert [line.entry_id for line in found] == ["00", "01", "02", "03"]


def test_a_page_of_the_last_records_has_no_cursor(world: World) -> None:
    store = world.services.store
    for number in range(2):
        store.write(AuditEntry("acct", f"0{number}", START, "a", "b", "c", "d", "e"))
    assert store.page(AuditEntry, AuditEntry.KEY.partition(account_id="acct"), None, 3)[1] is None
    page, following = store.page(AuditEntry, AuditEntry.KEY.partition(account_id="acct"), None, 1)
    assert following is not None
    below, _ = store.page(AuditEntry, AuditEntry.KEY.partition(account_id="acct"), following, 1)
    assert [line.entry_id for line in (*page, *below)] == ["01", "00"]


@contextmanager
def asked(world: World) -> Iterator[list[dict[str, Any]]]:
    """What DynamoDB is asked for meanwhile, call by call."""
    calls: list[dict[str, Any]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        calls.append(params)

    world.client.meta.events.register("provide-client-params.dynamodb", note)
    try:
        yield calls
    finally:
        world.client.meta.events.unregister("provide-client-params.dynamodb", note)


def test_every_read_by_key_is_consistent_but_for_kinds_that_may_lag(world: World) -> None:
    store, wanted = world.services.store, accounts(world, 1)
    ban = Ban.KEY.of(caller="somebody")
    with asked(world) as calls:
        store.get(Account, next(iter(wanted)))
        store.get_many(wanted)
        store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct"))
        store.get(Ban, ban)
        store.get_many({ban: Ban, **wanted})
        store.get_many({ban: Ban, CallCounter.KEY.of(window="1"): CallCounter})
    get, batch, query, get_ban, mixed, of_ops = calls
    assert get["ConsistentRead"] and query["ConsistentRead"]
    assert [each["ConsistentRead"] for each in batch["RequestItems"].values()] == [True]
    assert not get_ban["ConsistentRead"]
    assert [each["ConsistentRead"] for each in mixed["RequestItems"].values()] == [False, True]
    assert [each["ConsistentRead"] for each in of_ops["RequestItems"].values()] == [True]
    assert [cls for cls in record_classes() if cls.MAY_LAG] == [Ban], "what a decision rests on may not lag"


def test_100_keys_are_read_by_one_call(world: World) -> None:
    wanted = accounts(world, 101)
    with asked(world) as calls:
        world.services.store.get_many(dict(list(wanted.items())[:100]))
        world.services.store.get_many(wanted)
    sizes = [sum(len(each["Keys"]) for each in call["RequestItems"].values()) for call in calls]
    assert sizes == [100, 100, 1]


def test_a_cursor_is_cut_before_it_is_more_than_a_key_can_be(world: World) -> None:
    with asked(world) as calls:
        world.services.store.page(AuditEntry, AuditEntry.KEY.partition(account_id="acct"), "x" * 201, 3)
    assert calls[0]["ExpressionAttributeValues"][":before"] == {"S": "x" * 200}


def test_the_waits_between_tries_double_from_10_milliseconds_those_of_writes_by_chance_a_bit_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    wanted = accounts(world, 1)
    Store(PREFIX, BusyClient(world.client, busy=4)).get_many(wanted)
    assert waits == pytest.approx([0.01, 0.02, 0.04, 0.08])
    waits.clear()
    with refusing(world, "PutItem", "TransactionConflictException", times=4):
        world.services.store.write(Account("other", "n", START))
    assert len(waits) == 4
    assert all(0.01 * 2**attempt <= wait <= 0.02 * 2**attempt for attempt, wait in enumerate(waits))


def test_a_store_makes_its_own_client_where_it_is_given_none(world: World) -> None:
    assert Store(PREFIX).client.meta.service_model.service_name == "dynamodb"
    assert Store(PREFIX, world.client).client is world.client


def test_a_record_that_vanishes_carries_its_time_and_no_other_does() -> None:
    ban = Ban("caller", START)
    assert item_of(ban, ban.key)["ttl"] == {"N": str(int(START.timestamp()))}
    account = Account("acct1", "n", START)
    assert "ttl" not in item_of(account, account.key)


def test_what_is_due_is_spread_over_eight_shards_and_a_transaction_holds_99_writes_and_one_that_joins() -> None:
    assert (DUE_SHARDS, LARGEST_TRANSACTION) == (8, 99)


LINES = [AuditEntry("acct", f"{number:03}", START, "a", "b", "c", "", "") for number in range(60)]


def lines(world: World) -> list[AuditEntry]:
    return [replace(line, version=0) for line in world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct"))]


def test_many_records_are_put_25_a_call_and_again_without_harm(world: World) -> None:
    store, account = world.services.store, Account("acct", "n", START)
    with asked(world) as calls:
        store.put_many([*LINES, account])
    sizes = [sum(map(len, call["RequestItems"].values())) for call in calls]
    assert sizes == [25, 25, 11]
    store.put_many(LINES)
    assert lines(world) == LINES
    assert store.get(Account, account.key) == replace(account, version=1)
    store.put_many([])


def test_a_record_that_is_given_twice_is_put_once(world: World) -> None:
    with asked(world) as calls:
        world.services.store.put_many([LINES[0], LINES[1], LINES[0]])
    assert sum(map(len, calls[0]["RequestItems"].values())) == 2
    assert lines(world) == LINES[:2]


def test_records_that_a_busy_table_leaves_are_put_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    Store(PREFIX, BusyClient(world.client, busy=7)).put_many([*LINES[:20], Account("acct", "n", START)])
    assert lines(world) == LINES[:20]
    assert waits == pytest.approx([0.01 * 2**attempt for attempt in range(7)])
    client = BusyClient(world.client, busy=8)
    with pytest.raises(Throttled):
        Store(PREFIX, client).put_many(LINES[:20])
    assert client.left == 0


def test_a_batch_that_dynamodb_throttles_is_put_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with refusing(world, "BatchWriteItem", "ProvisionedThroughputExceededException", times=2):
        world.services.store.put_many(LINES[:3])
    assert lines(world) == LINES[:3]
    with refusing(world, "BatchWriteItem", "ProvisionedThroughputExceededException"), pytest.raises(Throttled):
        world.services.store.put_many(LINES)
    with refusing(world, "BatchWriteItem", "ValidationException"), pytest.raises(ClientError, match="ValidationException"):
        world.services.store.put_many(LINES)


def test_a_sweep_may_begin_at_any_shard_and_reads_each_once(world: World) -> None:
    store = world.services.store
    events = [Event(f"{number:03}", "kind", "acct", None, "{}", START, published=False) for number in range(60)]
    for event in events:
        store.write(event)
    shards = {event.key: int(shard_of(event)[-1]) for event in events}
    assert set(shards.values()) == set(range(DUE_SHARDS))
    for first in (0, 3, 7, 11):
        found = list(store.due(Event, START, 100, first_shard=first))
        order = list(dict.fromkeys(shards[key] for key in found))
        assert order == [(first + offset) % DUE_SHARDS for offset in range(DUE_SHARDS)]
        assert sorted(found) == sorted(shards)
    with asked(world) as calls:
        next(store.due(Event, START, 100, first_shard=5))
    assert len(calls) == 1


@pytest.mark.parametrize(("limit", "found"), [(5, 5), (9, 7)])
def test_due_records_of_a_shard_are_read_by_pages_up_to_the_limit(world: World, limit: int, found: int) -> None:
    class ShortPages:
        """DynamoDB with pages of two keys instead of one megabyte."""

        def query(self, **arguments: Any) -> Any:
            return world.client.query(**{**arguments, "Limit": min(arguments["Limit"], 2)})

    parts = [UnrecordedTransfers("link", "sepolia", each, 1, 0, "", world.now, ()) for each in range(7)]
    world.services.store.put_many(parts)
    keys = list(Store(PREFIX, ShortPages()).due(UnrecordedTransfers, world.now, limit))
    assert len(set(keys)) == len(keys) == found
