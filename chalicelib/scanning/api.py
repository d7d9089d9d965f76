"""The view of how far each network is read."""

from chalicelib.http.view import Call
from chalicelib.scanning import flows as scanning
from chalicelib.scanning.schemas import NetworkStatusAnswer, StatusAnswer


def show_status(call: Call[None, None]) -> StatusAnswer:
    return StatusAnswer(networks=[NetworkStatusAnswer.of(each) for each in scanning.status(call.services)])
