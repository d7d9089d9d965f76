"""Reads blocks again that are not proved: when they are older, and by other nodes.

The blocks are not marked as unfinished: the cursor has checkpoints after them, so a fork that removes them is noticed,
and if the tick dies, they are read again.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, Disconnected, RangeTooLarge
from chalicelib.chains.nodes.nodes import Node, others_of, read_by_each
from chalicelib.payments.scanning import evidence, ranges
from chalicelib.payments.scanning import rules as scan_rules
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.checks import absence
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.hints import hint
from chalicelib.payments.scanning.records import Cursor, DeferredTransaction, Evidence, LoggedTransfer
from chalicelib.payments.scanning.transfer_log import Logs
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.networks import AbsencePolicy, Network
    from chalicelib.chains.nodes.history.logs import BlockRange
    from chalicelib.chains.nodes.protocol import Chain

_REFUSALS = 16
"""How often a range that is refused is halved in one tick."""


def due_with_new(chain: "Chain", cursor: Cursor, facts: "Network", now: datetime) -> "BlockRange | None":
    """The blocks of the first verification to ask for in the request for new ones, which saves a request; None if there
    are none, if another node is to read them, or if a range was refused lately: they must not hold up new ones."""
    if isinstance(chain, Node) or cursor.range_limit < facts.log_range or not cursor.verifications:
        return None
    blocks, is_weak = scan_rules.blocks_to_verify(cursor, 0, now) or (None, False)
    return blocks if is_weak else None


def read_again(
    services: Services,
    chain: "Chain",
    details: Details,
    policy: "AbsencePolicy",
    cursor: Cursor,
    along: "tuple[BlockRange, Logs] | None" = None,
    deferred: Sequence[DeferredTransaction] = (),
) -> int:
    """Looks for a proof of some blocks, and reads at most one range of each verification; returns how many transfers
    were missing. If the network has several nodes, each is asked; `along` are blocks that were read with new
    ones, and their logs; `deferred` are transactions that this tick has deferred. Raises ChainUnavailable.

    After the last verification the recorder compares the totals of the payables that were paid in these blocks, whether
    they are proved or not.
    """
    cursor, late = scan_rules.without_old(cursor, services.clock()), 0
    if cursor.alone is not None or cursor.deferred_from is not None:
        from chalicelib.payments.scanning.checks import undecided  # most processes see none

        cursor = undecided.compare_alone(services, chain, details, cursor)
        late, cursor = undecided.settle_deferred(services, chain, details, cursor, deferred)
    missing, cursor = _prove(services, chain, details, policy, cursor)
    missing += late
    for index in range(len(cursor.verifications)):
        due = scan_rules.blocks_to_verify(cursor, index, services.clock())
        if due is None:
            continue
        blocks, is_weak = due
        payables: dict[str, str] = {}
        paid: Sequence[LoggedTransfer] = ()
        is_last = index == len(cursor.verifications) - 1
        if is_weak:
            read = _read(services, chain, details, cursor, blocks, along)
            if read is None:
                continue
            blocks, taken = read
            if taken.found.new or taken.found.alone or taken.found.deferred or taken.is_open:  # by one node alone
                weak = evidence.doubt_blocks(cursor.weak, blocks, services.clock())
                cursor = ranges.store_cursor(services, ranges.with_undecided(replace(cursor, weak=weak), taken.found))
            payables, paid = _enter_missing(services, cursor, taken), taken.matched
            missing += len(taken.found.new)
        elif is_last:
            paid = scan_store.list_logged_again(services.store, cursor.network, *blocks.ends)
        cursor = scan_rules.without_old(scan_rules.mark_verified(cursor, index, blocks.last), services.clock())
        cursor = ranges.store_cursor(services, cursor)
        hint(services, payables)
        if is_last:
            hint(services, {entry.payable_id: entry.account_id for entry in paid}, reconcile=True)
    return missing


def _prove(
    services: Services, chain: "Chain", details: Details, policy: "AbsencePolicy", cursor: Cursor
) -> tuple[int, Cursor]:
    """Reads the next unproved blocks for evidence, if the newest ones have some: another node answers again.

    As long as a transfer that they do not have is not denied by every node, they stay unproved, and it is looked for
    again.
    """
    now = services.clock()
    if cursor.evidence in (None, Evidence.UNPROVED) or not others_of(chain):
        return 0, cursor
    most = absence.HEADERS_AT_ONCE if policy.headers_every == 1 else cursor.range_limit
    blocks = evidence.to_prove(cursor.weak, min(most, cursor.range_limit), now)
    if blocks is None:
        return 0, cursor
    try:
        reading = chain.read_range(blocks, cursor.newest, absence.choose_headers(policy, blocks))
        known = absence.weigh(services, chain, policy, cursor, blocks, reading, details.deadline)
        taken = _take_blocks(services, chain, details, cursor, blocks, known.reading.logs, known.proved)
    except Disconnected:
        return 0, cursor  # a fork, which is followed when the next block is read
    except RangeTooLarge as error:
        ranges.log_refusal(services, cursor.network, blocks, error)
        weak = evidence.read_again(cursor.weak, blocks.first_half, Evidence.UNPROVED, now)
        return 0, ranges.store_cursor(services, replace(cursor, weak=weak))
    except ChainUnavailable:
        weak = evidence.read_again(cursor.weak, blocks, Evidence.UNPROVED, now)
        ranges.store_cursor(services, replace(cursor, weak=weak))  # the next tick reads other blocks again
        raise
    if taken.found.alone or taken.found.deferred:
        cursor = ranges.store_cursor(services, ranges.with_undecided(cursor, taken.found))
    payables = _enter_missing(services, cursor, taken)
    weak = evidence.read_again(cursor.weak, blocks, Evidence.UNPROVED if taken.is_open else known.evidence, now)
    cursor = ranges.store_cursor(services, replace(absence.note_run(cursor, known, now), weak=weak))
    hint(services, payables)
    return len(taken.found.new), cursor


@frozen
class _Taken:
    """Of blocks that were read again: the transfers that they have, those that were missing, the work of undoing what
    they do not have, and whether it is undecided if the log has some that are not there."""

    matched: Sequence[LoggedTransfer]
    found: "ranges.Found"
    gone: "ranges.Found"
    is_open: bool


def _take_blocks(
    services: Services,
    chain: "Chain",
    details: Details,
    cursor: Cursor,
    blocks: "BlockRange",
    logs: Logs,
    proved: Logs = (),
) -> _Taken:
    matched = ranges.match_transfers(services, chain, logs, blocks, details.watched)
    gone, is_open = ranges.not_found_again(services, chain, details, cursor, blocks, matched.entries)
    found = ranges.not_recorded(services, chain, details, cursor, matched, proved)
    return _Taken(matched.entries, found, gone, is_open)


def _with_more(
    services: Services,
    reader: "Chain",
    details: Details,
    cursor: Cursor,
    blocks: "BlockRange",
    logs: Logs,
    taken: _Taken,
) -> _Taken:
    """With the transfers that one more node lists, and neither the log nor the nodes before it have."""
    matched = ranges.match_transfers(services, reader, logs, blocks, details.watched)
    known = {each.transfer_id for each in taken.matched} | matched.stored.keys()
    entries = [each for each in matched.entries if each.transfer_id not in known]
    more = ranges.not_recorded(services, reader, details, cursor, replace(matched, entries=entries))
    return replace(taken, matched=[*taken.matched, *entries], found=taken.found + more)


def _enter_missing(services: Services, cursor: Cursor, taken: _Taken) -> dict[str, str]:
    """Writes what was missing and what is to be undone. Returns the accounts of the payables with work by their ids."""
    ranges.write(services, taken.found)
    services.store.put_many(taken.gone.work)
    if taken.found.new:
        extra = {"network": cursor.network, "count": len(taken.found.new)}
        services.log.error("transfers were missing", extra=extra)
    return {**taken.found.payables, **taken.gone.payables}


def _read(
    services: Services,
    chain: "Chain",
    details: Details,
    cursor: Cursor,
    blocks: "BlockRange",
    along: "tuple[BlockRange, Logs] | None",
) -> "tuple[BlockRange, _Taken] | None":
    """The first of some blocks, and what reading them now takes; None if they cannot be read now.

    A range of which the node refuses the payments, or the transfers of addresses, is halved for this reading only,
    until the deadline of the tick: it must not hold up new blocks.
    """
    for refusals in range(_REFUSALS):
        if refusals and services.clock() >= details.deadline:
            return None
        try:
            if along is not None and along[0] == blocks:
                return blocks, _take_blocks(services, chain, details, cursor, blocks, along[1])
            readings = read_by_each(chain, blocks, cursor.newest)
            reader, reading = next(readings)
            taken = _take_blocks(services, reader, details, cursor, blocks, reading.logs)
            for reader, reading in readings:
                taken = _with_more(services, reader, details, cursor, blocks, reading.logs, taken)
            return blocks, taken
        except Disconnected:
            return None  # a fork, which is followed when the next block is read
        except BlockRefused as error:
            ranges.log_refusal(services, cursor.network, blocks, error)
            return None
        except RangeTooLarge:
            blocks = blocks.first_half
    return None
