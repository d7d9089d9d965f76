"""Views of commerce payments."""

from chalicelib.commerce.core.records import OperationKind, PendingOperation
from chalicelib.commerce.service import flows, operating, rules
from chalicelib.commerce.service.responses import calldata_answer, created_answer, status_answer
from chalicelib.commerce.service.schemas import (
    AuthorizeCommercePayment,
    CaptureCommercePayment,
    ChargeCommercePayment,
    CommerceAuthorizing,
    CommerceCalldata,
    CommerceCapturing,
    CommerceCharging,
    CommerceCreated,
    CommerceRefunding,
    CommerceStatus,
    CommerceVoiding,
    CreateCommercePayment,
    RefundCommercePayment,
    VoidCommercePayment,
)
from chalicelib.platform.http.view import AnyCall, Call

_NO_BODY = dict[str, object]()


def create_commerce_payment(call: Call[CreateCommercePayment, None]) -> CommerceCreated:
    created = flows.create(call.services, call.caller.owner, call.body.draft())
    return created_answer(created, call.services.settings.pay_url)


def authorize_commerce_payment(call: Call[AuthorizeCommercePayment | None, None]) -> CommerceAuthorizing:
    rules.check_amount(call.caller.mode, call.body.amount if call.body is not None else None)
    done = _execute(call, OperationKind.AUTHORIZE, _authorizing(call.body))
    return CommerceAuthorizing(
        requestId=call.path["request_id"],
        status="AUTHORIZING",
        transactionHash=done.transaction_hash,
        amount=str(done.amount),
    )


def authorize_commerce_calldata(call: Call[AuthorizeCommercePayment | None, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.AUTHORIZE, _authorizing(call.body))


def charge_commerce_payment(call: Call[ChargeCommercePayment | None, None]) -> CommerceCharging:
    rules.check_amount(call.caller.mode, call.body.amount if call.body is not None else None)
    if call.body is not None:
        rules.check_fee(call.caller.mode, call.body.feeBps, call.body.feeReceiver)
    done = _execute(call, OperationKind.CHARGE, _charging(call.body))
    return CommerceCharging(
        requestId=call.path["request_id"],
        status="CAPTURING",
        transactionHash=done.transaction_hash,
        amount=str(done.amount),
    )


def charge_commerce_calldata(call: Call[ChargeCommercePayment | None, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.CHARGE, _charging(call.body))


def capture_commerce_payment(call: Call[CaptureCommercePayment, None]) -> CommerceCapturing:
    rules.check_fee(call.caller.mode, call.body.feeBps, call.body.feeReceiver)
    done = _execute(call, OperationKind.CAPTURE, _capturing(call.body))
    return CommerceCapturing(
        requestId=call.path["request_id"],
        status="CAPTURING",
        transactionHash=done.transaction_hash,
        captureAmount=str(done.amount),
    )


def capture_commerce_calldata(call: Call[CaptureCommercePayment, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.CAPTURE, _capturing(call.body))


def void_commerce_payment(call: Call[VoidCommercePayment | None, None]) -> CommerceVoiding:
    done = _execute(call, OperationKind.VOID, _voiding(call.body))
    return CommerceVoiding(
        requestId=call.path["request_id"],
        status="VOIDING",
        transactionHash=done.transaction_hash,
        voidedAmount=str(done.amount),
    )


def void_commerce_calldata(call: Call[VoidCommercePayment | None, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.VOID, _voiding(call.body))


def refund_commerce_payment(call: Call[RefundCommercePayment, None]) -> CommerceRefunding:
    done = _execute(call, OperationKind.REFUND, _refunding(call.body))
    return CommerceRefunding(
        requestId=call.path["request_id"],
        status="REFUNDING",
        transactionHash=done.transaction_hash,
        refundAmount=str(done.amount),
    )


def refund_commerce_calldata(call: Call[RefundCommercePayment, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.REFUND, _refunding(call.body))


def reclaim_commerce_calldata(call: Call[None, None]) -> CommerceCalldata:
    return calldata_answer(flows.reclaim(call.services, call.caller.owner, call.path["request_id"]))


def get_commerce_status(call: Call[None, None]) -> CommerceStatus:
    found = flows.find(call.services, call.caller.owner, call.path["request_id"])
    return status_answer(found, call.services.clock())


def _authorizing(body: AuthorizeCommercePayment | None) -> operating.Decide:
    sent = (body or AuthorizeCommercePayment.model_validate(_NO_BODY)).authorizing()
    return lambda payment: rules.collecting(payment, sent)


def _charging(body: ChargeCommercePayment | None) -> operating.Decide:
    sent = body or ChargeCommercePayment.model_validate(_NO_BODY)
    return lambda payment: rules.collecting(payment, sent.authorizing(), sent.charging())


def _capturing(body: CaptureCommercePayment) -> operating.Decide:
    sent = body.capturing(int(body.captureAmount))
    return lambda payment: rules.capturing(payment, sent)


def _voiding(body: VoidCommercePayment | None) -> operating.Decide:
    reason = body.reason if body is not None else None
    return lambda payment: rules.voiding(reason)


def _refunding(body: RefundCommercePayment) -> operating.Decide:
    amount = int(body.refundAmount)
    return lambda payment: rules.refunding(amount)


def _execute(call: AnyCall, kind: OperationKind, decide: operating.Decide) -> PendingOperation:
    return operating.execute(call.services, call.caller.owner, call.path["request_id"], kind, decide)


def _to_send(call: AnyCall, kind: OperationKind, decide: operating.Decide) -> CommerceCalldata:
    return calldata_answer(flows.to_send(call.services, call.caller.owner, call.path["request_id"], kind, decide))
