"""Reindexing: gives records that were written before there were lists and daily counts what these need.

Each record is read, completed and written again, with the counts that it adds to, in one transaction on the condition
that nobody changed it. So it can be interrupted, repeated, and run beside the recorder: what is complete is left alone,
and `Payment.is_counted` and `Request.counted_as` keep a record from being counted twice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Record
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Flow, Payable
from chalicelib.payments.recording import counting
from chalicelib.payments.recording.rules import confirmed
from chalicelib.payments.requests import counts
from chalicelib.payments.requests.counts import Amounts
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.search import store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Add, Unchanged, WriteConflict

_ATTEMPTS = 10


def reindex(services: Services, segment: int = 0, segments: int = 1) -> Iterator[Counter[str]]:
    """Completes every link, request, payment and event; yields after each record how many of which kind were written.

    Raises WriteConflict for a record that others change ten times in a row: run it again.
    """
    written = Counter[str]()
    run = _Reindexing(services)
    for record, is_listed in store.everything(services.store, segment, segments):
        if run.complete(record, is_listed):
            written[type(record).__name__] += 1
        yield written


@frozen
class _Paid:
    """A request with its payable, and the logs of its payments that have an event key, by network, block and index."""

    payable: Payable
    request: Request
    logs: frozenset[tuple[str, str, int]]


class _Reindexing:
    """One run. It keeps what it has read for the payments of one request, which come together."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._paid: dict[str, _Paid | None] = {}

    def complete(self, record: Record, is_listed: bool) -> bool:
        """Writes one record again if it is not complete; returns whether it was written."""
        current: Record | None = record
        for _ in range(_ATTEMPTS):
            if current is None:
                return False
            complete = self._completed(current)
            if complete == current and is_listed:
                return False
            added = (Add(*each) for each in _amounts(current, complete))
            if try_write(self._services.store, complete, *added, *self._condition(complete)):
                return True
            self._paid.clear()
            current = store.again(self._services.store, record)
        raise WriteConflict

    def _completed(self, record: Record) -> Record:
        if isinstance(record, Request):
            return counts.marked(self._request(record))
        return self._payment(record) if isinstance(record, Payment) else record

    def _condition(self, record: Record) -> list[Unchanged]:
        """That no payment was recorded since it was found out which payments are written under their keys of today."""
        if not isinstance(record, Payment) or record.event_key:
            return []
        paid = self._paid_by(record)
        return [Unchanged(paid.request)] if paid is not None else []

    def _request(self, request: Request) -> Request:
        """The request with the owner of its link, and with what is known of it since requests stand by themselves."""
        if request.link_token is not None:
            link = link_store.link(self._services.store, request.payable_id)
            if link is None:
                return request  # its link is not complete
            owned = request if request.account_id else link_store.owned(request, link)
            payer = owned.payer or (link.creator_wallet if link.flow is Flow.PAY else None)
            request = replace(owned, payer=payer, is_moved=link.successor_token is not None)
        if request.confirmed_count is not None or request.payment_count is None:
            return request  # without totals, it gets all of them with its next payment
        has_any = request.payment_count > 0
        payments = payment_store.payments(self._services.store, request.request_id) if has_any else ()
        return replace(request, confirmed_count=len(_listed(payments)))

    def _payment(self, payment: Payment) -> Payment:
        """The payment with what it repeats of its request, and whether it has to be counted."""
        if payment.account_id:
            return counting.marked(payment)
        paid = self._paid_by(payment)
        if paid is None or (not payment.event_key and _log(payment) in paid.logs):
            return payment
        request = paid.request
        return counting.marked(
            replace(
                payment,
                account_id=request.account_id,
                client_id=request.client_id,
                payee=request.payee,
                currency=request.currency,
                invoice_currency=request.invoice_currency or request.currency,
                payment_reference=request.payment_reference,
                reference=paid.payable.reference_of(request),
            )
        )

    def _paid_by(self, payment: Payment) -> _Paid | None:
        """What a payment pays, by two or three reads for all payments of a request."""
        if payment.request_id not in self._paid:
            self._paid.clear()
            self._paid[payment.request_id] = self._read(payment.request_id)
        return self._paid[payment.request_id]

    def _read(self, request_id: str) -> _Paid | None:
        payable = link_store.payable_of(self._services.store, request_id)
        request = next((each for each in payable.requests if each.request_id == request_id), None) if payable else None
        if payable is None or request is None:
            return None
        payments = payment_store.payments(self._services.store, request_id)
        return _Paid(payable, request, _logs_of_today(payments))


def _amounts(before: Record, after: Record) -> Amounts:
    """What a record that is written again adds to the daily counts."""
    if isinstance(before, Payment) and isinstance(after, Payment):
        return counting.amounts((before,), (after,))
    if isinstance(before, Request) and isinstance(after, Request):
        return counts.amounts((before,), (after,))
    return []


def _listed(payments: Sequence[Payment]) -> list[Payment]:
    """The payments that are in lists, once all of these are complete."""
    logs = _logs_of_today(payments)
    return [each for each in confirmed(payments) if each.event_key or _log(each) not in logs]


def _logs_of_today(payments: Sequence[Payment]) -> frozenset[tuple[str, str, int]]:
    """The logs of payments with an event key. The recorder may have written a payment from before them again, under its
    key of today."""
    return frozenset(_log(each) for each in payments if each.event_key)


def _log(payment: Payment) -> tuple[str, str, int]:
    return payment.network, payment.block_hash, payment.log_index
