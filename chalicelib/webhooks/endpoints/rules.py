"""The limit on webhooks, and which of them receive an event."""

from collections.abc import Iterable, Sequence

from chalicelib.base.errors import BadRequest
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.kinds import KINDS, NAMED_KINDS

MAX_ENDPOINTS = 20
"""The most webhooks of one account as a whole, or of one client id. A client id alone may register as many more."""

MOST_OVERLAP_HOURS = 72
"""The longest time for which a signing secret that was replaced holds beside the new one."""


def _covering(kind: str) -> tuple[str, ...]:
    """What a webhook may choose to receive a kind: `*`, each prefix of the kind with `.*`, and the kind itself; for one
    of NAMED_KINDS that alone."""
    if kind in NAMED_KINDS:
        return (kind,)
    words = kind.split(".")
    return ("*", *(".".join(words[:count]) + ".*" for count in range(1, len(words))), kind)


CHOICES = tuple(dict.fromkeys(choice for kind in KINDS for choice in _covering(kind)))
"""What a webhook may choose: `*`, prefixes such as `payment.*`, which also covers variants of its kinds, and kinds."""
_MAX_QUOTED = 80  # characters of a sent text that an error message repeats


def check_room(endpoints: Iterable[Endpoint], new: Endpoint) -> None:
    """Raises BadRequest if the owner of these webhooks may not have a new one.

    Public ones are counted apart, so that strangers do not take the room of the others.
    """
    if sum(1 for each in endpoints if each.is_public is new.is_public) >= MAX_ENDPOINTS:
        raise BadRequest(f"No more than {MAX_ENDPOINTS} webhooks: delete one first")


def parse_events(texts: Sequence[str]) -> tuple[str, ...]:
    """The CHOICES of a webhook, each once. Raises BadRequest, which lists all choices, for any other text."""
    for text in texts:
        if text not in CHOICES:
            expected = ", ".join(CHOICES)
            raise BadRequest(f"events: {text[:_MAX_QUOTED]!r} is neither a kind of event nor a prefix; give {expected}")
    return tuple(dict.fromkeys(texts))


def receives(endpoint: Endpoint, kind: str) -> bool:
    """Whether a webhook receives events of this kind."""
    return any(choice in _covering(kind) for choice in endpoint.events)


def hears_of(endpoint: Endpoint, webhook_id: str) -> bool:
    """Whether a webhook receives events about this webhook: not about itself, and never if it is public."""
    return endpoint.webhook_id != webhook_id and not endpoint.is_public


def receivers(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """The active webhooks, each once. Two webhooks with the same URL are two receivers."""
    return tuple({endpoint.webhook_id: endpoint for endpoint in endpoints if endpoint.is_active}.values())
