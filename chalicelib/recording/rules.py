"""What recording one part of a bill's transfers changes: which records are written, and which events follow."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Record
from chalicelib.links.records import Bill
from chalicelib.recording import payments, refunds, unmatched, valuing
from chalicelib.recording.payments import Decision
from chalicelib.recording.valuing import Accepted, Basis, Worth
from chalicelib.requests.records import Payment, PaymentStatus, Refund, Request, UnmatchedTransfer
from chalicelib.requests.references import reference_topic
from chalicelib.scanning.records import BEHIND_ALL, LoggedTransfer, TransferId, TransferState, UnrecordedTransfers
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

R = TypeVar("R", Payment, UnmatchedTransfer)
_OPEN = (TransferState.UNRECORDED, TransferState.REVERSED)
_UNDECIDED = (*_OPEN, TransferState.UNVALUED)


@frozen
class RecordedId:
    """Identifies the payment or unmatched transfer of a request that a transfer became."""

    request_id: str
    tx_hash: str
    event_key: str

    @classmethod
    def of(cls, recorded: Payment | UnmatchedTransfer) -> Self:
        return cls(recorded.request_id, recorded.tx_hash, recorded.event_key)


@frozen
class Stored:
    """What is stored for the transfers of a part.

    `listed` are all listed payments of the requests from which the part removes transfers; they are needed for what
    follows from a removal, and are not read otherwise. `refunds` are by topic and currency. `bases` are what transfers
    are valued by (`without_basis`).
    """

    entries: Mapping[TransferId, LoggedTransfer]
    payments: Mapping[RecordedId, Payment]
    unmatched: Mapping[RecordedId, UnmatchedTransfer]
    listed: Mapping[str, tuple[Payment, ...]]
    refunds: Mapping[tuple[str, str], Refund] = field(default_factory=dict)
    bases: Mapping[TransferId, Basis] = field(default_factory=dict)


@dataclass
class Changes:
    """What one part changes, in memory: `bill` is the bill after it, `records` the others to write, by key."""

    bill: Bill
    records: dict[Hashable, Record] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    recorded: int = 0
    """How many transfers were recorded as payments or removed."""
    skipped: list[tuple[LoggedTransfer, str]] = field(default_factory=list)
    """Transfers that do not count, each with the reason."""
    unvalued: list[TransferId] = field(default_factory=list)
    """Transfers that have to be valued by a rate, without one."""

    def put(self, record: Record) -> None:
        self.records[record.key] = record


def requests_by_topic(requests: Iterable[Request]) -> dict[str, Request]:
    """The requests by the topics of their references."""
    return {reference_topic(bytes.fromhex(each.payment_reference[2:])): each for each in requests}


def ids(bill: Bill, entries: Iterable[LoggedTransfer]) -> dict[TransferId, RecordedId]:
    """The id of what each transfer became, or will become; without those whose request is not of the bill."""
    requests = requests_by_topic(bill.requests)
    return {
        entry.transfer_id: RecordedId(requests[entry.reference_topic].request_id, entry.tx_hash, entry.event_key)
        for entry in entries
        if entry.reference_topic in requests
    }


def refund_keys(bill: Bill, entries: Iterable[LoggedTransfer]) -> set[tuple[str, str]]:
    """Topic and currency of the refunds that transfers may send: those without the reference of a request."""
    requests = requests_by_topic(bill.requests)
    keys = {refunds.refund_key(entry) for entry in entries if entry.reference_topic not in requests}
    return {key for key in keys if key is not None}


def with_totals(
    request: Request, listed: Iterable[Payment], unmatched_transfers: Iterable[UnmatchedTransfer]
) -> Request:
    """A request that was written before its totals were kept, with the totals of everything that is stored for it."""
    counted = replace(request, payment_count=sum(1 for _ in listed))
    for each in unmatched_transfers:
        kind = unmatched.kind_of(request, each.token_address, each.payee, each.network)
        counted = unmatched.with_one_more(counted, kind)
    return counted


def differing_totals(request: Request, listed: Sequence[Payment]) -> bool:
    """Whether the totals of a request are not those of its listed payments and of what was only summed up."""
    confirmed = sum(each.counted for each in listed if each.status is PaymentStatus.CONFIRMED)
    return request.paid != confirmed + request.unlisted_amount or request.payment_count != len(listed)


def same_logs(entries: Iterable[LoggedTransfer], recorded: Iterable[R]) -> list[tuple[LoggedTransfer, R]]:
    """The entries with their payments or unmatched transfers, found by block and log index.

    Records from before transfers had event keys are found by nothing else. Their keys were others, so that they are new
    records if they are written again.
    """
    by_log = {(each.network, each.block_hash, each.log_index): each for each in recorded}
    found = ((entry, by_log.get((entry.network, entry.block_hash, entry.log_index))) for entry in entries)
    return [(entry, replace(each, event_key=entry.event_key, version=0)) for entry, each in found if each is not None]


def without_basis(
    bill: Bill, part: UnrecordedTransfers, stored: Stored, accepted: Accepted
) -> list[tuple[LoggedTransfer, Request]]:
    """The transfers that a part adds and that have to be valued by a quote or a rate, with their requests.

    Those that only moved to another block, or come back after a fork, keep their value.
    """
    requests, by_request = ids(bill, stored.entries.values()), {each.request_id: each for each in bill.requests}
    removed = (stored.entries[each] for each in part.removed if each in stored.entries)
    moved = {(each.tx_hash, each.event_key) for each in removed if each.state not in _UNDECIDED}
    found = []
    for each in part.added:
        entry, recorded = stored.entries.get(each), requests.get(each)
        if entry is None or recorded is None or not _is_due(part, entry):
            continue
        if _has_value(stored.payments.get(recorded), entry):
            continue
        request = by_request[recorded.request_id]
        if (entry.tx_hash, entry.event_key) in moved or payments.mismatch(request, entry) is not None:
            continue
        if valuing.needs_basis(request, entry, accepted):
            found.append((entry, request))
    return found


def decide(
    bill: Bill, part: UnrecordedTransfers, stored: Stored, accepted: Accepted, context: EventContext
) -> Changes:
    """What a part changes: first its removed transfers are undone, then its added ones recorded.

    A transfer that moved to another block with the same content is not undone: only its block changes. A part that was
    recorded already changes nothing. A transfer without a basis that needs one becomes UNVALUED.
    """
    return _Deciding(bill, part, stored, accepted, context).changes


class _Deciding:
    def __init__(
        self, bill: Bill, part: UnrecordedTransfers, stored: Stored, accepted: Accepted, context: EventContext
    ) -> None:
        self.changes = Changes(bill)
        self._part, self._stored, self._accepted, self._context = part, stored, accepted, context
        self._payments, self._unmatched = dict(stored.payments), dict(stored.unmatched)
        self._refunds = dict(stored.refunds)
        self._ids = ids(bill, stored.entries.values())
        added = {(entry.tx_hash, entry.event_key): entry for entry in self._entries(part.added)}
        for entry in self._entries(part.removed):
            successor = added.get((entry.tx_hash, entry.event_key))
            if successor is not None and _same_content(entry, successor):
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
        requests = self.changes.bill.requests
        return next((each for each in requests if known is not None and each.request_id == known.request_id), None)

    def _add(self, entry: LoggedTransfer) -> None:
        request = self._request(entry)
        if request is None:
            self._add_refund(entry)
            return
        if not _is_due(self._part, entry):
            return
        reason = payments.mismatch(request, entry)
        if reason is not None:
            self._add_unmatched(request, entry, reason)
            return
        known = self._payments.get(self._ids[entry.transfer_id])
        worth = self._worth(request, known, entry)
        if worth is None:
            self.changes.unvalued.append(entry.transfer_id)
            self._mark(entry, TransferState.UNVALUED)
            return
        decision = payments.record(self.changes.bill, request, known, entry, worth, self._context)
        self._apply(decision)
        if decision is not None and decision.payment is None:
            self._mark(replace(entry, value=worth.value), TransferState.SUMMED)
        else:
            self._mark(entry, TransferState.PAYMENT)

    def _worth(self, request: Request, known: Payment | None, entry: LoggedTransfer) -> Worth | None:
        """What a transfer counts for; None if that needs a basis and there is none."""
        if known is not None and _has_value(known, entry):
            return Worth.known(known)
        basis = self._stored.bases.get(entry.transfer_id)
        if basis is None and valuing.needs_basis(request, entry, self._accepted):
            return None
        return valuing.worth(request, entry, basis, self._accepted)

    def _add_refund(self, entry: LoggedTransfer) -> None:
        """Adds a transfer that has no request's reference: it sends a refund, or has no effect."""
        if entry.state not in _OPEN:
            return
        refund = self._refund(entry)
        requests = {each.request_id: each for each in self.changes.bill.requests}
        if refund is None or not refunds.is_sent_by(refund, entry) or refund.request_id not in requests:
            reason = "reference without a request" if refund is None else "refund to another address"
            self.changes.skipped.append((entry, reason))
            self._mark(entry, TransferState.IGNORED)
            return
        sent, event = refunds.send(refund, entry, requests[refund.request_id], self._context)
        self._put_refund(sent)
        self.changes.events += [event] if event is not None else []
        self._mark(entry, TransferState.REFUND)

    def _refund(self, entry: LoggedTransfer) -> Refund | None:
        key = refunds.refund_key(entry)
        return None if key is None else self._refunds.get(key)

    def _add_unmatched(self, request: Request, entry: LoggedTransfer, reason: str) -> None:
        """Adds a transfer that does not count, unless the request has enough of its kind."""
        self.changes.skipped.append((entry, reason))
        known = self._unmatched.get(self._ids[entry.transfer_id])
        kind = unmatched.kind_of(request, entry.token_address, entry.payee, entry.network)
        if known is None and not unmatched.has_room(request, kind):
            self._mark(entry, TransferState.IGNORED)
            return
        if known is None or known.status is PaymentStatus.REVERSED or known.block_hash != entry.block_hash:
            new = unmatched.unmatched_transfer(request, entry, reason, self._context.now)
            self._put_unmatched(replace(new, version=known.version if known else 0))
        if known is None:
            self._put_request(unmatched.with_one_more(request, kind))
        self._mark(entry, TransferState.UNMATCHED)

    def _remove(self, entry: LoggedTransfer) -> None:
        if entry.state is TransferState.REFUND:
            if (refund := self._refund(entry)) is not None:
                self._put_refund(refunds.undo(refund, entry))
            self._mark(entry, TransferState.REVERSED)
            return
        request = self._request(entry)
        if request is None:
            return
        if entry.state is TransferState.SUMMED:
            self._apply(payments.subtract(self.changes.bill, request, entry, self._context))
        elif entry.state is TransferState.PAYMENT:
            known = self._payments.get(self._ids[entry.transfer_id])
            if known is not None and known.block_hash == entry.block_hash:
                listed = self._stored.listed[request.request_id]
                others = [self._payments.get(RecordedId.of(each), each) for each in listed]
                self._apply(payments.reverse(self.changes.bill, request, known, others, self._context))
        elif entry.state is TransferState.UNMATCHED:
            transfer = self._unmatched.get(self._ids[entry.transfer_id])
            if transfer is not None and transfer.block_hash == entry.block_hash:
                self._put_unmatched(replace(transfer, status=PaymentStatus.REVERSED))
        self._mark(entry, TransferState.REVERSED)

    def _move(self, entry: LoggedTransfer, successor: LoggedTransfer) -> None:
        """Gives the transfer its new block, in the state that it has."""
        recorded_id = self._ids.get(entry.transfer_id)
        if entry.state is TransferState.REFUND:
            self._mark(successor, entry.state)
            self._mark(entry, TransferState.REVERSED)
            return
        if recorded_id is None or entry.state in _UNDECIDED:
            self._mark(entry, TransferState.REVERSED)
            return
        if (known := self._payments.get(recorded_id)) is not None:
            self._put_payment(payments.moved_to(successor, known))
        if (transfer := self._unmatched.get(recorded_id)) is not None:
            self._put_unmatched(payments.moved_to(successor, transfer))
        self._mark(replace(successor, value=entry.value), entry.state)
        self._mark(entry, TransferState.REVERSED)

    def _apply(self, decision: Decision | None) -> None:
        if decision is None:
            return
        self.changes.bill = payments.apply(self.changes.bill, decision)
        self._put_request(decision.request)
        for payment in (decision.payment, decision.announced):
            if payment is not None:
                self._put_payment(payment)
        self.changes.events += decision.events
        self.changes.recorded += 1

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
        requests = self.changes.bill.requests
        changed = tuple(request if each.request_id == request.request_id else each for each in requests)
        self.changes.bill = replace(self.changes.bill, requests=changed)
        self.changes.put(request)

    def _mark(self, entry: LoggedTransfer, state: TransferState) -> None:
        if entry.state is not state:
            self.changes.put(replace(entry, state=state))


def waiting(part: UnrecordedTransfers, unvalued: Sequence[TransferId]) -> UnrecordedTransfers:
    """The work that waits for the rates of the transfers of a part that became UNVALUED."""
    return replace(
        part,
        sequence=part.sequence + BEHIND_ALL,
        added=tuple(unvalued),
        removed=(),
        waits_for_rate=True,
        version=0,
    )


def _is_due(part: UnrecordedTransfers, entry: LoggedTransfer) -> bool:
    """Whether a part records an added transfer, and has not done so before."""
    return entry.state is TransferState.UNVALUED if part.waits_for_rate else entry.state in _OPEN


def _has_value(known: Payment | None, entry: LoggedTransfer) -> bool:
    """Whether a transfer was valued before, as the payment that is stored for it."""
    return known is not None and known.amount == entry.amount


def _same_content(removed: LoggedTransfer, added: LoggedTransfer) -> bool:
    def content(entry: LoggedTransfer) -> tuple[object, ...]:
        return (
            entry.reference_topic, entry.token_address, entry.payee, entry.amount, entry.fee_amount, entry.fee_address
        )

    return content(removed) == content(added)
