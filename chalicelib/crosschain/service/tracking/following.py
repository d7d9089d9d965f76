"""What a check of payments from another chain changes: their intents, the payments that they made, and the events."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.crosschain.service.tracking import rules, times
from chalicelib.crosschain.service.tracking.deposits import covers, least_due_of, request_of
from chalicelib.crosschain.service.tracking.events import failed_event
from chalicelib.crosschain.service.tracking.observations import SourceSeen
from chalicelib.crosschain.service.tracking.observing import observed
from chalicelib.payments.events import Counted
from chalicelib.payments.links.records import Intent, IntentStatus, Payable, PayableLink
from chalicelib.payments.rates.rules import RateUnavailable
from chalicelib.payments.recording import counting
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Origin, Payment, PaymentKind
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Add
from chalicelib.webhooks.records import Event


@frozen
class Concluded:
    """The intents after a check, and what is written with them. `failures_told` is the new number of the record,
    `counts` what changed payments add to the daily counts."""

    intents: tuple[Intent, ...]
    failures_told: int
    payments: tuple[Payment, ...] = ()
    counts: tuple[Add, ...] = ()
    events: tuple[Event, ...] = ()


def checked(services: Services, payment: Payable, intent: Intent, unavailable: set[str]) -> Intent:
    """The intent after a check of both chains; see observing.py for the calls.

    Logs an error, of which an alarm is made, for one whose outcome is overdue.
    """
    now = services.clock()
    known, seen = observed(services, payment, intent, unavailable)
    if seen.source is not None:
        seen = replace(seen, source=_measured(services, payment, intent, seen.source))
    after = rules.decide(known, seen, now)
    if after.status is IntentStatus.PENDING and times.is_overdue(after, now):
        crossing = after.crossing
        assert crossing is not None, "it comes from another chain"
        facts = {"link": after.link_token, "intent_id": after.intent_id, "stage": crossing.stage.value}
        places = {"network": after.network, "tx_hash": after.transaction_hash, "destination": crossing.destination}
        services.log.error("crosschain outcome unknown", extra={**facts, **places})
    return after


def _measured(services: Services, payment: Payable, intent: Intent, seen: SourceSeen) -> SourceSeen:
    """What was read, with whether a deposit for a link covers what is due, if it is read for the first time."""
    assert intent.crossing is not None, "it comes from another chain"
    request = request_of(payment.requests, seen.deposit) if seen.deposit is not None else None
    if not isinstance(payment, PayableLink) or intent.crossing.deposit is not None:
        return seen
    if request is None or seen.deposit is None:
        return seen
    least: int | None
    try:
        least = least_due_of(services, (payment,), request)
    except RateUnavailable:  # then it is not known to be too little
        least = 0
    return replace(seen, covers=seen.covers and covers(seen.deposit, request, least))


def put_off(before: Sequence[Intent], after: Sequence[Intent], now: datetime) -> list[Intent]:
    """The intents as long as the recorder has work for their link: those that have ended are checked again."""
    pairs = zip(before, after, strict=True)
    return [times.postponed(one, now) if other.status is not IntentStatus.PENDING else other for one, other in pairs]


def concluded(
    services: Services,
    payment: Payable,
    record: Intent,
    before: Sequence[Intent],
    after: Sequence[Intent],
    offered: Counted | None = None,
) -> Concluded:
    """What follows from the ends of intents; `payment` is the link with all that was recorded for it.

    `offered` is what the payment counts for, if its payer was offered that.

    The payment that an intent made gets its origin, and the intent is marked if it was not owed any more: one query.
    As long as that payment is not recorded the intent stays open, because its link is not completed by it.
    `payment.failed` follows for a proven payment that failed, unless its request is paid, up to MAX_FAILURES_TOLD. It
    stays open, too, while there is no rate to tell it in the invoice currency.
    """
    intents, told = list[Intent](), record.failures_told
    payments, counts, events = list[Payment](), list[Add](), list[Event]()
    for one, other in zip(before, after, strict=True):
        request = _request(payment, other)
        if other.status is IntentStatus.SETTLED and request is not None:
            made = _payments_of(services, request, other)
            if not made and request.status is not RequestStatus.PAID:  # detection has missed it, and reads it again
                intents.append(times.postponed(one, services.clock()))
                continue
            changed = [_brought_by(other, each) for each in made]
            counts += [Add(*each) for each in counting.amounts(made, changed)]
            payments += changed
            other = _with_surplus(other, made)
        is_open = request is not None and request.status is not RequestStatus.PAID
        if rules.is_failure(one, other) and request is not None and is_open and told < rules.MAX_FAILURES_TOLD:
            try:
                events.append(failed_event(services, request, other, offered))
            except RateUnavailable:
                intents.append(times.postponed(one, services.clock()))
                continue
            told += 1
        intents.append(other)
    return Concluded(tuple(intents), told, tuple(payments), tuple(counts), tuple(events))


def _request(payment: Payable, intent: Intent) -> Request | None:
    deposit = intent.crossing.deposit if intent.crossing is not None else None
    return request_of(payment.requests, deposit) if deposit is not None else None


def _payments_of(services: Services, request: Request, intent: Intent) -> tuple[Payment, ...]:
    """The payment of a request that the fill of an intent made; none if it is too small to be listed.

    Others in the transaction are of other fills, whose depositors are somebody else.
    """
    crossing = intent.crossing
    if crossing is None or crossing.destination_hash is None:
        return ()
    found = payment_store.payments_by(services.store, request.request_id, request.network, crossing.destination_hash)
    return tuple(each for each in found if each.event_key == crossing.payment_key)


def _brought_by(intent: Intent, payment: Payment) -> Payment:
    """The payment with its origin; with its type and payer, too, if its receipt could not be read when it was found."""
    assert intent.crossing is not None and intent.crossing.deposit is not None, "its deposit made the payment"
    deposit = intent.crossing.deposit
    return replace(
        payment,
        origin=Origin(intent.network, intent.transaction_hash, deposit.fallback),
        type=PaymentKind.RECURRING if payment.type is PaymentKind.RECURRING else PaymentKind.CROSSCHAIN,
        payer=payment.payer or deposit.depositor,
    )


def _with_surplus(intent: Intent, made: Sequence[Payment]) -> Intent:
    """The intent, marked if the request was paid before: such payments are not announced to the merchant."""
    assert intent.crossing is not None, "it comes from another chain"
    is_surplus = any(not each.is_announced for each in made)
    return replace(intent, crossing=replace(intent.crossing, is_surplus=is_surplus))
