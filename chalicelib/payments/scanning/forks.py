"""Following a fork: the blocks that replaced others are read again."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, Disconnected, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange, ProxyTransfer
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.nodes import Node, agreeing, answer_or_none
from chalicelib.chains.nodes.rpc.receipts import logs_in
from chalicelib.payments.scanning import ranges, rules, store, transfer_log
from chalicelib.payments.scanning.checks import comparison
from chalicelib.payments.scanning.checks.comparison import Compared
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.hints import hint
from chalicelib.payments.scanning.records import Cursor, Evidence, LoggedTransfer, TransferState
from chalicelib.payments.scanning.transfer_log import Matched, can_count
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain


def follow(services: Services, chain: "Chain", details: Details, cursor: Cursor, newest: int) -> Cursor:
    """Reads the blocks that replaced those after the newest common one; returns the cursor after them.

    The transfers of the replaced blocks and those of the new ones become work for the recorder, a transfer that is in
    both as one that moved. Nothing is undone before every new block was read, before another node has other blocks
    there, too, and before the node's receipts confirm that what is missing is gone. Blocks that are unfinished are read
    again, too: a fork may have replaced them before the cursor had a checkpoint of them. The range after the cursor is
    read as well, as far as its blocks are confirmed, because a fork often moves transactions into later blocks. Raises
    ChainUnavailable if the chain forks again meanwhile, or if a block is refused, what `_check_replaced` raises, and as
    `comparison.check` if a new transfer is not in the receipts.
    """
    canonical = chain.block_hashes([checkpoint.number for checkpoint in cursor.checkpoints])
    common = rules.roll_back(cursor, canonical)
    logged_to = rules.last_logged(cursor)
    last = max(min(cursor.scanned_to + cursor.range_limit, newest), logged_to)
    followed, matched = _read_again(services, chain, details, common, last)
    added: Sequence[LoggedTransfer] = matched.entries
    logged = store.list_logged(services.store, cursor.network, common.scanned_to + 1, logged_to)
    hashes = chain.block_hashes(sorted({entry.block_number for entry in logged}))
    removed = transfer_log.find_removed(logged, hashes, added)
    _check_replaced(services, chain, cursor, removed, hashes)
    gone = transfer_log.find_vanished(removed, added)
    transfer_log.check_vanished(cursor.network, gone, _in_receipts(services, chain, details, gone), last)
    known = (entry for entry in removed if entry.state is not TransferState.REVERSED)
    moved = {(entry.tx_hash, entry.event_key): entry for entry in known}
    compared = _compare_replaced(services, chain, details, cursor, matched, moved)
    deferred = tuple(entry for entry in compared.deferred if (entry.tx_hash, entry.event_key) not in moved)
    unread = (entry for entry in compared.deferred if entry not in deferred)
    kept = [_as_before(entry, moved[entry.tx_hash, entry.event_key]) for entry in unread]
    rest = ranges.Found(alone=compared.alone, deferred=deferred, answered=compared.answered)
    added = [entry for entry in added if entry not in deferred]
    new = [entry for entry in (*compared.agreed, *kept) if entry.transfer_id not in matched.stored]
    found = replace(rest, new=details.of(new, compared.receipts))
    cursor = ranges.mark_unfinished(services, cursor, BlockRange(common.scanned_to + 1, last), rest)
    # numbered after that write: a tick that died before it moved the cursor has left work with the number before
    work = transfer_log.work_of_fork(removed, added, cursor.version, services.clock())
    found = replace(found, work=tuple(work))
    ranges.write(services, found)
    followed = ranges.store_cursor(services, ranges.with_undecided(replace(followed, version=cursor.version), rest))
    hint(services, found.payables)
    return followed


def _check_replaced(
    services: Services,
    chain: "Chain",
    cursor: Cursor,
    removed: Sequence[LoggedTransfer],
    hashes: Mapping[int, str | None],
) -> None:
    """Whether another node, too, has the blocks of these `hashes` where those of the removed transfers were. Raises
    NodesDisagree if one has other blocks, NotAgreed if none says so, unless all are dead. One request to each, and one
    more if they do not have all of these blocks."""
    known = [each for each in removed if each.state is not TransferState.REVERSED]
    replaced = {each.block_number: hash for each in known if (hash := hashes[each.block_number]) is not None}
    if not isinstance(chain, Node) or not replaced or agreeing(chain, chain.others, replaced):
        return
    heads = {each.host: answer_or_none(each.head) for each in chain.others}
    comparison.check_silence(services, chain, cursor, known, heads)


def _as_before(entry: LoggedTransfer, removed: LoggedTransfer) -> LoggedTransfer:
    """A transfer that moved to another block, and of which no node says now what arrived, with what arrived before."""
    return replace(entry, amount=removed.amount, fee_amount=removed.fee_amount, stated_amount=removed.stated_amount)


def _compare_replaced(
    services: Services,
    chain: "Chain",
    details: Details,
    cursor: Cursor,
    matched: Matched,
    moved: Container[tuple[str, str]],
) -> Compared:
    """As `comparison.check`, in parts of so few blocks that few are too large, which are compared by blocks; what is
    left at the deadline, and can count, is deferred, because all blocks of a fork are read at once. Not so what has
    `moved` to these blocks: it is recorded, and by the word of one node it would be in another block."""
    new = matched.to_compare
    numbers = sorted({entry.block_number for entry in new})
    size = comparison.BLOCKS_PER_READING
    parts = [numbers[first : first + size] for first in reversed(range(0, len(numbers), size))]
    found, is_first = Compared(()), True
    while parts:
        part = parts.pop()
        entries = tuple(entry for entry in new if entry.block_number in part)
        has_moved = any((entry.tx_hash, entry.event_key) in moved for entry in entries)
        if not is_first and not has_moved and services.clock() >= details.deadline:
            late = tuple(entry for entry in entries if can_count(entry))
            found += Compared(tuple(entry for entry in entries if entry not in late), late)
            continue
        try:
            found += comparison.check(services, chain, cursor, entries, matched.logs)
        except RangeTooLarge:
            if len(part) == 1:
                raise
            parts += [[number] for number in reversed(part)]
        is_first = False
    return found


def _in_receipts(
    services: Services, chain: "Chain", details: Details, gone: Sequence[LoggedTransfer]
) -> Sequence[ProxyTransfer]:
    """The transfers in the receipts of what is gone, as far as it counts. Those that the node does not return are left
    out, with an alarm: anybody can make one that is too large, and everybody's payments would wait for it."""
    counting = [entry for entry in gone if can_count(entry)]
    hashes = sorted({entry.tx_hash for entry in counting})
    receipts = details.read_receipts(chain, hashes, len(hashes) + 1)
    for tx_hash in hashes:
        if tx_hash not in receipts:
            services.log.error("receipt not compared", extra={"network": chain.network, "tx_hash": tx_hash})
    return transfers_of(chain.network, logs_in(receipts), chain.escrow, transfer_log.addresses_of_emptied(counting))


def _read_again(
    services: Services, chain: "Chain", details: Details, common: Cursor, last: int
) -> tuple[Cursor, Matched]:
    """The cursor after the blocks up to `last`, read from the common ancestor on, and their matched transfers."""
    cursor, found, most = common, Matched(), common.range_limit
    while cursor.scanned_to < last:
        blocks = BlockRange(cursor.scanned_to + 1, min(cursor.scanned_to + cursor.range_limit, last))
        try:
            reading = chain.read_range(blocks, cursor.newest)
            matched = ranges.match_transfers(services, chain, reading.logs, blocks, details.watched)
        except Disconnected as error:
            raise ChainUnavailable(f"The {cursor.network} chain forked again while a fork was read") from error
        except RangeTooLarge as error:
            if isinstance(error, BlockRefused):
                raise ChainUnavailable(f"The {cursor.network} node refuses block {blocks.first}") from error
            cursor = rules.narrow(cursor, blocks)
            continue
        found += matched
        cursor = ranges.advance_cursor(
            services, chain, cursor, blocks, reading, most, Evidence.UNPROVED
        )  # proved later
    return cursor, found
