"""Work that is done at the same time: all of it, or what is done within so many seconds."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

A = TypeVar("A")
T = TypeVar("T")


def each_done(act: Callable[[A], T], arguments: Sequence[A], at_once: int) -> list[T]:
    """The results of `act` for each argument, in order; up to `at_once` run at the same time, one in this thread.

    Waits for all of them, and then raises what the first one that failed raised. `act` must not call this function
    itself: the other threads are shared by all calls in this process.
    """
    if len(arguments) < 2 or at_once < 2:
        return [act(each) for each in arguments]
    others = [_pool(at_once - 1).submit(act, each) for each in arguments[1:]]
    try:
        first = act(arguments[0])
    finally:
        for each in others:
            each.exception()  # waits
    return [first, *(each.result() for each in others)]


@cache
def _pool(threads: int) -> "ThreadPoolExecutor":
    """The threads of this process, which are started when they are needed and kept: starting one takes longer than what
    is given to it."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)


def run_within(seconds: float, tasks: Sequence[Callable[[], T]], at_once: int) -> list[T | None]:
    """The results of tasks in their order, None for one that is not done after `seconds`. Raises what a task raised.

    At most `at_once` run at the same time. One that still runs then goes on for nobody, one that has not begun is never
    begun. The threads are of this call alone, as such a one would hold up others in a shared one.
    """
    from concurrent.futures import ThreadPoolExecutor, wait  # most processes do one thing after the other

    if not tasks:
        return []
    pool = ThreadPoolExecutor(min(len(tasks), at_once))
    futures = [pool.submit(task) for task in tasks]
    done, _ = wait(futures, timeout=seconds)
    pool.shutdown(wait=False, cancel_futures=True)
    return [each.result() if each in done else None for each in futures]
