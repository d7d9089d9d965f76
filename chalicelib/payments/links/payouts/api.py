"""Views that create a payout and merge payouts into a batch."""

from chalicelib.payments.links.payouts import flows
from chalicelib.payments.links.payouts.schemas import BatchPayouts, CreatePayout
from chalicelib.payments.links.schemas import SecurePaymentCreated
from chalicelib.platform.http.view import Call


def create_payout(call: Call[CreatePayout, None]) -> SecurePaymentCreated:
    caller = call.caller
    payable = flows.create(call.services, caller.owner, caller.session, call.body.draft())
    return SecurePaymentCreated.of(payable, call.services.settings.pay_url)


def batch_payouts(call: Call[BatchPayouts, None]) -> SecurePaymentCreated:
    payable = flows.combine(call.services, call.caller.owner, call.body.draft())
    return SecurePaymentCreated.of(payable, call.services.settings.pay_url)
