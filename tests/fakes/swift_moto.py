"""moto's DynamoDB with shortcuts around what made most of the time of the tests. Its answers stay the same."""

import copy
from functools import cache
from typing import Any

from botocore.auth import SigV4Auth
from botocore.useragent import UserAgentString
from moto.backend_index import backend_url_patterns
from moto.core import responses
from moto.core.models import MockAWS, botocore_stubber
from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.models.utilities import bytesize
from moto.dynamodb.responses import DynamoHandler

_query, _serialize_structure = Table.query, BaseJSONSerializer._serialize_type_structure
_hash, _is_same = DynamoType.__hash__, DynamoType.__eq__
_put, _delete, _parse = Table.put_item, Table.delete_item, ConditionExpressionParser.parse
_add_auth, _user_agent = SigV4Auth.add_auth, UserAgentString.to_string


def _copied(table: Table, _: Any = None) -> Table:
    """Another table of the same items, for moto to go back to when a transaction is refused.

    moto copies each item of the table instead, before every transaction. Puts and deletions, all that our transactions
    do, replace items and partitions and change none in place, so both tables can hold the same ones.
    """
    other = copy.copy(table)
    other.items = table.items.copy()
    return other


def _put_item(table: Table, item_attrs: dict[str, Any], *rest: Any, **more: Any) -> Any:
    _replace_partition(table, DynamoType(item_attrs[table.hash_key_attr]))
    return _put(table, item_attrs, *rest, **more)


def _delete_item(table: Table, hash_key: DynamoType, range_key: DynamoType | None) -> Any:
    _replace_partition(table, hash_key)
    return _delete(table, hash_key, range_key)


def _replace_partition(table: Table, hash_key: DynamoType) -> None:
    """Before a partition is written to: what was copied of the table keeps the old one."""
    if table.has_range_key and hash_key in table.items:
        table.items[hash_key] = dict(table.items[hash_key])


def _query_of_partition(table: Table, hash_key: Any, *rest: Any, **more: Any) -> Any:
    """Without an index, moto sorts all items of the table before it picks those of one partition."""
    if rest[_INDEX] is None:
        partition = {hash_key: table.items.get(hash_key, {})}
        table = copy.copy(table)
        table.items = partition  # type: ignore[assignment]
    return _query(table, hash_key, *rest, **more)


_INDEX = 6
"""Where the name of the index is among the parameters of `Table.query` after the hash key."""


def _parse_condition(parser: ConditionExpressionParser) -> Any:
    """moto parses the condition of every write of a transaction three times; the parsed form is only read."""
    names, values = parser.expression_attribute_names, parser.expression_attribute_values
    key = parser.condition_expression, repr(names), repr(values)
    if key not in _conditions:
        if len(_conditions) > 1_000:
            _conditions.clear()
        _conditions[key] = _parse(parser), parser.expr_attr_names_found, parser.expr_attr_values_found
    condition, names_found, values_found = _conditions[key]
    parser.expr_attr_names_found, parser.expr_attr_values_found = [*names_found], [*values_found]  # moto adds to them
    return condition


_conditions: dict[tuple[str | None, str, str], tuple[Any, list[str], list[str]]] = {}


def _serialized(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
    """An attribute is on its way in the form of the wire already; moto tries 10 types and 5 spellings at each."""
    if shape.name == "AttributeValue" and not value.keys() & {"B", "BS"}:
        serialized[key] = value
    else:
        _serialize_structure(serializer, serialized, value, shape, key)


def _make_item(item: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
    """moto measures all that an item holds before every attribute that it adds: once, at the end, is enough."""
    item.hash_key, item.range_key, item.attrs = hash_key, range_key, LimitedSizeDict()
    dict.update(item.attrs, {name: DynamoType(value) for name, value in attrs.items()})
    if sum(bytesize(name) + value.size() for name, value in item.attrs.items()) > _MOST_BYTES:
        raise ItemSizeTooLarge


_MOST_BYTES = 405_000
"""Where moto puts the limit."""


def _hash_text(value: DynamoType) -> int:
    """Keys are text, and every copy of a table asks for the hash of all its keys: nothing is to be cast for it."""
    return hash(value.value) if value.type == "S" else _hash(value)


def _is_same_text(value: DynamoType, other: DynamoType) -> bool:
    return value.value == other.value if value.type == other.type == "S" else _is_same(value, other)


_SERVICES = ("dynamodb", "kms", "secretsmanager", "sqs")


def _sign_for_nobody(auth: Any, request: Any) -> None:
    """moto reads from a signature who asks where, and never checks it. What goes over the network is signed."""
    if not botocore_stubber.enabled:
        _add_auth(auth, request)
        return
    scope = f"20260315/{auth._region_name}/{auth._service_name}/aws4_request"
    authorization = f"AWS4-HMAC-SHA256 Credential={auth.credentials.access_key}/{scope}, SignedHeaders=host, Signature=0"
    request.headers["Authorization"] = authorization


def _name_agent(agent: UserAgentString) -> str:
    """botocore puts its twenty parts together twice a request."""
    return "tests" if botocore_stubber.enabled else _user_agent(agent)


def _stub_botocore_alone(mock: MockAWS, reset: bool = True) -> None:
    """Nothing of ours reaches AWS by other means; moto registers 2,000 addresses for who does, at every start."""
    botocore_stubber.enabled = True
    if reset:
        mock.reset()


def apply() -> None:
    """Put the shortcuts into moto, for good."""
    SigV4Auth.add_auth, UserAgentString.to_string = _sign_for_nobody, _name_agent
    MockAWS._enable_patching = _stub_botocore_alone
    responses.method_names_from_class = cache(responses.method_names_from_class)
    backend_url_patterns.sort(key=lambda pattern: pattern[0] not in _SERVICES)  # they are tried one by one
    DynamoHandler.use_raw_body = True  # or it looks for the fields of a form in every request
    Item.__init__ = _make_item  # type: ignore[method-assign]
    DynamoType.__hash__, DynamoType.__eq__ = _hash_text, _is_same_text  # type: ignore[method-assign]
    Table.__deepcopy__ = _copied  # type: ignore[attr-defined]
    Table.query = _query_of_partition  # type: ignore[method-assign]
    Table.put_item, Table.delete_item = _put_item, _delete_item  # type: ignore[method-assign]
    ConditionExpressionParser.parse = _parse_condition  # type: ignore[method-assign]
    BaseJSONSerializer._serialize_type_structure = _serialized  # type: ignore[method-assign]
