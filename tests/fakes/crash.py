"""A process that dies at its k-th call to DynamoDB or SQS: before the call is made, or after it took effect."""

from collections.abc import Callable
from typing import Any


class Crash(BaseException):
    """The process is gone. Not an Exception: nothing in the service may survive it by catching."""


class Tripwire:
    """Counts calls; at the `fatal` one it raises Crash, `before` it or after it. Counts on without harm for fatal=0."""

    def __init__(self, fatal: int = 0, before: bool = True) -> None:
        self.calls = 0
        self._fatal = fatal
        self._before = before

    def guard(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self._fatal and self._before:
                raise Crash
            answer = call(*args, **kwargs)
            if self.calls == self._fatal:
                raise Crash
            return answer

        return guarded


class FragileClient:
    """A boto3 DynamoDB client whose every request passes the tripwire."""

    _REQUESTS = ("get_item", "batch_get_item", "query", "put_item", "update_item", "transact_write_items")

    def __init__(self, client: Any, wire: Tripwire) -> None:
        self._client = client
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._wire.guard(found) if name in self._REQUESTS else found


class FragileQueue:
    """A queue whose every send passes the tripwire."""

    def __init__(self, queue: Any, wire: Tripwire) -> None:
        self.send = wire.guard(queue.send)
