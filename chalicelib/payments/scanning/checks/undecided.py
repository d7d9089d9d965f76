"""What is looked at again until other nodes have said what it is: transfers of one node alone, deferred transactions.

Neither holds new blocks up: they are looked at once all confirmed blocks were read, within the time of a tick, and how
far that went is in the cursor.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.nodes import Node, NodesDisagree, others_of
from chalicelib.payments.scanning import ranges, transfer_log
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.checks import reversal
from chalicelib.payments.scanning.checks.comparison import BLOCKS_PER_READING
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.hints import hint
from chalicelib.payments.scanning.records import Cursor, DeferredTransaction, LoggedTransfer
from chalicelib.payments.scanning.transfer_log import Matched
from chalicelib.platform.services import Services
from chalicelib.platform.storage.writes import Delete

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain

DEFERRED_PER_TICK = 5
"""The most deferred transactions of a tick, new ones and others. Each may take as long as a response of a node may."""


def compare_alone(services: Services, chain: "Chain", details: Details, cursor: Cursor) -> Cursor:
    """Compares what one node alone had when it was recorded with the nodes that answer now, and takes back what none of
    them has. Nothing is asked while all others have failed lately. Raises NodesDisagree (reversal.compare_again)."""
    if cursor.alone is None or (isinstance(chain, Node) and not others_of(chain)):
        return cursor
    gone, undecided = list[LoggedTransfer](), None
    if isinstance(chain, Node):
        numbers = scan_store.list_logged_blocks(services.store, cursor.network, *cursor.alone.ends, BLOCKS_PER_READING)
        logged = (each for at in numbers for each in scan_store.list_logged(services.store, cursor.network, at, at))
        gone, undecided = reversal.compare_again(services, chain, logged, details.deadline)
        if undecided is None and len(numbers) == BLOCKS_PER_READING and numbers[-1] < cursor.alone.last:
            undecided = numbers[-1] + 1
    work = tuple(transfer_log.work_of_fork(gone, (), cursor.version, services.clock()))
    found = ranges.Found(work=work)
    ranges.write(services, found)
    alone = None if undecided is None else BlockRange(undecided, cursor.alone.last)
    if alone != cursor.alone:
        cursor = ranges.store_cursor(services, replace(cursor, alone=alone))
    hint(services, found.payables)
    return cursor


def settle_deferred(
    services: Services, chain: "Chain", details: Details, cursor: Cursor, new: Sequence[DeferredTransaction]
) -> tuple[int, Cursor]:
    """Reads some deferred transactions again, one by one: in turn the `new` ones of this tick, as what deferred them
    may have been others beside them, and those from where the last tick ended. Returns how many transfers of them are
    recorded now. Raises NodesDisagree."""
    if cursor.deferred_from is None:
        return 0, cursor
    page = scan_store.list_deferred(services.store, cursor.network, cursor.deferred_from, DEFERRED_PER_TICK)
    in_turn = (each for pair in zip_longest(new[:DEFERRED_PER_TICK], page) for each in pair if each is not None)
    count, of_page = 0, {each.place for each in page}
    for deferred in {each.place: each for each in in_turn}.values():
        if services.clock() >= details.deadline:
            return count, cursor
        if deferred.place in of_page:  # before it is read: if that ends the process, the next tick goes on
            cursor = ranges.store_cursor(services, replace(cursor, deferred_from=deferred.place))
        try:
            number, cursor = _settle(services, chain, details, cursor, deferred)
        except NodesDisagree:
            raise
        except (ChainUnavailable, RangeTooLarge) as error:
            facts = {"network": deferred.network, "tx_hash": deferred.tx_hash, "reason": str(error)}
            services.log.warning("transaction is still deferred", extra=facts)
            number = 0
        count += number
    if len(page) < DEFERRED_PER_TICK:
        is_any = bool(scan_store.list_deferred(services.store, cursor.network, "", 1))
        cursor = ranges.store_cursor(services, replace(cursor, deferred_from="" if is_any else None))
    return count, cursor


def _settle(
    services: Services, chain: "Chain", details: Details, cursor: Cursor, deferred: DeferredTransaction
) -> tuple[int, Cursor]:
    """Reads the block of a deferred transaction again, and records what it has, unless that is still not known.

    What one node does not list may be listed by another one: nothing is recorded, and the transaction is deferred no
    more, only if every node says so. Raises ChainUnavailable if one of them does not answer.
    """
    blocks, of_it = BlockRange(deferred.block_number, deferred.block_number), Matched()
    readers = iter((chain, *chain.others) if isinstance(chain, Node) else (chain,))
    while not of_it.entries and (reader := next(readers, None)) is not None:
        matched = ranges.match_transfers(
            services, reader, reader.read_range(blocks, None).logs, blocks, details.watched
        )
        entries = [each for each in matched.entries if each.tx_hash == deferred.tx_hash]
        chain, of_it = reader, replace(matched, entries=entries)
    found = ranges.not_recorded(services, chain, details, replace(cursor, deferred_from=None), of_it)
    if found.deferred:
        facts = {"network": deferred.network, "tx_hash": deferred.tx_hash}
        services.log.warning("transaction is still deferred", extra=facts)
        return 0, cursor
    if found.new or found.alone:
        cursor = ranges.store_cursor(services, ranges.with_undecided(cursor, found))
    ranges.write(services, found)
    services.store.write(Delete(deferred))
    hint(services, found.payables)
    return len(found.new), cursor
