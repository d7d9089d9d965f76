"""Responses about commerce payments: how they are shaped from records."""

from datetime import datetime
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.timestamps import iso
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.expiry import next_expiry
from chalicelib.commerce.core.records import CommercePayment, EntryState, EscrowEntry, PendingOperation
from chalicelib.commerce.core.rules import WHILE, can_capture, can_refund, can_void
from chalicelib.commerce.core.rules import CommerceStatus as Status
from chalicelib.commerce.service import schemas
from chalicelib.commerce.service.flows import Created, Found, ToSend
from chalicelib.commerce.service.operation_table import BY_KIND
from chalicelib.commerce.service.terms import expiries, state_fields
from chalicelib.commerce.service.transactions import token_address
from chalicelib.payments.links.schemas import page_url

_TYPES: dict[EscrowEventKind, tuple[schemas.EventType, ...]] = {
    EscrowEventKind.AUTHORIZED: ("AUTHORIZED",),
    EscrowEventKind.CHARGED: ("AUTHORIZED", "CAPTURED"),
    EscrowEventKind.CAPTURED: ("CAPTURED",),
    EscrowEventKind.VOIDED: ("VOIDED",),
    EscrowEventKind.RECLAIMED: ("RECLAIMED",),
    EscrowEventKind.REFUNDED: ("REFUNDED",),
}


def answer_created(created: Created, pay_url: str) -> schemas.CommerceCreated:
    payment, options = created.payment, created.options
    transactions = options.transactions if options is not None else ()
    return schemas.CommerceCreated(
        **_calldata(payment, payment.buyer, transactions),
        signatures=_signatures(created),
        paymentInfo=_info(payment),
        commercePaymentHash=payment.payment_hash,
        securePaymentUrl=page_url(created.link.link, pay_url),
        token=created.link.link.token,
        **expiries(payment),
    )


def calldata_answer(made: ToSend) -> schemas.CommerceCalldata:
    return schemas.CommerceCalldata(**_calldata(made.payment, made.sender, made.transactions))


def status_answer(found: Found, now: datetime) -> schemas.CommerceStatus:
    payment, status = found.payment, found.status
    return schemas.CommerceStatus.from_record(
        payment,
        status=status.value,
        **state_fields(payment),
        merchant=payment.receiver,
        token=token_address(payment),
        paymentCurrency=payment.currency,
        amount=str(payment.authorized or payment.amount),
        maxAmount=str(payment.max_amount),
        authorizedAmount=str(payment.authorized),
        heldAmount=str(payment.capturable),
        capturedAmount=str(payment.captured),
        voidedAmount=str(payment.voided),
        reclaimedAmount=str(payment.reclaimed),
        refundedAmount=str(payment.refunded),
        feeAmount=str(payment.fees),
        commercePaymentHash=payment.payment_hash,
        **expiries(payment),
        canCapture=can_capture(payment, now),
        canVoid=can_void(payment),
        canRefund=can_refund(payment, now),
        failureReason=payment.failure,
        updatedAt=iso(payment.changed_at),
        events=_events(found),
    )


def answer_executed(request_id: str, done: PendingOperation) -> dict[str, Any]:
    """The fields of the response to an operation that the service executes."""
    return {
        "requestId": request_id,
        "status": WHILE[done.kind].value,
        "transactionHash": done.transaction_hash,
        BY_KIND[done.kind].response_field: str(done.amount),
    }


def _events(found: Found) -> list[schemas.CommerceEvent]:
    posted = [each for each in found.entries if each.state is EntryState.POSTED]
    events = [_event(each, kind) for each in posted for kind in _TYPES.get(each.kind, ())]
    payment = found.payment
    if found.status is Status.EXPIRED:
        events.append(_without_transaction("EXPIRED", next_expiry(payment)))
    if payment.failure is not None:
        events.append(_without_transaction("FAILED", payment.changed_at))
    return events


def _event(entry: EscrowEntry, kind: schemas.EventType) -> schemas.CommerceEvent:
    return schemas.CommerceEvent(
        type=kind,
        timestamp=iso(entry.at),
        transactionHash=entry.tx_hash,
        blockNumber=entry.block_number,
        amount=str(entry.amount),
    )


def _without_transaction(kind: schemas.EventType, at: datetime) -> schemas.CommerceEvent:
    return schemas.CommerceEvent(type=kind, timestamp=iso(at), transactionHash=None, blockNumber=None, amount=None)


def _calldata(payment: CommercePayment, sender: str | None, transactions: tuple[Transaction, ...]) -> dict[str, Any]:
    last = transactions[-1] if transactions else None
    return {
        "requestId": payment.request_id,
        "calldata": last.data if last is not None else None,
        "to": last.to if last is not None else None,
        "value": "0",
        "operator": payment.operator,
        "sender": sender,
        "transactions": [_transaction(each) for each in transactions],
    }


def _transaction(made: Transaction) -> schemas.EscrowTransaction:
    return schemas.EscrowTransaction(to=made.to, data=made.data, value="0")


def _signatures(created: Created) -> schemas.PayerSignatures:
    options = created.options
    if options is None:
        return schemas.PayerSignatures(erc3009=None, permit2=None)
    erc3009 = schemas.TypedDataToSign(typedData=options.erc3009) if options.erc3009 is not None else None
    permit2 = None
    if options.permit2 is not None and options.approval is not None:
        permit2 = schemas.Permit2ToSign(typedData=options.permit2, approval=_transaction(options.approval))
    return schemas.PayerSignatures(erc3009=erc3009, permit2=permit2)


def _info(payment: CommercePayment) -> schemas.PaymentInfoAnswer:
    return schemas.PaymentInfoAnswer.from_record(
        payment,
        payer=payment.buyer,
        token=token_address(payment),
        maxAmount=str(payment.max_amount),
        **expiries(payment),
        feeReceiver=payment.fee_receiver or ZERO_ADDRESS,
        salt=str(int(payment.salt, 16)),
    )
