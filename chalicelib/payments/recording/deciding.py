"""Deciding: what recording one part of a payable's transfers changes, and which events follow."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.ledger import is_balanced
from chalicelib.commerce.core.records import EscrowEntry
from chalicelib.offramp.core.rules import Notification
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording import (
    commerce,
    matching,
    refund_totals,
    refunds,
    rules,
    unexpected,
    unmatched,
    valuing,
)
from chalicelib.payments.recording.matching import Decision
from chalicelib.payments.recording.offramps import follow_payment
from chalicelib.payments.recording.rules import OPEN, UNDECIDED, Changes, RecordedId, Stored
from chalicelib.payments.recording.valuing import Accepted, Valuation
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, Refund, SentRefund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId, TransferState, UnrecordedTransfers
from chalicelib.webhooks.rules import EventContext


def decide(
    payable: Payable, part: UnrecordedTransfers, stored: Stored, accepted: Accepted, context: EventContext
) -> Changes:
    """What a part changes: first its removed transfers are undone, then its added ones recorded.

    A transfer that moved to another block with the same content is not undone: only its block changes. A part that was
    recorded already changes nothing. A transfer without a valuation rate that needs one becomes UNVALUED.
    """
    return _Deciding(payable, part, stored, accepted, context).changes


class _Deciding:
    def __init__(
        self, payable: Payable, part: UnrecordedTransfers, stored: Stored, accepted: Accepted, context: EventContext
    ) -> None:
        self.changes = Changes(payable)
        self._part, self._stored, self._accepted, self._context = part, stored, accepted, context
        self._payments, self._unmatched = dict(stored.payments), dict(stored.unmatched)
        self._refunds, self._ledger = dict(stored.refunds), dict(stored.ledger)
        self._returned, self._ids = dict(stored.returned), rules.ids(payable, stored.entries.values())
        added = {(entry.tx_hash, entry.event_key): entry for entry in self._entries(part.added)}
        for entry in self._entries(part.removed):
            successor = added.get((entry.tx_hash, entry.event_key))
            if successor is not None and rules.same_content(entry, successor):
                self._move(entry, successor)
            else:
                self._remove(entry)
        for entry in self._entries(part.added):
            self._add(entry)

    def _entries(self, wanted: Iterable[TransferId]) -> Iterator[LoggedTransfer]:
        """The entries in their state after the changes so far."""
        for each in wanted:
            entry = self._stored.entries.get(each)
            if entry is not None:
                current = self.changes.records.get(entry.key, entry)
                assert isinstance(current, LoggedTransfer)
                yield current

    def _request(self, entry: LoggedTransfer) -> Request | None:
        known = self._ids.get(entry.transfer_id)
        requests = self.changes.payable.requests
        return next((each for each in requests if known is not None and each.request_id == known.request_id), None)

    def _add(self, entry: LoggedTransfer) -> None:
        request = self._request(entry)
        if entry.escrow is not None:
            self._add_escrow(entry, request)
            return
        if request is None:
            self._add_refund(entry)
            return
        if not rules.is_due(self._part, entry):
            return
        reason = rules.mismatch(self.changes.payable, request, entry)
        if reason is not None:
            self._add_unmatched(request, entry, reason)
            return
        known = self._payments.get(self._ids[entry.transfer_id])
        if self._part.waits_for_rate and known is not None and _is_later(known, entry):
            self._mark(entry, TransferState.PAYMENT)
            return
        valuation = self._valuation(request, known, entry)
        if valuation is None:
            self.changes.unvalued.append(entry.transfer_id)
            self._mark(entry, TransferState.UNVALUED)
            return
        decision = matching.record(self.changes.payable, request, known, entry, valuation, self._context)
        self._apply(decision)
        valuation_rate = self._stored.valuation_rates.get(entry.transfer_id)
        if decision is not None and valuation_rate is not None and valuation_rate.locked is not None:
            self.changes.put(replace(valuation_rate.locked, tx_hash=entry.tx_hash, event_key=entry.event_key))
        if decision is not None and decision.payment is None:
            self._mark(replace(entry, value=valuation.value), TransferState.DUST)
        else:
            self._mark(entry, TransferState.PAYMENT)

    def _valuation(self, request: Request, known: Payment | None, entry: LoggedTransfer) -> Valuation | None:
        """What a transfer counts for; None if that needs a valuation rate and there is none."""
        if known is not None and rules.has_value(known, entry):
            return Valuation.of_payment(known)
        valuation_rate = self._stored.valuation_rates.get(entry.transfer_id)
        if valuation_rate is None and valuing.needs_valuation_rate(request, entry, self._accepted):
            return None
        valuation = valuing.valuation(request, entry, valuation_rate, self._accepted)
        return replace(valuation, dollar_rate=self._stored.dollar_rates.get(entry.transfer_id))

    def _add_escrow(self, entry: LoggedTransfer, request: Request | None) -> None:
        """Adds an event of the escrow to the ledger of its payment; a capture is a payment of the request, too."""
        payment, event = self.changes.payable.commerce, entry.escrow
        if entry.state not in OPEN:
            return
        if payment is None or request is None or event is None:
            self._ignore(entry, "no commerce payment")
            return
        reference = self._stored.references.get(entry.reference_topic)
        reason = commerce.mismatch(payment, event, reference)
        if reason is not None:
            self._ignore(entry, reason)
            return
        known = self._ledger.get(entry.transfer_id)
        posting = commerce.post(payment, request, entry, known, reference, self._context)
        self._put_posting(posting, entry)
        transfer = commerce.transfer_of_capture(posting.payment, entry)
        if transfer is not None:
            earlier = self._payments.get(self._ids[entry.transfer_id])
            dollar_rate, payable = self._stored.dollar_rates.get(entry.transfer_id), self.changes.payable
            valuation = Valuation.of_payment(earlier) if earlier else Valuation(event.amount, dollar_rate=dollar_rate)
            self._apply(matching.record(payable, posting.request, earlier, transfer, valuation, self._context))
        self._add_returned(entry)
        self._mark(entry, TransferState.ESCROW)

    def _add_returned(self, entry: LoggedTransfer) -> None:
        """Adds the line of a refund by the escrow; nothing for another event."""
        payable, request = self.changes.payable, self._request(entry)
        if (
            payable.commerce is None
            or request is None
            or (sent := commerce.transfer_of_refund(payable.commerce, entry)) is None
        ):
            return
        known, now = self._returned.get(entry.transfer_id), self._context.now
        dollar_rate = self._stored.dollar_rates.get(entry.transfer_id)
        self._put_returned(entry, *refund_totals.count_escrow_refund(payable, request, sent, known, dollar_rate, now))

    def _ignore(self, entry: LoggedTransfer, reason: str) -> None:
        self.changes.differing.append((entry, reason))
        self._mark(entry, TransferState.IGNORED)

    def _remove_escrow(self, entry: LoggedTransfer) -> None:
        """Undoes an event of the escrow that is in the ledger."""
        payment, request = self.changes.payable.commerce, self._request(entry)
        known = self._ledger.get(entry.transfer_id)
        if payment is None or request is None or entry.escrow is None:
            return
        if entry.escrow.kind is EscrowEventKind.PRE_APPROVED:
            known = commerce.entry_of(payment, entry, self._stored.references.get(entry.reference_topic))
        if known is None:
            return
        posting = commerce.undo(payment, request, known, self._context)
        if posting is None:
            return
        transfer = commerce.transfer_of_capture(payment, entry)
        self._put_posting(posting, entry)
        if transfer is not None:
            self._unpay(transfer, posting.request)
        self._take_back_returned(entry, self._request(entry))

    def _put_posting(self, posting: commerce.Posting, entry: LoggedTransfer) -> None:
        before = self.changes.payable
        self.changes.payable = replace(before, commerce=posting.payment)
        self.changes.put(posting.payment)
        if posting.entry.kind is not EscrowEventKind.PRE_APPROVED:  # of which anybody can make any number
            self._put_entry(entry.transfer_id, posting.entry)
        if posting.request not in before.requests:
            by = replace(entry, payer=posting.payment.payer)
            self._apply(matching.reassess(self.changes.payable, posting.request, by, self._context))
        if posting.reference is not None:
            self.changes.put(posting.reference)
        self.changes.events += posting.events
        self.changes.recorded += 1
        if not is_balanced(posting.payment):
            self.changes.differing.append((entry, "an event is missing"))

    def _put_entry(self, transfer_id: TransferId, entry: EscrowEntry) -> None:
        self._ledger[transfer_id] = entry
        self.changes.put(entry)

    def _add_refund(self, entry: LoggedTransfer) -> None:
        """Adds a transfer that has no request's reference: it sends a refund, or has no effect."""
        if entry.state not in OPEN:
            return
        refund = self._refund(entry)
        requests = {each.request_id: each for each in self.changes.payable.requests}
        if refund is None or not refunds.is_sent_by(refund, entry) or refund.request_id not in requests:
            reason = "reference without a request" if refund is None else "refund to another address"
            self.changes.skipped.append((entry, reason))
            self._mark(entry, TransferState.IGNORED)
            return
        request = requests[refund.request_id]
        known, dollar_rate = self._returned.get(entry.transfer_id), self._stored.dollar_rates.get(entry.transfer_id)
        payable, now = self.changes.payable, self._context.now
        after, line = refund_totals.count_refund(payable, request, refund, entry, known, dollar_rate, now)
        sent, event = refunds.send(refund, entry, request, refund_totals.is_noticed(request, line), self._context)
        self._put_refund(sent)
        self._put_returned(entry, after, line)
        self.changes.events += [event] if event is not None else []
        self._mark(entry, TransferState.REFUND)

    def _put_returned(self, entry: LoggedTransfer, request: Request, sent: SentRefund | None) -> None:
        """Writes a request and the line of its refund, if they have changed."""
        if sent is None or sent == self._returned.get(entry.transfer_id):
            return
        self._returned[entry.transfer_id] = sent
        self.changes.put(sent)
        self._put_request(request)

    def _take_back_returned(self, entry: LoggedTransfer, request: Request | None) -> None:
        sent = self._returned.get(entry.transfer_id)
        if sent is not None and request is not None:
            self._put_returned(entry, *refund_totals.remove_refund(request, sent))

    def _refund(self, entry: LoggedTransfer) -> Refund | None:
        key = refunds.refund_key(entry)
        return None if key is None else self._refunds.get(key)

    def _add_unmatched(self, request: Request, entry: LoggedTransfer, reason: str) -> None:
        """Adds a transfer that does not count, unless the request has enough of its kind."""
        self.changes.skipped.append((entry, reason))
        known, after = self._unmatched.get(self._ids[entry.transfer_id]), request
        if known is None:
            place = unmatched.find_place(request, entry, self._unmatched.values())
            if place is None:
                self._mark(entry, TransferState.IGNORED)
                return
            after = place.request
            self._displace(place.displaced)
        if known is None or known.status is PaymentStatus.REVERSED or known.block_hash != entry.block_hash:
            new = unmatched.unmatched_transfer(request, entry, reason, self._context.now)
            if known is not None:
                new = replace(new, version=known.version, is_unexpected=known.is_unexpected)
            if known is None or known.status is PaymentStatus.REVERSED:
                payable, others = self.changes.payable, self._unmatched.values()
                after, new, events = unexpected.notify_unmatched(
                    payable, after, new, others, entry.payer, self._context
                )
                self.changes.events += events
            self._put_unmatched(new)
        if after != request:
            self._put_request(after)
        self._mark(entry, TransferState.UNMATCHED)

    def _displace(self, transfer: UnmatchedTransfer | None) -> None:
        if transfer is not None:
            del self._unmatched[RecordedId.of(transfer)]
            self.changes.delete(transfer)

    def _remove(self, entry: LoggedTransfer) -> None:
        if entry.state is TransferState.REFUND:
            if (refund := self._refund(entry)) is not None:
                self._put_refund(refunds.undo(refund, entry))
                of_refund = (each for each in self.changes.payable.requests if each.request_id == refund.request_id)
                self._take_back_returned(entry, next(of_refund, None))
            self._mark(entry, TransferState.REVERSED)
            return
        request = self._request(entry)
        if request is None:
            return
        if entry.state is TransferState.ESCROW:
            self._remove_escrow(entry)
        elif entry.state is TransferState.DUST:
            self._apply(matching.subtract(self.changes.payable, request, entry, self._context))
        elif entry.state is TransferState.PAYMENT:
            self._reverse(entry, request)
        elif entry.state is TransferState.UNMATCHED:
            transfer = self._unmatched.get(self._ids[entry.transfer_id])
            if transfer is not None and transfer.block_hash == entry.block_hash and request is not None:
                gone, payable = replace(transfer, status=PaymentStatus.REVERSED), self.changes.payable
                self.changes.events += unexpected.correction_events(payable, request, gone, self._context, entry.payer)
                self._put_unmatched(replace(gone, is_unexpected=False))
        self._mark(entry, TransferState.REVERSED)

    def _reverse(self, entry: LoggedTransfer, request: Request) -> None:
        known = self._payments.get(self._ids[entry.transfer_id])
        if known is not None and known.block_hash == entry.block_hash:
            listed = self._stored.listed[request.request_id]
            others = [self._payments.get(RecordedId.of(each), each) for each in listed]
            self._apply(matching.reverse(self.changes.payable, request, known, others, self._context))

    def _unpay(self, transfer: LoggedTransfer, request: Request) -> None:
        """Undoes the payment of a capture, or what it was added up as dust with if there were too many."""
        if self._ids[transfer.transfer_id] in self._payments:
            self._reverse(transfer, request)
        else:
            self._apply(matching.subtract(self.changes.payable, request, transfer, self._context))

    def _move(self, entry: LoggedTransfer, successor: LoggedTransfer) -> None:
        """Gives the transfer its new block, in the state that it has."""
        recorded_id = self._ids.get(entry.transfer_id)
        if (sent := self._returned.get(entry.transfer_id)) is not None:
            self._returned[successor.transfer_id] = moved_refund = matching.move_to_block(successor, sent)
            self.changes.put(moved_refund)
        if entry.state is TransferState.REFUND:
            self._mark(successor, entry.state)
            self._mark(entry, TransferState.REVERSED)
            return
        if recorded_id is None or entry.state in UNDECIDED:
            self._mark(entry, TransferState.REVERSED)
            return
        if (known := self._payments.get(recorded_id)) is not None:
            self._put_payment(matching.move_to_block(successor, known))
        if (posted := self._ledger.get(entry.transfer_id)) is not None:
            voided, moved = commerce.move(posted, successor)
            earlier = self._ledger.get(successor.transfer_id)
            self._put_entry(entry.transfer_id, voided)
            self._put_entry(successor.transfer_id, replace(moved, version=earlier.version if earlier else 0))
        if (transfer := self._unmatched.get(recorded_id)) is not None:
            self._put_unmatched(matching.move_to_block(successor, transfer))
        self._mark(replace(successor, value=entry.value), entry.state)
        self._mark(entry, TransferState.REVERSED)

    def _apply(self, decision: Decision | None) -> None:
        if decision is None:
            return
        self.changes.payable = matching.apply(self.changes.payable, decision)
        self._put_request(decision.request)
        for payment in (decision.payment, decision.announced):
            if payment is not None:
                self._put_payment(payment)
        self.changes.events += decision.events
        self.changes.recorded += 1
        self._follow(decision)

    def _follow(self, decision: Decision) -> None:
        """Advances the off-ramp order of the request, if it has one."""
        payable = self.changes.payable
        if payable.order is None:
            return
        is_undone = any(event.kind == Notification.FAILED for event in decision.events)
        payment = self._completing(decision.request)
        followed = follow_payment(payable, payable.order, decision.request, payment, is_undone, self._context)
        if followed.order != payable.order:
            self.changes.payable = replace(payable, order=followed.order)
            self.changes.put(followed.order)
            self._put_request(followed.request)
            self.changes.events += followed.events

    def _completing(self, request: Request) -> Payment | None:
        """The payment that completed a request, if it is among those that are read or changed here."""
        listed = self._stored.listed.get(request.request_id, ())
        known = {**{RecordedId.of(each): each for each in listed}, **self._payments}
        confirmed = (each for each in known.values() if each.status is PaymentStatus.CONFIRMED)
        return next((each for each in confirmed if each.tx_hash == request.tx_hash), None)

    def _put_payment(self, payment: Payment) -> None:
        self._payments[RecordedId.of(payment)] = payment
        self.changes.put(payment)

    def _put_refund(self, refund: Refund) -> None:
        self._refunds[refund.topic, refund.currency] = refund
        self.changes.put(refund)

    def _put_unmatched(self, transfer: UnmatchedTransfer) -> None:
        self._unmatched[RecordedId.of(transfer)] = transfer
        self.changes.put(transfer)

    def _put_request(self, request: Request) -> None:
        requests = self.changes.payable.requests
        changed = tuple(request if each.request_id == request.request_id else each for each in requests)
        self.changes.payable = replace(self.changes.payable, requests=changed)
        self.changes.put(request)

    def _mark(self, entry: LoggedTransfer, state: TransferState) -> None:
        if entry.state is not state:
            self.changes.put(replace(entry, state=state))


def _is_later(known: Payment, entry: LoggedTransfer) -> bool:
    """Whether a transfer counts in a later block than its entry's: work that waits for rates is in no order."""
    return known.status is PaymentStatus.CONFIRMED and known.block_number > entry.block_number
