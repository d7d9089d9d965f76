"""The limit on webhooks, and which of them receive an event."""

from collections.abc import Iterable

from chalicelib.base.errors import BadRequest
from chalicelib.webhooks.endpoints.records import Endpoint

MAX_ENDPOINTS = 20
"""The most webhooks of one client id or account."""


def check_room(endpoints: Iterable[Endpoint]) -> None:
    """Raises BadRequest if the owner of these webhooks may not have another one."""
    if sum(1 for _ in endpoints) >= MAX_ENDPOINTS:
        raise BadRequest(f"No more than {MAX_ENDPOINTS} webhooks: delete one first")


def receivers(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """The active webhooks, each once. Two webhooks with the same URL are two receivers."""
    return tuple({endpoint.webhook_id: endpoint for endpoint in endpoints if endpoint.is_active}.values())
