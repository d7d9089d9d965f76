"""Transfers that send a refund: they have its reference, and none of a request."""

from chalicelib.payments.recording import refund_totals, refunds
from chalicelib.payments.recording.causes.state import State
from chalicelib.payments.recording.changes import OPEN
from chalicelib.payments.requests.payments.records import Refund
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState


def add_refund(state: State, entry: LoggedTransfer) -> None:
    """Adds a transfer to the refund that it sends; it has no effect if there is none."""
    if entry.state not in OPEN:
        return
    refund = _refund_of(state, entry)
    request = state.request(refund.request_id) if refund is not None else None
    if refund is None or request is None or not refunds.is_sent_by(refund, entry):
        state.ignore(entry, "reference without a request" if refund is None else "refund to another address")
        return
    known, dollar_rate = state.sent_refunds.get(entry.transfer_id), state.stored.dollar_rates.get(entry.transfer_id)
    now, payable = state.context.now, state.payable
    after, line = refund_totals.count_refund(payable, request, refund, entry, known, dollar_rate, now)
    is_noticed = refund_totals.is_noticed(request, line)
    sent, event = refunds.send(refund, entry, request, is_noticed, state.context)
    state.put_refund(sent)
    state.put_sent_refund(entry, after, line)
    state.changes.events += [event] if event is not None else []
    state.mark(entry, TransferState.REFUND)


def remove_refund(state: State, entry: LoggedTransfer) -> None:
    """Takes a transfer from the refund that it has sent."""
    refund = _refund_of(state, entry)
    if refund is None:
        return
    state.put_refund(refunds.undo(refund, entry))
    request, sent = state.request(refund.request_id), state.sent_refunds.get(entry.transfer_id)
    if sent is not None and request is not None:
        state.put_sent_refund(entry, *refund_totals.remove_refund(request, sent))


def _refund_of(state: State, entry: LoggedTransfer) -> Refund | None:
    key = refunds.refund_key(entry)
    return None if key is None else state.refunds.get(key)
