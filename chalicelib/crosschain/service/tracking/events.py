"""The event of a payment from another chain that did not pay."""

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.payments.links.progress import failure_reason
from chalicelib.payments.links.records import Intent, IntentStatus
from chalicelib.payments.recording.events import event_of
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

_TOO_LITTLE = ("exceeds balance", "insufficient")
"""In reasons for which token contracts revert: the sender has too little."""


@frozen
class Failure:
    """A payment from another chain that did not pay, with the transaction of the `network` that it came from.

    `amount` is what would have been paid, in base units of the request's token.
    """

    amount: BaseUnits
    tx_hash: str | None
    network: str
    sub_status: str
    reason: str | None


def failed_event(request: Request, intent: Intent, context: EventContext) -> Event:
    """`payment.failed` for an intent that ended without paying, with the transaction of the chain that it came from.

    Its `subStatus` is `failed`, `insufficient_funds` if that is why the transaction reverted, or `bounced` if the payer
    has the tokens back; `failureReason` says it in words.
    """
    crossing = intent.crossing
    assert crossing is not None and crossing.deposit is not None, "only a proven payment is announced"
    amount, reason = crossing.deposit.amount, failure_reason(intent)
    failure = Failure(amount, intent.transaction_hash, intent.network, _sub_status(intent), reason)
    return failure_event(request, failure, context)


def failure_event(request: Request, failure: Failure, context: EventContext) -> Event:
    """`payment.failed` for a payment from another chain."""
    token = currency_of(request)
    payload = {
        "event": "payment.failed",
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "amount": format_amount(failure.amount, token.decimals),
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "timestamp": iso(context.now),
        "txHash": failure.tx_hash,
        "network": failure.network,
        "currency": invoice_of(request).symbol,
        "paymentCurrency": token.symbol,
        "isCryptoToFiat": request.fiat is not None,
        "paymentProcessor": context.payment_processor,
        **request.origin_facts,
        "subStatus": failure.sub_status,
        "failureReason": failure.reason,
    }
    return event_of(request, [payload], context)


def _sub_status(intent: Intent) -> str:
    if intent.status in (IntentStatus.PARTIAL, IntentStatus.REFUNDED):
        return "bounced"
    reason = (intent.crossing.reason or "") if intent.crossing is not None else ""
    return "insufficient_funds" if any(text in reason.lower() for text in _TOO_LITTLE) else "failed"
