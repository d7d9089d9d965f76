"""Detects payments: reads the next confirmed blocks of a network, and records the transfers that pay a request."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chalicelib.catalogue.networks import Network, network
from chalicelib.chain import logs
from chalicelib.chain.logs import Checkpoint, ProxyTransfer
from chalicelib.chain.protocol import Chain
from chalicelib.chain.ranges import Disconnected, RangeReading, RangeTooLarge
from chalicelib.detection import rules as chainlog
from chalicelib.detection import store
from chalicelib.detection.recording import Ledgers
from chalicelib.detection.records import Cursor
from chalicelib.requests import store as request_store
from chalicelib.services import Services

_RANGES_PER_TICK = 20
"""How many ranges one tick reads at most after an outage; the next tick goes on from there."""
_TIME_PER_TICK = timedelta(seconds=20)
"""After this a tick starts nothing more. Its process is stopped much later, as a node's response or a transaction that
has begun may take seconds."""
_REFUSALS_PER_TICK = 3
"""After this many refusals or timeouts of a node a tick ends; the next ticks halve the range further."""
_BLOCKS_AT_ONCE = 100
"""How many blocks nodes answer for in one JSON-RPC batch."""


@dataclass(frozen=True)
class _Recording:
    """What became of a range: how many payments were recorded, and whether these were all of them.

    If not, `done` is the last block with a log before the first block that has transfers left.
    """

    count: int
    is_whole: bool = True
    done: Checkpoint | None = None


def scan(services: Services, name: str) -> int:
    """Reads a network up to its newest confirmed block; returns how many payments were recorded.

    Safe to repeat, and to run twice at a time: payments are recorded by conditional writes before the cursor moves, so
    a crash or a race leads to reading a range again, never to skipping one. If a range takes longer than a tick has,
    the cursor moves to the last block of which everything is recorded, and the next tick reads fewer blocks at once.
    """
    deadline = services.clock() + _TIME_PER_TICK
    chain, facts = services.chains.of(name), _network(name)
    confirmations = services.settings.confirmations.get(name, facts.confirmations)
    head = chain.head()
    cursor = store.cursor(services.store, name)
    if cursor is None:
        cursor = chainlog.first_cursor(name, head, confirmations, facts.log_range)
    recorded = refusals = 0
    for _ in range(_RANGES_PER_TICK):
        blocks = chainlog.next_range(cursor, head, confirmations)
        if blocks is None or services.clock() >= deadline:
            break
        try:
            reading = chain.read_range(blocks, cursor.newest)
        except Disconnected:
            cursor = _undo_fork(services, chain, cursor)
            continue
        except RangeTooLarge as error:
            services.log.warning("range too large", extra={"network": name, "reason": str(error)})
            cursor, refusals = _store_cursor(services, chainlog.narrow(cursor)), refusals + 1
            if refusals == _REFUSALS_PER_TICK:
                break
            continue
        recording = _record_all(services, chain, reading, deadline)
        recorded += recording.count
        if not recording.is_whole:
            services.log.warning("range too much for one tick", extra={"network": name})
            _store_cursor(services, chainlog.cut_short(cursor, recording.done))
            break
        cursor = _store_cursor(
            services, chainlog.advance(cursor, Checkpoint(blocks.last, reading.last_hash), facts.log_range)
        )
    return recorded


def _record_all(services: Services, chain: Chain, reading: RangeReading, deadline: datetime) -> _Recording:
    """Records every transfer of a range whose reference is ours, block by block, those of one link together.

    At least one transaction is made, whatever the time. A request may move to another link meanwhile, when payouts are
    merged into a batch: then its reference is looked up again. A reference that leads to no complete link was never
    given to anybody.
    """
    transfers = [t for log in reading.logs if (t := logs.decode_transfer(chain.network, log)) is not None]
    tokens = _link_tokens(services, transfers)
    turns = _turns(_dated(chain, [t for t in transfers if t.reference_topic in tokens]), tokens)
    ledgers, recorded = Ledgers(services), 0
    while turns:
        token, turn = turns.popleft()
        step = ledgers.record(token, turn)
        recorded += step.recorded
        if step.done < len(turn):
            turns.appendleft((token, turn[step.done :]))
        moved = _link_tokens(services, step.elsewhere)
        for transfer in step.elsewhere:
            now = moved.get(transfer.reference_topic, token)
            if now == token:
                facts = {"network": transfer.network, "tx_hash": transfer.tx_hash}
                services.log.error("reference leads nowhere", extra=facts)
            else:
                ledgers.forget(now)
                turns.appendleft((now, [transfer]))
        if turns and services.clock() >= deadline:
            left = min(transfer.block_number for _, turn in turns for transfer in turn)
            before = [Checkpoint(t.block_number, t.block_hash) for t in transfers if t.block_number < left]
            return _Recording(recorded, False, max(before, key=lambda c: c.number, default=None))
    return _Recording(recorded)


def _turns(transfers: Iterable[ProxyTransfer], tokens: dict[str, str]) -> deque[tuple[str, list[ProxyTransfer]]]:
    """The tokens of links, each with its transfers of one block, in the order of the chain."""
    turns: dict[tuple[int, str], list[ProxyTransfer]] = {}
    for transfer in sorted(transfers, key=lambda t: (t.block_number, t.log_index)):
        turns.setdefault((transfer.block_number, tokens[transfer.reference_topic]), []).append(transfer)
    return deque((token, turn) for (_, token), turn in turns.items())


def _link_tokens(services: Services, transfers: Iterable[ProxyTransfer]) -> dict[str, str]:
    """The token of the link that each known reference belongs to, by the reference's topic."""
    found = request_store.references(services.store, (t.reference_topic for t in transfers))
    return {reference.topic: reference.link_token for reference in found}


def _dated(chain: Chain, transfers: list[ProxyTransfer]) -> list[ProxyTransfer]:
    """The transfers with the times of their blocks; the node is asked only when there are any."""
    heights = sorted({t.block_number for t in transfers})
    times: dict[int, datetime] = {}
    for start in range(0, len(heights), _BLOCKS_AT_ONCE):
        times |= chain.block_times(heights[start : start + _BLOCKS_AT_ONCE])
    return [replace(t, paid_at=times[t.block_number]) for t in transfers]


def _undo_fork(services: Services, chain: Chain, cursor: Cursor) -> Cursor:
    """The cursor rolled back to the common ancestor, with every payment reversed whose own block is gone.

    An unmatched transfer is marked as reversed, too.
    """
    canonical = chain.block_hashes([checkpoint.number for checkpoint in cursor.checkpoints])
    rolled = chainlog.roll_back(cursor, canonical)
    services.log.error(
        "fork deeper than the confirmations",
        extra={"network": cursor.network, "from_block": cursor.scanned_to, "to_block": rolled.scanned_to},
    )
    recorded = store.unfinalized_transfers(services.store, cursor.network, rolled.scanned_to + 1)
    heights = sorted({transfer.block_number for transfer in recorded})
    hashes = chain.block_hashes(heights) if heights else {}
    ledgers = Ledgers(services)
    for transfer in recorded:
        if hashes[transfer.block_number] != transfer.block_hash:
            ledgers.reverse(transfer)
    return _store_cursor(services, rolled)


def _store_cursor(services: Services, cursor: Cursor) -> Cursor:
    """Writes the cursor. Raises WriteConflict when another scan of this network is running: this one then ends."""
    services.store.write(cursor)
    return replace(cursor, version=cursor.version + 1)


def _network(name: str) -> Network:
    found = network(name)
    assert found is not None, "only catalogued networks are scanned"
    return found
