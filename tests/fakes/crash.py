"""Simulates a process that ends at its k-th call to DynamoDB or SQS, or that another one overtakes there."""

from collections.abc import Callable
from typing import Any


class Crash(BaseException):
    """The end of the process. A BaseException, so that no `except Exception` of the service catches it."""


class Tripwire:
    """Counts calls; raises Crash before or after the call number `fatal`, and at every later call; 0: it only counts."""

    def __init__(self, fatal: int = 0, before: bool = True) -> None:
        self.calls = 0
        self._fatal = fatal
        self._before = before

    def guard(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            is_last = self.calls == self._fatal
            if (is_last and self._before) or self.calls > self._fatal > 0:
                raise Crash
            result = call(*args, **kwargs)
            if is_last:
                raise Crash
            return result

        return guarded


class FragileClient:
    """A boto3 DynamoDB client whose requests are guarded by the tripwire."""

    _REQUESTS = (
        "get_item",
        "batch_get_item",
        "batch_write_item",
        "query",
        "put_item",
        "update_item",
        "transact_write_items",
    )

    def __init__(self, client: Any, wire: "Tripwire | Interruption") -> None:
        self._client = client
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        return self._wire.guard(attribute) if name in self._REQUESTS else attribute


class FragileWrites(FragileClient):
    """Dies at what changes something: to die at a read is to die after the change before it."""

    _REQUESTS = ("put_item", "update_item", "batch_write_item", "transact_write_items")


class FragileQueue:
    """A queue whose sends are guarded by the tripwire."""

    def __init__(self, queue: Any, wire: Tripwire) -> None:
        self.send = wire.guard(queue.send)


class Guarded:
    """An object some of whose methods are guarded by the tripwire."""

    def __init__(self, inner: Any, names: tuple[str, ...], wire: "Tripwire | Interruption") -> None:
        self._inner, self._names, self._wire = inner, names, wire

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        return self._wire.guard(attribute) if name in self._names else attribute


class Interruption:
    """Runs another flow once, before the call number `position`: two processes whose calls are interleaved there."""

    def __init__(self, position: int, other: Callable[[], object]) -> None:
        self.calls = 0
        self._position = position
        self._other = other

    def guard(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self._position:
                self._other()
            return call(*args, **kwargs)

        return guarded
