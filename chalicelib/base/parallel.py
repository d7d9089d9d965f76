"""Work that is done at the same time, and waited for no longer than so many seconds."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def done_within(seconds: float, tasks: Sequence[Callable[[], T]], at_once: int) -> list[T | None]:
    """The results of tasks in their order, None for one that is not done after `seconds`. Raises what a task raised.

    At most `at_once` run at the same time. One that still runs then goes on for nobody, one that has not begun is never
    begun.
    """
    from concurrent.futures import ThreadPoolExecutor, wait  # most processes do one thing after the other

    if not tasks:
        return []
    pool = ThreadPoolExecutor(min(len(tasks), at_once))
    futures = [pool.submit(task) for task in tasks]
    done, _ = wait(futures, timeout=seconds)
    pool.shutdown(wait=False, cancel_futures=True)
    return [each.result() if each in done else None for each in futures]
