"""Views of deliveries: tests, what was delivered, and sending it again. Whose webhooks are meant: endpoints/api.py."""

from chalicelib.platform.http.view import AnyCall, Call
from chalicelib.webhooks.deliveries import flows, reading, schemas
from chalicelib.webhooks.deliveries.records import Delivery, Listing
from chalicelib.webhooks.endpoints.api import client_id_of, endpoint_of, endpoint_with_id, finds_only_public
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.endpoints.schemas import ClientIdChoice
from chalicelib.webhooks.sealed_bodies import body_for, body_of


def test_webhook(call: Call[schemas.TestWebhook, None]) -> schemas.TestAnswer:
    body, account_id, only_public = call.body, call.caller.account_id, finds_only_public(call)
    chosen = endpoint_with_id(call, body, body.webhookId) if body.webhookId is not None else None
    client_id = chosen.client_id if chosen else client_id_of(call, body)
    queued = flows.send_test(
        call.services, account_id, client_id, body.eventType, only_public=only_public, webhook_id=body.webhookId
    )
    where = "GET /v1/webhook/{webhook_id}/deliveries shows what the receivers answered"
    return schemas.TestAnswer(sent=queued, failed=0, queued=queued, message=f"Queued; {where}")


def list_deliveries_of_event(call: Call[None, None]) -> schemas.EventDeliveries:
    found = reading.of_event(call.services, call.caller.account_id, call.path["event_id"])
    return schemas.EventDeliveries(deliveries=[_answer(call, *each, shows=True) for each in found])


def list_deliveries(call: Call[None, schemas.DeliveriesQuery]) -> schemas.DeliveriesPage:
    query = call.query
    listing = Listing[query.state.upper()] if query.state else Listing.ALL
    endpoint, shows = endpoint_of(call, query), not finds_only_public(call)
    found, cursor = reading.page(call.services, endpoint, listing, query.cursor, query.limit)
    return schemas.DeliveriesPage(
        deliveries=[_answer(call, each, endpoint, shows=shows) for each in found], nextCursor=cursor
    )


def redeliver(call: Call[None, ClientIdChoice]) -> schemas.DeliveryAnswer:
    endpoint = endpoint_of(call, call.query)
    repeated = reading.repeat_one(call.services, endpoint, call.path["delivery_id"])
    return _answer(call, repeated, endpoint, shows=not finds_only_public(call))


def redeliver_failed(call: Call[schemas.RedeliverFailed, None]) -> schemas.RedeliverAnswer:
    body = call.body
    queued, cursor = reading.repeat_failed(call.services, endpoint_of(call, body), body.since, body.cursor)
    return schemas.RedeliverAnswer(queued=queued, nextCursor=cursor)


def _answer(call: AnyCall, delivery: Delivery, endpoint: Endpoint, *, shows: bool) -> schemas.DeliveryAnswer:
    """A delivery; with `shows` also what its webhook is sent, and what that answered."""
    body = body_of(call.services, delivery) if shows else None
    sent = body_for(endpoint, body) if body else None
    return schemas.DeliveryAnswer.of(delivery, sent, shows_responses=shows)
