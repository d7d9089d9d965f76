"""Moves what was paid long ago to the archive, and reads it there.

    a part of the table ── what may be due ── all records of each ── lines in S3 ── one transaction each: gone from here

S3 has returned a payable before it is deleted, in one transaction with its index entries and daily counts, on the
condition that nothing of it has changed. A crash in between has the next pass write its line again, so a payable can
have several lines, of which the last one is right.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from chalicelib.base.cursors import Position, cursor_of, position_of
from chalicelib.base.frozen import frozen
from chalicelib.payments.archive import lines, rules, store
from chalicelib.payments.archive.records import ArchivePass
from chalicelib.payments.archive.rules import Archived
from chalicelib.payments.recording import payment_counts
from chalicelib.payments.requests import request_counts
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import LARGEST_TRANSACTION, Add, Delete, Write, WriteConflict
from chalicelib.platform.storage.sweeping import Sweep

_TIME_PER_RUN = timedelta(seconds=120)
_MOST_PER_RUN = 2_000
"""After this time, and with so many payables, no more of the table is read: writing and deleting them takes less than
two minutes more."""
_LINES_OF_OBJECT = 50
"""So that a page of the API, which has one object, stays below 1 MB."""
_Due = tuple[Archived, tuple[Write, ...]]
"""A payable that is moved, and the transaction that deletes it here."""


@frozen
class ArchivePage:
    """Payables of one month of an account; `cursor` is None on the last page."""

    found: tuple[Archived, ...]
    cursor: str | None


def archive_due(services: Services) -> int:
    """Moves what is due on the next part of the table to the archive; returns how many payables that were.

    A pass over the whole table takes as many runs as it needs, and begins every two weeks. A payable that fails is
    logged, and is tried again by the next pass; raises SweepIncomplete then, after the others. Safe to repeat.
    """
    now = services.clock()
    if not services.settings.archive_bucket:
        return 0
    known = store.find_pass(services.store)
    if known is not None and known.is_resting(now):
        return 0
    current = known or ArchivePass(now)
    if current.ended_at is not None:
        current = replace(current, began_at=now, after_pk=None, after_sk=None, ended_at=None)
    before = now - timedelta(days=services.settings.archive_after_days)
    with Sweep(services.log) as sweep:
        due, after = list[_Due](), current.after
        while True:
            scanned, after = store.candidates(services.store, after)
            for each in scanned:
                sweep.run(partial(_collect, services, before, due, each), each.payable_id)
            if after is None or len(due) >= _MOST_PER_RUN or services.clock() >= now + _TIME_PER_RUN:
                break
        _put(services, [archived for archived, _ in due])
        moved = sum(sweep.run(partial(_delete, services, writes), archived.payable_id) for archived, writes in due)
        services.store.write(current.continue_at(after, services.clock()))
    return moved


def page(services: Services, account_id: str, month: str, cursor: str | None) -> ArchivePage:
    """The payables of an account whose last payment was in a month, as the archive has them: one object a page.

    Nothing is read of the tables. Raises ValidationFailed for a cursor of another list.
    """
    if not services.settings.archive_bucket:
        return ArchivePage((), None)
    prefix, scope = rules.prefix_of(account_id, month), ("archive", account_id, month)
    after = position_of(cursor, scope).place if cursor else prefix
    names = services.archive.names(prefix, after, 2)
    if not names:
        return ArchivePage((), None)
    found = lines.unpack_lines(services.archive.get(names[0]))
    following = cursor_of(Position(names[0], (), 0, None), scope) if len(names) > 1 else None
    return ArchivePage(tuple(found), following)


def _collect(services: Services, before: datetime, due: list[_Due], candidate: store.Candidate, _id: str) -> int:
    """Adds the payable of a link or request to those that are due, if it is, and if one transaction can delete it.

    Returns how many were added.
    """
    if not rules.may_be_due(candidate.read(), before):
        return 0
    found = store.whole(services.store, candidate.payable_id)
    if found is None or not rules.is_finished(found.payable) or not rules.is_due(found, before):
        return 0
    paid, requests = (*found.payments, *found.refunds), found.payable.requests
    added = [
        *payment_counts.amounts(paid, [replace(each, is_counted=False) for each in paid]),
        *request_counts.amounts(requests, [replace(each, counted_as=None) for each in requests]),
    ]
    deleted = (*found.records, *store.index_entries(services.store, found))
    writes: tuple[Write, ...] = (*map(Delete, deleted), *(Add(*each) for each in added))
    if len(writes) > LARGEST_TRANSACTION:
        return 0
    due.append((found, writes))
    return 1


def _put(services: Services, due: Sequence[Archived]) -> None:
    """Writes the lines of payables, in an object for so many of one account and month, and reads each object back.

    Raises RuntimeError if one is read as anything but what was written: then nothing is deleted.
    """
    by_place = defaultdict[str, list[Archived]](list)
    for each in due:
        by_place[rules.prefix_of(each.account_id, rules.month_of(each.last_at))].append(each)
    for prefix, found in by_place.items():
        for start in range(0, len(found), _LINES_OF_OBJECT):
            part = found[start : start + _LINES_OF_OBJECT]
            at = services.clock().strftime("%Y%m%dT%H%M%S")
            name, content = f"{prefix}{at}-{part[0].payable_id}.jsonl.gz", lines.pack_lines(part)
            services.archive.put(name, content)
            if lines.unpack_lines(services.archive.get(name)) != part:
                raise RuntimeError(f"the archive does not return what was written to {name}")


def _delete(services: Services, writes: tuple[Write, ...], _payable_id: str) -> int:
    """Deletes all records of a payable with what they count; returns 1, or 0 for one that has changed, which stays."""
    try:
        services.store.write(*writes)
    except WriteConflict:
        return 0
    return 1
