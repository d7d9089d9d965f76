"""Calls of tools: a request to the operation, through the same pipeline as every other, or what that would do."""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote

from chalicelib.agents.confirmations import VALID_FOR, confirmation_of, is_confirmed
from chalicelib.agents.tools import CONFIRMATION, KEY, Tool
from chalicelib.base.errors import BadRequest, ServiceError
from chalicelib.platform.access.modes import Rate
from chalicelib.platform.access.permissions import check_permitted
from chalicelib.platform.access.rate_limits.flows import count_call
from chalicelib.platform.http import pipeline
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.platform.http.parsing import call_of
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.responses import error_response
from chalicelib.platform.http.view import AnyCall, View

_PASSED_ON = ("x-api-key", "x-client-id", "user-agent")
"""The headers of the agent that the operation is sent."""


def call_tool(call: AnyCall, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call of a tool. What the service refuses is a result with `isError`, in its own words.

    A tool that changes something does so with an idempotency key and the confirmation of the same arguments.
    """
    try:
        request = _request(call, tool, arguments)
        if tool.is_write:
            given = {name: value for name, value in arguments.items() if name != CONFIRMATION}
            if CONFIRMATION not in arguments:
                return _explain(call, tool, given, request)
            now, confirmation = call.services.clock(), arguments[CONFIRMATION]
            if not isinstance(confirmation, str) or not is_confirmed(
                confirmation, tool.name, given, call.caller.key_scope, now
            ):
                raise BadRequest(
                    f"This confirmation is not that of these arguments, or was given over {_minutes()} minutes ago: "
                    "call without it, and confirm what that answers"
                )
    except ServiceError as error:
        return _of_response(error_response(error, form=tool.operation.problem_form).body, is_error=True)
    response = pipeline.handle(tool.operation, _view_of(tool), call.services, request)
    waits = f"Retry after {response.headers['Retry-After']} seconds. " if "Retry-After" in response.headers else ""
    return _of_response(str(response.body), is_error=response.status_code >= 400, before=waits)


def _explain(call: AnyCall, tool: Tool, given: Mapping[str, Any], request: HttpRequest) -> dict[str, Any]:
    """What a call would do, after the checks that need nothing but its arguments and the rights of its key."""
    count_call(call.services, call.caller, Rate.TIER)
    check_permitted(call.caller, tool.operation.scope)
    call_of(_view_of(tool), call.services, call.caller, request)
    confirmation = confirmation_of(tool.name, given, call.caller.key_scope, call.services.clock())
    would = {
        "wouldDo": f"{tool.operation.method} {request.path}",
        "meaning": tool.title,
        "arguments": dict(given),
        CONFIRMATION: confirmation,
        "validForSeconds": int(VALID_FOR.total_seconds()),
    }
    text = "Nothing was done yet. To do this, repeat the call with the same arguments and this confirmation. "
    return _of_response(_json(would), is_error=False, before=text)


def _of_response(text: str, *, is_error: bool, before: str = "") -> dict[str, Any]:
    """A response of the service as the result of a tool: as text, and as an object if it is one."""
    body = json.loads(text) if text else None
    structured = {"structuredContent": body} if isinstance(body, dict) else {}
    return {"content": [{"type": "text", "text": f"{before}{text}"}], **structured, "isError": is_error}


def _request(call: AnyCall, tool: Tool, arguments: Mapping[str, Any]) -> HttpRequest:
    """The request of a call to the operation. Raises BadRequest if an argument is missing, unknown, or no text where
    one is put into the path."""
    known = {*tool.path, *tool.query, *tool.body, *((KEY, CONFIRMATION) if tool.is_write else ())}
    if unknown := sorted(arguments.keys() - known):
        raise BadRequest(f"{tool.name} has no argument {unknown[0][:100]}: it takes {', '.join(sorted(known))}")
    if tool.is_write and not arguments.get(KEY):
        raise BadRequest(f"{KEY} is required: a new name for each thing that is done, so that it is done once")
    missing = [name for name in tool.path if not _text(arguments.get(name))]
    if missing:
        raise BadRequest(f"{missing[0]} is required")
    path = {name: _text(arguments[name]) for name in tool.path}
    body = {name: arguments[name] for name in tool.body if name in arguments}
    headers = {name: call.headers[name] for name in _PASSED_ON if name in call.headers}
    if tool.is_write:
        headers["idempotency-key"] = _text(arguments[KEY])
    route = tool.operation.path
    return HttpRequest(
        request_id=call.actor.request_id,
        method=tool.operation.method,
        path=route.format_map({name: quote(text, safe="") for name, text in path.items()}),
        route=route,
        parameters=path,
        query={name: [_text(arguments[name])] for name in tool.query if arguments.get(name) is not None},
        headers={**headers, "content-type": "application/json", "accept": "application/json"},
        repeated=frozenset(),
        raw_body=_json(body).encode() if body or tool.needs_body else b"",
        ip_address=call.actor.ip_address,
    )


def _text(value: Any) -> str:
    """A value as it is written in a path or a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return ",".join(map(_text, value)) if isinstance(value, list) else ""


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _view_of(tool: Tool) -> View:
    view: View = getattr(import_module(OPERATIONS[tool.operation]), tool.operation.name)
    return view


def _minutes() -> int:
    return int(VALID_FOR.total_seconds()) // 60
