"""What a change does to each record that redirects money: shown to approvers, and compared when it takes effect."""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from chalicelib.accounts.changes.rules import Step
from chalicelib.accounts.payees import store as payee_store
from chalicelib.accounts.payees.records import PayeeDestination
from chalicelib.base.records import Record
from chalicelib.base.timestamps import iso
from chalicelib.platform.storage.store import Store

_NONE_IF_EMPTY = frozenset({"scopes", "allowed_ips", "allowed_domains", "approval_delay_hours"})
"""No limit, or no delay, is null, as in requests."""
_BOUND = "payee_destination_id"


def effects_of(store: Store, account_id: str, steps: Iterable[Step]) -> str:
    """A JSON list with, for each record, its `resource`, and what its fields are `before` and `after`.

    Of a record that is changed these are the fields by which it is known and those that change, and all of one that is
    switched on; `before` is null for a new one, `after` for one that is deleted. A payee destination is shown by its id
    that names the route. One read for each end of a binding to one.
    """
    found = list(steps)
    made = {after.record_id: after for _, after in found if isinstance(after, PayeeDestination)}

    def bound(record_id: str) -> str:
        destination = made.get(record_id) or payee_store.destination(store, account_id, record_id)
        return destination.destination_id if destination else record_id

    return json.dumps([_effect(before, after, bound) for before, after in found], default=_text, sort_keys=True)


def _effect(before: Record | None, after: Record | None, bound: Callable[[str], str]) -> dict[str, Any]:
    record = after or before
    assert record is not None, "a step has one of them"
    names = record.SHOWN
    if before:
        changed = [each for each in names if after is None or getattr(before, each) != getattr(after, each)]
        is_switched = after is not None and not {*record.SWITCHED_BY}.isdisjoint(changed)
        names = tuple(dict.fromkeys((*record.NAMED_BY, *(names if is_switched else changed))))
    return {
        "resource": record.RESOURCE,
        "before": _side(before, names, bound),
        "after": _side(after, names, bound),
    }


def _side(record: Record | None, names: Iterable[str], bound: Callable[[str], str]) -> dict[str, Any] | None:
    return {_camel_case(each): _value(record, each, bound) for each in names} if record else None


def _value(record: Record, name: str, bound: Callable[[str], str]) -> Any:
    value = getattr(record, name)
    if name in _NONE_IF_EMPTY and not value:
        return None
    return bound(value) if name == _BOUND and value else value


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def _text(value: object) -> str:
    assert isinstance(value, datetime), "every other value is one of JSON"
    return iso(value)
