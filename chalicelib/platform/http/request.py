"""A request as plain values. No other module reads the request of Chalice."""

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, unquote
from uuid import uuid4

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.platform.settings import Settings

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_SINGLE_HEADERS = (
    "x-api-key",
    "x-client-id",
    "x-orchestrator-key",
    "authorization",
    "origin",
    "idempotency-key",
    "x-signed-in-as",
    "content-type",
)
"""Headers that must not be repeated, as it would be unclear which value counts."""


@frozen
class HttpRequest:
    """`path` is as sent; `route` is that of the operation, such as `/v2/request/{request_id}`, and `parameters` are the
    decoded values in it. `request_id` is that of API Gateway, as in its logs."""

    request_id: str
    method: str
    path: str
    route: str
    parameters: Mapping[str, str]
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    repeated: frozenset[str]
    raw_body: bytes
    ip_address: str

    @property
    def origin(self) -> str | None:
        return self.headers.get("origin")

    @property
    def canonical_path(self) -> str:
        """The path in one form, also if it was sent with a slash at its end, or with %41 in place of A."""
        return self.route.format_map({name: quote(text, safe="") for name, text in self.parameters.items()})


def request_of(settings: Settings, request: Any, path_parameters: Mapping[str, str]) -> HttpRequest:
    """A Chalice request as plain values."""
    event = request.to_original_event()
    many: dict[str, list[str]] = {}
    for name, values in (event.get("multiValueHeaders") or {}).items():
        many.setdefault(name.lower(), []).extend(values)
    headers = {name.lower(): text for name, text in (event["headers"] or {}).items()}
    if "cookie" in many:
        headers["cookie"] = "; ".join(many["cookie"])  # HTTP/2 may split it into several headers (RFC 9113, 8.2.3)
    if "accept" in many:
        headers["accept"] = ", ".join(many["accept"])  # several are one list (RFC 9110, 5.3)
    return HttpRequest(
        request_id=request.context.get("requestId") or str(uuid4()),
        method=request.method,
        path=event.get("path") or request.path,
        route=request.path,
        parameters={name: unquote(text) for name, text in path_parameters.items()},
        query={name: request.query_params.getlist(name) for name in request.query_params or ()},
        headers=headers,
        repeated=frozenset(name for name, values in many.items() if len(values) > 1),
        raw_body=request.raw_body,
        ip_address=_named_address(settings, many) or request.context.get("identity", {}).get("sourceIp", ""),
    )


def _named_address(settings: Settings, headers: Mapping[str, list[str]]) -> str | None:
    """The address that a trusted proxy names: the last one, as a proxy that does not overwrite the header adds to it.

    None without such a proxy, or if the header is missing or is not an address. `headers` have lower-case names.
    """
    values = headers.get(settings.trusted_proxy_header.lower())
    return address_of(values[-1].rpartition(",")[2]) if values else None


def address_of(text: str) -> str | None:
    """The address of `ip`, `ip:port`, `[ip]` or `[ip]:port` in its canonical form; None if it is not one.

    An IPv6 address may have a port without brackets, which is taken for its last group if it could be one. An IPv4
    address within IPv6 counts as IPv4, so that limits and IP ranges hold for it.
    """
    text = text.strip()
    if text.startswith("["):
        candidates = [text[1:].partition("]")[0]]
    else:
        candidates = [text, text.rpartition(":")[0]]
    for each in candidates:
        with suppress(ValueError):
            address = ip_address(each)
            if address.version == 6 and address.ipv4_mapped is not None:
                return str(address.ipv4_mapped)
            return str(address) if "%" not in each else None
    return None


def check_headers(request: HttpRequest) -> None:
    """Raises BadRequest if one of _SINGLE_HEADERS is sent more than once, or a header has U+0000 (RFC 9110, 5.5)."""
    for name in _SINGLE_HEADERS:
        if name in request.repeated:
            raise BadRequest(f"The header {name} is sent more than once")
    for name, text in request.headers.items():
        if "\0" in text:
            raise BadRequest(f"The header {name} must not contain the character U+0000")
