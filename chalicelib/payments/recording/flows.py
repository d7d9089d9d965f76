"""Recording: decides for one payable at a time which logged transfers pay it, commits each decision with its events.

    work of a payable ── payable ── its log entries, and what became of them ── decision ── one transaction ── hints

It reads only the transfers in question, never the history of a request. The work is deleted in the transaction that
records it, so a crash or a race repeats nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from chalicelib.commerce.core.records import CommercePayment
from chalicelib.offramp.core.records import Order
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Link, Payable
from chalicelib.payments.recording import matching, payment_counts, rules
from chalicelib.payments.recording.changes import Changes, Stored
from chalicelib.payments.recording.deciding import decide
from chalicelib.payments.recording.reading import read_stored
from chalicelib.payments.recording.valuation import Accepted
from chalicelib.payments.recording.valuation_rates import ValuationRates
from chalicelib.payments.requests import request_counts
from chalicelib.payments.requests.payments.records import Payment, SentRefund
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.hints import hint
from chalicelib.payments.scanning.records import UnrecordedTransfers
from chalicelib.platform.metrics import PAYMENTS
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry
from chalicelib.platform.storage.store import LARGEST_TRANSACTION, Add, Delete, with_next_version
from chalicelib.platform.storage.sweeping import Sweep
from chalicelib.webhooks import flows as webhooks

_PARTS_PER_READ = 20
_TIME_PER_RUN = timedelta(seconds=20)
"""A run, which is of one message, starts no new part after this time, and queues another run."""
_GRACE = timedelta(seconds=30)
"""Younger work may still be in progress, or its message on the way."""
_SWEPT_PER_SHARD = 100_000
"""Only keys are read. So many that a payable with a flood of old work hides no other payable of its shard."""

T = TypeVar("T", Link, Request, Order, CommercePayment)


class _RecordedByOther(Exception):
    """Another run has recorded the part."""


def record_each(services: Services, account_id: str, payable_ids: Sequence[str]) -> int:
    """Records the work of some payables of an account, one after the other; returns how much as `record_payable`.

    Each has an equal part of the time that is left, so that a flood of transfers to one of them delays the others by
    seconds; what is not begun in time is queued again. A payable that fails does not stop the others. Raises
    SweepIncomplete after the last one.
    """
    end, recorded = services.clock() + _TIME_PER_RUN, 0
    with Sweep(services.log) as sweep:
        for index, payable_id in enumerate(payable_ids):
            now = services.clock()
            if now >= end:
                hint(services, dict.fromkeys(payable_ids[index:], account_id))
                break
            share = now + (end - now) / (len(payable_ids) - index)
            recorded += sweep.run(partial(record_payable, services, deadline=share), payable_id)
    return recorded


def record_payable(services: Services, payable_id: str, deadline: datetime | None = None) -> int:
    """Records the work of a payable, oldest first; returns how many transfers were recorded as payments or removed.

    Begins no part after the deadline, by default that of a run, and queues another run.

    Safe to repeat and to run concurrently: a run that finds that another one has recorded its part leaves the rest to
    it, so that a payable with much work occupies one worker. The other run reads once more after its last part, because
    the first one may have been told of newer work. Raises WriteConflict after ten conflicts.

    Transfers that need an exchange rate while there is none become work of their own, which holds up nothing else of
    the payable, on whichever network. It is tried last, from another part on in each run; the sweep queues it again.
    """
    deadline, valuation_rates = deadline or services.clock() + _TIME_PER_RUN, ValuationRates(services)
    payable, recorded = None, 0
    while parts := scan_store.list_unrecorded(services.store, payable_id, _PARTS_PER_READ):
        if parts[0].waits_for_rate:
            return recorded + _record_waiting(services, valuation_rates, payable_id, deadline)
        for part in parts:
            if part.waits_for_rate:
                break
            try:
                payable, count = _record_part(services, valuation_rates, part, payable)
            except _RecordedByOther:
                return recorded
            recorded += count
            if services.clock() >= deadline:
                hint(services, {payable_id: part.account_id})
                return recorded
    return recorded


def queue_overdue(services: Services) -> int:
    """Queues a run for every payable whose work was not recorded in time; returns how many. Safe to repeat."""
    first_shard = services.entropy(1)[0]
    before = services.clock() - _GRACE
    payables = scan_store.payables_with_work(services.store, before, _SWEPT_PER_SHARD, first_shard)
    hint(services, payables)
    return len(payables)


def _record_waiting(services: Services, valuation_rates: ValuationRates, payable_id: str, deadline: datetime) -> int:
    """Records what has a rate now of a payable's work that waits for rates; returns as `record_payable`."""
    payable, recorded = None, 0
    start = services.entropy(2).hex()
    for part in scan_store.waiting_for_rates(services.store, payable_id, _PARTS_PER_READ, start):
        try:
            payable, count = _record_part(services, valuation_rates, part, payable)
        except _RecordedByOther:
            break
        recorded += count
        if services.clock() >= deadline:
            if recorded:
                hint(services, {payable_id: part.account_id})
            break
    return recorded


def _record_part(
    services: Services, valuation_rates: ValuationRates, part: UnrecordedTransfers, payable: Payable | None
) -> tuple[Payable | None, int]:
    """Records one part; returns the payable as it is stored now, and how many transfers were recorded.

    `payable` is given if it is known from the part before. For a link that was merged into a batch, it is the batch's.
    Raises _RecordedByOther if another run has recorded the part meanwhile.
    """

    def record(known: Payable | None) -> tuple[Payable | None, int]:
        payable = known or link_store.load_payable(services.store, part.payable_id)
        if payable is not None:
            return _commit(services, valuation_rates, part, payable)
        services.log.error("transfers without a payable", extra={"network": part.network, "payable": part.payable_id})
        services.store.write(Delete(part))
        return None, 0

    def read() -> None:
        if not scan_store.is_unrecorded(services.store, part):
            raise _RecordedByOther

    return retry(10, record, payable, read)


def _commit(
    services: Services, valuation_rates: ValuationRates, part: UnrecordedTransfers, payable: Payable
) -> tuple[Payable, int]:
    """Writes what a part changes. What has no rate stays in a part that waits for rates."""
    accepted = Accepted(services.settings.payment_tolerance_bps, services.settings.feed_max_age_seconds)
    stored = read_stored(services, valuation_rates, part, payable, accepted)
    changes = decide(payable, part, stored, accepted, webhooks.event_context(services))
    work: list[UnrecordedTransfers | Delete] = [Delete(part)]
    if changes.unvalued:
        facts = {"payable": part.payable_id, "network": part.network, "transfers": len(changes.unvalued)}
        if valuation_rates.awaiting.issuperset(changes.unvalued):
            services.log.info("payment waits for its deposit", extra=facts)
        else:
            services.log.error("payment waits for an exchange rate", extra=facts)
        if part.waits_for_rate and not changes.records:
            return payable, 0
        waiting = rules.waiting(part, changes.unvalued)
        work = [waiting] if part.waits_for_rate else [*work, waiting]
    link = _link_to_write(payable, changes)
    added = _count(payable, stored, changes)
    deleted = map(Delete, changes.deleted)
    services.store.write(*work, *changes.records.values(), *deleted, *changes.events, *link, *added)
    for each in changes.records.values():
        if isinstance(each, Payment) and not isinstance(each, SentRefund) and not each.version:  # a new one
            services.metrics.add(PAYMENTS, each.network)
    for transfer, reason in changes.skipped:
        facts = {"reason": reason, "network": transfer.network, "tx_hash": transfer.tx_hash}
        services.log.warning("transfer does not count", extra={**facts, "payable": part.payable_id})
    for event, reason in changes.differing:
        facts = {"reason": reason, "network": event.network, "tx_hash": event.tx_hash}
        services.log.error("escrow differs", extra={**facts, "payable": part.payable_id})
    webhooks.queue_publishing(services, changes.events)
    return _after(changes, bool(link)), changes.recorded


def _count(before: Payable, stored: Stored, changes: Changes) -> list[Add]:
    """Marks the payments and requests that are written; returns what that adds to the daily counts.

    Nothing of payments, or of requests, if the transaction has no room for it: the requests of a batch may be of many
    days. What is not marked is counted when it is written again, or by `python -m infra.admin reindex`.
    """
    payments = {
        key: payment_counts.mark_payment(each) for key, each in changes.records.items() if isinstance(each, Payment)
    }
    listed = (each for of_request in stored.listed.values() for each in of_request)
    known = [*stored.payments.values(), *stored.sent_refunds.values(), *listed]
    requests = {
        key: request_counts.mark_request(each) for key, each in changes.records.items() if isinstance(each, Request)
    }
    added = list[Add]()
    others = 3 + len(changes.records) + len(changes.deleted) + len(changes.events)  # 3: the work, what waits, the link
    for marked, amounts in (
        (payments, payment_counts.amounts(known, payments.values())),
        (requests, request_counts.amounts(before.requests, requests.values())),
    ):
        if len(added) + len(amounts) + others <= LARGEST_TRANSACTION:
            added += (Add(*each) for each in amounts)
            changes.records |= marked
    of_payable = (changes.records.get(each.key, each) for each in changes.payable.requests)
    changes.payable = replace(changes.payable, requests=tuple(each for each in of_payable if isinstance(each, Request)))
    return added


def _link_to_write(before: Payable, changes: Changes) -> list[Link]:
    """The link, if any, if it changed, and with every change of a request if it has several."""
    after = changes.payable
    if after.link is None:
        return []
    changes_request = any(isinstance(record, Request) for record in changes.records.values())
    is_needed = after.link != before.link or (changes_request and matching.must_write_link(after))
    return [after.link] if is_needed else []


def _after(changes: Changes, link_is_written: bool) -> Payable:
    """The payable as it is stored after the changes were written."""
    payable = changes.payable

    def now_stored(record: T) -> T:
        return with_next_version(record) if record.key in changes.records else record

    return replace(
        payable,
        link=with_next_version(payable.link) if payable.link is not None and link_is_written else payable.link,
        requests=tuple(now_stored(each) for each in payable.requests),
        order=now_stored(payable.order) if payable.order else None,
        commerce=now_stored(payable.commerce) if payable.commerce else None,
    )
