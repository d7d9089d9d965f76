"""What calls cost is counted for each call by itself, also if several are made at the same time."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.bench.units import metered
from tests.fakes.world import PREFIX, in_process_aws
from tests.support.patience import patience

_OPS, _PAYMENTS = f"{PREFIX}-ops", f"{PREFIX}-payments"


def test_calls_that_are_made_at_the_same_time_are_each_counted_once() -> None:
    sizes = {"small": 100, "large": 3_000}
    with in_process_aws() as client, _all_begun(client, 2), metered(client) as units, ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda name: client.put_item(TableName=_OPS, Item=_item(name, sizes[name])), sizes))
    assert units.partitions == {(_OPS, "small"): 1, (_OPS, "large"): 3}
    assert units.writes == 4


def test_a_write_in_an_index_is_charged_by_what_the_index_holds_of_the_item() -> None:
    due = {"due_shard": {"S": "DUE#0"}, "due_at": {"N": "1"}}
    listed = {"by_account": {"S": "ACCOUNT"}, "listed_at": {"S": "2026"}}
    with in_process_aws() as client, metered(client) as units:
        client.put_item(TableName=_PAYMENTS, Item=_item("large", 3_000) | due | listed)
        client.delete_item(TableName=_PAYMENTS, Key={"pk": {"S": "large"}, "sk": {"S": "ITEM"}})
    of_keys, of_all = 1, 3
    assert units.partitions == {
        (_PAYMENTS, "large"): 2 * of_all,
        (f"{_PAYMENTS} by_due", "DUE#0"): 2 * of_keys,
        (f"{_PAYMENTS} by_account", "ACCOUNT"): 2 * of_all,
    }


def test_a_refused_transaction_of_one_thread_takes_no_write_of_another_with_it() -> None:
    puts = [{"Put": {"TableName": _OPS, "Item": _item(f"with it {n}", 10)}} for n in range(20)]
    refused = {"Put": {"TableName": _OPS, "Item": _item("there", 10), "ConditionExpression": "attribute_not_exists(pk)"}}
    with in_process_aws() as client, _switching_often(), ThreadPoolExecutor(1) as thread:
        client.put_item(**refused["Put"])
        written = thread.submit(lambda: [client.put_item(TableName=_OPS, Item=_item(f"{n}", 10)) for n in range(200)])
        while not written.done():
            with pytest.raises(client.exceptions.TransactionCanceledException):
                client.transact_write_items(TransactItems=[*puts, refused])
        assert client.scan(TableName=_OPS, Select="COUNT")["Count"] == 1 + len(written.result())


def _item(name: str, size: int) -> dict[str, Any]:
    return {"pk": {"S": name}, "sk": {"S": "ITEM"}, "text": {"S": "x" * size}}


@contextmanager
def _switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _all_begun(client: Any, calls: int) -> Iterator[None]:
    """None of so many calls is answered before all of them have begun."""
    barrier = threading.Barrier(calls, timeout=patience())

    def wait(**_: Any) -> None:
        barrier.wait()

    client.meta.events.register("before-call.dynamodb", wait)
    try:
        yield
    finally:
        client.meta.events.unregister("before-call.dynamodb", wait)
