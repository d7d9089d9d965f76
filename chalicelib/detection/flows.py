"""Payment detection: reads the next confirmed blocks of a network and records the transfers that pay a request."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.catalogue.networks import Network, network
from chalicelib.chain import logs
from chalicelib.chain.logs import Checkpoint, ProxyTransfer
from chalicelib.chain.ranges import Disconnected, RangeReading, RangeTooLarge
from chalicelib.detection import rules, store
from chalicelib.detection.recording import LinkRecorders
from chalicelib.detection.records import Cursor
from chalicelib.requests import store as request_store
from chalicelib.services import Services

if TYPE_CHECKING:
    from chalicelib.chain.protocol import Chain

_RANGES_PER_TICK = 20
"""The most ranges that one tick reads; the next tick continues from there."""
_TIME_PER_TICK = timedelta(seconds=20)
"""A tick starts no new work after this time. The process timeout is much longer, because a node's response or a
transaction in progress may take seconds."""
_REFUSALS_PER_TICK = 3
"""A tick ends after this many ranges that the node refused or timed out on; the next ticks halve the range further."""
_BLOCKS_PER_BATCH = 100
"""The most blocks in one JSON-RPC batch that nodes accept."""


@frozen
class _Recording:
    """How many payments of a range were recorded, and whether the range is complete.

    If it is not, `last_done` is the last block with a log before the first block that has transfers left.
    """

    count: int
    is_complete: bool = True
    last_done: Checkpoint | None = None


def scan(services: Services, name: str) -> int:
    """Reads a network up to its newest confirmed block; returns how many payments were recorded.

    Safe to repeat and to run concurrently: payments are recorded by conditional writes before the cursor moves, so a
    range is read again after a crash or a race, never skipped. If a range takes longer than one tick, the cursor moves
    to the last completely recorded block, and the next tick reads fewer blocks at once.
    """
    deadline = services.clock() + _TIME_PER_TICK
    chain, facts = services.chains.of(name), _network(name)
    confirmations = services.settings.confirmations.get(name, facts.confirmations)
    head = chain.head()
    cursor = store.cursor(services.store, name)
    if cursor is None:
        cursor = rules.first_cursor(name, head, confirmations, facts.log_range)
    recorded = refusals = 0
    for _ in range(_RANGES_PER_TICK):
        blocks = rules.next_range(cursor, head, confirmations)
        if blocks is None or services.clock() >= deadline:
            break
        try:
            reading = chain.read_range(blocks, cursor.newest)
        except Disconnected:
            cursor = _undo_fork(services, chain, cursor)
            continue
        except RangeTooLarge as error:
            services.log.warning("range too large", extra={"network": name, "reason": str(error)})
            cursor, refusals = _store_cursor(services, rules.narrow(cursor)), refusals + 1
            if refusals == _REFUSALS_PER_TICK:
                break
            continue
        recording = _record_all(services, chain, reading, deadline)
        recorded += recording.count
        if not recording.is_complete:
            services.log.warning("range takes longer than one tick", extra={"network": name})
            _store_cursor(services, rules.cut_short(cursor, recording.last_done))
            break
        cursor = _store_cursor(
            services, rules.advance(cursor, Checkpoint(blocks.last, reading.last_hash), facts.log_range)
        )
    return recorded


def _record_all(services: Services, chain: "Chain", reading: RangeReading, deadline: datetime) -> _Recording:
    """Records every transfer of a range that has the reference of a request, block by block, grouped by link.

    Makes at least one transaction, even after the deadline. A request can move to another link meanwhile, when payouts
    are merged into a batch: its reference is then looked up again. A reference without a complete link is logged and
    skipped, because no caller has received it.
    """
    transfers = logs.transfers_of(chain.network, reading.logs)
    tokens = _link_tokens(services, transfers)
    groups = _grouped(_with_block_times(chain, [t for t in transfers if t.reference_topic in tokens]), tokens)
    recorders, recorded = LinkRecorders(services), 0
    while groups:
        token, group = groups.popleft()
        step = recorders.record(token, group)
        recorded += step.recorded
        if step.done < len(group):
            groups.appendleft((token, group[step.done :]))
        moved = _link_tokens(services, step.of_other_links)
        for transfer in step.of_other_links:
            current = moved.get(transfer.reference_topic, token)
            if current == token:
                facts = {"network": transfer.network, "tx_hash": transfer.tx_hash}
                services.log.error("reference without a link", extra=facts)
            else:
                recorders.drop(current)
                groups.appendleft((current, [transfer]))
        if groups and services.clock() >= deadline:
            first_left = min(transfer.block_number for _, group in groups for transfer in group)
            before = [Checkpoint(t.block_number, t.block_hash) for t in transfers if t.block_number < first_left]
            return _Recording(recorded, False, max(before, key=lambda c: c.number, default=None))
    return _Recording(recorded)


def _grouped(transfers: Iterable[ProxyTransfer], tokens: dict[str, str]) -> deque[tuple[str, list[ProxyTransfer]]]:
    """The transfers by block and link token, in the order of the chain."""
    groups: dict[tuple[int, str], list[ProxyTransfer]] = {}
    for transfer in sorted(transfers, key=lambda t: (t.block_number, t.log_index)):
        groups.setdefault((transfer.block_number, tokens[transfer.reference_topic]), []).append(transfer)
    return deque((token, group) for (_, token), group in groups.items())


def _link_tokens(services: Services, transfers: Iterable[ProxyTransfer]) -> dict[str, str]:
    """The link token of each known reference, by the reference's topic."""
    found = request_store.references(services.store, (t.reference_topic for t in transfers))
    return {reference.topic: reference.link_token for reference in found}


def _with_block_times(chain: "Chain", transfers: list[ProxyTransfer]) -> list[ProxyTransfer]:
    """The transfers with the timestamps of their blocks. No call to the node if there are no transfers."""
    heights = sorted({t.block_number for t in transfers})
    times: dict[int, datetime] = {}
    for start in range(0, len(heights), _BLOCKS_PER_BATCH):
        facts = chain.block_facts(heights[start : start + _BLOCKS_PER_BATCH])
        times |= {number: block.time for number, block in facts.items()}
    return [replace(t, paid_at=times[t.block_number]) for t in transfers]


def _undo_fork(services: Services, chain: "Chain", cursor: Cursor) -> Cursor:
    """Returns the cursor rolled back to the common ancestor, after reversing every payment whose block was removed.

    Unmatched transfers of removed blocks are marked as reversed, too.
    """
    canonical = _known_hashes(chain, [checkpoint.number for checkpoint in cursor.checkpoints])
    rolled = rules.roll_back(cursor, canonical)
    services.log.error(
        "fork deeper than the confirmations",
        extra={"network": cursor.network, "from_block": cursor.scanned_to, "to_block": rolled.scanned_to},
    )
    recorded = store.unfinalized_transfers(services.store, cursor.network, rolled.scanned_to + 1)
    heights = sorted({transfer.block_number for transfer in recorded})
    hashes = _known_hashes(chain, heights)
    recorders = LinkRecorders(services)
    for transfer in recorded:
        if hashes[transfer.block_number] != transfer.block_hash:
            recorders.reverse(transfer)
    return _store_cursor(services, rolled)


def _known_hashes(chain: "Chain", heights: list[int]) -> dict[int, str]:
    """The canonical hash at each height. Raises ChainUnavailable if the node does not return a block."""
    hashes = chain.block_hashes(heights)
    known = {number: found for number, found in hashes.items() if found is not None}
    if len(known) != len(hashes):
        raise ChainUnavailable(f"The {chain.network} node lags behind what it knew before")
    return known


def _store_cursor(services: Services, cursor: Cursor) -> Cursor:
    """Writes the cursor. Raises WriteConflict, which ends this scan, if another scan of the network wrote it first."""
    services.store.write(cursor)
    return replace(cursor, version=cursor.version + 1)


def _network(name: str) -> Network:
    found = network(name)
    assert found is not None, "only catalogued networks are scanned"
    return found
