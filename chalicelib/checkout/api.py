"""Views for payers: read a link, and get the transactions that pay it."""

from chalicelib.checkout import flows as checkout
from chalicelib.checkout.building import PayOptions
from chalicelib.checkout.schemas.facts import published_form
from chalicelib.checkout.schemas.link import BatchPaymentAnswer, SecurePaymentAnswer, WalletQuery, secure_payment_answer
from chalicelib.checkout.schemas.pay import (
    BatchPayAnswer,
    MulticallPayAnswer,
    PayAnswer,
    PayQuery,
    ReclaimQuery,
    RefreshStep,
)
from chalicelib.checkout.schemas.pay_responses import pay_answer, single_answer
from chalicelib.http.view import Call
from chalicelib.links.multicalls.responses import multicall_answer
from chalicelib.links.multicalls.schemas import MulticallAnswer
from chalicelib.links.reading import Viewer


def read_secure_payment(call: Call[None, WalletQuery]) -> SecurePaymentAnswer | BatchPaymentAnswer | MulticallAnswer:
    description = checkout.describe(call.services, call.path["token"], Viewer.of(call.caller), call.query.wallet)
    confirmations = call.services.settings.confirmations
    if description.multicall is not None:
        return multicall_answer(description.multicall, description.branding, confirmations)
    return secure_payment_answer(description, confirmations)


def pay_secure_payment(call: Call[None, PayQuery]) -> PayAnswer | BatchPayAnswer | MulticallPayAnswer:
    query = call.query
    options = PayOptions(
        wallet=query.wallet,
        source=query.source,
        is_safe=query.isSafe == "true",
        eoa_wallet=query.eoaWallet,
        simulate=query.simulate == "true",
    )
    prepared = checkout.prepare(call.services, call.path["token"], Viewer.of(call.caller), options)
    return pay_answer(prepared, call.services.settings.value_form(published_form(prepared.prepared, "plain")))


def reclaim_secure_payment(call: Call[None, ReclaimQuery]) -> PayAnswer:
    query = call.query
    made = checkout.prepare_reclaim(
        call.services, call.path["token"], Viewer.of(call.caller), query.wallet, query.isSafe == "true"
    )
    return single_answer(made, call.services.settings.value_form("plain"))


def refresh_step_transaction(call: Call[RefreshStep, None]) -> PayAnswer:
    step, services = call.body.step, call.services
    made = checkout.refresh_step(
        services, call.path["token"], Viewer.of(call.caller), step.id, step.action.toChainId, step.action.toAddress
    )
    return single_answer(made, services.settings.value_form(published_form(made.prepared, "plain")))
