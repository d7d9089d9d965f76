"""What a call or a transaction of DynamoDB in memory does to one item: its condition, and the item after it."""

from collections.abc import Mapping
from typing import Any

from tests.fakes.memory_expressions import Given, Refused, parse_condition, parse_update
from tests.fakes.memory_tables import Item, Table, check_key, copied, stored


class Action:
    """One write, or check, of one item. Raises Refused for what DynamoDB refuses whatever is stored."""

    def __init__(self, table: Table, kind: str, params: Mapping[str, Any]) -> None:
        self.table, self._kind = table, kind
        params = dict(params)
        self._item = stored(params.pop("Item")) if kind == "Put" else None
        if self._item is None:
            self.key = check_key(params.pop("Key"))
        else:
            self.key = check_key({name: self._item[name] for name in ("pk", "sk") if name in self._item})
            table.check(self._item)
        self.old = table.get(self.key)
        update, self._condition = params.pop("UpdateExpression", None), params.pop("ConditionExpression", None)
        names, values = (params.pop(f"ExpressionAttribute{each}", None) for each in ("Names", "Values"))
        self._given = Given(names, stored(values or {}), update, self._condition)
        self._shows_old = params.pop("ReturnValuesOnConditionCheckFailure", None) == "ALL_OLD"
        self._update = parse_update(update) if update else None
        if params or kind not in ("Put", "Update", "Delete", "ConditionCheck") or (update and kind != "Update"):
            raise NotImplementedError(f"{kind} with {sorted(params)}")

    @property
    def is_allowed(self) -> bool:
        return not self._condition or self._given.holds(parse_condition(self._condition), self.old or {})

    @property
    def shown_if_refused(self) -> dict[str, Any]:
        return {"Item": copied(self.old)} if self._shows_old and self.old is not None else {}

    @property
    def updated(self) -> list[str]:
        update = self._update
        paths = [path for path, _ in (*update.sets, *update.adds)] if update else []
        return [self._given.name(path) for path in paths]

    def result(self) -> Item | None:
        """The item after the action; None if it is deleted. Raises Refused for one that DynamoDB does not store."""
        if self._kind in ("Delete", "ConditionCheck"):
            return None if self._kind == "Delete" else self.old
        if self._item is not None:
            return Item(self._item)
        item = Item(self._updated())
        self.table.check(item)
        return item

    def _updated(self) -> dict[str, Any]:
        old: dict[str, Any] = dict(self.old or {"pk": {"S": self.key[0]}, "sk": {"S": self.key[1]}})
        if self._update is None:
            return old
        given, new = self._given, dict(old)
        paths = [given.name(path) for path in (*dict(self._update.sets), *dict(self._update.adds), *self._update.removes)]
        if {"pk", "sk"}.intersection(paths):
            raise Refused("Cannot update an attribute that is part of the key")
        if len(set(paths)) < len(self._update.sets) + len(self._update.adds) + len(self._update.removes):
            raise Refused("Two document paths overlap with each other")
        new |= {given.name(path): given.values[value] for path, value in self._update.sets}
        for path, value in self._update.adds:
            name, amount = given.name(path), given.values[value]
            before = old.get(name, {"N": "0"})
            if "N" not in amount or "N" not in before:
                raise Refused("An operand in the update expression has an incorrect data type")
            new[name] = {"N": str(int(before["N"]) + int(amount["N"]))}
        for path in self._update.removes:
            new.pop(given.name(path), None)
        return new

    def apply(self, new: Item | None) -> None:
        if new is None:
            self.table.delete(self.key)
        elif new is not self.old:
            self.table.put(new)


def results_of(actions: list[Action]) -> list[Item | None]:
    """The items after the actions of a transaction. Raises Refused with the reasons if one of them cannot be applied."""
    news, reasons = list[Item | None](), list[dict[str, Any]]()
    for action in actions:
        reason: dict[str, Any] = {"Code": "None"}
        if not action.is_allowed:
            reason = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", **action.shown_if_refused}
        else:
            try:
                news.append(action.result())
            except Refused as error:
                if not action.updated:
                    raise
                reason = {"Code": "ValidationError", "Message": error.message}
        reasons.append(reason)
    codes = [each["Code"] for each in reasons]
    if set(codes) != {"None"}:
        message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]"
        raise Refused(message, "TransactionCanceledException", CancellationReasons=reasons)
    return news
