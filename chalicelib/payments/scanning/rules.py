"""The cursor of a network: which blocks to read next, and where to resume after a fork.

A block is read once it is `confirmations` deep, so a log that a fork removes before that is never read. The hash of
each range's last block is stored as a checkpoint, and every range must connect to the one before it. If it does not, a
fork was deeper than the confirmations: reading resumes at the newest checkpoint that is still canonical.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.readings import NodeView
from chalicelib.payments.scanning.evidence import (
    count_unproved,
    first_weak,
    prune,
    read_first,
    remove_after,
)
from chalicelib.payments.scanning.records import (
    Cursor,
    DeferredTransaction,
    Evidence,
    NextTarget,
    NodeCheck,
    ScanLease,
    SilentNode,
    Verification,
    Weak,
    WeakRange,
)

MAX_CHECKPOINTS = 64
LEASE = timedelta(seconds=60)
"""How long a tick keeps others of its network from starting if its process dies; the longest time of the Lambda."""
VERIFIED_AFTER = (timedelta(minutes=10), timedelta(hours=6))
"""Every block that is not proved (evidence.py) is read again when it is this old. A node can answer that there are no
logs where there are some, because it indexes them late, or has lost them; nothing in its answer shows that."""
READ_AGAIN_AFTER = VERIFIED_AFTER[0] * 12 // 10
"""After this time a block was read again: that begins a tenth of the time later at most (`with_verifications`)."""
TARGETS = 10
"""How many targets follow each other within each of these times."""
OLDEST_TICK = timedelta(seconds=30)
"""A tick that waited longer in the queue is dropped: newer ticks of its network are behind it."""
UNPROVED_FOR = timedelta(hours=1)
"""After this time unproved blocks raise an alarm."""
LONGEST_BLOCK_TIME = timedelta(seconds=15)
"""More than the average time of a block on every network. The longest is 12 seconds, on mainnet and sepolia; a fifth of
the slots may be missed there."""
LAG_GRACE = timedelta(seconds=60)
"""The time that a late schedule and a slow node may take. On Tron it covers the 19 blocks until a block is final."""


@frozen
class NetworkStatus:
    """How far a network is read. All times are None, and no payments are seen, before its first range was read."""

    network: str
    lag: timedelta | None
    read_until: datetime | None
    read_at: datetime | None
    sees_payments: bool
    nodes: NodeCheck | None = None
    evidence: Evidence | None = None
    unproved_blocks: int = 0
    unproved_since: datetime | None = None
    is_alone: bool = False
    """Whether one node alone vouches for payments that were recorded, as the others were silent."""
    waits_for_node: bool = False
    deferred: tuple[DeferredTransaction, ...] = ()
    """The first ones, as many as are counted."""


def first_cursor(network: str, head: int, confirmations: int, range_limit: int) -> Cursor:
    """The cursor of a network that has never been read.

    It starts one range before the newest confirmed block.
    """
    return Cursor(network, max(height_of_confirmed(head, confirmations) - range_limit, 0), (), range_limit)


def begin_at(cursor: Cursor, block: int) -> Cursor:
    """A new cursor that begins at a block, unless it begins before it anyhow."""
    return replace(cursor, scanned_to=min(cursor.scanned_to, block))


def take_lease(lease: ScanLease | None, network: str, now: datetime) -> ScanLease | None:
    """The lease of a tick that starts now; None while another tick of the network holds it."""
    if lease is None:
        return ScanLease(network, now + LEASE)
    return replace(lease, ends_at=now + LEASE) if now >= lease.ends_at else None


def is_outdated(due_at: datetime, now: datetime) -> bool:
    """Whether a tick that was due at `due_at` has waited so long that newer ones are behind it."""
    return now - due_at > OLDEST_TICK


def lag(cursor: Cursor, now: datetime) -> timedelta | None:
    """The age of the newest block that was read; None if it is not known. A node that stands still increases it."""
    return None if cursor.read_until is None else now - cursor.read_until


def network_status(
    name: str,
    cursor: Cursor | None,
    confirmations: int,
    scan_interval: timedelta,
    silent_after: timedelta,
    now: datetime,
    deferred: tuple[DeferredTransaction, ...] = (),
) -> NetworkStatus:
    """How far a network is read.

    Payments are seen while its lag is what confirmations and the interval of the scans explain, and LAG_GRACE.
    """
    if cursor is None or cursor.read_until is None:
        return NetworkStatus(name, None, None, None, False, cursor.nodes if cursor else None)
    age = max(now - cursor.read_until, timedelta(0))
    most = confirmations * LONGEST_BLOCK_TIME + scan_interval + LAG_GRACE
    sees_payments = age <= most and not cursor.is_paused
    count, since = count_unproved(cursor.weak)
    is_alone = cursor.alone is not None
    return NetworkStatus(
        name,
        age,
        cursor.read_until,
        cursor.read_at,
        sees_payments,
        cursor.nodes,
        cursor.evidence,
        count,
        since,
        is_alone,
        waits_for_node(cursor, silent_after),
        deferred,
    )


def waits_for_node(cursor: Cursor, after: timedelta) -> bool:
    """Whether for a time only one of several nodes has said until when the network was read: then nothing ends there,
    and what two nodes have to say waits."""
    if cursor.nodes is None or cursor.read_until is None:
        return False
    return cursor.agreed_until is None or cursor.read_until - cursor.agreed_until > after


def is_unproved_long(cursor: Cursor, now: datetime) -> bool:
    """Whether blocks are unproved that were read more than UNPROVED_FOR ago."""
    since = count_unproved(cursor.weak)[1]
    return since is not None and now - since > UNPROVED_FOR


def is_late(cursor: Cursor | None, confirmations: int, block_time: timedelta, now: datetime) -> bool:
    """Whether the newest block that was read is older than confirmations explain, as if the node had no new ones."""
    age = lag(cursor, now) if cursor is not None else None
    return age is not None and age > 2 * (confirmations * block_time + LAG_GRACE)


def compare_nodes(views: Sequence[NodeView], block_time: timedelta) -> tuple[NodeCheck, str]:
    """How nodes compare, and what is wrong with them, without their URLs; an empty text if nothing is.

    A node that is LAG_GRACE behind the best one is not usable. Two nodes with different hashes of the same block
    disagree; which of them is right cannot be known, so any two do, however many others there are.
    """
    bad = unusable(views, block_time)
    silent = [view.host for view in bad if view.head is None]
    behind = [view.host for view in bad if view.head is not None]
    hosts = dict[int, dict[str, str]]()
    for view in views:
        for number, hash in view.hashes.items():
            if hash is not None:
                hosts.setdefault(number, {}).setdefault(hash, view.host)
    wrong = [f"{host} does not answer" for host in silent] + [f"{host} is behind" for host in behind]
    differing = [number for number, each in hosts.items() if len(each) > 1]
    if differing:
        pairs = " and ".join(f"{hash} at {host}" for hash, host in hosts[differing[0]].items())
        wrong.append(f"block {differing[0]} is {pairs}")
    return NodeCheck(len(views), len(views) - len(bad), not differing), ", ".join(wrong)


def unusable(views: Sequence[NodeView], block_time: timedelta) -> list[NodeView]:
    """The nodes that do not answer, and those that are LAG_GRACE behind the best one."""
    newest_useful = max((view.head or 0 for view in views), default=0) - max(LAG_GRACE // block_time, 3)
    return [view for view in views if view.head is None or view.head < newest_useful]


def silent_nodes(known: Sequence[SilentNode], heads: Mapping[str, int | None], now: datetime) -> tuple[SilentNode, ...]:
    """The nodes with these newest blocks by host (None: no answer), each with the time since which it gives no new one.

    A node that answers with a newer block than before is behind, and begins anew. Of one that is known twice the
    earlier time counts.
    """
    before = {each.host: each for each in sorted(known, key=lambda each: each.since, reverse=True)}
    return tuple(_silent_node(before.get(host), host, head, now) for host, head in heads.items())


def _silent_node(before: SilentNode | None, host: str, head: int | None, now: datetime) -> SilentNode:
    if before is None or (head is not None and (before.head is None or head > before.head)):
        return SilentNode(host, head, now)
    return before


def are_dead(known: Sequence[SilentNode], heads: Mapping[str, int | None], after: timedelta, now: datetime) -> bool:
    """Whether each of these nodes has given no new block for a time. Where two of them answer, it is the chain that has
    no new ones."""
    answering = sum(head is not None for head in heads.values())
    return answering < 2 and all(now - each.since >= after for each in silent_nodes(known, heads, now))


def height_of_confirmed(head: int, confirmations: int) -> int:
    """The newest block that is `confirmations` deep; the head itself is one deep."""
    return head - confirmations + 1


def next_range(cursor: Cursor, head: int, confirmations: int) -> BlockRange | None:
    """The next blocks to read, within the cursor's limit; None if every confirmed block has been read.

    If the limit allows it, the previous range is read again: a lagging machine behind the node's URL may have returned
    its logs incompletely.
    """
    next_block, newest = cursor.scanned_to + 1, height_of_confirmed(head, confirmations)
    if next_block > newest:
        return None
    last = min(newest, next_block + cursor.range_limit - 1)
    before = cursor.checkpoints[-2].number + 1 if len(cursor.checkpoints) > 1 else next_block
    return BlockRange(before if last - before < cursor.range_limit else next_block, last)


def advance(
    cursor: Cursor,
    last: Checkpoint,
    time: datetime,
    max_range: int,
    now: datetime,
    evidence: Evidence,
    is_full: bool = False,
) -> Cursor:
    """The cursor after all blocks up to `last` were read, and are known by `evidence`; its limit grows slowly back to
    `max_range`.

    `time` is the timestamp of the block. After a block that `is_full` (chains/nodes/history/full_blocks.py) the next
    one is read alone, too: whoever fills blocks fills many, and a range with one of them is refused.
    """
    grown = min(cursor.range_limit + cursor.range_limit // 16 + 1, max_range)
    return replace(
        cursor,
        scanned_to=last.number,
        read_until=time,
        read_at=now,
        unfinished=None,
        checkpoints=_thin_out((*cursor.checkpoints, last)),
        range_limit=1 if is_full else grown,
        evidence=evidence,
        weak=read_first(_weak(cursor, now), BlockRange(cursor.scanned_to + 1, last.number), evidence, now),
    )


def _weak(cursor: Cursor, now: datetime) -> Weak:
    """The list of what is not proved. If the cursor has no evidence yet, code that had none has read what is before it:
    so nothing is proved that is still to be read again."""
    if cursor.evidence is not None or not cursor.verifications:
        return cursor.weak
    oldest = min(each.verified_to for each in cursor.verifications) + 1
    if oldest > cursor.scanned_to:
        return ()
    return (WeakRange(oldest, cursor.scanned_to, Evidence.UNPROVED, now),)


def last_logged(cursor: Cursor) -> int:
    """The newest block that the log may have transfers of."""
    return max(cursor.scanned_to, cursor.unfinished.last) if cursor.unfinished else cursor.scanned_to


def narrow(cursor: Cursor, refused: BlockRange) -> Cursor:
    """The cursor with a limit of half as many blocks as the range had that the node refused, or that was too much."""
    return replace(cursor, range_limit=refused.first_half.count)


def blocks_to_verify(cursor: Cursor, index: int, now: datetime) -> tuple[BlockRange, bool] | None:
    """The next blocks of the verification of VERIFIED_AFTER[index], and whether they are to be read again, as they are
    not proved; None if none are old enough."""
    each = cursor.verifications[index]
    if now - each.target_at < VERIFIED_AFTER[index] or each.verified_to >= each.target:
        return None
    blocks = BlockRange(each.verified_to + 1, min(each.verified_to + cursor.range_limit, each.target))
    weak = first_weak(_weak(cursor, now), blocks)
    if weak is None:
        return blocks, False
    return (weak, True) if weak.first == blocks.first else (BlockRange(blocks.first, weak.first - 1), False)


def with_verifications(cursor: Cursor, now: datetime) -> Cursor:
    """The cursor with a verification for each of VERIFIED_AFTER, each with a target that is not reached yet.

    Further targets follow at a tenth of that time, so no block is read again later than a tenth after its time.
    """
    known = dict(enumerate(cursor.verifications))
    current, following = list[Verification](), list[NextTarget]()
    for number, age in enumerate(VERIFIED_AFTER):
        each = known.get(number) or Verification(cursor.scanned_to, cursor.scanned_to, now)
        later = [target for target in cursor.next_targets if target.number == number and target.target > each.target]
        if number in known and each.verified_to >= each.target:
            first = later.pop(0) if later else NextTarget(number, cursor.scanned_to, now)
            each = Verification(each.verified_to, first.target, first.target_at)
        newest = later[-1] if later else each
        is_next = cursor.scanned_to > newest.target and now - newest.target_at >= age / TARGETS
        if is_next and len(later) < TARGETS:
            later.append(NextTarget(number, cursor.scanned_to, now))
        current.append(each)
        following += later
    return replace(cursor, verifications=tuple(current), next_targets=tuple(following))


def mark_verified(cursor: Cursor, index: int, last: int) -> Cursor:
    """The cursor after the blocks up to `last` were read again."""
    each = replace(cursor.verifications[index], verified_to=last)
    return replace(cursor, verifications=(*cursor.verifications[:index], each, *cursor.verifications[index + 1 :]))


def without_old(cursor: Cursor, now: datetime) -> Cursor:
    """The cursor without ranges that need no proof any more (evidence.pruned)."""
    verified_to = cursor.verifications[-1].verified_to if cursor.verifications else cursor.scanned_to
    return replace(cursor, weak=prune(cursor.weak, verified_to, now))


def roll_back(cursor: Cursor, canonical: Mapping[int, str | None]) -> Cursor:
    """The cursor at the newest checkpoint whose hash is still canonical, before any blocks that are unfinished.

    `canonical` maps checkpoint numbers to the block hashes of the chain now, None where the node has no block: such a
    checkpoint says nothing, and an older one is looked for. If none matches, the fork is deeper than the checkpoints;
    reading resumes one range before the oldest one, because that checkpoint was the last block of a range.
    """
    first = cursor.unfinished.first if cursor.unfinished else cursor.scanned_to + 1
    common = cursor.checkpoints
    while common and (common[-1].number >= first or canonical.get(common[-1].number) != common[-1].hash):
        common = common[:-1]
    oldest = min(cursor.scanned_to, first - 1, *(c.number for c in cursor.checkpoints))
    scanned_to = common[-1].number if common else max(oldest - cursor.range_limit, 0)
    weak = remove_after(cursor.weak, scanned_to)
    return replace(cursor, scanned_to=scanned_to, checkpoints=common, weak=weak)


def _thin_out(checkpoints: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
    """All checkpoints of the newest 16 blocks, then one per aligned span; the spans double in length."""
    newest = checkpoints[-1].number
    thinned: dict[tuple[int, int], Checkpoint] = {}
    for checkpoint in checkpoints:
        level = max((newest - checkpoint.number).bit_length() - 4, 0)
        thinned.setdefault((level, checkpoint.number >> level), checkpoint)
    return tuple(thinned.values())[-MAX_CHECKPOINTS:]
