"""Fee previews: what a payment would cost its payer."""

from chalice import Blueprint

from chalicelib.access.modes import CREDENTIALS
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.links.fees import rules as fees
from chalicelib.links.fees.schemas import FeePlanAnswer, FeePreview, fee_plan_answer
from chalicelib.links.records import Flow

blueprint = Blueprint(__name__)


@operation(
    blueprint,
    "POST",
    "/v2/secure-payments/fees/preview",
    summary="The fee plan of a payment that is not made yet: the client id's fee on an amount in a dollar token",
    modes=CREDENTIALS,
    scope="secure_payments:read",
    body=FeePreview,
    answer=FeePlanAnswer,
    errors=(400, 401, 403),
)
def preview_fees(call: Call) -> FeePlanAnswer | None:
    body: FeePreview = call.body
    fee = call.caller.owner.settings.fee
    plan = fees.preview(body.amount, body.currency, fee, Flow(body.flow), body.defaultFeeBearer or "payer")
    return fee_plan_answer(plan)
