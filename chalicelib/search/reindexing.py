"""Reindexing: gives records that were written before there were lists and daily counts what these need.

Each record is read, completed and written again, with the counts that it adds to, in one transaction on the condition
that nobody changed it. So it can be interrupted, repeated, and run beside the recorder: what is complete is left alone,
and `Payment.is_counted` keeps a payment from being counted twice.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from chalicelib.base.records import Record
from chalicelib.links import store as link_store
from chalicelib.links.records import Bill, Flow
from chalicelib.recording import counting
from chalicelib.requests import store as request_store
from chalicelib.requests.records import Payment, Request
from chalicelib.search import store
from chalicelib.services import Services
from chalicelib.storage.store import Add, WriteConflict

_ATTEMPTS = 10


def reindex(services: Services, segment: int = 0, segments: int = 1) -> Iterator[Counter[str]]:
    """Completes every link, request, payment and event; yields after each record how many of which kind were written.

    Raises WriteConflict for a record that others change ten times in a row: run it again.
    """
    written = Counter[str]()
    bills: dict[str, Bill | None] = {}
    for record, is_listed in store.everything(services.store, segment, segments):
        if _complete(services, record, is_listed, bills):
            written[type(record).__name__] += 1
        yield written


def _complete(services: Services, record: Record, is_listed: bool, bills: dict[str, Bill | None]) -> bool:
    """Writes one record again if it is not complete; returns whether it was written."""
    current: Record | None = record
    for _ in range(_ATTEMPTS):
        if current is None:
            return False
        complete = _completed(services, current, bills)
        if complete == current and is_listed:
            return False
        before = [current] if isinstance(current, Payment) else []
        after = [complete] if isinstance(complete, Payment) else []
        try:
            services.store.write(complete, *(Add(*each) for each in counting.amounts(before, after)))
            return True
        except WriteConflict:
            bills.clear()
            current = store.again(services.store, record)
    raise WriteConflict


def _completed(services: Services, record: Record, bills: dict[str, Bill | None]) -> Record:
    if isinstance(record, Request):
        return _request(services, record)
    return _payment(services, record, bills) if isinstance(record, Payment) else record


def _request(services: Services, request: Request) -> Request:
    """The request with the owner of its link, and with what is known of it since requests stand by themselves."""
    link = link_store.link(services.store, request.bill_id) if request.link_token is not None else None
    if link is None:
        return request  # it has no link, or that is not complete
    owned = request if request.account_id else link_store.owned(request, link)
    payer = owned.payer or (link.creator_wallet if link.flow is Flow.PAY else None)
    return replace(owned, payer=payer, is_moved=link.successor_token is not None)


def _payment(services: Services, payment: Payment, bills: dict[str, Bill | None]) -> Payment:
    """The payment with what it repeats of its request, and whether it has to be counted."""
    if payment.account_id:
        return counting.marked(payment)
    if payment.request_id not in bills:
        bills.clear()  # the payments of a request come together
        bill_id = request_store.bill_id(services.store, payment.request_id)
        bills[payment.request_id] = link_store.bill(services.store, bill_id) if bill_id is not None else None
    bill = bills[payment.request_id]
    request = next((each for each in bill.requests if each.request_id == payment.request_id), None) if bill else None
    if bill is None or request is None or _is_written_again(services, payment):
        return payment
    return counting.marked(
        replace(
            payment,
            account_id=request.account_id,
            client_id=request.client_id,
            payee=request.payee,
            currency=request.currency,
            invoice_currency=request.invoice_currency or request.currency,
            payment_reference=request.payment_reference,
            reference=bill.reference_of(request),
        )
    )


def _is_written_again(services: Services, payment: Payment) -> bool:
    """Whether the recorder has written a payment from before event keys again, under its key of today."""
    if payment.event_key:
        return False
    of_request = request_store.payments(services.store, payment.request_id)
    log = (payment.network, payment.block_hash, payment.log_index)
    return any(each.event_key and (each.network, each.block_hash, each.log_index) == log for each in of_request)
