"""Views of events: what happened, newest first to look at, oldest first to follow."""

from chalicelib.platform.http.view import Call
from chalicelib.platform.storage.pages import Listing, page_after
from chalicelib.webhooks.events import flows, schemas
from chalicelib.webhooks.records import EVENTS, Event
from chalicelib.webhooks.sealed_bodies import body_of


def list_events(call: Call[None, schemas.EventsQuery]) -> schemas.EventsPage:
    query = call.query
    values = {"by_request": query.requestId, "by_mispayment": query.mispaid, "by_kind": query.kind}
    wanted = Listing(call.caller.account_id, EVENTS, values, query.first, query.last)
    page = page_after(call.services.store, Event, wanted, query.cursor, query.limit)
    events = [schemas.EventAnswer.of(each, body_of(call.services, each)) for each in page.records]
    return schemas.EventsPage(events=events, nextCursor=page.cursor)


def list_next_events(call: Call[None, schemas.NextEventsQuery]) -> schemas.NextEventsPage:
    query, account_id = call.query, call.caller.account_id
    values = {"by_request": query.requestId, "by_kind": query.kind}
    found = flows.next_events(call.services, account_id, values, query.after, query.first, query.limit)
    events = [schemas.NextEvent.of(each, body_of(call.services, each), found.is_settled(each)) for each in found.events]
    return schemas.NextEventsPage(events=events, nextCursor=found.cursor, hasMore=found.has_more)
