"""The store in memory, which simulations use, does what the store on DynamoDB does."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.records import Record
from chalicelib.payments.scanning.records import TransferId, UnrecordedTransfers
from chalicelib.platform.storage.store import Absent, Delete, Store, Unchanged, WriteConflict
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PREFIX, START, in_process_aws

LATER = START + timedelta(days=1)


def part(link: int, number: int) -> UnrecordedTransfers:
    transfer = TransferId(number, "0xaa", "0xbb", "e-0")
    return UnrecordedTransfers(
        f"LINK{link}", "base", number, number, 0, "d", START + timedelta(seconds=number), (transfer,)
    )


RECORDS = st.builds(part, st.integers(0, 2), st.integers(0, 3))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "put", "delete", "absent", "unchanged", "both"]), RECORDS, RECORDS, st.integers(0, 2)
    ),
    min_size=4,
    max_size=12,
)


def apply(store: Store, act: str, first: Record, second: Record, version: int) -> Any:
    record: Any = replace(first, version=version)  # type: ignore[type-var]
    try:
        match act:
            case "write":
                store.write(record)
            case "put":
                store.put_many([first, second])
            case "delete":
                store.write(Delete(record))
            case "absent" if first.key != second.key:
                store.write(Absent(first), second)
            case "unchanged" if first.key != second.key:
                store.write(Unchanged(record), second)
            case "both" if first.key != second.key:
                store.write(record, second)
    except WriteConflict:
        return "conflict"
    return "done"


def state(store: Store) -> list[Any]:
    ranges = [UnrecordedTransfers.KEY.all(payable_id=f"LINK{link}") for link in range(3)]
    keys = {part(link, number).key: UnrecordedTransfers for link in range(3) for number in range(4)}
    reads: list[Callable[[], Any]] = [
        lambda: [store.query(UnrecordedTransfers, keys) for keys in ranges],
        lambda: [store.query(UnrecordedTransfers, keys, 1) for keys in ranges],
        lambda: store.get_many(keys),
        lambda: [store.get(UnrecordedTransfers, key) for key in keys],
        lambda: [list(store.due(UnrecordedTransfers, LATER, 2, shard)) for shard in (0, 5)],
        lambda: list(store.due(UnrecordedTransfers, START + timedelta(seconds=1), 9)),
    ]
    return [read() for read in reads]


@settings(max_examples=25)
@given(STEPS)
def test_any_sequence_of_writes_has_the_same_results_in_memory_as_in_dynamodb(steps: list[Any]) -> None:
    with in_process_aws() as client:
        stored, in_memory = Store(PREFIX, client), MemoryStore()
        for step in steps:
            assert apply(stored, *step) == apply(in_memory, *step)
        assert state(stored) == state(in_memory)
