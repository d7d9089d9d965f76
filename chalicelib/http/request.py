"""A request as plain values, taken from Chalice once: nothing below reads the framework's request again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from chalicelib.base.errors import BadRequest

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_SINGLE = ("x-api-key", "x-client-id", "x-orchestrator-key", "authorization", "origin", "idempotency-key")
"""Headers that decide something: sent twice, they have no one meaning."""


@dataclass(frozen=True)
class HttpRequest:
    """`path` is as sent; `parameters` are decoded. `request_id` is the gateway's, so that its logs join ours."""

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
    """The request of the event that is being handled."""
    event = request.to_original_event()
    many: dict[str, list[str]] = {}
    for name, values in (event.get("multiValueHeaders") or {}).items():
        many.setdefault(name.lower(), []).extend(values)
    headers = dict(request.headers)
    if "cookie" in many:
        headers["cookie"] = "; ".join(many["cookie"])  # HTTP/2 may send its crumbs apart (RFC 9113, 8.2.3)
    return HttpRequest(
        request_id=request.context.get("requestId") or str(uuid4()),
        method=request.method,
        path=event.get("path") or request.path,  # Chalice's own names the route, not what was asked for
        parameters={name: unquote(text) for name, text in path_parameters.items()},
        query={name: request.query_params.getlist(name) for name in request.query_params or ()},
        headers=headers,
        repeated=frozenset(name for name, values in many.items() if len(values) > 1),
        raw_body=request.raw_body,
        ip_address=request.context.get("identity", {}).get("sourceIp", ""),
    )


def refuse_repeated(request: HttpRequest) -> None:
    """Raises BadRequest when a header that decides something came more than once."""
    for name in _SINGLE:
        if name in request.repeated:
            raise BadRequest(f"The header {name} is sent more than once")
