"""Transfers with the reference of a request that do not count for it."""

from dataclasses import replace

from chalicelib.payments.recording import matching, notices, unmatched
from chalicelib.payments.recording.causes.state import State
from chalicelib.payments.recording.changes import RecordedId
from chalicelib.payments.requests.payments.records import PaymentStatus
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState


def add_unmatched(state: State, entry: LoggedTransfer, request: Request, reason: str) -> None:
    """Stores a transfer that does not count, unless the request has enough of its kind."""
    state.changes.skipped.append((entry, reason))
    known, after = state.unmatched.get(state.ids[entry.transfer_id]), request
    if known is None:
        place = unmatched.find_place(request, entry, state.unmatched.values())
        if place is None:
            state.mark(entry, TransferState.IGNORED)
            return
        after = place.request
        if place.displaced is not None:
            del state.unmatched[RecordedId.of(place.displaced)]
            state.changes.delete(place.displaced)
    if known is None or known.status is PaymentStatus.REVERSED or known.block_hash != entry.block_hash:
        new = unmatched.unmatched_transfer(request, entry, reason, state.context.now)
        if known is not None:
            new = replace(new, version=known.version, is_unexpected=known.is_unexpected)
        if known is None or known.status is PaymentStatus.REVERSED:
            others = state.unmatched.values()
            after, new, events = notices.notify_unmatched(
                state.payable, after, new, others, entry.payer, state.context
            )
            state.changes.events += events
        state.put_unmatched(new)
    if after != request:
        state.put_request(after)
    state.mark(entry, TransferState.UNMATCHED)


def remove_unmatched(state: State, entry: LoggedTransfer, request: Request) -> None:
    """Marks a stored transfer as gone, and tells so if it was announced."""
    transfer = state.unmatched.get(state.ids[entry.transfer_id])
    if transfer is not None and transfer.block_hash == entry.block_hash:
        gone = replace(transfer, status=PaymentStatus.REVERSED)
        state.changes.events += notices.correction_events(state.payable, request, gone, state.context, entry.payer)
        state.put_unmatched(replace(gone, is_unexpected=False))


def move_unmatched(state: State, entry: LoggedTransfer, successor: LoggedTransfer) -> None:
    """Gives a stored transfer its new block."""
    transfer = state.unmatched.get(state.ids[entry.transfer_id])
    if transfer is not None:
        state.put_unmatched(matching.move_to_block(successor, transfer))
