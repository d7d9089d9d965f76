"""The event of a payment from another chain that did not pay."""

from chalicelib.payments.events import Counted, failed
from chalicelib.payments.links.progress import failure_reason
from chalicelib.payments.links.records import Intent, IntentStatus
from chalicelib.payments.rates import flows as rates
from chalicelib.payments.recording.valuing import by_quote
from chalicelib.payments.requests.quotes import flows as quotes
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of
from chalicelib.platform.services import Services
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.records import Event

_TOO_LITTLE = ("exceeds balance", "insufficient")
"""In reasons for which token contracts revert: the sender has too little."""


def failed_event(services: Services, request: Request, intent: Intent, offered: Counted | None) -> Event:
    """`payment.failed` for an intent that ended without paying, with the transaction of the chain that it came from.

    Its amount is what the payment would have counted for: `offered`, if its payer was offered that, else as the
    recorder would have valued it. Its `subStatus` is `failed`, `insufficient_funds` if that is why the transaction
    reverted, or `bounced` if the payer has the tokens back; `failureReason` says it in words. Raises RateUnavailable.
    """
    return failed(
        request,
        failure_reason(intent),
        event_context(services),
        offered or _counted(services, request, intent),
        intent.transaction_hash,
        network=intent.network,
        subStatus=_sub_status(intent),
    )


def _counted(services: Services, request: Request, intent: Intent) -> Counted:
    """By the quote that was valid when it was deposited, else the last that was given, else the rate of that time."""
    crossing, invoice, token = intent.crossing, invoice_of(request), currency_of(request)
    assert crossing is not None and crossing.deposit is not None, "only a proven payment is announced"
    moved, instant = crossing.deposit.amount, crossing.deposited_at or intent.created_at
    if invoice == token:
        return Counted(moved)
    given = quotes.given_at(services.store, request.request_id, instant)
    quote = given.valid or given.last
    rate = quote.rate if quote is not None else rates.at_or_lowest(services, invoice, token, instant)
    return Counted(by_quote(request, moved, rate), moved, rate)


def _sub_status(intent: Intent) -> str:
    if intent.status in (IntentStatus.PARTIAL, IntentStatus.REFUNDED):
        return "bounced"
    reason = (intent.crossing.reason or "") if intent.crossing is not None else ""
    return "insufficient_funds" if any(text in reason.lower() for text in _TOO_LITTLE) else "failed"
