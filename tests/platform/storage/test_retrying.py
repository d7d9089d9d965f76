"""What is decided on records that another process has changed meanwhile is decided again on what is stored then."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from chalicelib.platform.access.credentials.records import LastUse
from chalicelib.platform.storage.retrying import retry, retry_conflicts, try_write
from chalicelib.platform.storage.store import Delete, WriteConflict
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import START
from tests.support.sources import reads_code, tree_of

RECORD = LastUse("key", START)
LATER = START + timedelta(minutes=1)
PACKAGE = Path(__file__).parents[3] / "chalicelib"
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
STEPS = "it takes the steps of one record, and ends with the first conflict: whoever was faster goes on"
EACH = "it is over several records, and a conflict ends or skips one of them"
WITH_LOOPS = {
    "commerce/service/due_payments.py: look": STEPS,
    "crosschain/service/payment_intents/running.py: advance": STEPS,
    "recurring/running.py: _repeat": STEPS,
    "gasless/sending.py: _write_later": EACH,
    "mail/changes.py: _tell": EACH,
    "payments/links/multicalls/flows.py: create": "what it raises says whether an attempt had written a part, which was deleted",
    "payments/links/multicalls/flows.py: find_claimed_tokens": EACH,
    "payments/requests/flows.py: start_reading": EACH,
    "relayer/tracking.py: _close": EACH,
    "webhooks/deliveries/store.py: change_all": EACH,
    "webhooks/deliveries/store.py: _one_by_one": EACH,
    "relayer/flows.py: _reserve_calls": "after the last conflict it says, by its last read, which calls others have accepted",
    "webhooks/publisher.py: _publish": "it writes the last deliveries with the event first, and apart after a conflict",
}
"""The functions with a loop that meets a conflict itself, each with the reason why `retry` is not for it."""


class Contended(MemoryStore):
    """Another process changes the record after each of the first reads, as often as `overtaken` says."""

    def __init__(self, overtaken: int) -> None:
        super().__init__()
        self.write(RECORD)
        self.overtaken, self.reads = overtaken, 0

    def last_use(self) -> LastUse:
        found = self.get(LastUse, RECORD.key)
        assert isinstance(found, LastUse)
        self.reads += 1
        if self.overtaken:
            self.overtaken -= 1
            self.write(replace(found, at=found.at + timedelta(seconds=1)))
        return found


@retry_conflicts(3)
def prolong(store: Contended, by: timedelta, *, at_most: datetime) -> LastUse:
    """Adds to a time, once."""
    found = store.last_use()
    return store.write(replace(found, at=min(found.at + by, at_most)))


@pytest.mark.parametrize("overtaken", [0, 1, 2])
def test_a_conflict_has_the_function_read_and_decide_again(overtaken: int) -> None:
    store = Contended(overtaken)
    after = prolong(store, timedelta(seconds=10), at_most=LATER)
    assert after.at == START + timedelta(seconds=10 + overtaken)
    assert after == store.get(LastUse, RECORD.key)
    assert store.reads == overtaken + 1


def test_the_last_conflict_is_raised_and_nothing_is_read_after_it() -> None:
    store = Contended(3)
    with pytest.raises(WriteConflict):
        prolong(store, timedelta(seconds=10), at_most=LATER)
    assert store.reads == 3
    assert store.get(LastUse, RECORD.key).at == START + timedelta(seconds=3)


def test_another_error_is_raised_at_once() -> None:
    tries = []

    @retry_conflicts(5)
    def fail() -> None:
        tries.append(1)
        raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert len(tries) == 1


def test_a_retried_function_keeps_its_name_and_its_description() -> None:
    assert (prolong.__name__, prolong.__doc__) == ("prolong", "Adds to a time, once.")


@pytest.mark.parametrize("overtaken", [0, 1, 2])
def test_what_the_caller_has_read_is_tried_first_and_read_again_after_a_conflict(overtaken: int) -> None:
    store = Contended(overtaken)
    known = store.last_use()
    after = retry(3, lambda each: store.write(replace(each, at=LATER)), known, store.last_use)
    assert (after.at, after.version) == (LATER, overtaken + 2)
    assert store.reads == overtaken + 1


def test_after_as_many_conflicts_as_attempts_the_conflict_is_raised() -> None:
    store = Contended(3)
    with pytest.raises(WriteConflict):
        retry(3, lambda each: store.write(replace(each, at=LATER)), store.last_use(), store.last_use)
    assert store.get(LastUse, RECORD.key).at == START + timedelta(seconds=3)


def test_what_the_reading_raises_ends_the_attempts() -> None:
    def nothing_left() -> LastUse:
        raise LookupError

    with pytest.raises(LookupError):
        retry(3, Contended(0).write, RECORD, nothing_left)


def test_a_write_returns_its_first_record_as_it_is_stored() -> None:
    store = MemoryStore()
    first = store.write(RECORD, LastUse("other", START))
    assert first == store.get(LastUse, RECORD.key) == replace(RECORD, version=1)
    assert store.write(replace(first, at=LATER)).version == 2
    gone = Delete(replace(RECORD, version=2))
    assert store.write(gone) is gone


def test_a_write_that_may_conflict_says_whether_it_was_written() -> None:
    store = MemoryStore()
    assert try_write(store, RECORD)
    assert not try_write(store, replace(RECORD, at=LATER), LastUse("other", START))
    assert store.get(LastUse, RECORD.key).at == START
    assert store.get(LastUse, LastUse("other", START).key) is None


def loops_with_conflicts(tree: ast.Module) -> Iterator[str]:
    """The functions in which a loop names WriteConflict or try_write."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            inside = (each for loop in ast.walk(function) if isinstance(loop, LOOPS) for each in ast.walk(loop))
            if {getattr(each, "id", None) or getattr(each, "attr", None) for each in inside} & {"WriteConflict", "try_write"}:
                yield function.name


@reads_code
def test_no_other_loop_repeats_what_met_a_conflict() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {
        f"{name}: {function}"
        for name, path in files.items()
        if not name.startswith("platform/storage/")
        for function in loops_with_conflicts(tree_of(path))
    }
    assert found == WITH_LOOPS.keys(), "use retry or retried of platform/storage/retrying.py, or say here why not"
