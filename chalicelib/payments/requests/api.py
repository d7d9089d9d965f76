"""Views that create a request, and change its recurrence and note."""

from chalicelib.payments.requests import flows
from chalicelib.payments.requests.schemas import CreateRequest, RequestCreated, RequestUpdated, UpdateRequest
from chalicelib.platform.access.ownership import Use, may
from chalicelib.platform.http.client_choice import owner_of
from chalicelib.platform.http.view import Call


def create_request(call: Call[CreateRequest, None]) -> RequestCreated:
    return RequestCreated.of(flows.create(call.services, owner_of(call), call.body.draft()))


def update_request(call: Call[UpdateRequest, None]) -> RequestUpdated:
    name, owner = call.path["request_id"], call.caller.owner
    request = flows.change(call.services, name, owner, call.actor, call.body.change())
    is_stopped = request.recurrence is not None and request.recurrence.is_stopped
    note = {"note": request.note} if request.note is not None and may(owner, Use.READ_PRIVATE, request) else {}
    return RequestUpdated(requestId=request.request_id, isRecurrenceStopped=is_stopped, **note)
