"""Reindexing: puts records into lists that are new in this version, and counts what had no room in its transaction.

Each record is read and written again, with what it adds to the daily counts, in one transaction on the condition that
nobody changed it. So it can be interrupted, repeated, and run beside the recorder: what is complete is left alone, and
`Payment.is_counted` and `Request.counted_as` keep a record from being counted twice.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import cast

from chalicelib.base.records import Record
from chalicelib.payments.recording import payment_counts
from chalicelib.payments.requests import request_counts
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.request_counts import Amounts
from chalicelib.payments.search import store as search_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry
from chalicelib.platform.storage.store import Add
from chalicelib.recurring.records import RecurringPayment


def reindex(services: Services, segment: int = 0, segments: int = 1) -> Iterator[Counter[str]]:
    """Completes every link, request, payment, event and recurring payout; yields after each record how many of which
    kind were written.

    Raises WriteConflict for a record that others change ten times in a row: run it again.
    """
    written = Counter[str]()
    for record, is_listed in search_store.everything(services.store, segment, segments, RecurringPayment):
        if _complete(services, record, is_listed):
            written[type(record).__name__] += 1
        yield written


def _complete(services: Services, record: Record, is_listed: bool) -> bool:
    """Writes one record again if it is not complete; returns whether it was written."""

    def write(current: Record | None) -> bool:
        if current is None:
            return False
        complete, amounts = _complete_record(current)
        if complete == current and is_listed:
            return False
        services.store.write(complete, *(Add(*each) for each in amounts))
        return True

    return retry(10, write, cast("Record | None", record), partial(search_store.again, services.store, record))


def _complete_record(record: Record) -> tuple[Record, Amounts]:
    """A record with the mark of what is counted, and what that adds to the daily counts."""
    if isinstance(record, Payment):
        payment = payment_counts.mark_payment(record)
        return payment, payment_counts.amounts((record,), (payment,))
    if isinstance(record, Request):
        request = request_counts.mark_request(record)
        return request, request_counts.amounts((record,), (request,))
    return record, []
