"""The event of a payment from another chain that did not pay."""

from chalicelib.payments.events import Counted, failed_event
from chalicelib.payments.links.bridge_transfers import failure_reason
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of, remaining
from chalicelib.platform.services import Services
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.records import Event

_TOO_LITTLE = ("exceeds balance", "insufficient")
"""In reasons for which token contracts revert: the sender has too little."""


def fail_announced(
    services: Services, request: Request, announced: AnnouncedTransaction, offered: Counted | None
) -> Event:
    """`payment.failed` for an announced transaction that ended without paying, with the transaction of the chain that
    it came from.

    Its amount is what the payment would have counted for: `offered`, if its payer was offered that, else as the
    recorder would have valued it. Its `subStatus` is `failed`, `insufficient_funds` if that is why the transaction
    reverted, or `bounced` if the payer has the tokens back; `failureReason` says it in words.
    """
    return failed_event(
        request,
        failure_reason(announced),
        event_context(services),
        offered or _amount_counted(services, request, announced),
        announced.transaction_hash,
        network=announced.network,
        subStatus=_sub_status(announced),
    )


def _amount_counted(services: Services, request: Request, announced: AnnouncedTransaction) -> Counted:
    """By the quote that was valid when it was deposited, else the last that was given, else the rate of that time. If
    nobody has that, what is left of the invoice, without a rate: the merchant is told at once, and the link is free."""
    bridge_transfer, invoice, token = announced.bridge_transfer, invoice_of(request), currency_of(request)
    assert bridge_transfer is not None and bridge_transfer.deposit is not None, "only a proven payment is announced"
    moved, instant = bridge_transfer.deposit.amount, bridge_transfer.deposited_at or announced.created_at
    if invoice == token:
        return Counted(moved)
    from chalicelib.payments.rates import flows as rates  # only few failures are of an invoice in another currency
    from chalicelib.payments.rates.rules import RateUnavailable
    from chalicelib.payments.recording.valuing import by_quote
    from chalicelib.payments.requests.quotes import flows as quotes

    given = quotes.find_given(services.store, request.request_id, instant)
    quote = given.valid or given.last
    try:
        rate = quote.rate if quote is not None else rates.at_or_lowest(services, invoice, token, instant)
    except RateUnavailable:
        return Counted(remaining(request))
    return Counted(by_quote(request, moved, rate), moved, rate)


def _sub_status(announced: AnnouncedTransaction) -> str:
    if announced.status in (AnnouncedStatus.PARTIAL, AnnouncedStatus.REFUNDED):
        return "bounced"
    reason = (announced.bridge_transfer.reason or "") if announced.bridge_transfer is not None else ""
    return "insufficient_funds" if any(text in reason.lower() for text in _TOO_LITTLE) else "failed"
