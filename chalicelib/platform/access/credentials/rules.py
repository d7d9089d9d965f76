"""Checks of API keys, client ids and orchestrator keys, and the canonical form of their settings."""

import hashlib
import ipaddress
import re
from datetime import datetime
from urllib.parse import urlsplit

from chalicelib.base.errors import BadRequest, Forbidden, ForeignOrigin, Unauthorized
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus, OrchestratorKey

RESOURCES = (
    "secure_payments", "requests", "payouts", "webhooks", "client_ids", "payee_destinations", "payers", "audit",
)
SCOPES = tuple(f"{resource}:{verb}" for resource in RESOURCES for verb in ("read", "write"))
"""The scopes an API key may be limited to. A key without scopes may do everything in its account."""
_LONGEST_ORIGIN = 300
"""A scheme, a host of at most 253 characters, and a port."""


def credential_hash(text: str) -> str:
    """The SHA-256 under which a credential is stored.

    argon2 is not needed, as credentials are 178 to 256 random bits, not passwords. The time that a look-up takes does
    not help an attacker, who cannot choose the hash.
    """
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def check_api_key(key: ApiKey | None, ip_address: str, now: datetime) -> ApiKey:
    """Raises Unauthorized unless the key exists, is active and not expired; Forbidden outside its address ranges."""
    if key is None or key.status is not CredentialStatus.ACTIVE or (key.expires_at and now >= key.expires_at):
        raise Unauthorized()
    if key.allowed_ips and not _within(ip_address, key.allowed_ips):
        raise Forbidden("This API key may not be used from this address")
    return key


def check_orchestrator_key(key: OrchestratorKey | None) -> OrchestratorKey:
    """Raises Unauthorized unless the key exists and is active."""
    if key is None or key.status is not CredentialStatus.ACTIVE:
        raise Unauthorized()
    return key


def check_linked(client: ClientId, key: OrchestratorKey) -> ClientId:
    """Raises Forbidden unless the client id is linked to the key's orchestrator."""
    if client.orchestrator_id != key.orchestrator_id:
        raise Forbidden("The client ID is not linked to this orchestrator")
    return client


def check_client_id(client: ClientId | None, origin: str | None) -> ClientId:
    """Raises Unauthorized if unknown or without Origin; Forbidden if not active; ForeignOrigin for another origin."""
    if client is None:
        raise Unauthorized()
    if client.status is not CredentialStatus.ACTIVE:
        revoked = client.status is CredentialStatus.REVOKED
        raise Forbidden("Client ID has been revoked" if revoked else "Client ID is inactive")
    if not client.allowed_domains:
        if origin and len(origin) > _LONGEST_ORIGIN:  # it is stored, and sent in events
            raise ForeignOrigin(f"Origin is longer than {_LONGEST_ORIGIN} characters, which that of no page is")
        return client
    if not origin:
        raise Unauthorized("Origin header is required")
    if origin not in client.allowed_domains:
        raise ForeignOrigin("Origin is not among the allowed domains of this client ID")
    return client


def check_scope(scopes: tuple[str, ...], required: str | None) -> None:
    """Raises Forbidden, naming the scope, if `scopes` is not empty and does not contain the required scope."""
    if required is not None and scopes and required not in scopes:
        raise Forbidden(f"This API key lacks the scope {required}")


def ip_range(text: str) -> str:
    """An address or CIDR range in its canonical form. Raises BadRequest."""
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise BadRequest(f"{text!r} is not an IP address or range, such as 203.0.113.0/24") from None


_LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
ORIGIN_PATTERN = r"^[hH][tT][tT][pP][sS]?://(\[[0-9a-fA-F:]{2,45}\]|[a-zA-Z0-9][a-zA-Z0-9.-]*)(:[0-9]{1,5})?/?$"


def parse_origin(text: str) -> str:
    """An origin as browsers send it: lower case, no path, no default port. Raises BadRequest.

    It must be `https`, except for localhost, 127.0.0.1 and [::1] (supplement of the interface, client ids).
    """
    parts, host, port = None, None, None
    try:
        parts = urlsplit(text.lower()) if re.fullmatch(ORIGIN_PATTERN, text) else None
        host, port = (parts.hostname, parts.port) if parts else (None, None)
    except ValueError:  # brackets without an IPv6 address, or a port above 65535
        host = None
    if parts is None or not host or port == 0:
        raise BadRequest(f"{text!r} is not an origin: give scheme and host, such as https://shop.example")
    if parts.scheme == "http" and host not in _LOCAL_HOSTS:
        raise BadRequest(f"{text!r} must start with https:// (http:// is for localhost only)")
    host = f"[{host}]" if ":" in host else host
    default_port = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{host}" + (f":{port}" if port and port != default_port else "")


def _within(address: str, ranges: tuple[str, ...]) -> bool:
    try:
        ip_address = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(ip_address in ipaddress.ip_network(each) for each in ranges)
