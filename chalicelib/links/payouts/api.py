"""Payouts: links that their maker pays, alone or several as one batch."""

from chalice import Blueprint

from chalicelib.access.modes import CREDENTIALS
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.links.payouts import flows as payouts
from chalicelib.links.payouts.schemas import BatchPayouts, CreatePayout
from chalicelib.links.schemas import SecurePaymentCreated

blueprint = Blueprint(__name__)


@operation(
    blueprint,
    "POST",
    "/v2/secure-payments/payouts",
    summary="Create a payout link",
    modes=CREDENTIALS,
    scope="secure_payments:write",
    body=CreatePayout,
    answer=SecurePaymentCreated,
    status=201,
    errors=(400, 401, 403, 503),
)
def create_payout(call: Call) -> SecurePaymentCreated:
    caller = call.caller
    payment = payouts.create(call.services, caller.owner, caller.session, call.body.draft())
    return SecurePaymentCreated.of(payment, call.services.settings.pay_url)


@operation(
    blueprint,
    "POST",
    "/v2/secure-payments/batch-payouts",
    summary="Merge payouts into a batch, which one transaction pays",
    modes=CREDENTIALS,
    scope="secure_payments:write",
    body=BatchPayouts,
    answer=SecurePaymentCreated,
    status=201,
    errors=(400, 401, 403),
)
def batch_payouts(call: Call) -> SecurePaymentCreated:
    payment = payouts.combine(call.services, call.caller.owner, call.body.draft())
    return SecurePaymentCreated.of(payment, call.services.settings.pay_url)
