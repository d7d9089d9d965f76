"""Faster replacements of the slowest parts of moto's DynamoDB; responses stay the same. See swift_items, swift_queries."""

import copy
import json
import threading
from functools import cache
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.endpoint import Endpoint
from botocore.exceptions import ParamValidationError
from botocore.model import OperationModel
from botocore.useragent import UserAgentString
from moto.backend_index import backend_url_patterns
from moto.core import DEFAULT_ACCOUNT_ID, responses
from moto.core.models import MockAWS, botocore_stubber
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.models.utilities import bytesize
from moto.dynamodb.responses import DynamoHandler
from werkzeug.exceptions import HTTPException

from tests.fakes import swift_items, swift_queries, swift_updates

_update = DynamoDBBackend.update_item
_call = BaseClient._make_api_call
_hash, _is_same, _cast = DynamoType.__hash__, DynamoType.__eq__, DynamoType.cast_value.fget  # type: ignore[attr-defined]
_put, _delete, _parse = Table.put_item, Table.delete_item, ConditionExpressionParser.parse
_add_auth, _user_agent = SigV4Auth.add_auth, UserAgentString.to_string


def _copied(table: Table, _: Any = None) -> Table:
    """Returns a copy of a table with the same items, which moto restores if a transaction is refused.

    moto itself copies every item before every transaction. Here puts, deletes and updates replace items and partitions
    and never change one in place, so both tables can share them.
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


def _update_item(backend: DynamoDBBackend, table_name: str, key: dict[str, Any], *rest: Any, **more: Any) -> Any:
    """Updates a copy of the item, so that copies of the table keep the old one."""
    table = backend.get_table(table_name)
    hash_key, range_key = DynamoType(key[table.hash_key_attr]), DynamoType(key[table.range_key_attr])
    _replace_partition(table, hash_key)
    if (item := table.items.get(hash_key, {}).get(range_key)) is not None:
        table.items[hash_key][range_key] = copy.deepcopy(item)
    return _update(backend, table_name, key, *rest, **more)


def _replace_partition(table: Table, hash_key: DynamoType) -> None:
    """Replaces a partition by a copy before a write, so that copies of the table keep the old one."""
    if table.has_range_key and hash_key in table.items:
        table.items[hash_key] = dict(table.items[hash_key])


def _parse_condition(parser: ConditionExpressionParser) -> Any:
    """Parses each condition once: moto parses it three times per write. The parsed form is never changed."""
    text = parser.condition_expression or ""
    names, values = (
        {name: each for name, each in (given or {}).items() if name in text}  # an update has many more
        for given in (parser.expression_attribute_names, parser.expression_attribute_values)
    )
    key = parser.condition_expression, repr(names), repr(values)
    if key not in _conditions:
        if len(_conditions) > 1_000:
            _conditions.clear()
        _conditions[key] = _parse(parser), parser.expr_attr_names_found, parser.expr_attr_values_found
    condition, names_found, values_found = _conditions[key]
    parser.expr_attr_names_found, parser.expr_attr_values_found = [*names_found], [*values_found]  # moto adds to them
    return condition


_conditions: dict[tuple[str | None, str, str], tuple[Any, list[str], list[str]]] = {}


def _make_api_call(client: BaseClient, operation_name: str, api_params: dict[str, Any]) -> Any:
    """Hands a call for items to moto's DynamoDB without the steps of HTTP, which take longer than moto itself.

    Parameters are checked, handlers of events are called and errors are raised as by botocore; only `before-call` has the
    body as it is, not as text.
    """
    service, url = client._service_model.service_name, client.meta.endpoint_url
    if operation_name not in _ACTIONS or service != "dynamodb" or not botocore_stubber.enabled or ".amazonaws.com" not in url:
        return _call(client, operation_name, api_params)
    model = client._service_model.operation_model(operation_name)
    context: dict[str, Any] = {"client_region": client.meta.region_name, "client_config": client.meta.config}
    params = client._emit_api_params(api_params=api_params, operation_model=model, context=context)
    validator = getattr(client._serializer, "_param_validator", None)  # absent where the client is to check nothing
    if validator is not None and (report := validator.validate(params, model.input_shape)).has_errors():
        raise ParamValidationError(report=report.generate_report())
    body = swift_items.as_json(params)
    _, answer = client.meta.events.emit_until_response(
        f"before-call.dynamodb.{operation_name}", model=model, params={"headers": {}, "body": body}, context=context
    )
    http, parsed = answer or _answer(client, model, body)
    client.meta.events.emit(
        f"after-call.dynamodb.{operation_name}", http_response=http, parsed=parsed, model=model, context=context
    )
    if http.status_code >= 300:
        raise client.exceptions.from_code(parsed.get("Error", {}).get("Code"))(parsed, operation_name)
    return parsed


_one_call = threading.Lock()
"""A transaction that moto refuses puts back whole tables, and with them takes away what other threads wrote meanwhile."""


def _answer(client: BaseClient, operation: OperationModel, body: dict[str, Any]) -> tuple[AWSResponse, dict[str, Any]]:
    """What moto's DynamoDB responds to a body, as botocore parses it. One call after the other, whatever thread makes it."""
    handler = DynamoHandler()
    handler.current_account, handler.region = DEFAULT_ACCOUNT_ID, "us-east-1"
    handler.body = handler.params = body  # type: ignore[assignment]
    url = client.meta.endpoint_url
    try:
        with _one_call:
            result = getattr(handler, _ACTIONS[operation.name])().result
    except HTTPException as error:
        return AWSResponse(url, error.code, {}, None), _parsed_error(client._endpoint, operation, error)
    members = operation.output_shape.members
    parsed = {name: value for name, value in result.items() if name in members and value is not None}
    parsed["ResponseMetadata"] = {"HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0}
    return AWSResponse(url, 200, {}, _Raw(result)), parsed


class _Raw:
    """The body of a response, written when it is read: benchmarks keep it."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def stream(self) -> list[bytes]:
        return [json.dumps(swift_items.as_json(self._result)).encode()]


_ACTIONS = {
    name: xform_name(name)
    for name in (
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactWriteItems",
        "UpdateItem",
    )
}
"""The methods of moto's handler by the names of the operations."""


def _parsed_error(endpoint: Endpoint, operation: OperationModel, error: HTTPException) -> dict[str, Any]:
    """Parses moto's error as botocore does; some have fields, as the reasons of a cancelled transaction."""
    response = {"status_code": error.code, "headers": {}, "body": str(error.description).encode()}
    parser = endpoint._response_parser_factory.create_parser(operation.service_model.resolved_protocol)
    parsed: dict[str, Any] = parser.parse(response, operation.output_shape)
    endpoint._add_modeled_error_fields(response, parsed, operation, parser)
    return parsed


def _make_item(item: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
    """Checks the size of an item once, at the end; moto checks it before every attribute."""
    item.hash_key, item.range_key, item.attrs = hash_key, range_key, LimitedSizeDict()
    dict.update(item.attrs, {name: DynamoType(value) for name, value in attrs.items()})
    may_be_too_large = 4 * len(repr(attrs)) > swift_updates.MOST_BYTES  # a character has at most four bytes
    if may_be_too_large and sum(bytesize(name) + value.size() for name, value in item.attrs.items()) > swift_updates.MOST_BYTES:
        raise ItemSizeTooLarge


def _hash_text(value: DynamoType) -> int:
    """Hashes keys, which are texts, without moto's casts; every copy of a table hashes all its keys."""
    return hash(value.value) if value.type == "S" else _hash(value)


def _cast_text(value: DynamoType) -> Any:
    return value.value if value.type == "S" else _cast(value)


def _is_same_text(value: DynamoType, other: DynamoType) -> bool:
    return value.value == other.value if value.type == other.type == "S" else _is_same(value, other)


_SERVICES = ("dynamodb", "kms", "secretsmanager", "sqs")


def _sign_for_nobody(auth: Any, request: Any) -> None:
    """Writes an unsigned header: moto reads account, region and service from it and never checks it."""
    if not botocore_stubber.enabled:
        _add_auth(auth, request)
        return
    scope = f"20260315/{auth._region_name}/{auth._service_name}/aws4_request"
    authorization = f"AWS4-HMAC-SHA256 Credential={auth.credentials.access_key}/{scope}, SignedHeaders=host, Signature=0"
    request.headers["Authorization"] = authorization


def _name_agent(agent: UserAgentString) -> str:
    """Returns a constant: botocore builds the user agent of twenty parts twice per request."""
    return "tests" if botocore_stubber.enabled else _user_agent(agent)


def _stub_botocore_alone(mock: MockAWS, reset: bool = True) -> None:
    """Stubs botocore only; moto also registers 2,000 URLs for other HTTP clients at every start."""
    botocore_stubber.enabled = True
    if reset:
        mock.reset()


def apply() -> None:
    """Replaces the functions in moto and botocore for the whole process."""
    swift_items.apply()
    swift_queries.apply()
    swift_updates.apply()
    SigV4Auth.add_auth, UserAgentString.to_string = _sign_for_nobody, _name_agent
    botocore.session.create_loader = cache(botocore.session.create_loader)  # descriptions of AWS are read once
    MockAWS._enable_patching = _stub_botocore_alone
    responses.method_names_from_class = cache(responses.method_names_from_class)
    backend_url_patterns.sort(key=lambda pattern: pattern[0] not in _SERVICES)  # they are tried one by one
    BaseClient._make_api_call = _make_api_call
    Item.__init__ = _make_item  # type: ignore[method-assign]
    DynamoType.__hash__, DynamoType.__eq__ = _hash_text, _is_same_text  # type: ignore[method-assign]
    DynamoType.cast_value = property(_cast_text)  # type: ignore[assignment]
    Table.__deepcopy__ = _copied  # type: ignore[attr-defined]
    DynamoDBBackend.update_item = _update_item  # type: ignore[method-assign]
    Table.put_item, Table.delete_item = _put_item, _delete_item  # type: ignore[method-assign]
    ConditionExpressionParser.parse = _parse_condition  # type: ignore[method-assign]
