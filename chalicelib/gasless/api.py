"""Views that accept the signature of a gasless payment, and say how far it is."""

from dataclasses import replace

from chalicelib.gasless import flows
from chalicelib.gasless.schemas import GaslessState, SignGaslessPayment, gasless_state
from chalicelib.payments.links.announcers import HEADER, announcer_of
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.view import Call


def send_gasless_payment(call: Call[SignGaslessPayment, None]) -> GaslessState:
    made = flows.accept(call.services, call.caller.owner, call.path["payment_id"], call.body.signature)
    return gasless_state(made)


def read_gasless_payment(call: Call[None, None]) -> GaslessState:
    return gasless_state(flows.visible(call.services, call.caller.owner, call.path["payment_id"]))


def send_gasless_payment_of_link(call: Call[SignGaslessPayment, None]) -> GaslessState:
    token = call.path["token"]
    viewer = replace(Viewer.of(call.caller), announcer=announcer_of(call.headers.get(HEADER)))
    made = flows.accept_for_link(call.services, token, viewer, call.path["payment_id"], call.body.signature)
    return gasless_state(made)


def read_gasless_payment_of_link(call: Call[None, None]) -> GaslessState:
    viewer = Viewer.of(call.caller)
    return gasless_state(flows.visible_of_link(call.services, call.path["token"], viewer, call.path["payment_id"]))
