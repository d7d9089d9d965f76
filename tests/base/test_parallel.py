"""Tasks at the same time: in their order, at most so many of them, all waited for, or so long and no longer."""

import threading
import time
from functools import partial

import pytest

from chalicelib.base.parallel import each_done, run_within
from tests.support.patience import patience


def test_all_are_done_in_order_at_the_same_time_and_one_of_them_in_the_thread_that_waits() -> None:
    together = threading.Barrier(3, timeout=patience())

    def name_and_thread(name: str) -> tuple[str, int]:
        together.wait()
        return name, threading.get_ident()

    names, threads = zip(*each_done(name_and_thread, ["first", "second", "third"], 3), strict=True)
    assert names == ("first", "second", "third")
    assert threads[0] == threading.get_ident() and len(set(threads)) == 3


def test_a_later_call_uses_the_threads_of_an_earlier_one() -> None:
    def threads() -> set[int]:
        together = threading.Barrier(4, timeout=patience())
        return set(each_done(lambda _: together.wait() * 0 + threading.get_ident(), range(4), 4))

    assert threads() == threads()


def test_an_error_is_raised_once_nothing_runs_any_more() -> None:
    done = list[int]()

    def act(number: int) -> None:
        if number == 0:
            raise LookupError("nothing there")
        time.sleep(0.05)
        done.append(number)

    with pytest.raises(LookupError, match="nothing there"):
        each_done(act, range(3), 2)
    assert sorted(done) == [1, 2]


def test_no_tasks_have_no_results() -> None:
    assert run_within(1, [], 0) == []


def test_results_are_in_the_order_of_the_tasks_which_run_at_the_same_time() -> None:
    together, second = threading.Barrier(3, timeout=patience()), threading.Event()

    def first() -> str:
        together.wait()
        second.wait(patience())
        return "first"

    def other(name: str) -> str:
        together.wait()
        second.set()
        return name

    assert run_within(30, [first, lambda: other("second"), lambda: other("third")], 20) == ["first", "second", "third"]


def test_an_error_of_a_task_is_raised() -> None:
    def fail() -> str:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        run_within(30, [lambda: "fine", fail], 2)


def test_what_is_not_done_in_time_is_not_waited_for_and_what_has_not_begun_never_begins() -> None:
    released, begun = threading.Event(), list[str]()

    def slow(name: str) -> str:
        begun.append(name)
        released.wait(patience())
        return name

    tasks = [lambda: "at once", *(partial(slow, name) for name in "ab")]
    found = run_within(0.2, tasks, 1)
    assert (found, begun, released.is_set()) == (["at once", None, None], ["a"], False)
    released.set()
    time.sleep(0.1)
    assert begun == ["a"], "the rest was given up"
