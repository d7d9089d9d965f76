"""The event of a payment from another chain that did not pay."""

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.links.progress import failure_reason
from chalicelib.links.records import Intent, IntentStatus
from chalicelib.recording.events import event_of
from chalicelib.requests.records import Request
from chalicelib.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

_TOO_LITTLE = ("exceeds balance", "insufficient")
"""In reasons for which token contracts revert: the sender has too little."""


def failed_event(request: Request, intent: Intent, context: EventContext) -> Event:
    """`payment.failed` for an intent that ended without paying, with the transaction of the chain that it came from.

    Its `subStatus` is `failed`, `insufficient_funds` if that is why the transaction reverted, or `bounced` if the payer
    has the tokens back; `failureReason` says it in words.
    """
    crossing = intent.crossing
    assert crossing is not None and crossing.deposit is not None, "only a proven payment is announced"
    token = currency_of(request)
    payload = {
        "event": "payment.failed",
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "amount": format_amount(crossing.deposit.amount, token.decimals),
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "timestamp": iso(context.now),
        "txHash": intent.transaction_hash,
        "network": intent.network,
        "currency": invoice_of(request).symbol,
        "paymentCurrency": token.symbol,
        "isCryptoToFiat": request.fiat is not None,
        "paymentProcessor": context.payment_processor,
        "createdWith": request.created_with,
        "subStatus": _sub_status(intent),
        "failureReason": failure_reason(intent),
    }
    return event_of(request, [payload], context)


def _sub_status(intent: Intent) -> str:
    if intent.status in (IntentStatus.PARTIAL, IntentStatus.REFUNDED):
        return "bounced"
    reason = (intent.crossing.reason or "") if intent.crossing is not None else ""
    return "insufficient_funds" if any(text in reason.lower() for text in _TOO_LITTLE) else "failed"
