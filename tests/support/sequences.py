"""The sequences of events: what holds of them in the order in which the events are committed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from json import loads

from chalicelib.webhooks.records import Event

Thing = tuple[str, ...]
"""A kind of thing, and its id."""


def thing_of(event: Event) -> Thing:
    """What an event is about, as docs/webhooks.md says (Order); of one that is sealed, its kind and the person."""
    if event.person_id is not None:
        return event.kind, event.person_id
    body = loads(event.body)
    field_of_id = {"account": "changeId", "webhook": "webhookId"}.get(event.kind.split(".")[0], "requestId")
    return field_of_id, body[field_of_id]


@dataclass
class Sequences:
    """The newest sequence of each thing."""

    newest: dict[Thing, int] = field(default_factory=dict)

    def add(self, event: Event) -> Iterator[str]:
        """What is wrong with an event that is committed now: about a request there is none without, nor any gap."""
        thing = thing_of(event)
        before, sequence = self.newest.get(thing, 0), event.sequence or 0
        is_next = sequence == before + 1 if event.request_id is not None else sequence > before
        if not is_next:
            yield f"sequence: {event.kind} of {thing} has {event.sequence} after {before}"
        if event.person_id is None and loads(event.body).get("sequence") != event.sequence:
            yield f"sequence: the body of {event.kind} of {thing} has not {event.sequence}"
        self.newest[thing] = max(before, sequence)


def check_sequences(events: Iterable[Event]) -> None:
    """Raises AssertionError unless all is right with events in the order of their commits."""
    sequences = Sequences()
    assert [wrong for event in events for wrong in sequences.add(event)] == []
