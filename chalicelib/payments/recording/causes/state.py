"""The state of a payable while transfers of it are decided one after the other, each by its cause."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from chalicelib.commerce.core.records import EscrowEntry
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording.changes import Changes, RecordedId, Stored, recorded_ids
from chalicelib.payments.recording.valuation import Accepted
from chalicelib.payments.requests.payments.records import Payment, Refund, SentRefund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId, TransferState, UnrecordedTransfers
from chalicelib.webhooks.rules import EventContext


class State:
    """What is stored for a part, as the changes so far leave it, and those changes.

    What is put is written, and is what the next transfer of the part finds.
    """

    def __init__(
        self, payable: Payable, part: UnrecordedTransfers, stored: Stored, accepted: Accepted, context: EventContext
    ) -> None:
        self.changes = Changes(payable)
        self.part, self.stored, self.accepted, self.context = part, stored, accepted, context
        self.payments, self.unmatched = dict(stored.payments), dict(stored.unmatched)
        self.refunds, self.ledger = dict(stored.refunds), dict(stored.ledger)
        self.sent_refunds = dict(stored.sent_refunds)
        self.ids = recorded_ids(payable, stored.entries.values())

    @property
    def payable(self) -> Payable:
        return self.changes.payable

    def entries(self, wanted: Iterable[TransferId]) -> Iterator[LoggedTransfer]:
        """The entries in their state after the changes so far."""
        for each in wanted:
            entry = self.stored.entries.get(each)
            if entry is not None:
                current = self.changes.records.get(entry.key, entry)
                assert isinstance(current, LoggedTransfer)
                yield current

    def request_of(self, entry: LoggedTransfer) -> Request | None:
        """The request that a transfer has the reference of, as it is now."""
        known = self.ids.get(entry.transfer_id)
        return None if known is None else self.request(known.request_id)

    def request(self, request_id: str) -> Request | None:
        return next((each for each in self.payable.requests if each.request_id == request_id), None)

    def payment_of(self, entry: LoggedTransfer) -> Payment | None:
        return self.payments.get(self.ids[entry.transfer_id])

    def mark(self, entry: LoggedTransfer, state: TransferState) -> None:
        if entry.state is not state:
            self.changes.put(replace(entry, state=state))

    def ignore(self, entry: LoggedTransfer, reason: str) -> None:
        """Marks a transfer that does not count, which the log tells."""
        self.changes.skipped.append((entry, reason))
        self.mark(entry, TransferState.IGNORED)

    def put_request(self, request: Request) -> None:
        changed = (request if each.request_id == request.request_id else each for each in self.payable.requests)
        self.changes.payable = replace(self.payable, requests=tuple(changed))
        self.changes.put(request)

    def put_payment(self, payment: Payment) -> None:
        self.payments[RecordedId.of(payment)] = payment
        self.changes.put(payment)

    def put_refund(self, refund: Refund) -> None:
        self.refunds[refund.topic, refund.currency] = refund
        self.changes.put(refund)

    def put_sent_refund(self, entry: LoggedTransfer, request: Request, sent: SentRefund | None) -> None:
        """Puts a request and the line of its refund, if they have changed."""
        if sent is not None and sent != self.sent_refunds.get(entry.transfer_id):
            self.sent_refunds[entry.transfer_id] = sent
            self.changes.put(sent)
            self.put_request(request)

    def put_unmatched(self, transfer: UnmatchedTransfer) -> None:
        self.unmatched[RecordedId.of(transfer)] = transfer
        self.changes.put(transfer)

    def put_entry(self, transfer_id: TransferId, entry: EscrowEntry) -> None:
        self.ledger[transfer_id] = entry
        self.changes.put(entry)
