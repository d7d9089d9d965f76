"""Views that create payouts, and answer with the transactions that pay them."""

from chalicelib.checkout.payouts import flows, schemas
from chalicelib.checkout.schemas.facts import choose_value_form
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.view import Call
from chalicelib.recurring import flows as recurring
from chalicelib.recurring.responses import answer_created
from chalicelib.recurring.schemas import RecurringCreated


def pay_out(call: Call[schemas.Payout, None]) -> schemas.PayoutCreated | RecurringCreated:
    owner, body = call.caller.owner, call.body
    if body.recurrence is not None:
        created = recurring.create(call.services, owner, body.draft(), body.fee, body.recurrence.plan)
        return answer_created(created, call.services.settings.transaction_value_form)
    prepared = flows.pay_out(call.services, owner, body.draft(), body.options, body.fee)
    return schemas.payout_answer(prepared, call.services.settings.value_form(choose_value_form(prepared, "bignumber")))


pay_out_by_former_path = pay_out


def pay_batch(call: Call[schemas.PayoutBatch, None]) -> schemas.PayoutBatchCreated:
    prepared = flows.pay_batch(call.services, call.caller.owner, Viewer.of(call.caller), call.body.draft())
    value_form = call.services.settings.value_form
    return schemas.batch_answer(prepared, approvals=value_form("plain"), payment=value_form("bignumber"))
