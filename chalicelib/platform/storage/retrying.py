"""Repeats what reads, decides and writes when another process has written first.

    @retry_conflicts(5)
    def cancel(services: Services, name: str) -> Request: ...

    retry(5, partial(_open, services), user, lambda: users.user(services.store, name))
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from chalicelib.platform.storage.store import Store, Write, WriteConflict

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def retry_conflicts(attempts: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Has a function run again from its first read on when it raises WriteConflict, `attempts` times in all.

    The last conflict is raised. What the function does after its write must not raise WriteConflict: that would repeat
    what was written.
    """

    def decorate(run: Callable[P, R]) -> Callable[P, R]:
        @wraps(run)
        def run_again(*args: P.args, **kwargs: P.kwargs) -> R:
            for _ in range(attempts - 1):
                try:
                    return run(*args, **kwargs)
                except WriteConflict:
                    continue
            return run(*args, **kwargs)

        return run_again

    return decorate


def retry(attempts: int, act: Callable[[S], R], known: S, read: Callable[[], S]) -> R:
    """The result of `act` on what the caller has read, and after each WriteConflict on what `read` returns then.

    Raises WriteConflict after as many conflicts as `attempts`, and what `read` raises, also after the last one.
    """
    for _ in range(attempts):
        try:
            return act(known)
        except WriteConflict:
            known = read()
    raise WriteConflict


def try_write(store: Store, *writes: Write) -> bool:
    """Writes as `Store.write`; returns False, with nothing written, where that raises WriteConflict."""
    try:
        store.write(*writes)
    except WriteConflict:
        return False
    return True
