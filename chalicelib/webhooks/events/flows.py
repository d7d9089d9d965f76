"""Reads events in the order in which they happened, so that whoever goes on where the last page ended misses none.

An event has the time at which what it tells was decided, and is written after that. So another one, from before it, may
still be on its way when it is read. Once that cannot be any more it is settled. The cursor never passes an event that
is not: until then each call returns it, with the same id.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.cursors import Position, cursor_of, position_of
from chalicelib.base.frozen import frozen
from chalicelib.base.lists import MOST_QUERIES, above, place_at
from chalicelib.base.records import LAST_SORT_KEY
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing
from chalicelib.webhooks.records import EVENTS, Event

SETTLED_AFTER = timedelta(seconds=90)
"""The longest time that a function runs which writes events, 60 seconds, and what clocks and indexes may lag."""


@frozen
class NextEvents:
    """Some events, the oldest first. Those from before the place `settled` are settled; `has_more` says whether more
    settled ones follow at once."""

    events: tuple[Event, ...]
    settled: str
    cursor: str
    has_more: bool

    def is_settled(self, event: Event) -> bool:
        return event.listed_at < self.settled


def next_events(
    services: Services,
    account_id: str,
    values: Mapping[str, str | None],
    after: str | None,
    since: datetime | None,
    limit: int,
) -> NextEvents:
    """The events of an account that follow on a cursor, or without one on an instant or the oldest that is kept.

    `values` are the kind or request that they are limited to, by index. One query, more if the values leave most out:
    then there may be fewer than `limit`. Raises ValidationFailed for the cursor of another list.
    """
    listing = Listing(account_id, EVENTS, values)
    place = position_of(after, listing.scope, field="after").place if after else None
    first = above(place) if place else place_at(since) if since else listing.span.first
    settled = place_at(services.clock() - SETTLED_AFTER)  # before it is read, as the answer may take long
    found = services.store.oldest(Event, replace(listing.span, first=first), limit, MOST_QUERIES)
    end = max(place or first, min(found.end or LAST_SORT_KEY, settled))
    cursor = cursor_of(Position(end, (), 0, None), listing.scope)
    return NextEvents(found.records, settled, cursor, found.end is not None and found.end < settled)
