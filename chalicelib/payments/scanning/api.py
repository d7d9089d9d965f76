"""The view of how far each network is read."""

from chalicelib.payments.scanning import flows
from chalicelib.payments.scanning.schemas import NetworkStatusAnswer, StatusAnswer
from chalicelib.platform.http.view import Call


def show_status(call: Call[None, None]) -> StatusAnswer:
    return StatusAnswer(networks=[NetworkStatusAnswer.of(each) for each in flows.status(call.services)])
