"""Views that create a request, and stop or resume its recurrence."""

from chalicelib.http.view import Call
from chalicelib.requests import flows as requests
from chalicelib.requests.schemas import CreateRequest, RequestCreated, RequestUpdated, UpdateRequest


def create_request(call: Call[CreateRequest, None]) -> RequestCreated:
    return RequestCreated.of(requests.create(call.services, call.caller.owner, call.body.draft()))


def update_request(call: Call[UpdateRequest, None]) -> RequestUpdated:
    is_stopped = call.body.isRecurrenceStopped
    request = requests.stop_recurrence(call.services, call.path["request_id"], call.caller.owner, is_stopped)
    return RequestUpdated(requestId=request.request_id, isRecurrenceStopped=is_stopped)
