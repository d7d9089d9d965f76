"""Counting the DynamoDB calls of a boto3 client by operation, and the items they read or write."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Calls:
    """Calls by operation name (such as `Query`), and how many it would take with one call per item."""

    by_operation: Counter[str] = field(default_factory=Counter)
    item_by_item: int = 0

    @property
    def total(self) -> int:
        return self.by_operation.total()

    def __str__(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in sorted(self.by_operation.items()))


@contextmanager
def counted(client: Any) -> Iterator[Calls]:
    """Counts the calls of a boto3 client: each page of a paginator is a call, botocore's retries are not counted."""
    calls = Calls()

    def before_call(params: dict[str, Any], model: Any, **_: Any) -> None:
        calls.by_operation[model.name] += 1
        if model.name != "Query":
            calls.item_by_item += _items_in(params)

    def after_call(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name == "Query":
            calls.item_by_item += max(len(parsed["Items"]), 1)

    with watched(client, before_call, after_call):
        yield calls


@contextmanager
def watched(client: Any, before_call: Callable[..., None], after_call: Callable[..., None]) -> Iterator[None]:
    """Has botocore call these around each call of a DynamoDB client, with `params`, `parsed` and so on.

    They are called one after the other, whatever threads make the calls.
    """
    events, lock = client.meta.events, threading.Lock()

    def alone(handler: Callable[..., None]) -> Callable[..., None]:
        def handle(**about: Any) -> None:
            with lock:
                handler(**about)

        return handle

    handlers = {"provide-client-params.dynamodb": alone(before_call), "after-call.dynamodb": alone(after_call)}
    for name, handler in handlers.items():
        events.register(name, handler)
    try:
        yield
    finally:
        for name, handler in handlers.items():
            events.unregister(name, handler)


def _items_in(params: dict[str, Any]) -> int:
    if "TransactItems" in params:
        return len(params["TransactItems"])
    if "RequestItems" in params:
        return sum(len(each.get("Keys", each) if isinstance(each, dict) else each) for each in params["RequestItems"].values())
    return 1
