"""Counting what reaches DynamoDB, at the client: calls by operation, and the items they touch."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Calls:
    """Calls by the name of their operation (`Query`), and how many there would be with one call for each item."""

    by_operation: Counter[str] = field(default_factory=Counter)
    item_by_item: int = 0

    @property
    def total(self) -> int:
        return self.by_operation.total()

    def __str__(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in sorted(self.by_operation.items()))


@contextmanager
def counted(client: Any) -> Iterator[Calls]:
    """Counts the calls of a boto3 client; a page of a paginator is a call, a retry of botocore's own is not."""
    calls = Calls()

    def asked(params: dict[str, Any], model: Any, **_: Any) -> None:
        calls.by_operation[model.name] += 1
        if model.name != "Query":
            calls.item_by_item += _items_in(params)

    def answered(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name == "Query":
            calls.item_by_item += max(len(parsed["Items"]), 1)

    events = client.meta.events
    events.register("provide-client-params.dynamodb", asked)
    events.register("after-call.dynamodb", answered)
    try:
        yield calls
    finally:
        events.unregister("provide-client-params.dynamodb", asked)
        events.unregister("after-call.dynamodb", answered)


def _items_in(params: dict[str, Any]) -> int:
    if "TransactItems" in params:
        return len(params["TransactItems"])
    if "RequestItems" in params:
        return sum(len(asked["Keys"]) for asked in params["RequestItems"].values() if "Keys" in asked)
    return 1
