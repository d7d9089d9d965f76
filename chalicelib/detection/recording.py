"""Recording of the transfers that a scan found: each link is read once per range, then updated in memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.chain.logs import ProxyTransfer
from chalicelib.detection import payments, unmatched
from chalicelib.detection.payments import Decision
from chalicelib.detection.records import UnfinalizedTransfer
from chalicelib.links import store as link_store
from chalicelib.links.records import Link, SecurePayment
from chalicelib.requests import store as request_store
from chalicelib.requests.records import LogPosition, Payment, PaymentStatus, Request, UnmatchedTransfer
from chalicelib.requests.references import reference_topic
from chalicelib.services import Services
from chalicelib.storage.store import LARGEST_TRANSACTION, WriteConflict
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks.records import Event

_ATTEMPTS = 10
"""How often recording is tried again after another scan or payment has written the same link first."""
_MAX_WRITES_PER_TRANSFER = 7
"""The most records that one transfer adds to a transaction: a payment, its request, its entry for forks, three events,
and the link."""

T = TypeVar("T", Link, Request, Payment, UnmatchedTransfer)


@frozen
class Step:
    """The result of one transaction: the number of payments written, and of transfers done (the first `done` ones).

    `of_other_links` are the transfers whose request does not belong to the link.
    """

    recorded: int
    done: int
    of_other_links: tuple[ProxyTransfer, ...] = ()


@dataclass
class _Changes:
    """What the next transaction writes, besides the link."""

    payments: list[Payment] = field(default_factory=list)
    request_ids: set[str] = field(default_factory=set)
    unmatched: list[UnmatchedTransfer] = field(default_factory=list)
    unfinalized: list[UnfinalizedTransfer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(map(len, (self.payments, self.request_ids, self.unmatched, self.unfinalized, self.events)))


class LinkRecorders:
    """The recorders of the links that a range of blocks pays; a link is read again after a WriteConflict."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._recorders: dict[str, LinkRecorder] = {}

    def record(self, token: str, transfers: Sequence[ProxyTransfer]) -> Step:
        """Records the first transfers of a link, in their order, as many as fit into one transaction.

        For a link that was merged into a batch it records for the batch. Raises WriteConflict after ten conflicts; the
        queue then delivers the message again, and the range is read again.
        """
        for _ in range(_ATTEMPTS):
            recorder = self._recorder(token)
            if recorder is None:
                return Step(0, len(transfers), tuple(transfers))
            try:
                return recorder.record(transfers)
            except WriteConflict:
                self.drop(token)
        raise WriteConflict

    def reverse(self, orphan: UnfinalizedTransfer) -> None:
        """Reverses a payment or unmatched transfer that a fork removed. Raises WriteConflict after ten conflicts."""
        for _ in range(_ATTEMPTS):
            recorder = self._recorder(orphan.link_token)
            try:
                if recorder is None or not recorder.reverse(orphan):
                    facts = {"link": orphan.link_token, "request": orphan.request_id}
                    self._services.log.error("payment without a link", extra=facts)
                return
            except WriteConflict:
                self.drop(orphan.link_token)
        raise WriteConflict

    def drop(self, token: str) -> None:
        """Removes the recorder of a link, so that the link is read again."""
        self._recorders.pop(token, None)

    def _recorder(self, token: str) -> "LinkRecorder | None":
        if token not in self._recorders:
            payment = link_store.current_link(self._services.store, token)
            if payment is None:
                return None
            self._recorders[token] = LinkRecorder(self._services, payment)
        return self._recorders[token]


class LinkRecorder:
    """Records the transfers of one link, of which it holds the stored state. Out of date after a WriteConflict."""

    def __init__(self, services: Services, payment: SecurePayment) -> None:
        self._services, self._payment = services, payment
        self._positions = {
            reference_topic(bytes.fromhex(request.payment_reference[2:])): index
            for index, request in enumerate(payment.requests)
        }
        self._payments: dict[str, dict[LogPosition, Payment]] = {}
        self._unmatched: dict[str, dict[LogPosition, UnmatchedTransfer]] = {}
        self._unmatched_counts: dict[str, Counter[unmatched.UnmatchedKind]] = {}

    def record(self, transfers: Sequence[ProxyTransfer]) -> Step:
        """Records the first transfers in one transaction; transfers that are recorded already are skipped."""
        changes, link, of_other_links, done = _Changes(), self._payment.link, list[ProxyTransfer](), 0
        for transfer in transfers:
            if changes.count + _MAX_WRITES_PER_TRANSFER > LARGEST_TRANSACTION:
                break
            done += 1
            index = self._positions.get(transfer.reference_topic)
            if index is None:
                of_other_links.append(transfer)
            else:
                self._add_transfer(changes, self._payment.requests[index], transfer)
        self._write(changes, link)
        return Step(len(changes.payments), done, tuple(of_other_links))

    def reverse(self, orphan: UnfinalizedTransfer) -> bool:
        """Marks a payment or an unmatched transfer as reversed; False if its request is not of this link."""
        request = next((r for r in self._payment.requests if r.request_id == orphan.request_id), None)
        if request is None:
            return False
        changes, position = _Changes(), LogPosition(orphan.network, orphan.block_hash, orphan.log_index)
        link = self._payment.link
        if orphan.is_unmatched:
            known = self._unmatched_of(request).get(position)
            if known is not None and known.status is PaymentStatus.CONFIRMED:
                changes.unmatched.append(replace(known, status=PaymentStatus.REVERSED))
        else:
            recorded, context = self._payments_of(request), webhooks.event_context(self._services)
            self._apply(changes, payments.reverse(self._payment, request, recorded, position, context))
        self._write(changes, link)
        return True

    def _add_transfer(self, changes: _Changes, request: Request, transfer: ProxyTransfer) -> None:
        reason = payments.mismatch(request, transfer)
        if reason is not None:
            self._add_unmatched(changes, request, transfer, reason)
            return
        earlier, context = self._payments_of(request), webhooks.event_context(self._services)
        self._apply(changes, payments.record(self._payment, request, earlier, transfer, context))

    def _apply(self, changes: _Changes, decision: Decision | None) -> None:
        if decision is None:
            return
        payment = decision.payment
        self._payment = payments.apply(self._payment, decision)
        self._payments[payment.request_id][payment.log_position] = payment
        changes.payments.append(payment)
        changes.request_ids.add(payment.request_id)
        changes.events += decision.events
        if payment.version == 0:
            changes.unfinalized.append(self._unfinalized(payment))

    def _add_unmatched(self, changes: _Changes, request: Request, transfer: ProxyTransfer, reason: str) -> None:
        """Adds a transfer that does not count, and its entry for forks. Does nothing if it is stored already.

        A transfer of amount zero is only logged, as is one beyond the limit of its kind.
        """
        new = unmatched.unmatched_transfer(request, transfer, reason, self._services.clock())
        stored = self._unmatched_of(request) if transfer.amount else {}
        known = stored.get(new.log_position)
        if known is not None and known.status is PaymentStatus.CONFIRMED:
            return
        facts = {"reason": reason, "network": transfer.network, "tx_hash": transfer.tx_hash}
        self._services.log.warning("transfer does not count", extra={**facts, "request_id": request.request_id})
        if known is not None:
            new = replace(known, status=PaymentStatus.CONFIRMED)
        elif transfer.amount and unmatched.has_room(self._unmatched_counts[request.request_id], request, new):
            self._unmatched_counts[request.request_id][unmatched.kind_of(request, new)] += 1
            changes.unfinalized.append(self._unfinalized(new))
        else:
            return
        stored[new.log_position] = new
        changes.unmatched.append(new)

    def _write(self, changes: _Changes, before: Link) -> None:
        """Writes the changes and their events in one transaction, then announces the events.

        The link is written if it changed, and with every payment if it has several requests.
        """
        if not changes.count:
            return
        link = self._payment.link
        writes_link = bool(changes.payments) and payments.must_write_link(self._payment)
        changed = [link] if writes_link or link != before else []
        requests = [r for r in self._payment.requests if r.request_id in changes.request_ids]
        records = [*requests, *changes.payments, *changes.unmatched, *changes.unfinalized, *changes.events]
        self._services.store.write(*changed, *records)
        self._payment = replace(
            self._payment,
            link=_written(link) if changed else link,
            requests=tuple(_written(r) if r.request_id in changes.request_ids else r for r in self._payment.requests),
        )
        for payment in changes.payments:
            self._payments[payment.request_id][payment.log_position] = _written(payment)
        for transfer in changes.unmatched:
            self._unmatched[transfer.request_id][transfer.log_position] = _written(transfer)
        if changes.events:
            webhooks.queue_announcements(self._services, changes.events)

    def _payments_of(self, request: Request) -> dict[LogPosition, Payment]:
        if request.request_id not in self._payments:
            stored = request_store.payments(self._services.store, request.request_id)
            self._payments[request.request_id] = {payment.log_position: payment for payment in stored}
        return self._payments[request.request_id]

    def _unmatched_of(self, request: Request) -> dict[LogPosition, UnmatchedTransfer]:
        if request.request_id not in self._unmatched:
            stored = request_store.unmatched_transfers(self._services.store, request.request_id)
            self._unmatched[request.request_id] = {transfer.log_position: transfer for transfer in stored}
            self._unmatched_counts[request.request_id] = unmatched.count_by_kind(request, stored)
        return self._unmatched[request.request_id]

    def _unfinalized(self, recorded: Payment | UnmatchedTransfer) -> UnfinalizedTransfer:
        """The entry by which a fork's transfers are found. A transfer that is confirmed again has one already."""
        return UnfinalizedTransfer(
            network=recorded.network,
            block_number=recorded.block_number,
            block_hash=recorded.block_hash,
            log_index=recorded.log_index,
            link_token=self._payment.link.token,
            request_id=recorded.request_id,
            detected_at=recorded.detected_at,
            is_unmatched=isinstance(recorded, UnmatchedTransfer),
        )


def _written(record: T) -> T:
    return replace(record, version=record.version + 1)
