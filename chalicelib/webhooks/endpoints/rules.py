"""The limit on webhooks, and which of them receive an event."""

from collections.abc import Iterable, Sequence

from chalicelib.base.errors import BadRequest
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.rules import KINDS

MAX_ENDPOINTS = 20
"""The most webhooks of one client id or account."""
_MAX_QUOTED = 80  # characters of a sent text that an error message repeats


def check_room(endpoints: Iterable[Endpoint]) -> None:
    """Raises BadRequest if the owner of these webhooks may not have another one."""
    if sum(1 for _ in endpoints) >= MAX_ENDPOINTS:
        raise BadRequest(f"No more than {MAX_ENDPOINTS} webhooks: delete one first")


def chosen_events(texts: Sequence[str]) -> tuple[str, ...]:
    """The kinds and prefixes of events that a webhook is to receive, each once.

    A prefix ends with `.*` and covers the kinds that begin with what is before the star; `*` covers all. Raises
    BadRequest, which lists the kinds, for a text that covers none.
    """
    for text in texts:
        is_form = text in ("*", *KINDS) or text.endswith(".*")
        if not is_form or not any(_covers(text, kind) for kind in KINDS):
            raise BadRequest(
                f"events: {text[:_MAX_QUOTED]!r} is no kind of event: give {', '.join(KINDS)}, "
                "a prefix such as payment.* or payment.confirmed.*, or * for all"
            )
    return tuple(dict.fromkeys(texts))


def hears(endpoint: Endpoint, kind: str) -> bool:
    """Whether a webhook receives events of this kind."""
    return any(_covers(choice, kind) for choice in endpoint.events)


def receivers(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """The active webhooks, each once. Two webhooks with the same URL are two receivers."""
    return tuple({endpoint.webhook_id: endpoint for endpoint in endpoints if endpoint.is_active}.values())


def _covers(choice: str, kind: str) -> bool:
    return kind == choice or (choice.endswith("*") and kind.startswith(choice[:-1]))
