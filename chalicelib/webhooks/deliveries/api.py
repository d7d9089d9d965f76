"""Views of deliveries: tests, what was delivered, and sending it again. Whose webhooks are meant: endpoints/api.py."""

from chalicelib.http.view import AnyCall, Call
from chalicelib.webhooks.deliveries import flows, reading
from chalicelib.webhooks.deliveries.records import Listing
from chalicelib.webhooks.deliveries.schemas import (
    DeliveriesPage,
    DeliveriesQuery,
    DeliveryAnswer,
    RedeliverAnswer,
    RedeliverFailed,
    TestAnswer,
    TestWebhook,
)
from chalicelib.webhooks.endpoints.api import client_id_of
from chalicelib.webhooks.endpoints.flows import own_endpoint
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.endpoints.schemas import ClientIdChoice


def _endpoint(call: AnyCall, choice: ClientIdChoice) -> Endpoint:
    """The webhook of the path. Raises NotFound if it is not one of those that are meant."""
    return own_endpoint(call.services, call.caller.account_id, client_id_of(call, choice), call.path["webhook_id"])


def test_webhook(call: Call[TestWebhook, None]) -> TestAnswer:
    client_id = client_id_of(call, call.body)
    sent = flows.send_test(call.services, call.caller.account_id, client_id, call.body.eventType)
    return TestAnswer(sent=sent, failed=0)


def list_deliveries(call: Call[None, DeliveriesQuery]) -> DeliveriesPage:
    query = call.query
    listing = Listing[query.state.upper()] if query.state else Listing.ALL
    found, cursor = reading.page(call.services, _endpoint(call, query), listing, query.cursor, query.limit)
    return DeliveriesPage(deliveries=[DeliveryAnswer.of(each) for each in found], nextCursor=cursor)


def redeliver(call: Call[None, ClientIdChoice]) -> DeliveryAnswer:
    repeated = reading.repeat_one(call.services, _endpoint(call, call.query), call.path["delivery_id"])
    return DeliveryAnswer.of(repeated)


def redeliver_failed(call: Call[RedeliverFailed, None]) -> RedeliverAnswer:
    body = call.body
    queued, cursor = reading.repeat_failed(call.services, _endpoint(call, body), body.since, body.cursor)
    return RedeliverAnswer(queued=queued, nextCursor=cursor)
