"""Namespaces: whatever a store does in one, it neither finds nor changes a record of another one, or of none."""

from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import LISTS, Named, Span, list_of
from chalicelib.base.records import PAYMENTS, Counts, KeyPattern, KeyRange, Record
from chalicelib.platform.storage.namespaces import PARTITIONS, NamespacedClient, in_namespace
from chalicelib.platform.storage.store import Absent, Add, Delete, Store, Unchanged, WriteConflict
from infra.documents.data import record_classes
from tests.fakes.world import PREFIX, START, World


@frozen
class Note(Record):
    """A record that is due, listed and counted."""

    KEY = KeyPattern(PAYMENTS, "NOTES#{topic}", "NOTE#{number:03}")
    DUE_GROUP = "NOTES"

    topic: str
    number: int = 0
    text: str = ""

    @property
    def next_due(self) -> Any:
        return START

    @property
    def listed(self) -> dict[str, str]:
        return {"by_account": list_of("acct", "NOTES"), "by_status": list_of("acct", "NOTES", "open")}

    @property
    def listed_at(self) -> str:
        return f"{self.number:014}#{self.topic}"


@frozen
class Tally(Record):
    KEY = KeyPattern(PAYMENTS, "TALLY#{topic}", "TALLY")

    topic: str
    counts: Counts = field(default_factory=lambda: Counts({}))


@frozen
class Window(Record):
    KEY = KeyPattern(PAYMENTS, "WINDOW#{topic}", "WINDOW")

    topic: str

    @property
    def vanishes_at(self) -> Any:
        return START + timedelta(days=1)


@frozen
class Cursor(Record):
    KEY = KeyPattern(PAYMENTS, "CURSOR#{topic}", "CURSOR")
    ARE_FEW = True

    topic: str


def end() -> datetime:
    """From when records of a namespace may be deleted: after a Window, which vanishes by itself."""
    return START + timedelta(days=90)


@pytest.fixture
def live() -> Store:
    return World().services.store


@pytest.fixture
def stores(live: Store) -> list[Store]:
    """That without a namespace, two of accounts, and one whose name is the beginning of another's."""
    return [live, *(in_namespace(live, f"test/{name}/", end) for name in ("a", "b", "ab"))]


def test_the_same_key_is_another_record_in_each(stores: list[Store]) -> None:
    for number, store in enumerate(stores):
        store.write(Note("x", text=str(number)), Note("y", text=str(number)))
        store.put_many([Note("z", text=str(number))])
    keys = {Note.KEY.of(topic=topic, number=0): Note for topic in "xyz"}
    for number, store in enumerate(stores):
        assert {each.text for each in store.get_many(keys).values()} == {str(number)}
        assert store.get_many(keys).keys() == keys.keys()
        assert [store.get(Note, key).text for key in keys] == [str(number)] * 3


def test_what_is_read_in_one_has_the_keys_that_were_written(stores: list[Store]) -> None:
    _, store, *_ = stores
    written = store.write(Note("x", 1, "first"))
    assert store.get(Note, written.key) == written
    assert store.query_mixed((Note,), "NOTES#x") == [written]
    assert list(store.due(Note, START, 10)) == [written.key]


def readings(store: Store) -> Iterator[list[Any]]:
    """What every read that names a partition finds of NOTES#x, by texts or keys."""
    span = Span(Named("by_account", list_of("acct", "NOTES")))
    within = Span(span.list, within=((Named("by_status", list_of("acct", "NOTES", "open")),),))
    yield [each.text for each in store.query(Note, Note.KEY.all(topic="x"))]
    yield [each.text for each in store.query(Note, KeyRange(PAYMENTS, "NOTES#x", " ", "\uffff"), 2)]
    yield [each.text for each in store.query_mixed((Note,), "NOTES#x")]
    yield [each.text for each in store.page(Note, "NOTES#x", None, 10)[0]]
    yield [each.text for each in store.head(Note, "NOTES#x", None, 10)]
    yield [each.text for each in store.newest_of_each(Note, ["NOTES#x"])]
    yield list(store.due(Note, START, 10))
    for each in (span, within):
        yield [found.text for found in store.newest(Note, each, 10).records]
        yield [found.text for found in store.oldest(Note, each, 10).records]
        yield ["counted"] * store.count_listed(Note, each, 3)[0]


def test_no_read_of_one_finds_what_is_in_another(stores: list[Store]) -> None:
    for writing in stores:
        writing.write(Note("x", 1, "own"), Note("x", 2, "own"))
        for number, found in enumerate(readings(writing)):
            assert found, number
        for store in stores:
            if store is not writing:
                assert all(found == [] for found in readings(store))
        writing.write(*map(Delete, writing.query(Note, Note.KEY.all(topic="x"))))


def test_pages_and_cursors_go_on_in_one(stores: list[Store]) -> None:
    for store in stores:
        store.write(*(Note("x", number, str(number)) for number in range(5)))
    _, store, *_ = stores
    first, cursor = store.page(Note, "NOTES#x", None, 2)
    assert [each.number for each in (*first, *store.page(Note, "NOTES#x", cursor, 10)[0])] == [4, 3, 2, 1, 0]
    assert len(list(store.due(Note, START, 3))) == 3


def test_versions_conditions_counts_and_updates_are_those_of_one(stores: list[Store]) -> None:
    live, store, other, _ = stores
    first = store.write(Note("x", text="first"))
    live.write(Absent(Note("x")), Note("y"))
    other.write(Absent(Note("x")), Note("y"))
    with pytest.raises(WriteConflict):
        store.write(Absent(Note("x")), Note("y"))
    changed = store.write(Note("x", text="second", version=first.version), Unchanged(store.write(Note("w"))))
    assert store.get(Note, changed.key).text == "second"
    assert store.newest(Note, Span(Named("by_account", list_of("acct", "NOTES"))), 5).records[0].topic in "xw"
    for each in (store, other):
        each.write(Add(Tally("x"), {"paid": 2}))
        assert [each.count(Window("x"), 1), each.count(Window("x"), 1)] == [1, None]
    assert live.get(Tally, Tally("x").key) is None and live.count(Window("x"), 1) == 1
    store.uncount(Window("x"))
    assert [store.count(Window("x"), 1), other.count(Window("x"), 1)] == [1, None]


def test_a_change_moves_a_record_within_the_lists_of_one(stores: list[Store]) -> None:
    live, store, *_ = stores
    made = store.write(Note("x", 7, "first"))
    store.write(Note("x", 7, "second", version=made.version))
    span = Span(Named("by_account", list_of("acct", "NOTES")))
    assert [each.text for each in store.newest(Note, span, 5).records] == ["second"]
    assert live.newest(Note, span, 5).records == () and list(live.due(Note, START, 10)) == []


class Throttling:
    """A client that reads and writes the first item of a batch only, and keeps the batches that it was sent."""

    def __init__(self, client: Any) -> None:
        self.client, self.sent = client, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def batch_get_item(self, *, RequestItems: Any) -> Any:
        self.sent.append(RequestItems)
        ((table, wanted),) = RequestItems.items()
        response = self.client.batch_get_item(RequestItems={table: {**wanted, "Keys": wanted["Keys"][:1]}})
        left = wanted["Keys"][1:]
        return {**response, "UnprocessedKeys": {table: {**wanted, "Keys": left}} if left else {}}

    def batch_write_item(self, *, RequestItems: Any) -> Any:
        self.sent.append(RequestItems)
        ((table, puts),) = RequestItems.items()
        self.client.batch_write_item(RequestItems={table: puts[:1]})
        return {"UnprocessedItems": {table: puts[1:]} if puts[1:] else {}}


def test_what_a_batch_left_is_sent_again_in_the_same_namespace() -> None:
    throttling = Throttling(World().client)
    store = in_namespace(Store(PREFIX, throttling), "test/a/", end)
    store.put_many([Note("x", number) for number in range(3)])
    assert len(store.get_many({Note.KEY.of(topic="x", number=number): Note for number in range(3)})) == 3
    assert "test/a/test/a/" not in str(throttling.sent) and len(throttling.sent) == 6


def test_a_scan_and_whatever_else_a_client_can_is_not_there(live: Store) -> None:
    offered = {name for name in vars(NamespacedClient) if not name.startswith("_")}
    assert offered == {
        "exceptions", "get_item", "query", "put_item", "update_item", "transact_write_items", "batch_get_item",
        "batch_write_item",
    }  # fmt: skip
    with pytest.raises(AttributeError):
        list(in_namespace(live, "test/a/", end).scan((Note,)))


def test_a_scan_of_the_tables_takes_no_record_of_a_namespace_for_one_of_its_kinds(stores: list[Store]) -> None:
    live, store, *_ = stores
    store.write(Note("x"))
    assert list(live.scan((Note,))) == [] and live.scan_on((Note,), None) == ([], None)


def test_no_key_begins_with_what_a_caller_names() -> None:
    """So no id that somebody sends leads into a namespace: each partition begins with a word of the code."""
    for cls in record_classes():
        word = cls.KEY.partition_format.partition("{")[0]
        assert word and "/" not in word, cls.__name__


def test_every_index_of_the_tables_is_known_to_be_a_partition() -> None:
    assert {"pk", "due_shard"}.union(*LISTS.values()) == PARTITIONS


@pytest.mark.parametrize("record", [Note("x"), Tally("x"), Window("x"), Cursor("x")], ids=lambda each: type(each).__name__)
def test_what_is_written_in_a_namespace_may_be_deleted_at_its_end_but_kinds_of_which_there_are_few(
    live: Store, stores: list[Store], record: Any
) -> None:
    _, store, *_ = stores
    expected = {Window: START + timedelta(days=1), Cursor: None}.get(type(record), end())
    alone = store.write(record)
    assert ttl_in(live, record) == expected, "a put"
    store.write(alone)
    assert ttl_in(live, record) == expected, "an update"
    store.put_many([record])
    assert ttl_in(live, record) == expected, "a put in a batch"
    if isinstance(record, Tally):
        store.write(Add(Tally("y"), {"paid": 1}))
        assert ttl_in(live, Tally("y")) == expected, "a count"
    live.write(record)
    assert ttl_in(live, record, "") == (expected if isinstance(record, Window) else None), "outside of it nothing is"


def ttl_in(live: Store, record: Record, namespace: str = "test/a/") -> datetime | None:
    """From when DynamoDB may delete a record of a namespace; None if never."""
    key = {"pk": {"S": namespace + record.key.pk}, "sk": {"S": record.key.sk}}
    item = live.client.get_item(TableName=f"{PREFIX}-{PAYMENTS}", Key=key)["Item"]
    return datetime.fromtimestamp(int(item["ttl"]["N"]), UTC) if "ttl" in item else None
