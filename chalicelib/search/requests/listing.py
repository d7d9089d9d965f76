"""Lists an account's requests, with what became of their links."""

from datetime import datetime

from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.links import store as link_store
from chalicelib.links.records import Link
from chalicelib.requests.listing import REQUEST
from chalicelib.requests.records import Request
from chalicelib.services import Services
from chalicelib.storage.pages import Listing, ListPage, page_after, page_at


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


@frozen
class Listed:
    """A page of requests, and the links of those that have one, by token."""

    page: ListPage[Request]
    links: dict[str, Link]

    def link_of(self, request: Request) -> Link | None:
        return self.links.get(request.link_token or "")


def page(services: Services, wanted: Wanted, cursor: str | None, offset: int, limit: int) -> Listed:
    """A page of requests, by cursor or by offset, and one batch read of their links. Raises ValidationFailed."""
    if cursor is not None and offset:
        raise ValidationFailed((Problem(("offset",), "cannot be sent together with cursor"),))
    values = {
        "by_reference": wanted.reference,
        "by_payer": wanted.payer,
        "by_payee": wanted.payee,
        "by_client": wanted.client_id,
        "by_status": wanted.status,
    }
    listing = Listing(wanted.account_id, REQUEST, values, wanted.first, wanted.last)
    if cursor is not None:
        found = page_after(services.store, Request, listing, cursor, limit)
    else:
        found = page_at(services.store, Request, listing, offset, limit)
    tokens = {each.link_token for each in found.records if each.link_token is not None}
    return Listed(found, link_store.links(services.store, tokens) if tokens else {})
