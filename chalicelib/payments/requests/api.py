"""Views that create a request, and stop or resume its recurrence."""

from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.schemas import CreateRequest, RequestCreated, RequestUpdated, UpdateRequest
from chalicelib.platform.http.view import Call


def create_request(call: Call[CreateRequest, None]) -> RequestCreated:
    return RequestCreated.of(requests.create(call.services, call.caller.owner, call.body.draft()))


def update_request(call: Call[UpdateRequest, None]) -> RequestUpdated:
    is_stopped = call.body.isRecurrenceStopped
    request = requests.stop_recurrence(call.services, call.path["request_id"], call.caller.owner, is_stopped)
    return RequestUpdated(requestId=request.request_id, isRecurrenceStopped=is_stopped)
