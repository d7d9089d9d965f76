"""Transfers that pay a request: what recording one changes, what undoing it does, and what follows from both."""

from dataclasses import replace

from chalicelib.offramp.core.rules import Notification
from chalicelib.payments.recording import matching, rules
from chalicelib.payments.recording.causes.offramps import follow_payment
from chalicelib.payments.recording.causes.state import State
from chalicelib.payments.recording.changes import RecordedId
from chalicelib.payments.recording.matching import Decision
from chalicelib.payments.recording.valuation import Valuation, needs_valuation_rate, value_transfer
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState


def add_transfer(state: State, entry: LoggedTransfer, request: Request) -> None:
    """Records a transfer that counts for a request; without a valuation rate that it needs it becomes UNVALUED."""
    known = state.payment_of(entry)
    if state.part.waits_for_rate and known is not None and _is_later(known, entry):
        state.mark(entry, TransferState.PAYMENT)
        return
    valuation = _value(state, request, known, entry)
    if valuation is None:
        state.changes.unvalued.append(entry.transfer_id)
        state.mark(entry, TransferState.UNVALUED)
        return
    decision = matching.record(state.payable, request, known, entry, valuation, state.context)
    apply(state, decision)
    valuation_rate = state.stored.valuation_rates.get(entry.transfer_id)
    if decision is not None and valuation_rate is not None and valuation_rate.locked is not None:
        state.changes.put(replace(valuation_rate.locked, tx_hash=entry.tx_hash, event_key=entry.event_key))
    if decision is not None and decision.payment is None:
        state.mark(replace(entry, value=valuation.value), TransferState.DUST)
    else:
        state.mark(entry, TransferState.PAYMENT)


def reverse_payment(state: State, entry: LoggedTransfer, request: Request) -> None:
    """Undoes the payment that a removed transfer became, unless it is in another block by now."""
    known = state.payment_of(entry)
    if known is not None and known.block_hash == entry.block_hash:
        listed = state.stored.listed[request.request_id]
        others = [state.payments.get(RecordedId.of(each), each) for each in listed]
        apply(state, matching.reverse(state.payable, request, known, others, state.context))


def subtract_dust(state: State, entry: LoggedTransfer, request: Request) -> None:
    """Undoes what a removed transfer was added up with."""
    apply(state, matching.subtract(state.payable, request, entry, state.context))


def move_payment(state: State, entry: LoggedTransfer, successor: LoggedTransfer) -> None:
    known = state.payment_of(entry)
    if known is not None:
        state.put_payment(matching.move_to_block(successor, known))


def apply(state: State, decision: Decision | None) -> None:
    """Puts what a transfer changes; None changes nothing. An off-ramp order of the request follows it."""
    if decision is None:
        return
    state.changes.payable = matching.apply(state.payable, decision)
    state.put_request(decision.request)
    for payment in (decision.payment, decision.announced):
        if payment is not None:
            state.put_payment(payment)
    state.changes.events += decision.events
    state.changes.recorded += 1
    _follow_by_order(state, decision)


def _follow_by_order(state: State, decision: Decision) -> None:
    """Advances the off-ramp order of the request that a transfer changes, if it has one."""
    order, payable = state.payable.order, state.payable
    if order is None:
        return
    is_undone = any(each.kind == Notification.FAILED for each in decision.events)
    payment = _completing_payment(state, decision.request)
    followed = follow_payment(payable, order, decision.request, payment, is_undone, state.context)
    if followed.order != order:
        state.changes.payable = replace(payable, order=followed.order)
        state.changes.put(followed.order)
        state.put_request(followed.request)
        state.changes.events += followed.events


def _completing_payment(state: State, request: Request) -> Payment | None:
    """The payment that completed a request, if it is among those that are read or changed here."""
    listed = state.stored.listed.get(request.request_id, ())
    known = {**{RecordedId.of(each): each for each in listed}, **state.payments}
    confirmed = (each for each in known.values() if each.status is PaymentStatus.CONFIRMED)
    return next((each for each in confirmed if each.tx_hash == request.tx_hash), None)


def _value(state: State, request: Request, known: Payment | None, entry: LoggedTransfer) -> Valuation | None:
    """What a transfer counts for; None if that needs a valuation rate and there is none."""
    if known is not None and rules.has_value(known, entry):
        return Valuation.of_payment(known)
    valuation_rate = state.stored.valuation_rates.get(entry.transfer_id)
    if valuation_rate is None and needs_valuation_rate(request, entry, state.accepted):
        return None
    valuation = value_transfer(request, entry, valuation_rate, state.accepted)
    return replace(valuation, dollar_rate=state.stored.dollar_rates.get(entry.transfer_id))


def _is_later(known: Payment, entry: LoggedTransfer) -> bool:
    """Whether a transfer counts in a later block than its entry's: work that waits for rates is in no order."""
    return known.status is PaymentStatus.CONFIRMED and known.block_number > entry.block_number
