"""Views of commerce payments."""

from typing import Any

from chalicelib.commerce.core.records import OperationKind
from chalicelib.commerce.service import flows, operating, rules
from chalicelib.commerce.service.responses import answer_created, answer_executed, calldata_answer, status_answer
from chalicelib.commerce.service.schemas import (
    AuthorizeCommercePayment,
    Body,
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


def create_commerce_payment(call: Call[CreateCommercePayment, None]) -> CommerceCreated:
    created = flows.create(call.services, call.caller.owner, call.body.draft())
    return answer_created(created, call.services.settings.pay_url)


def authorize_commerce_payment(call: Call[AuthorizeCommercePayment | None, None]) -> CommerceAuthorizing:
    return CommerceAuthorizing(**_answer_operation(call, OperationKind.AUTHORIZE, call.body))


def authorize_commerce_calldata(call: Call[AuthorizeCommercePayment | None, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.AUTHORIZE, call.body)


def charge_commerce_payment(call: Call[ChargeCommercePayment | None, None]) -> CommerceCharging:
    return CommerceCharging(**_answer_operation(call, OperationKind.CHARGE, call.body))


def charge_commerce_calldata(call: Call[ChargeCommercePayment | None, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.CHARGE, call.body)


def capture_commerce_payment(call: Call[CaptureCommercePayment, None]) -> CommerceCapturing:
    return CommerceCapturing(**_answer_operation(call, OperationKind.CAPTURE, call.body))


def capture_commerce_calldata(call: Call[CaptureCommercePayment, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.CAPTURE, call.body)


def void_commerce_payment(call: Call[VoidCommercePayment | None, None]) -> CommerceVoiding:
    return CommerceVoiding(**_answer_operation(call, OperationKind.VOID, call.body))


def void_commerce_calldata(call: Call[VoidCommercePayment | None, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.VOID, call.body)


def refund_commerce_payment(call: Call[RefundCommercePayment, None]) -> CommerceRefunding:
    return CommerceRefunding(**_answer_operation(call, OperationKind.REFUND, call.body))


def refund_commerce_calldata(call: Call[RefundCommercePayment, None]) -> CommerceCalldata:
    return _to_send(call, OperationKind.REFUND, call.body)


def reclaim_commerce_calldata(call: Call[None, None]) -> CommerceCalldata:
    return calldata_answer(flows.reclaim(call.services, call.caller.owner, call.path["request_id"]))


def get_commerce_status(call: Call[None, None]) -> CommerceStatus:
    found = flows.find(call.services, call.caller.owner, call.path["request_id"])
    return status_answer(found, call.services.clock())


def _answer_operation(call: AnyCall, kind: OperationKind, body: Body) -> dict[str, Any]:
    """The response to an operation that the service executes."""
    asked, request_id = body.as_asked() if body is not None else rules.Asked(), call.path["request_id"]
    rules.check_chosen(call.caller.mode, kind, asked)
    done = operating.execute(call.services, call.caller.owner, request_id, kind, asked)
    return answer_executed(request_id, done)


def _to_send(call: AnyCall, kind: OperationKind, body: Body) -> CommerceCalldata:
    asked = body.as_asked() if body is not None else rules.Asked()
    return calldata_answer(flows.to_send(call.services, call.caller.owner, call.path["request_id"], kind, asked))
