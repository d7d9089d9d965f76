"""What follows from the ends of payments from another chain: for their payments, and the events."""

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.base.frozen import frozen
from chalicelib.payments.announcements.bridges import rules
from chalicelib.payments.announcements.bridges.deposits import request_of
from chalicelib.payments.events import Counted, failed_event
from chalicelib.payments.links.bridge_transfers import failure_reason
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, Payable
from chalicelib.payments.rates.rules import RateUnavailable
from chalicelib.payments.recording import payment_counts
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Origin, Payment, PaymentKind
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import currency_of, invoice_of, remaining
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Add
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.records import Event

_TOO_LITTLE = ("exceeds balance", "insufficient")
"""In reasons for which token contracts revert: the sender has too little."""


@frozen
class Conclusion:
    """The announced transactions after a check, and what is written with them.

    `failures_notified` is the new number of the link, `counts` what changed payments add to the daily counts,
    `requests` those that the events are about.
    """

    transactions: tuple[AnnouncedTransaction, ...]
    failures_notified: int
    payments: tuple[Payment, ...] = ()
    counts: tuple[Add, ...] = ()
    events: tuple[Event, ...] = ()
    requests: tuple[Request, ...] = ()


def conclude_ends(
    services: Services,
    payable: Payable,
    notified: int,
    before: Sequence[AnnouncedTransaction],
    after: Sequence[AnnouncedTransaction],
    offered: Counted | None = None,
) -> Conclusion:
    """What follows from the ends of announced transactions; `payable` is theirs, with all that was recorded for it.
    Those that are paid on its own chain stay as they are.

    `notified` is of how many failures the merchant was notified before, `offered` what the payment counts for, if its
    payer was offered that.

    The payment that an announced transaction made gets its origin, and the announced transaction is marked if it was
    not owed any more: one query. As long as that payment is not recorded the announced transaction stays open, because
    its link is not completed by it.
    `payment.failed` follows for a proven payment that failed, unless its request is paid, up to MAX_FAILURES_NOTIFIED.
    """
    transactions = list[AnnouncedTransaction]()
    payments, counts, events = list[Payment](), list[Add](), list[Event]()
    failed = dict[str, Request]()
    for one, other in zip(before, after, strict=True):
        request = _request(payable, other)
        if other.status is AnnouncedStatus.SETTLED and request is not None:
            made = _payments_of(services, request, other)
            if not made and request.status is not RequestStatus.PAID:  # detection has missed it, and reads it again
                transactions.append(rules.postpone_check(one, services.clock()))
                continue
            changed = [_add_origin(other, each) for each in made]
            counts += [Add(*each) for each in payment_counts.amounts(made, changed)]
            payments += changed
            other = _with_surplus(other, made)
        is_open = request is not None and request.status is not RequestStatus.PAID
        if rules.is_failure(one, other) and request is not None and is_open and notified < rules.MAX_FAILURES_NOTIFIED:
            events.append(fail_announced(services, request, other, offered))
            failed[request.request_id] = request
            notified += 1
        transactions.append(other)
    written = tuple(payments), tuple(counts), tuple(events), tuple(failed.values())
    return Conclusion(tuple(transactions), notified, *written)


def _request(payable: Payable, announced: AnnouncedTransaction) -> Request | None:
    deposit = announced.bridge_transfer.deposit if announced.bridge_transfer is not None else None
    return request_of(payable.requests, deposit) if deposit is not None else None


def _payments_of(services: Services, request: Request, announced: AnnouncedTransaction) -> tuple[Payment, ...]:
    """The payment of a request that the fill of an announced transaction made; none if it is too small to be listed.

    Others in the transaction are of other fills, whose depositors are somebody else.
    """
    bridge_transfer = announced.bridge_transfer
    if bridge_transfer is None or bridge_transfer.destination_hash is None:
        return ()
    found = payment_store.payments_by(
        services.store, request.request_id, request.network, bridge_transfer.destination_hash
    )
    return tuple(each for each in found if each.event_key == bridge_transfer.payment_key)


def _add_origin(announced: AnnouncedTransaction, payment: Payment) -> Payment:
    """The payment with its origin; with its type and payer, too, if its receipt could not be read when it was found."""
    bridge_transfer = announced.bridge_transfer
    assert bridge_transfer is not None and bridge_transfer.deposit is not None, "its deposit made the payment"
    deposit = bridge_transfer.deposit
    return replace(
        payment,
        origin=Origin(announced.network, announced.transaction_hash, deposit.fallback),
        type=PaymentKind.RECURRING if payment.type is PaymentKind.RECURRING else PaymentKind.CROSSCHAIN,
        payer=payment.payer or deposit.depositor,
    )


def _with_surplus(announced: AnnouncedTransaction, made: Sequence[Payment]) -> AnnouncedTransaction:
    """The announced transaction, marked if the request was paid before: such payments are not announced to the
    merchant."""
    assert announced.bridge_transfer is not None, "it comes from another chain"
    is_surplus = any(not each.is_announced for each in made)
    return replace(announced, bridge_transfer=replace(announced.bridge_transfer, is_surplus=is_surplus))


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
    from chalicelib.payments.recording.valuation import by_quote
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
