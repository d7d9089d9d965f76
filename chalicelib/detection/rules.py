"""Reading a chain: which logs of the fee proxies are payments, which blocks to read next, and what a fork undoes.

The rule of chain truth: a block is read once it is `confirmations` deep, so a log that a fork drops earlier was never
seen. The hash of each range's last block is kept as a checkpoint, and every range must connect to the one before it.
Where it does not, a fork went deeper than the confirmations: reading resumes at the newest checkpoint still canonical.
"""

from collections.abc import Mapping
from dataclasses import replace

from chalicelib.chain.logs import BlockRange, Checkpoint
from chalicelib.detection.records import Cursor

MAX_CHECKPOINTS = 64


def first_cursor(network: str, head: int, confirmations: int, range_limit: int) -> Cursor:
    """Where reading begins on a network that has never been read.

    One range before the newest confirmed block, so that a link paid before the first tick is still seen.
    """
    return Cursor(network, max(confirmed_height(head, confirmations) - range_limit, 0), (), range_limit)


def confirmed_height(head: int, confirmations: int) -> int:
    """The newest block that is `confirmations` deep; the head itself is one deep."""
    return head - confirmations + 1


def next_range(cursor: Cursor, head: int, confirmations: int) -> BlockRange | None:
    """The next blocks to read, within the cursor's limit; None when every confirmed block has been read.

    Where the limit has room, the range before is read once more: a node that served its logs from a machine that
    lagged behind is heard a second time, a tick later.
    """
    next_block, newest = cursor.scanned_to + 1, confirmed_height(head, confirmations)
    if next_block > newest:
        return None
    last = min(newest, next_block + cursor.range_limit - 1)
    before = cursor.checkpoints[-2].number + 1 if len(cursor.checkpoints) > 1 else next_block
    return BlockRange(before if last - before < cursor.range_limit else next_block, last)


def advance(cursor: Cursor, last: Checkpoint, most: int) -> Cursor:
    """The cursor after everything up to `last` was read; its limit grows slowly back towards `most`."""
    return replace(
        cursor,
        scanned_to=last.number,
        checkpoints=_thinned((*cursor.checkpoints, last)),
        range_limit=min(cursor.range_limit + cursor.range_limit // 16 + 1, most),
    )


def narrow(cursor: Cursor) -> Cursor:
    """The cursor with half the limit, after the node refused a range."""
    return replace(cursor, range_limit=max(cursor.range_limit // 2, 1))


def cut_short(cursor: Cursor, done: Checkpoint | None) -> Cursor:
    """The cursor after a range that was too much for one tick: behind the last block known to be done, if that is one
    of the new ones, and with half the limit."""
    if done is not None and done.number > cursor.scanned_to:
        cursor = advance(cursor, done, cursor.range_limit)
    return narrow(cursor)


def roll_back(cursor: Cursor, canonical: Mapping[int, str]) -> Cursor:
    """The cursor at the newest checkpoint whose hash is still canonical.

    `canonical` maps checkpoint numbers to the hashes the chain has now. Without any match the fork is deeper than the
    memory; reading resumes before the oldest checkpoint.
    """
    kept = cursor.checkpoints
    while kept and canonical.get(kept[-1].number) != kept[-1].hash:
        kept = kept[:-1]
    if kept:
        return replace(cursor, scanned_to=kept[-1].number, checkpoints=kept)
    oldest = min((c.number for c in cursor.checkpoints), default=cursor.scanned_to)
    return replace(cursor, scanned_to=max(oldest - 1, 0), checkpoints=())


def _thinned(checkpoints: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
    """Every checkpoint of the newest 16 blocks, then one in ever wider aligned spans: short, but reaching far back."""
    newest = checkpoints[-1].number
    kept: dict[tuple[int, int], Checkpoint] = {}
    for checkpoint in checkpoints:
        level = max((newest - checkpoint.number).bit_length() - 4, 0)
        kept.setdefault((level, checkpoint.number >> level), checkpoint)
    return tuple(kept.values())[-MAX_CHECKPOINTS:]
