"""What other packages need of webhooks: the context of events, and hints to the publisher."""

from collections.abc import Sequence
from itertools import groupby

from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

EVENTS_PER_MESSAGE = 10


def event_context(services: Services) -> EventContext:
    """The time, entropy and settings for events that happen now."""
    settings = services.settings
    processors = settings.payment_processor, settings.fiat_processor
    return EventContext(services.clock(), services.entropy, settings.explorer_url, *processors)


def queue_publishing(services: Services, events: Sequence[Event]) -> None:
    """Queues hints to the publisher of stored events. Never raises: the sweep of the outbox finds those without one."""
    messages = list[Message]()
    for account_id, of_account in groupby(events, lambda event: event.account_id):
        ids = [event.event_id for event in of_account]
        for start in range(0, len(ids), EVENTS_PER_MESSAGE):
            messages.append(Message({"eventIds": ids[start : start + EVENTS_PER_MESSAGE]}, group=account_id))
    send_hints(services.queue, services.log, services.settings.queue("announcements"), messages)
