"""Lists an account's requests, with what became of their links.

By status, client id and dates, the daily counts tell how many there are. A payee, a payer or a reference has none: its
requests are counted on the index, up to a few thousand. Those of one link are read with it.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from chalicelib.base.cursors import Position, cursor_of, position_of
from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.base.lists import MOST_QUERIES, PUBLIC_QUERIES, partial_days, with_partial_day
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Link
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.list_names import REQUEST
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.request_counts import series_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing, ListPage, number, page_after, page_at


@frozen
class Wanted:
    """What requests are looked for by; a wallet by its role: `payee`, `payer`, or either (`wallet`); `link_token` is
    that of their link. Unless it `finds_links`, requests of links are in no page, total or cursor: with the id of one
    whoever has the client id reads it, and what pays it.
    """

    account_id: str
    payee: str | None = None
    payer: str | None = None
    reference: str | None = None
    status: str | None = None
    client_id: str | None = None
    first: datetime | None = None
    last: datetime | None = None
    link_token: str | None = None
    finds_links: bool = True

    @property
    def is_counted(self) -> bool:
        """Whether the daily counts tell how many these are."""
        return self.finds_links and (self.payee, self.payer, self.reference) == (None, None, None)

    @property
    def listing(self) -> Listing:
        values = {
            "by_reference": self.reference,
            "by_payer": self.payer,
            "by_payee": self.payee,
            "by_client": self.client_id,
            "by_status": self.status,
        }
        alone = None if self.finds_links else ("link_token", "request_id")
        queries = MOST_QUERIES if self.finds_links else PUBLIC_QUERIES
        return Listing(self.account_id, REQUEST, values, self.first, self.last, alone, queries)

    def matches(self, request: Request) -> bool:
        """Whether the list has a request, whichever link it is of."""
        span, listed = self.listing.span, request.listed
        named = (span.list, *(each for (each,) in span.within))
        is_named = all(listed.get(each.index) == each.name for each in named)
        return is_named and span.first <= request.listed_at <= span.last


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
    if wanted.link_token is not None:
        found = _page_of_link(services, wanted, wanted.link_token, cursor, offset, limit)
    elif cursor:
        found = page_after(services.store, Request, wanted.listing, cursor, limit)
    else:
        found = page_at(services.store, Request, wanted.listing, offset, limit, _days(services, wanted))
    tokens = {each.link_token for each in found.records if each.link_token is not None}
    return Listed(found, link_store.find_links(services.store, tokens) if tokens else {})


def _page_of_link(
    services: Services, wanted: Wanted, token: str, cursor: str | None, offset: int, limit: int
) -> ListPage[Request]:
    """A page of the requests of a link, in its order; of a link of another account nothing.

    A link has at most 200 requests, which are read together (`links.store.requests_of`): the cursor has their number.
    """
    scope = (*wanted.listing.scope, f"link={token}")
    start = position_of(cursor, scope).offset if cursor else offset
    stored = link_store.requests_of(services.store, token) if wanted.finds_links else ()
    found = [each for each in stored if wanted.matches(each)]
    end = start + limit
    following = cursor_of(Position(token, (), end, len(found)), scope) if end < len(found) else None
    return ListPage(tuple(found[start:end]), following, start, len(found))


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
    in_part = [partial for partial in partial_days(wanted.first, wanted.last) if days.get(partial.day)]
    for partial in in_part:
        within = replace(wanted, first=partial.first, last=partial.last).listing
        in_part_of = number(services.store, Request, within, len(in_part))
        if in_part_of is None:
            return None
        days = with_partial_day(days, partial, in_part_of)
    return dict(sorted(days.items(), reverse=True))
