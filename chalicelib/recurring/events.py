"""Events of recurring payments: each new request, and a recurring payout that is paused because its payments fail."""

from chalicelib.base.timestamps import iso
from chalicelib.payments.recording.events import event_of
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.recurring.records import RecurringPayment
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext, Payload


def recurring_event(request: Request, context: EventContext) -> Event:
    """`request.recurring` for a new request. The first one of a recurring payout is its own original."""
    payload = {
        **_request_payload("request.recurring", request, context),
        "originalRequestId": request.original_request_id or request.request_id,
        "originalRequestPaymentReference": request.original_payment_reference or request.payment_reference,
    }
    if request.recurring_payment_id is not None:
        payload["recurringPayment"] = {"id": request.recurring_payment_id}
    return event_of(request, [payload], context)


def failed_event(schedule: RecurringPayment, request: Request, is_short: bool, context: EventContext) -> Event:
    """`payment.failed` when a recurring payout is paused. `is_short`: its payer does not have the amount."""
    payload = {
        **_request_payload("payment.failed", request, context),
        "amount": amount_text(request.amount, request),
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "txHash": None,
        "network": request.network,
        "currency": invoice_of(request).symbol,
        "paymentCurrency": currency_of(request).symbol,
        "isCryptoToFiat": False,
        "subStatus": "insufficient_funds" if is_short else "failed",
        "failureReason": schedule.failure_reason,
        "recurringPayment": {"id": schedule.recurring_id},
    }
    return event_of(request, [payload], context)


def _request_payload(kind: str, request: Request, context: EventContext) -> Payload:
    return {
        "event": kind,
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "timestamp": iso(context.now),
        "paymentProcessor": context.payment_processor,
        **request.origin_facts,
    }
