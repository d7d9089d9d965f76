"""Records what a scan found: the records of a link are read once a range, then kept in step with what is written."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

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
"""How often a step is decided again after another scan or another payment of the link was written first."""
_WRITES_OF_ONE = 7
"""What one more transfer adds to a transaction at most: a payment, its request, the entry that finds it after a fork,
three events, and the link."""

T = TypeVar("T", Link, Request, Payment, UnmatchedTransfer)


@dataclass(frozen=True)
class Step:
    """What one transaction did.

    `recorded` payments were written; the first `done` transfers were dealt with; the requests of those in `elsewhere`
    are not the link's.
    """

    recorded: int
    done: int
    elsewhere: tuple[ProxyTransfer, ...] = ()


@dataclass
class _Changes:
    """What the next transaction writes, beside the link."""

    payments: list[Payment] = field(default_factory=list)
    request_ids: set[str] = field(default_factory=set)
    unmatched: list[UnmatchedTransfer] = field(default_factory=list)
    unfinalized: list[UnfinalizedTransfer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(map(len, (self.payments, self.request_ids, self.unmatched, self.unfinalized, self.events)))


class Ledgers:
    """The ledgers of the links that a range of blocks pays; a ledger is read again after a WriteConflict."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._open: dict[str, Ledger] = {}

    def record(self, token: str, transfers: Sequence[ProxyTransfer]) -> Step:
        """Records the first of the transfers of a link, in their order: as many as one transaction takes.

        For a link that was merged into a batch, the ledger is the batch's. Raises WriteConflict after ten conflicts;
        the queue then delivers the message again, and the range is read again.
        """
        for _ in range(_ATTEMPTS):
            ledger = self._ledger(token)
            if ledger is None:
                return Step(0, len(transfers), tuple(transfers))
            try:
                return ledger.record(transfers)
            except WriteConflict:
                self.forget(token)
        raise WriteConflict

    def reverse(self, orphan: UnfinalizedTransfer) -> None:
        """Reverses what a fork has removed, payment or unmatched transfer. Raises WriteConflict as `record` does."""
        for _ in range(_ATTEMPTS):
            ledger = self._ledger(orphan.link_token)
            try:
                if ledger is None or not ledger.reverse(orphan):
                    facts = {"link": orphan.link_token, "request": orphan.request_id}
                    self._services.log.error("payment of no link", extra=facts)
                return
            except WriteConflict:
                self.forget(orphan.link_token)
        raise WriteConflict

    def forget(self, token: str) -> None:
        """Drops the ledger of a link, so that the link is read again."""
        self._open.pop(token, None)

    def _ledger(self, token: str) -> "Ledger | None":
        if token not in self._open:
            payment = link_store.current_link(self._services.store, token)
            if payment is None:
                return None
            self._open[token] = Ledger(self._services, payment)
        return self._open[token]


class Ledger:
    """One link as it is stored, kept in step with what is written. After a WriteConflict it is out of date."""

    def __init__(self, services: Services, payment: SecurePayment) -> None:
        self._services, self._payment = services, payment
        self._positions = {
            reference_topic(bytes.fromhex(request.payment_reference[2:])): index
            for index, request in enumerate(payment.requests)
        }
        self._payments: dict[str, dict[LogPosition, Payment]] = {}
        self._unmatched: dict[str, dict[LogPosition, UnmatchedTransfer]] = {}
        self._kinds: dict[str, Counter[unmatched.Kind]] = {}

    def record(self, transfers: Sequence[ProxyTransfer]) -> Step:
        """Records the first of the transfers in one transaction; those that are recorded already add nothing to it."""
        changes, link, elsewhere, done = _Changes(), self._payment.link, list[ProxyTransfer](), 0
        for transfer in transfers:
            if changes.count + _WRITES_OF_ONE > LARGEST_TRANSACTION:
                break
            done += 1
            index = self._positions.get(transfer.reference_topic)
            if index is None:
                elsewhere.append(transfer)
            else:
                self._take(changes, self._payment.requests[index], transfer)
        self._write(changes, link)
        return Step(len(changes.payments), done, tuple(elsewhere))

    def reverse(self, orphan: UnfinalizedTransfer) -> bool:
        """Marks a payment or an unmatched transfer as reversed; False when the link does not have its request."""
        request = next((r for r in self._payment.requests if r.request_id == orphan.request_id), None)
        if request is None:
            return False
        changes, position = _Changes(), LogPosition(orphan.network, orphan.block_hash, orphan.log_index)
        link = self._payment.link
        if orphan.is_stray:
            known = self._unmatched_of(request).get(position)
            if known is not None and known.status is PaymentStatus.CONFIRMED:
                changes.unmatched.append(replace(known, status=PaymentStatus.REVERSED))
        else:
            recorded, context = self._payments_of(request), webhooks.event_context(self._services)
            self._apply(changes, payments.reverse(self._payment, request, recorded, position, context))
        self._write(changes, link)
        return True

    def _take(self, changes: _Changes, request: Request, transfer: ProxyTransfer) -> None:
        reason = payments.mismatch(request, transfer)
        if reason is not None:
            self._keep_unmatched(changes, request, transfer, reason)
            return
        earlier, context = self._payments_of(request), webhooks.event_context(self._services)
        self._apply(changes, payments.record(self._payment, request, earlier, transfer, context))

    def _apply(self, changes: _Changes, decision: Decision | None) -> None:
        if decision is None:
            return
        payment = decision.payment
        self._payment = payments.after(self._payment, decision)
        self._payments[payment.request_id][payment.log_position] = payment
        changes.payments.append(payment)
        changes.request_ids.add(payment.request_id)
        changes.events += decision.events
        if payment.version == 0:
            changes.unfinalized.append(self._unfinalized(payment))

    def _keep_unmatched(self, changes: _Changes, request: Request, transfer: ProxyTransfer, reason: str) -> None:
        """Keeps a transfer that does not count, once, with the entry that finds it after a fork.

        A transfer of nothing is only logged, and so are those beyond the number that is kept.
        """
        seen = unmatched.unmatched_of(request, transfer, reason, self._services.clock())
        kept = self._unmatched_of(request) if transfer.amount else {}
        known = kept.get(seen.log_position)
        if known is not None and known.status is PaymentStatus.CONFIRMED:
            return
        facts = {"reason": reason, "network": transfer.network, "tx_hash": transfer.tx_hash}
        self._services.log.warning("transfer does not count", extra={**facts, "request_id": request.request_id})
        if known is not None:
            seen = replace(known, status=PaymentStatus.CONFIRMED)
        elif transfer.amount and unmatched.is_kept(self._kinds[request.request_id], request, seen):
            self._kinds[request.request_id][unmatched.kind_of(request, seen)] += 1
            changes.unfinalized.append(self._unfinalized(seen))
        else:
            return
        kept[seen.log_position] = seen
        changes.unmatched.append(seen)

    def _write(self, changes: _Changes, before: Link) -> None:
        """Writes the changes and their events in one transaction, then announces the events.

        The link is written if it changed, and always if the decision depends on its other requests, too.
        """
        if not changes.count:
            return
        link = self._payment.link
        claimed = bool(changes.payments) and payments.is_shared(self._payment)
        changed = [link] if claimed or link != before else []
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
            webhooks.announce(self._services, [replace(event, version=1) for event in changes.events])

    def _payments_of(self, request: Request) -> dict[LogPosition, Payment]:
        if request.request_id not in self._payments:
            found = request_store.payments(self._services.store, request.request_id)
            self._payments[request.request_id] = {payment.log_position: payment for payment in found}
        return self._payments[request.request_id]

    def _unmatched_of(self, request: Request) -> dict[LogPosition, UnmatchedTransfer]:
        if request.request_id not in self._unmatched:
            found = request_store.unmatched_transfers(self._services.store, request.request_id)
            self._unmatched[request.request_id] = {transfer.log_position: transfer for transfer in found}
            self._kinds[request.request_id] = unmatched.kinds_of(request, found)
        return self._unmatched[request.request_id]

    def _unfinalized(self, seen: Payment | UnmatchedTransfer) -> UnfinalizedTransfer:
        """The entry by which a fork finds a transfer. A transfer that is confirmed again has its entry already."""
        return UnfinalizedTransfer(
            network=seen.network,
            block_number=seen.block_number,
            block_hash=seen.block_hash,
            log_index=seen.log_index,
            link_token=self._payment.link.token,
            request_id=seen.request_id,
            detected_at=seen.detected_at,
            is_stray=isinstance(seen, UnmatchedTransfer),
        )


def _written(record: T) -> T:
    return replace(record, version=record.version + 1)
