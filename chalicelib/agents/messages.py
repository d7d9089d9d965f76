"""The messages of the Model Context Protocol (MCP) over HTTP, in both of its eras, as plain values.

    until 2025-11-25    a client sends `initialize`, which settles the version, then `notifications/initialized`
    since 2026-07-28    each message names its version, in `params._meta` and in a header, and nothing goes before it

There are no sessions and no streams: each POST has one message, and its response at most one. Batches are refused,
which only version 2025-03-26 had.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from chalicelib.base.frozen import frozen

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSIONS = ("2026-07-28",)
"""Those without a handshake."""
ROUTING_HEADERS = (VERSION_HEADER, METHOD_HEADER, NAME_HEADER) = ("mcp-protocol-version", "mcp-method", "mcp-name")
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
"""The codes of JSON-RPC 2.0; the next two are those of MCP."""
HEADER_MISMATCH, UNKNOWN_VERSION = -32020, -32022
_META = "io.modelcontextprotocol/"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header Mcp-Name repeats, by method."""


@frozen
class Message:
    """A request, or a notification if `id` is None. `names_version` if it is of a version without a handshake."""

    id: str | int | None
    method: str
    params: Mapping[str, Any]
    names_version: bool


@frozen
class Refusal:
    """An error of the protocol, and the HTTP status of its response."""

    code: int
    message: str
    status: int = 400
    id: str | int | None = None
    data: Any = None

    @property
    def answer(self) -> dict[str, Any]:
        error = {"code": self.code, "message": self.message, **({"data": self.data} if self.data is not None else {})}
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


def answer_of(message: Message, result: Mapping[str, Any]) -> dict[str, Any]:
    """The response to a request. Since 2026-07-28 a result says that it is complete."""
    complete = {"resultType": "complete"} if message.names_version else {}
    return {"jsonrpc": "2.0", "id": message.id, "result": {**complete, **result}}


def read_message(raw: bytes, headers: Mapping[str, str]) -> Message | Refusal | None:
    """The message in a body, checked against its headers; None for a response, which nobody has asked for."""
    try:
        body = from_json(raw, allow_inf_nan=False)
    except ValueError:
        return Refusal(PARSE_ERROR, "The body is not valid JSON in UTF-8, or nested too deeply")
    if isinstance(body, list):
        return Refusal(INVALID_REQUEST, "Send one message at a time: batches are not taken")
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        return Refusal(INVALID_REQUEST, 'The body must be a message of JSON-RPC, with "jsonrpc": "2.0"')
    if "method" not in body and ("result" in body or "error" in body):
        return None
    method, params, id = body.get("method"), body.get("params", {}), body.get("id")
    is_named = isinstance(id, str | int) and not isinstance(id, bool)
    if not isinstance(method, str) or ("id" in body and not is_named):
        return Refusal(INVALID_REQUEST, "A message has a method, and as id a text or a whole number, or none")
    if not isinstance(params, dict):
        return Refusal(INVALID_PARAMS, "params must be an object", id=id)
    meta = params.get("_meta")
    named = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
    sent = headers.get(VERSION_HEADER)
    names_version = named is not None or sent in VERSIONS
    if method == "initialize" and not names_version:
        return Message(id, method, params, names_version=False)  # its version is among the parameters
    wrong = _problem(method, params, headers, id) if names_version else _unknown(sent, id)
    return wrong or Message(id, method, params, names_version)


def _unknown(version: Any, id: str | int | None) -> Refusal | None:
    """The refusal of a version that is not known. Without the header it is that of the handshake, or 2025-03-26."""
    if version is None or version in HANDSHAKE_VERSIONS:
        return None
    supported = [*VERSIONS, *HANDSHAKE_VERSIONS]
    data = {"supported": supported, "requested": version}
    return Refusal(UNKNOWN_VERSION, f"Unsupported protocol version: send {' or '.join(supported)}", id=id, data=data)


def _problem(
    method: str, params: Mapping[str, Any], headers: Mapping[str, str], id: str | int | None
) -> Refusal | None:
    """What is wrong with a message that names its version, in the order in which the specification has it checked."""
    meta = params.get("_meta")
    wanted = [f"{_META}protocolVersion", f"{_META}clientCapabilities"]
    missing = [each for each in wanted if not isinstance(meta, dict) or each not in meta]
    if missing or not isinstance(meta, dict):
        return Refusal(INVALID_PARAMS, f"params._meta has no {' and no '.join(missing)}", id=id)
    version = meta[wanted[0]]
    if headers.get(VERSION_HEADER) != version:
        return Refusal(HEADER_MISMATCH, "The header MCP-Protocol-Version is not that of params._meta", id=id)
    if headers.get(METHOD_HEADER) != method:
        return Refusal(HEADER_MISMATCH, "The header Mcp-Method is not the method of the body", id=id)
    name = params.get(_NAMED_BY.get(method, ""))
    if name is not None and _decode_header(headers.get(NAME_HEADER)) != name:
        return Refusal(HEADER_MISMATCH, f"The header Mcp-Name is not params.{_NAMED_BY[method]}", id=id)
    if version not in VERSIONS:
        data = {"supported": list(VERSIONS), "requested": version}
        return Refusal(UNKNOWN_VERSION, f"Unsupported protocol version: send {VERSIONS[-1]}", id=id, data=data)
    return None


def _decode_header(value: str | None) -> str | None:
    """A text that is not plain ASCII is sent as `=?base64?...?=`."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
