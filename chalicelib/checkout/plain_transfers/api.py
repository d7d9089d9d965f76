"""The view of what is at the address of a request for plain transfers."""

from chalicelib.checkout.plain_transfers import flows
from chalicelib.checkout.plain_transfers.schemas import PlainTransferQuery, PlainTransferState
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.view import Call


def read_plain_transfer(call: Call[None, PlainTransferQuery]) -> PlainTransferState:
    query, services = call.query, call.services
    found = flows.read(services, call.path["request_id"], Viewer.of(call.caller), query.network, query.token)
    return PlainTransferState.of(found, services.settings.value_form("plain"))
