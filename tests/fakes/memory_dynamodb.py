"""A client of DynamoDB in memory: what the product calls, with the limits, refusals and order of DynamoDB.

Calls are made one after the other, and each is applied as a whole. It understands the parameters and expressions that
the product's storage and its tests send (memory_expressions); others raise TypeError or NotImplementedError.
"""

import functools
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from botocore.errorfactory import BaseClientExceptions
from botocore.exceptions import ClientError

from infra.local import calls as aws_calls
from tests.fakes.memory_actions import Action, results_of
from tests.fakes.memory_expressions import Given, One, Refused, Several, parse_condition
from tests.fakes.memory_tables import Entry, Index, Item, Table, check_key, copied

_MB = 1024 * 1024
Attributes = Mapping[str, Any]
Names = Mapping[str, str] | None
Handler = Callable[..., Any]
_ERRORS = {
    name: type(name, (ClientError,), {})
    for name in ("ConditionalCheckFailedException", "ResourceNotFoundException", "TransactionCanceledException")
}


class Events:
    """Handlers of the events of calls, as those of a client of botocore: a name stands for all that begin with it."""

    def __init__(self) -> None:
        self.handlers: list[tuple[str, Handler]] = []

    def register(self, name: str, handler: Handler) -> None:
        self.handlers.append((name, handler))

    def unregister(self, name: str, handler: Handler) -> None:
        self.handlers.remove((name, handler))

    def emit(self, name: str, **about: Any) -> Any:
        """The first answer of a handler that is not None; None without."""
        answers = [handler(**about) for known, handler in [*self.handlers] if f"{name}.".startswith(f"{known}.")]
        return next((each for each in answers if each is not None), None)


def _operation(name: str) -> Callable[[Handler], Handler]:
    """Makes a method that answers what botocore's client does, with its events and errors."""
    model = SimpleNamespace(name=name, service_model=SimpleNamespace(service_name="dynamodb"))

    def decorate(act: Handler) -> Handler:
        @functools.wraps(act)
        def called(client: "MemoryDynamoDB", **params: Any) -> Any:
            aws_calls.client_stood_in("dynamodb", name, params)
            emit = functools.partial(client.meta.events.emit, model=model) if client.meta.events.handlers else _ignore
            emit(f"provide-client-params.dynamodb.{name}", params=params)
            response = emit(f"before-call.dynamodb.{name}", params={"body": params})
            http, parsed = response or (SimpleNamespace(status_code=200), None)
            if parsed is None:
                try:
                    with client.lock:
                        parsed = act(client, **params)
                except Refused as error:
                    http.status_code = 400
                    parsed = {"Error": {"Code": error.code, "Message": error.message}, **error.more}
            emit(f"after-call.dynamodb.{name}", http_response=http, parsed=parsed)
            if http.status_code >= 300:
                raise client.exceptions.from_code(parsed["Error"]["Code"])(parsed, name)
            return parsed

        return called

    return decorate


def _ignore(name: str, **_: Any) -> None:
    """The events of a client without handlers."""


class MemoryDynamoDB:
    exceptions = type("Exceptions", (BaseClientExceptions,), _ERRORS)(_ERRORS)

    def __init__(self, tables: Mapping[str, Attributes]) -> None:
        """`tables` are properties of AWS::DynamoDB::Table by their names."""
        self.tables = {name: Table(wanted) for name, wanted in tables.items()}
        self.meta = SimpleNamespace(events=Events())
        self.lock = threading.Lock()
        self._transactions: dict[str, Any] = {}

    def list_tables(self) -> dict[str, Any]:
        return {"TableNames": list(self.tables)}

    def get_paginator(self, operation: str) -> Any:
        """Pages of `query` or `scan`."""

        def paginate(**params: Any) -> Iterator[dict[str, Any]]:
            page = getattr(self, operation)(**params)
            yield page
            while "LastEvaluatedKey" in page:
                page = getattr(self, operation)(**params, ExclusiveStartKey=page["LastEvaluatedKey"])
                yield page

        return SimpleNamespace(paginate=paginate)

    @_operation("GetItem")
    def get_item(self, TableName: str, Key: Attributes, ConsistentRead: bool = False) -> dict[str, Any]:
        item = self._table(TableName).get(check_key(Key))
        return {} if item is None else {"Item": copied(item)}

    @_operation("BatchGetItem")
    def batch_get_item(self, RequestItems: Mapping[str, Any]) -> dict[str, Any]:
        """Returns up to 16 MB; the keys of the rest are unprocessed."""
        wanted = [(name, key, check_key(key)) for name, asked in RequestItems.items() for key in asked["Keys"]]
        _check_number(len(wanted), 100)
        _check_different([(name, key) for name, _, key in wanted])
        found: dict[str, Any] = {name: [] for name in RequestItems}
        unread, size = dict[str, Any](), 0
        for name, key, place in wanted:
            item = self._table(name).get(place)
            size += item.size if item is not None else 0
            if size > 16 * _MB:
                unread.setdefault(name, {**RequestItems[name], "Keys": []})["Keys"].append(key)
            elif item is not None:
                found[name].append(copied(item))
        return {"Responses": found, "UnprocessedKeys": unread}

    @_operation("BatchWriteItem")
    def batch_write_item(self, RequestItems: Mapping[str, Any]) -> dict[str, Any]:
        actions: list[Action] = []
        for name, requests in RequestItems.items():
            for request in requests:
                ((kind, parameters),) = request.items()
                actions.append(Action(self._table(name), kind.removesuffix("Request"), parameters))
        _check_number(len(actions), 25)
        _check_different([(id(each.table), each.key) for each in actions])
        for each in [(each, each.result()) for each in actions]:
            each[0].apply(each[1])
        return {"UnprocessedItems": {}}

    @_operation("PutItem")
    def put_item(self, TableName: str, Item: Attributes, **params: Any) -> dict[str, Any]:
        return self._write(TableName, "Put", {"Item": Item, **params})

    @_operation("UpdateItem")
    def update_item(self, TableName: str, Key: Attributes, **params: Any) -> dict[str, Any]:
        return self._write(TableName, "Update", {"Key": Key, **params})

    @_operation("DeleteItem")
    def delete_item(self, TableName: str, Key: Attributes, **params: Any) -> dict[str, Any]:
        return self._write(TableName, "Delete", {"Key": Key, **params})

    def _write(self, table: str, kind: str, params: dict[str, Any]) -> dict[str, Any]:
        shown = params.pop("ReturnValues", "NONE")
        action = Action(self._table(table), kind, params)
        if not action.is_allowed:
            raise Refused("The conditional request failed", "ConditionalCheckFailedException", **action.shown_if_refused)
        new = action.result()
        action.apply(new)
        match shown:
            case "NONE":
                return {}
            case "UPDATED_NEW" if new is not None:
                return {"Attributes": copied({name: new[name] for name in action.updated if name in new})}
            case "ALL_NEW" if new is not None:
                return {"Attributes": copied(new)}
        raise NotImplementedError(shown)

    @_operation("TransactWriteItems")
    def transact_write_items(self, TransactItems: Sequence[Attributes], ClientRequestToken: str = "") -> dict[str, Any]:
        _check_number(len(TransactItems), 100)
        if ClientRequestToken in self._transactions:
            if self._transactions[ClientRequestToken] != TransactItems:
                raise Refused("Another request has this token", "IdempotentParameterMismatchException")
            return {}
        actions: list[Action] = []
        for each in TransactItems:
            ((kind, parameters),) = each.items()
            params = dict(parameters)
            actions.append(Action(self._table(params.pop("TableName")), kind, params))
        _check_different([(id(each.table), each.key) for each in actions])
        news = results_of(actions)
        if sum(new.size for new in news if new is not None) > 4 * _MB:
            raise Refused("Transaction request exceeds the 4MB transaction size limit")
        for action, new in zip(actions, news, strict=True):
            action.apply(new)
        if ClientRequestToken:
            self._transactions[ClientRequestToken] = TransactItems
        return {}

    @_operation("Query")
    def query(
        self,
        TableName: str,
        KeyConditionExpression: str,
        ExpressionAttributeValues: Attributes,
        IndexName: str | None = None,
        ExpressionAttributeNames: Names = None,
        FilterExpression: str | None = None,
        ScanIndexForward: bool = True,
        ConsistentRead: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        table = self._table(TableName)
        index = table.primary if IndexName is None else table.indexes.get(IndexName)
        if index is None or (IndexName is not None and ConsistentRead):
            raise Refused(f"{IndexName} is no index of the table, or cannot be read consistently")
        given = Given(ExpressionAttributeNames, ExpressionAttributeValues, KeyConditionExpression, FilterExpression)
        entries = _found(index, KeyConditionExpression, given)
        if not ScanIndexForward:
            entries.reverse()
        if start := more.pop("ExclusiveStartKey", None):
            after = _entry(index, start)
            entries = [each for each in entries if (each > after if ScanIndexForward else each < after)]
        return _page(table, index, entries, given, FilterExpression, **more)

    @_operation("Scan")
    def scan(
        self,
        TableName: str,
        ExpressionAttributeValues: Attributes | None = None,
        ExpressionAttributeNames: Names = None,
        FilterExpression: str | None = None,
        ExclusiveStartKey: Attributes | None = None,
        Segment: int = 0,
        TotalSegments: int = 1,
        ConsistentRead: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        """Items in the order of their keys; DynamoDB mixes the partitions."""
        table = self._table(TableName)
        given = Given(ExpressionAttributeNames, ExpressionAttributeValues, FilterExpression, more.get("ProjectionExpression"))
        pks = sorted(pk for pk in table.items if zlib.crc32(pk.encode()) % TotalSegments == Segment)
        after = check_key(ExclusiveStartKey) if ExclusiveStartKey else ("", "")
        places = [each for pk in pks if pk >= after[0] for each in table.primary.entries[pk] if each[1:] > after]
        return _page(table, table.primary, places, given, FilterExpression, **more)

    def _table(self, name: str) -> Table:
        if name not in self.tables:
            raise Refused("Requested resource not found", "ResourceNotFoundException")
        return self.tables[name]


def _found(index: Index, text: str, given: Given) -> list[Entry]:
    """The entries of an index that a key condition names."""
    condition = parse_condition(text)
    parts = condition.parts if isinstance(condition, Several) and condition.holds is all else (condition,)
    named = {given.name(each.path): each for each in parts if isinstance(each, One)}
    by = named.get(index.by)
    if by is None or by.comparator != "=" or len(named) != len(parts) or not named.keys() <= {index.by, index.order}:
        raise Refused(f"Query condition missed key schema element: {index.by}")
    index.check({index.by: given.values[by.values[0]]})
    values: list[Any] = []
    if order := named.get(index.order):
        for name in order.values:
            index.check({index.order: given.values[name]})
            values.append(index.sorted_by(given.values[name]))
        if order.comparator == "BETWEEN" and values[0] > values[1]:
            raise Refused("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
    return index.between(given.values[by.values[0]]["S"], order.comparator if order else "", values)


def _entry(index: Index, start: Attributes) -> Entry:
    if start.keys() != {index.by, index.order, "pk", "sk"}:
        raise Refused("The provided starting key is invalid")
    return (index.sorted_by(start[index.order]), start["pk"]["S"], start["sk"]["S"])


def _page(
    table: Table,
    index: Index,
    entries: list[Entry],
    given: Given,
    condition: str | None,
    Limit: int | None = None,
    Select: str | None = None,
    ProjectionExpression: str | None = None,
) -> dict[str, Any]:
    """The first of these entries, up to 1 MB or a number, and those of them for which a filter holds."""
    shown, size = list[Item](), 0
    for _, pk, sk in entries:
        entry = index.shown(table.items[pk][sk])
        size += entry.size
        if len(shown) == Limit or (shown and size > _MB):
            break
        shown.append(entry)
    found = [each for each in shown if condition is None or given.holds(parse_condition(condition), each)]
    page: dict[str, Any] = {"Count": len(found), "ScannedCount": len(shown)}
    if shown and (len(shown) < len(entries) or len(shown) == Limit):
        page["LastEvaluatedKey"] = index.place_of(shown[-1])
    if Select not in (None, "COUNT"):
        raise NotImplementedError(Select)
    if Select is None:
        names = [given.name(path.strip()) for path in ProjectionExpression.split(",")] if ProjectionExpression else None
        page["Items"] = [copied(each if names is None else {n: each[n] for n in names if n in each}) for each in found]
    return page


def _check_number(number: int, most: int) -> None:
    if not 0 < number <= most:
        raise Refused(f"Member must have length less than or equal to {most}, and not be empty")


def _check_different(keys: list[Any]) -> None:
    if len(set(keys)) < len(keys):
        raise Refused("Provided list of item keys contains duplicates")
