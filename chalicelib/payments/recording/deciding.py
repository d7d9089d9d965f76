"""Decides what recording one part of a payable's transfers changes, and which events follow.

    transfer -- removed, moved or added -- its cause (causes/): transfers, escrow, refunds, unmatched -- Changes
"""

from dataclasses import replace

from chalicelib.payments.events import number_events
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording import matching, rules
from chalicelib.payments.recording.causes.escrow import add_event, move_event, remove_event
from chalicelib.payments.recording.causes.refunds import add_refund, remove_refund
from chalicelib.payments.recording.causes.state import State
from chalicelib.payments.recording.causes.transfers import add_transfer, move_payment, reverse_payment, subtract_dust
from chalicelib.payments.recording.causes.unmatched import add_unmatched, move_unmatched, remove_unmatched
from chalicelib.payments.recording.changes import UNDECIDED, Changes, Stored
from chalicelib.payments.recording.valuation import Accepted
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState, UnrecordedTransfers
from chalicelib.webhooks.rules import EventContext


def decide(
    payable: Payable, part: UnrecordedTransfers, stored: Stored, accepted: Accepted, context: EventContext
) -> Changes:
    """What a part changes: first its removed transfers are undone, then its added ones recorded.

    A transfer that moved to another block with the same content is not undone: only its block changes. A part that was
    recorded already changes nothing. A transfer without a valuation rate that needs one becomes UNVALUED.
    """
    state = State(payable, part, stored, accepted, context)
    added = {(entry.tx_hash, entry.event_key): entry for entry in state.entries(part.added)}
    for entry in state.entries(part.removed):
        successor = added.get((entry.tx_hash, entry.event_key))
        if successor is not None and rules.same_content(entry, successor):
            _move(state, entry, successor)
        else:
            _remove(state, entry)
    for entry in state.entries(part.added):
        _add(state, entry)
    _number_events(state)
    return state.changes


def _number_events(state: State) -> None:
    """Numbers the events, and puts the requests that they are about, also those of which nothing else changes."""
    about = {each.request_id for each in state.changes.events}
    known = (each for each in state.payable.requests if each.request_id in about)
    requests, events = number_events(known, state.changes.events)
    state.changes.events = list(events)
    for request in requests:
        state.put_request(request)


def _add(state: State, entry: LoggedTransfer) -> None:
    request = state.request_of(entry)
    if entry.escrow is not None:
        add_event(state, entry)
    elif request is None:
        add_refund(state, entry)
    elif rules.is_due(state.part, entry):
        reason = rules.mismatch(state.payable, request, entry)
        if reason is None:
            add_transfer(state, entry, request)
        else:
            add_unmatched(state, entry, request, reason)


def _remove(state: State, entry: LoggedTransfer) -> None:
    request = state.request_of(entry)
    if entry.state is TransferState.REFUND:
        remove_refund(state, entry)
    elif request is None:
        return
    elif entry.state is TransferState.ESCROW:
        remove_event(state, entry, request)
    elif entry.state is TransferState.DUST:
        subtract_dust(state, entry, request)
    elif entry.state is TransferState.PAYMENT:
        reverse_payment(state, entry, request)
    elif entry.state is TransferState.UNMATCHED:
        remove_unmatched(state, entry, request)
    state.mark(entry, TransferState.REVERSED)


def _move(state: State, entry: LoggedTransfer, successor: LoggedTransfer) -> None:
    """Gives a transfer its new block, in the state that it has."""
    if (sent := state.sent_refunds.get(entry.transfer_id)) is not None:
        state.sent_refunds[successor.transfer_id] = moved = matching.move_to_block(successor, sent)
        state.changes.put(moved)
    is_of_request = entry.transfer_id in state.ids and entry.state not in UNDECIDED
    if is_of_request and entry.state is not TransferState.REFUND:
        move_payment(state, entry, successor)
        move_event(state, entry, successor)
        move_unmatched(state, entry, successor)
    if is_of_request or entry.state is TransferState.REFUND:
        state.mark(replace(successor, value=entry.value), entry.state)
    state.mark(entry, TransferState.REVERSED)
