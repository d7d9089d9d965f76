"""Views for the payers of a request: the transactions that pay it, and the routes."""

from chalicelib.checkout.requests import flows, schemas
from chalicelib.checkout.rules import PayOptions
from chalicelib.checkout.schemas.facts import choose_value_form
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.schemas import PaymentIntentAnswer, payment_intent_answer
from chalicelib.gasless.records import GaslessPayment
from chalicelib.gasless.schemas import GaslessAnswer, gasless_answer
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.view import Call


def pay_request(
    call: Call[None, schemas.RequestPayQuery],
) -> schemas.RequestPayAnswer | PaymentIntentAnswer | GaslessAnswer:
    query, caller = call.query, call.caller
    options = PayOptions(query.payer, query.source, is_gasless=query.gasless == "true")
    made = flows.pay(
        call.services, call.path["request_id"], caller.owner, Viewer.of(caller), options, query.part, query.account
    )
    if isinstance(made, GaslessPayment):
        return gasless_answer(made)
    if isinstance(made, Offer):
        return payment_intent_answer(made)
    return schemas.request_pay_answer(made, call.services.settings.value_form(choose_value_form(made, "bignumber")))


def list_routes(call: Call[None, schemas.RequestRoutesQuery]) -> schemas.RequestRoutesAnswer:
    query, caller = call.query, call.caller
    services = call.services
    direct, others = flows.routes(
        services, call.path["request_id"], caller.owner, Viewer.of(caller), query.wallet, query.part
    )
    return schemas.routes_answer(direct, others, services.settings)
