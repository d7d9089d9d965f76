"""Views for payers: read a link, and get the transactions that pay it."""

from dataclasses import replace

from chalicelib.checkout import flows
from chalicelib.checkout.rules import PayOptions
from chalicelib.checkout.schemas import pay
from chalicelib.checkout.schemas.facts import choose_value_form
from chalicelib.checkout.schemas.link import BatchPaymentAnswer, LinkQuery, SecurePaymentAnswer, secure_payment_answer
from chalicelib.checkout.schemas.pay_responses import pay_answer, single_answer
from chalicelib.gasless.schemas import GaslessAnswer, gasless_answer
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.announcers import HEADER, announcer_of
from chalicelib.payments.links.multicalls.responses import multicall_answer
from chalicelib.payments.links.multicalls.schemas import MulticallAnswer
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.schemas import PreviewSecurePayment
from chalicelib.platform.http.client_choice import owner_of
from chalicelib.platform.http.view import AnyCall, Call


def _viewer(call: AnyCall) -> Viewer:
    """Who reads the link, with the secret of the transactions that they have announced for it, if they give one."""
    return replace(Viewer.of(call.caller), announcer=announcer_of(call.headers.get(HEADER)))


def read_secure_payment(call: Call[None, LinkQuery]) -> SecurePaymentAnswer | BatchPaymentAnswer | MulticallAnswer:
    query = call.query
    description = flows.describe(call.services, call.path["token"], _viewer(call), query.wallet, query.hashes)
    confirmations = call.services.settings.confirmations
    if description.multicall is not None:
        return multicall_answer(description.multicall, description.branding, confirmations, description.sent)
    return secure_payment_answer(description, confirmations)


def preview_secure_payment(call: Call[PreviewSecurePayment, None]) -> SecurePaymentAnswer | BatchPaymentAnswer:
    payable = links.make(call.services, owner_of(call), call.body.draft())
    return secure_payment_answer(flows.preview(call.services, payable), call.services.settings.confirmations)


def pay_secure_payment(
    call: Call[None, pay.PayQuery],
) -> pay.PayAnswer | pay.BatchPayAnswer | pay.MulticallPayAnswer | GaslessAnswer:
    query, token, viewer = call.query, call.path["token"], _viewer(call)
    if query.gasless == "true":
        return gasless_answer(flows.pay_gasless(call.services, token, viewer, PayOptions(query.wallet)))
    options = PayOptions(
        wallet=query.wallet,
        source=query.source,
        is_safe=query.isSafe == "true",
        eoa_wallet=query.eoaWallet,
        simulate=query.simulate == "true",
    )
    made = flows.pay(call.services, token, viewer, options)
    return pay_answer(made, call.services.settings.value_form(choose_value_form(made, "plain")))


def reclaim_secure_payment(call: Call[None, pay.ReclaimQuery]) -> pay.PayAnswer:
    query = call.query
    options = PayOptions(query.wallet, is_safe=query.isSafe == "true")
    made = flows.reclaim(call.services, call.path["token"], Viewer.of(call.caller), options)
    return single_answer(made, call.services.settings.value_form("plain"))


def refresh_step_transaction(call: Call[pay.RefreshStep, None]) -> pay.PayAnswer:
    step, services = call.body.step, call.services
    made = flows.refresh_step(
        services, call.path["token"], _viewer(call), step.id, step.action.toChainId, step.action.toAddress
    )
    return single_answer(made, services.settings.value_form(choose_value_form(made, "plain")))
