"""Views of commerce payments."""

from typing import Any

from chalicelib.commerce.core.records import OperationKind
from chalicelib.commerce.service import execution, flows, rules, schemas
from chalicelib.commerce.service.responses import answer_created, answer_executed, calldata_answer, status_answer
from chalicelib.platform.http.client_choice import owner_of
from chalicelib.platform.http.view import AnyCall, Call


def create_commerce_payment(call: Call[schemas.CreateCommercePayment, None]) -> schemas.CommerceCreated:
    created = flows.create(call.services, owner_of(call), call.body.draft())
    return answer_created(created, call.services.settings.pay_url)


def authorize_commerce_payment(
    call: Call[schemas.AuthorizeCommercePayment | None, None],
) -> schemas.CommerceAuthorizing:
    return schemas.CommerceAuthorizing(**_answer_operation(call, OperationKind.AUTHORIZE, call.body))


def authorize_commerce_calldata(call: Call[schemas.AuthorizeCommercePayment | None, None]) -> schemas.CommerceCalldata:
    return _to_send(call, OperationKind.AUTHORIZE, call.body)


def charge_commerce_payment(call: Call[schemas.ChargeCommercePayment | None, None]) -> schemas.CommerceCharging:
    return schemas.CommerceCharging(**_answer_operation(call, OperationKind.CHARGE, call.body))


def charge_commerce_calldata(call: Call[schemas.ChargeCommercePayment | None, None]) -> schemas.CommerceCalldata:
    return _to_send(call, OperationKind.CHARGE, call.body)


def capture_commerce_payment(call: Call[schemas.CaptureCommercePayment, None]) -> schemas.CommerceCapturing:
    return schemas.CommerceCapturing(**_answer_operation(call, OperationKind.CAPTURE, call.body))


def capture_commerce_calldata(call: Call[schemas.CaptureCommercePayment, None]) -> schemas.CommerceCalldata:
    return _to_send(call, OperationKind.CAPTURE, call.body)


def void_commerce_payment(call: Call[schemas.VoidCommercePayment | None, None]) -> schemas.CommerceVoiding:
    return schemas.CommerceVoiding(**_answer_operation(call, OperationKind.VOID, call.body))


def void_commerce_calldata(call: Call[schemas.VoidCommercePayment | None, None]) -> schemas.CommerceCalldata:
    return _to_send(call, OperationKind.VOID, call.body)


def refund_commerce_payment(call: Call[schemas.RefundCommercePayment, None]) -> schemas.CommerceRefunding:
    return schemas.CommerceRefunding(**_answer_operation(call, OperationKind.REFUND, call.body))


def refund_commerce_calldata(call: Call[schemas.RefundCommercePayment, None]) -> schemas.CommerceCalldata:
    return _to_send(call, OperationKind.REFUND, call.body)


def reclaim_commerce_calldata(call: Call[None, None]) -> schemas.CommerceCalldata:
    return calldata_answer(flows.reclaim(call.services, call.caller.owner, call.path["request_id"]))


def get_commerce_status(call: Call[None, None]) -> schemas.CommerceStatus:
    found = flows.find(call.services, call.caller.owner, call.path["request_id"])
    return status_answer(found, call.services.clock())


def _answer_operation(call: AnyCall, kind: OperationKind, body: schemas.Body) -> dict[str, Any]:
    """The response to an operation that the service executes."""
    asked, request_id = body.as_asked() if body is not None else rules.Asked(), call.path["request_id"]
    rules.check_chosen(call.caller.mode, kind, asked)
    done = execution.execute(call.services, call.caller.owner, request_id, kind, asked)
    return answer_executed(request_id, done)


def _to_send(call: AnyCall, kind: OperationKind, body: schemas.Body) -> schemas.CommerceCalldata:
    asked = body.as_asked() if body is not None else rules.Asked()
    return calldata_answer(flows.to_send(call.services, call.caller.owner, call.path["request_id"], kind, asked))
