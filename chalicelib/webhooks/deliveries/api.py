"""Views of deliveries: tests, what was delivered, and sending it again. Whose webhooks are meant: endpoints/api.py."""

from chalicelib.platform.http.view import Call
from chalicelib.webhooks.deliveries import flows, reading, schemas
from chalicelib.webhooks.deliveries.records import Listing
from chalicelib.webhooks.endpoints.api import client_id_of, endpoint_of, finds_only_public
from chalicelib.webhooks.endpoints.schemas import ClientIdChoice


def test_webhook(call: Call[schemas.TestWebhook, None]) -> schemas.TestAnswer:
    client_id = client_id_of(call, call.body)
    queued = flows.send_test(
        call.services, call.caller.account_id, client_id, call.body.eventType, only_public=finds_only_public(call)
    )
    where = "GET /v1/webhook/{webhook_id}/deliveries shows what the receivers answered"
    return schemas.TestAnswer(sent=queued, failed=0, queued=queued, message=f"Queued; {where}")


def list_deliveries_of_event(call: Call[None, None]) -> schemas.EventDeliveries:
    found = reading.of_event(call.services, call.caller.account_id, call.path["event_id"])
    return schemas.EventDeliveries(deliveries=[schemas.DeliveryAnswer.of(each, shows_responses=True) for each in found])


def list_deliveries(call: Call[None, schemas.DeliveriesQuery]) -> schemas.DeliveriesPage:
    query = call.query
    listing = Listing[query.state.upper()] if query.state else Listing.ALL
    found, cursor = reading.page(call.services, endpoint_of(call, query), listing, query.cursor, query.limit)
    shows = not finds_only_public(call)
    return schemas.DeliveriesPage(
        deliveries=[schemas.DeliveryAnswer.of(each, shows_responses=shows) for each in found], nextCursor=cursor
    )


def redeliver(call: Call[None, ClientIdChoice]) -> schemas.DeliveryAnswer:
    repeated = reading.repeat_one(call.services, endpoint_of(call, call.query), call.path["delivery_id"])
    return schemas.DeliveryAnswer.of(repeated, shows_responses=not finds_only_public(call))


def redeliver_failed(call: Call[schemas.RedeliverFailed, None]) -> schemas.RedeliverAnswer:
    body = call.body
    queued, cursor = reading.repeat_failed(call.services, endpoint_of(call, body), body.since, body.cursor)
    return schemas.RedeliverAnswer(queued=queued, nextCursor=cursor)
