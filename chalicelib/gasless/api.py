"""Views that accept the signature of a gasless payment, and say how far it is."""

from chalicelib.gasless import flows
from chalicelib.gasless.schemas import GaslessState, SignGaslessPayment, gasless_state
from chalicelib.platform.http.view import Call


def send_gasless_payment(call: Call[SignGaslessPayment, None]) -> GaslessState:
    made = flows.accept(call.services, call.caller.owner, call.path["payment_id"], call.body.signature)
    return gasless_state(made)


def read_gasless_payment(call: Call[None, None]) -> GaslessState:
    return gasless_state(flows.visible(call.services, call.caller.owner, call.path["payment_id"]))
