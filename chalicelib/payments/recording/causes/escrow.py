"""Events of the commerce escrow: entries of the ledger, and payments and refunds of the request besides."""

from dataclasses import replace

from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.ledger import is_balanced
from chalicelib.payments.recording import matching
from chalicelib.payments.recording.causes import postings
from chalicelib.payments.recording.causes.refund_totals import count_escrow_refund, remove_refund
from chalicelib.payments.recording.causes.state import State
from chalicelib.payments.recording.causes.transfers import apply, reverse_payment, subtract_dust
from chalicelib.payments.recording.changes import OPEN
from chalicelib.payments.recording.valuation import Valuation
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState


def add_event(state: State, entry: LoggedTransfer) -> None:
    """Adds an event to the ledger of its payment; a capture is a payment of the request, too."""
    payment, request, event = state.payable.commerce, state.request_of(entry), entry.escrow
    if entry.state not in OPEN:
        return
    if payment is None or request is None or event is None:
        _ignore(state, entry, "no commerce payment")
        return
    reference = state.stored.references.get(entry.reference_topic)
    reason = postings.mismatch(payment, event, reference)
    if reason is not None:
        _ignore(state, entry, reason)
        return
    known = state.ledger.get(entry.transfer_id)
    posting = postings.post(payment, request, entry, known, reference, state.context)
    _put_posting(state, posting, entry)
    transfer = postings.transfer_of_capture(posting.payment, entry)
    if transfer is not None:
        earlier, dollar_rate = state.payment_of(entry), state.stored.dollar_rates.get(entry.transfer_id)
        valuation = Valuation.of_payment(earlier) if earlier else Valuation(event.amount, dollar_rate=dollar_rate)
        apply(state, matching.record(state.payable, posting.request, earlier, transfer, valuation, state.context))
    _add_refund(state, entry)
    state.mark(entry, TransferState.ESCROW)


def remove_event(state: State, entry: LoggedTransfer, request: Request) -> None:
    """Undoes an event that is in the ledger, with the payment or refund that it is."""
    payment, known = state.payable.commerce, state.ledger.get(entry.transfer_id)
    if payment is None or entry.escrow is None:
        return
    if entry.escrow.kind is EscrowEventKind.PRE_APPROVED:
        known = postings.entry_of(payment, entry, state.stored.references.get(entry.reference_topic))
    posting = postings.undo(payment, request, known, state.context) if known is not None else None
    if posting is None:
        return
    transfer = postings.transfer_of_capture(payment, entry)
    _put_posting(state, posting, entry)
    if transfer is not None and state.payment_of(entry) is not None:
        reverse_payment(state, transfer, posting.request)
    elif transfer is not None:  # there were too many
        subtract_dust(state, transfer, posting.request)
    sent, request_now = state.sent_refunds.get(entry.transfer_id), state.request_of(entry)
    if sent is not None and request_now is not None:
        state.put_sent_refund(entry, *remove_refund(request_now, sent))


def move_event(state: State, entry: LoggedTransfer, successor: LoggedTransfer) -> None:
    """Gives the entry of an event its new block."""
    posted = state.ledger.get(entry.transfer_id)
    if posted is not None:
        voided, moved = postings.move(posted, successor)
        earlier = state.ledger.get(successor.transfer_id)
        state.put_entry(entry.transfer_id, voided)
        state.put_entry(successor.transfer_id, replace(moved, version=earlier.version if earlier else 0))


def _ignore(state: State, entry: LoggedTransfer, reason: str) -> None:
    state.changes.differing.append((entry, reason))
    state.mark(entry, TransferState.IGNORED)


def _put_posting(state: State, posting: postings.Posting, entry: LoggedTransfer) -> None:
    before = state.payable
    state.changes.payable = replace(before, commerce=posting.payment)
    state.changes.put(posting.payment)
    if posting.entry.kind is not EscrowEventKind.PRE_APPROVED:  # of which anybody can make any number
        state.put_entry(entry.transfer_id, posting.entry)
    if posting.request not in before.requests:
        by = replace(entry, payer=posting.payment.payer)
        apply(state, matching.reassess(state.payable, posting.request, by, state.context))
    if posting.reference is not None:
        state.changes.put(posting.reference)
    state.changes.events += posting.events
    state.changes.recorded += 1
    if not is_balanced(posting.payment):
        state.changes.differing.append((entry, "an event is missing"))


def _add_refund(state: State, entry: LoggedTransfer) -> None:
    """Adds the line of a refund by the escrow; nothing for another event."""
    payment, request = state.payable.commerce, state.request_of(entry)
    sent = postings.transfer_of_refund(payment, entry) if payment is not None else None
    if request is None or sent is None:
        return
    known, dollar_rate = state.sent_refunds.get(entry.transfer_id), state.stored.dollar_rates.get(entry.transfer_id)
    counted = count_escrow_refund(state.payable, request, sent, known, dollar_rate, state.context.now)
    state.put_sent_refund(entry, *counted)
