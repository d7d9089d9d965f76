"""Following a fork: the blocks that replaced others are read again."""

from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.logs import BlockRange
from chalicelib.chains.nodes.ranges import BlockRefused, Disconnected, RangeTooLarge
from chalicelib.chains.nodes.transfers import transfers_of
from chalicelib.payments.scanning import disproof, ranges, rules, store, transfer_log
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.hints import hint
from chalicelib.payments.scanning.records import Cursor, Evidence, LoggedTransfer
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain


def follow(services: Services, chain: "Chain", details: Details, cursor: Cursor, newest: int) -> Cursor:
    """Reads the blocks that replaced those after the newest common one; returns the cursor after them.

    The transfers of the replaced blocks and those of the new ones become work for the recorder, a transfer that is in
    both as one that moved. Nothing is undone before every new block was read, and before the node's receipts confirm
    that what is missing is gone. Blocks that are unfinished are read again, too: a fork may have replaced them before
    the cursor had a checkpoint of them. The range after the cursor is read as well, as far as its blocks are confirmed,
    because a fork often moves transactions into later blocks. Raises ChainUnavailable if the chain forks again
    meanwhile, or if a block is refused, and as `disproof.check` if a new transfer is not in the receipts.
    """
    canonical = chain.block_hashes([checkpoint.number for checkpoint in cursor.checkpoints])
    common = rules.roll_back(cursor, canonical)
    logged_to = rules.last_logged(cursor)
    last = max(min(cursor.scanned_to + cursor.range_limit, newest), logged_to)
    followed, added = _read_again(services, chain, details, common, last)
    logged = store.logged_in(services.store, cursor.network, common.scanned_to + 1, logged_to)
    hashes = chain.block_hashes(sorted({entry.block_number for entry in logged}))
    removed = transfer_log.removed_by_fork(logged, hashes, added)
    gone = transfer_log.vanished(removed, added)
    receipts = chain.logs_of_transactions(sorted({entry.tx_hash for entry in gone}))
    addresses = transfer_log.emptied_addresses(gone)
    there = transfers_of(cursor.network, receipts, chain.escrow, addresses)
    transfer_log.check_vanished(cursor.network, gone, there, last)
    stored = store.logged(services.store, cursor.network, [entry.transfer_id for entry in added])
    new = tuple(entry for entry in added if entry.transfer_id not in stored)
    disproof.check(services, chain, new, details.family)
    details_of_new = details.of(new)
    cursor = ranges.unfinished(services, cursor, BlockRange(common.scanned_to + 1, last))
    # numbered after that write: a tick that died before it moved the cursor has left work with the number before
    work = transfer_log.work_of_fork(removed, added, cursor.version, services.clock())
    found = ranges.Found(details_of_new, tuple(work))
    ranges.write(services, found)
    followed = ranges.store_cursor(services, replace(followed, version=cursor.version))
    hint(services, found.payables)
    return followed


def _read_again(
    services: Services, chain: "Chain", details: Details, common: Cursor, last: int
) -> tuple[Cursor, list[LoggedTransfer]]:
    """The cursor after the blocks up to `last`, read from the common ancestor on, and their matched transfers."""
    cursor, found, most = common, list[LoggedTransfer](), common.range_limit
    while cursor.scanned_to < last:
        blocks = BlockRange(cursor.scanned_to + 1, min(cursor.scanned_to + cursor.range_limit, last))
        try:
            reading = chain.read_range(blocks, cursor.newest)
            matched = ranges.matched(services, chain, reading, blocks, details.watched)
        except Disconnected as error:
            raise ChainUnavailable(f"The {cursor.network} chain forked again while a fork was read") from error
        except RangeTooLarge as error:
            if isinstance(error, BlockRefused):
                raise ChainUnavailable(f"The {cursor.network} node refuses block {blocks.first}") from error
            cursor = rules.narrow(cursor, blocks)
            continue
        found += matched
        cursor = ranges.advanced(services, cursor, blocks, reading, most, Evidence.UNPROVED)  # proved later
    return cursor, found
