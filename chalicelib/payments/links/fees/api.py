"""The view that previews the fee of a payment."""

from chalicelib.payments.links.fees import rules
from chalicelib.payments.links.fees.schemas import FeePlanAnswer, FeePreview, fee_plan_answer
from chalicelib.payments.links.records import Flow
from chalicelib.platform.http.view import Call


def preview_fees(call: Call[FeePreview, None]) -> FeePlanAnswer:
    body = call.body
    fee = call.caller.owner.settings.fee
    plan = rules.preview(body.amount, body.currency, fee, Flow(body.flow), body.defaultFeeBearer or "payer")
    return fee_plan_answer(plan)
