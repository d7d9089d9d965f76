"""The view of `/mcp`: one message of an agent, and its response."""

from collections.abc import Mapping
from typing import Any

from chalicelib.agents import messages
from chalicelib.agents.calls import call_tool
from chalicelib.agents.messages import INVALID_PARAMS, UNKNOWN_METHOD, Message, Refusal
from chalicelib.agents.tools import Tool, tools
from chalicelib.base.errors import BadRequest, Forbidden, ForeignOrigin
from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.access.permissions import check_permitted
from chalicelib.platform.access.rate_limits.flows import count_call
from chalicelib.platform.http import pipeline
from chalicelib.platform.http.credentials import is_foreign_page
from chalicelib.platform.http.operation import Operation
from chalicelib.platform.http.parsing import check_body
from chalicelib.platform.http.responses import HttpResponse, response_of
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.http.view import AnyCall, Call, Signed, Visit

_ENDPOINT = Operation("POST", "/mcp", "answer_agent", (Mode.API_KEY,), rate=None, calls_operations=True)
"""What the pipeline needs to know of it: each message is counted, a call of a tool by its operation."""
_SERVER = {"name": "payment-requests", "title": "Payment requests", "version": "1"}
_INSTRUCTIONS = (
    "Tools for requesting payments in stablecoins and other tokens, and for following them. Amounts are decimal texts. "
    "A tool that changes something takes an idempotencyKey, and is called twice: without confirmation it says what it "
    "would do, with the confirmation of that answer it does it. Show what it would do to whoever decides."
)
_CAPABILITIES: dict[str, Any] = {"tools": {}}
_TTL_MILLISECONDS = 300_000


class _Message(Input):
    """Any message: messages.py reads it."""


def answer_agent(visit: Visit) -> HttpResponse:
    """Answers one message. Raises ForeignOrigin for a page of another site, which DNS rebinding may have given the
    name of this host (MCP, Security warning), Forbidden for a client id alone, and what `check_body` raises."""
    services, request = visit.services, visit.request
    if is_foreign_page(services.settings, request.origin):
        raise ForeignOrigin("Pages of other sites call no tools: agents send no Origin")
    for name in messages.ROUTING_HEADERS:
        if name in request.repeated:
            raise BadRequest(f"The header {name} is sent more than once")
    if not visit.header("x-api-key") and visit.header("x-client-id"):
        raise Forbidden("A client id is public, so it calls no tools: send an API key as x-api-key")
    check_body(request)
    return pipeline.admit(_ENDPOINT, _answer, services, request)


def _answer(call: Call[Signed[_Message], None]) -> HttpResponse:
    message = messages.read_message(call.body.raw, call.headers)
    if isinstance(message, Refusal):
        count_call(call.services, call.caller, Rate.TIER)
        return response_of(message.answer, message.status)
    if message is None or message.id is None:
        count_call(call.services, call.caller, Rate.TIER)
        return HttpResponse(202, "", {})
    found = _result(call, message)
    if isinstance(found, Refusal):
        return response_of(found.answer, found.status)
    return response_of(messages.answer_of(message, found), 200)


def _result(call: AnyCall, message: Message) -> Mapping[str, Any] | Refusal:
    if message.method == "tools/call":
        return _call(call, message)
    count_call(call.services, call.caller, Rate.TIER)
    own: dict[str, Any] = {"capabilities": _CAPABILITIES, "serverInfo": _SERVER, "instructions": _INSTRUCTIONS}
    cached = {"ttlMs": _TTL_MILLISECONDS, "cacheScope": "private"} if message.names_version else {}
    match message.method:
        case "server/discover" if message.names_version:
            versions = [*messages.VERSIONS, *messages.HANDSHAKE_VERSIONS]
            return {"supportedVersions": versions, **own, **cached}
        case "initialize" if not message.names_version:
            asked = message.params.get("protocolVersion")
            known = asked if asked in messages.HANDSHAKE_VERSIONS else messages.HANDSHAKE_VERSIONS[-1]
            return {"protocolVersion": known, **own}
        case "ping" if not message.names_version:
            return {}
        case "tools/list":
            return {"tools": [each.described for each in _find_permitted(call)], **cached}
    said = f"There is no method {message.method[:100]}: this server has tools"
    return Refusal(UNKNOWN_METHOD, said, 404 if message.names_version else 200, message.id)


def _find_permitted(call: AnyCall) -> list[Tool]:
    """The tools that the caller's key may call."""
    every = tools(call.services.settings.api_url).values()
    return [each for each in every if _may_call(call, each)]


def _may_call(call: AnyCall, tool: Tool) -> bool:
    try:
        check_permitted(call.caller, tool.operation.scope)
    except Forbidden:
        return False
    return True


def _call(call: AnyCall, message: Message) -> Mapping[str, Any] | Refusal:
    name, arguments = message.params.get("name"), message.params.get("arguments", {})
    tool = tools(call.services.settings.api_url).get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict):
        count_call(call.services, call.caller, Rate.TIER)
        wrong = "arguments must be an object" if tool is not None else "There is no such tool: tools/list has them"
        return Refusal(INVALID_PARAMS, wrong, 200, message.id)
    return call_tool(call, tool, arguments)
