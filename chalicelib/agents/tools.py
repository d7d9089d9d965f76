"""The tools: which operations agents may call, under which names, and what the document says of their arguments.

A tool takes what its operation takes: the parameters of path and query and the fields of the body, side by side. One
that changes something also takes `idempotencyKey`, which it demands, and `confirmation`.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS, Operation

NAMES = {
    "list_currencies": "list_currencies",
    "list_conversion_routes": "list_conversion_routes",
    "list_requests": "list_requests",
    "read_request": "read_request",
    "create_request": "create_request",
    "update_request": "update_request",
    "cancel_request": "cancel_request",
    "accept_partial_payment": "accept_request",
    "list_transfers_of_request": "list_transfers_of_request",
    "find_payments": "find_payments",
    "find_links": "look_up_secure_payment",
    "read_link": "read_secure_payment",
    "create_link": "create_secure_payment",
    "change_link_expiry": "update_secure_payment",
    "cancel_link": "cancel_secure_payment",
    "create_payout_link": "create_payout",
    "list_recurring_payouts": "list_recurring",
    "read_recurring_payout": "get_recurring",
    "read_commerce_payment": "get_commerce_status",
    "follow_events": "list_next_events",
    "list_webhooks": "list_webhooks",
    "list_deliveries": "list_deliveries",
    "send_test_event": "test_webhook",
    "resend_failed_deliveries": "redeliver_failed",
}
"""The operation of each tool. None shows a secret, redirects money, or has the service's account send a transaction."""
KEY, CONFIRMATION = "idempotencyKey", "confirmation"
_KEY_HEADER = "Idempotency-Key"
_COMPONENTS, _DEFINITIONS = "#/components/schemas/", "#/$defs/"
_WRITES = (
    "A call without `confirmation` changes nothing: it answers what would be done. The same call with the "
    "`confirmation` from that answer does it."
)


@frozen
class Tool:
    """A tool and its operation. `path`, `query` and `body` are the names of its arguments by where they are sent."""

    name: str
    operation: Operation
    title: str
    description: str
    path: tuple[str, ...]
    query: tuple[str, ...]
    body: tuple[str, ...]
    needs_body: bool
    schema: Mapping[str, Any]

    @property
    def is_write(self) -> bool:
        """Whether it is asked to confirm. What changes nothing however often it is sent is not."""
        return self.operation.method != "GET"

    @property
    def described(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        hints = {"readOnlyHint": not self.is_write, "idempotentHint": True, "openWorldHint": False}
        if self.is_write:
            hints["destructiveHint"] = self.name.startswith("cancel_")
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": hints,
        }


@cache
def tools(server_url: str) -> dict[str, Tool]:
    """All tools by name, for an API at that URL. The document is read once per process."""
    described = json.loads(document(OPENAPI, server_url))
    by_name = {each.name: each for each in OPERATIONS}
    schemas = described["components"]["schemas"]
    return {
        name: _tool(name, by_name[operation], described["paths"], schemas) for name, operation in NAMES.items()
    }


def _tool(name: str, operation: Operation, paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> Tool:
    entry = paths[operation.path][operation.method.lower()]
    parameters = [each for each in entry.get("parameters", ()) if each["in"] in ("path", "query")]
    properties = {each["name"]: _of_parameter(each) for each in parameters}
    required = [each["name"] for each in parameters if each.get("required")]
    body = _body_of(entry, schemas)
    properties |= body.get("properties", {})
    required += body.get("required", ())
    is_write = operation.method != "GET"
    if is_write:
        properties |= _own(entry)
        required.append(KEY)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    definitions = dict(_definitions(properties, schemas))
    if definitions:
        schema["$defs"] = definitions
    texts = (f"{entry['summary']}.", entry.get("description", ""), _WRITES if is_write else "")
    return Tool(
        name=name,
        operation=operation,
        title=entry["summary"],
        description=" ".join(each for each in texts if each),
        path=tuple(each["name"] for each in parameters if each["in"] == "path"),
        query=tuple(each["name"] for each in parameters if each["in"] == "query"),
        body=tuple(body.get("properties", ())),
        needs_body=entry.get("requestBody", {}).get("required", False),
        schema=json.loads(json.dumps(schema).replace(_COMPONENTS, _DEFINITIONS)),
    )


def _of_parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    about = {"description": parameter["description"]} if "description" in parameter else {}
    return {**parameter["schema"], **about}


def _body_of(entry: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the body, which has its fields; empty without a body."""
    if "requestBody" not in entry:
        return {}
    schema: Mapping[str, Any] = entry["requestBody"]["content"]["application/json"]["schema"]
    if "$ref" in schema:
        found: Mapping[str, Any] = schemas[schema["$ref"].removeprefix(_COMPONENTS)]
        return found
    return schema


def _own(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool takes that changes something, besides what its operation takes."""
    of_key = next((each for each in entry.get("parameters", ()) if each["name"] == _KEY_HEADER), None)
    described = of_key or {"schema": {"type": "string", "minLength": 1, "maxLength": 255}}
    about = "A new name for each thing that is done, such as a UUID. A call that is repeated with it is done once"
    confirmed = "From the answer to the same call without it"
    return {
        KEY: {**described["schema"], "description": about},
        CONFIRMATION: {"type": "string", "maxLength": 100, "description": confirmed},
    }


def _definitions(value: Any, schemas: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas that are referred to, also by each other."""
    found, waiting = dict[str, Any](), list(_references(value))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = schemas[name]
            waiting += _references(schemas[name])
    yield from sorted(found.items())


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(_COMPONENTS)
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)
