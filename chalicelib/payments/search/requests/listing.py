"""Lists an account's requests, with what became of their links.

By status, client id and dates, the daily counts tell how many there are. A payee, a payer or a reference has none: its
requests are counted on the index, up to a few thousand.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.base.lists import edges, with_edge
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Link
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.counts import series_of
from chalicelib.payments.requests.listing import REQUEST
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing, ListPage, number, page_after, page_at


@frozen
class Wanted:
    """What requests are looked for by; a wallet by its role: `payee`, `payer`, or either (`wallet`)."""

    account_id: str
    payee: str | None = None
    payer: str | None = None
    reference: str | None = None
    status: str | None = None
    client_id: str | None = None
    first: datetime | None = None
    last: datetime | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the daily counts tell how many these are."""
        return (self.payee, self.payer, self.reference) == (None, None, None)

    @property
    def listing(self) -> Listing:
        values = {
            "by_reference": self.reference,
            "by_payer": self.payer,
            "by_payee": self.payee,
            "by_client": self.client_id,
            "by_status": self.status,
        }
        return Listing(self.account_id, REQUEST, values, self.first, self.last)


@frozen
class Listed:
    """A page of requests, and the links of those that have one, by token."""

    page: ListPage[Request]
    links: dict[str, Link]

    def link_of(self, request: Request) -> Link | None:
        return self.links.get(request.link_token or "")


def page(services: Services, wanted: Wanted, cursor: str | None, offset: int, limit: int) -> Listed:
    """A page of requests, by cursor or by offset, and one batch read of their links.

    An empty cursor begins the list. Raises ValidationFailed, and BadRequest for an offset that is too far.
    """
    if cursor is not None and offset:
        raise ValidationFailed((Problem(("offset",), "cannot be sent together with cursor"),))
    if cursor:
        found = page_after(services.store, Request, wanted.listing, cursor, limit)
    else:
        found = page_at(services.store, Request, wanted.listing, offset, limit, _days(services, wanted))
    tokens = {each.link_token for each in found.records if each.link_token is not None}
    return Listed(found, link_store.links(services.store, tokens) if tokens else {})


def _days(services: Services, wanted: Wanted) -> Mapping[str, int] | None:
    """The numbers of requests by day, in descending order; None if they have to be counted on the index.

    One query for each MB of counts, about ten years, and at most MOST_QUERIES for the parts of days at the ends.
    """
    if not wanted.is_counted:
        return None
    series, days = series_of(wanted.client_id), dict[str, int]()
    for of_day in request_store.daily_counts(services.store, wanted.account_id, series, wanted.first, wanted.last):
        matching = (each for status, each in of_day.counts.items() if wanted.status in (None, status))
        days[of_day.day] = days.get(of_day.day, 0) + sum(matching)
    in_part = [edge for edge in edges(wanted.first, wanted.last) if days.get(edge.day)]
    for edge in in_part:
        within = replace(wanted, first=edge.first, last=edge.last).listing
        of_edge = number(services.store, Request, within, len(in_part))
        if of_edge is None:
            return None
        days = with_edge(days, edge, of_edge)
    return dict(sorted(days.items(), reverse=True))
