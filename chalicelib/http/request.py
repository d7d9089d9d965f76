"""A request as plain values. No other module reads the request of Chalice."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_SINGLE_HEADERS = (
    "x-api-key",
    "x-client-id",
    "x-orchestrator-key",
    "authorization",
    "origin",
    "idempotency-key",
    "content-type",
)
"""Headers that must not be repeated, as it would be unclear which value counts."""


@frozen
class HttpRequest:
    """`path` is as sent; `parameters` are decoded. `request_id` is that of API Gateway, as in its logs."""

    request_id: str
    method: str
    path: str
    parameters: Mapping[str, str]
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    repeated: frozenset[str]
    raw_body: bytes
    ip_address: str

    @property
    def origin(self) -> str | None:
        return self.headers.get("origin")


def request_of(request: Any, path_parameters: Mapping[str, str]) -> HttpRequest:
    """A Chalice request as plain values."""
    event = request.to_original_event()
    many: dict[str, list[str]] = {}
    for name, values in (event.get("multiValueHeaders") or {}).items():
        many.setdefault(name.lower(), []).extend(values)
    headers = dict(request.headers)
    if "cookie" in many:
        headers["cookie"] = "; ".join(many["cookie"])  # HTTP/2 may split it into several headers (RFC 9113, 8.2.3)
    return HttpRequest(
        request_id=request.context.get("requestId") or str(uuid4()),
        method=request.method,
        path=event.get("path") or request.path,  # Chalice's path is that of the route
        parameters={name: unquote(text) for name, text in path_parameters.items()},
        query={name: request.query_params.getlist(name) for name in request.query_params or ()},
        headers=headers,
        repeated=frozenset(name for name, values in many.items() if len(values) > 1),
        raw_body=request.raw_body,
        ip_address=request.context.get("identity", {}).get("sourceIp", ""),
    )


def refuse_repeated_headers(request: HttpRequest) -> None:
    """Raises BadRequest if one of _SINGLE_HEADERS is sent more than once."""
    for name in _SINGLE_HEADERS:
        if name in request.repeated:
            raise BadRequest(f"The header {name} is sent more than once")
