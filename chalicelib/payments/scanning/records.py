"""Stored records: how far a network is read, the log of its transfers to requests, and what is not recorded yet."""

from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import OPS, PAYMENTS, KeyPattern, Record
from chalicelib.chains.nodes.escrow.logs import LoggedEscrow
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint, LoggedConversion

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed

WAITING = "~"
"""The first character of the sort keys of work that waits for a rate. It is behind the names of all networks."""
OWNED_BY = "@"
"""Stands before the account in the sort keys of work, and nowhere else in them."""
LOG_RETENTION = timedelta(days=7)
"""How long a recorded transfer stays in the log. No supported network forks deeper than this."""
BLOCKS_PER_PARTITION = 2
"""How many blocks share a partition of the log. DynamoDB writes 1,000 items a second to a partition. The deeper a
fork, the more partitions are read."""

DEFERRED_COUNTED = 100
"""So many deferred transactions of a network are counted for its status: anybody can make more for the gas."""


@frozen
class Verification:
    """How far a network was read a second time, later: every block up to `verified_to`.

    The blocks up to `target`, the last one that had been read at `target_at`, are read again when they are old enough.
    """

    verified_to: int
    target: int
    target_at: datetime


@frozen
class NextTarget:
    """The target of the verification with this number after those before it."""

    number: int
    target: int
    target_at: datetime


@frozen
class NodeCheck:
    """How the nodes of a network compared last, if it has several: how many there are, how many of them answer and have
    new blocks, and whether their blocks agree. While these do not, the network is not read."""

    total: int
    usable: int
    agree: bool


@frozen
class SilentNode:
    """A node that gives no new blocks since an instant: it does not answer, or `head` is still its newest block."""

    host: str
    head: int | None
    since: datetime


class Evidence(StrEnum):
    """How the logs of a range of blocks are known. One node alone is never more than unproved."""

    UNPROVED = "unproved"
    """One node lists them. Its headers may fit, but one node can make up a whole chain of them."""
    CORROBORATED = "corroborated"
    """A node with another URL has the same last block, and lists the same logs."""
    PROVED_BY_BLOOM = "proved_by_bloom"
    """Headers that lead to a block on which two nodes agree say that no block has such a log."""
    PROVED_BY_RECEIPTS = "proved_by_receipts"
    """Headers that lead to an agreed block say so of all but some blocks, whose receipts have the header's root."""

    @property
    def is_proof(self) -> bool:
        return self in (Evidence.PROVED_BY_BLOOM, Evidence.PROVED_BY_RECEIPTS)


@frozen
class WeakRange:
    """Blocks that were read and are not proved, the first of them at `since`. `tried_at` is when a later proof failed,
    None if none was tried."""

    first: int
    last: int
    evidence: Evidence
    since: datetime
    tried_at: datetime | None = None

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def is_unproved(self) -> bool:
        return self.evidence is Evidence.UNPROVED


Weak = tuple[WeakRange, ...]
"""In the order of their blocks, none of which is in two of them."""


@frozen
class Cursor(Record):
    """How far a network has been read: every block up to `scanned_to` is confirmed, and its transfers are in the log.

    `range_limit` is the most blocks per request to the node; it is halved when the node refuses, and grows again.
    `read_until` is the timestamp of the block `scanned_to`, and `read_at` when it was read by our clock; both are None
    before the first range was read. What ends by time ends by `agreed_until`, the time of a block up to which was read,
    as several nodes say, or the only one; None before.
    `verifications` are in the order of rules.VERIFIED_AFTER, `next_targets` in that of their blocks, at most
    rules.TARGETS of each verification.
    `unfinished` are blocks whose transfers are being written to the log: if it is stored when a tick starts, an earlier
    tick ended in between, and the log may have transfers of a branch that this cursor has never been on.
    `evidence` is how the newest range is known, None before the first; `weak` has the blocks that are not proved. The
    checks by headers and by receipts run since `headers_since` and `receipts_since`.
    `silent` are nodes that give no new blocks; those `silent_of_transfers` have said nothing of some, and may be usable
    otherwise. `alone` are the blocks in which one node alone vouches for transfers that were recorded, as the others
    were silent (comparison.py). `deferred_from` is the place of the DeferredTransaction that was looked at last, empty
    before the first; None while there is none.
    """

    KEY = KeyPattern(OPS, "CHAIN#{network}", "CURSOR")
    ARE_FEW = True

    network: str
    scanned_to: int
    checkpoints: tuple[Checkpoint, ...]
    range_limit: int
    read_until: datetime | None = None
    read_at: datetime | None = None
    verifications: tuple[Verification, ...] = ()
    unfinished: BlockRange | None = None
    nodes: NodeCheck | None = None
    evidence: Evidence | None = None
    weak: Weak = ()
    headers_since: datetime | None = None
    receipts_since: datetime | None = None
    next_targets: tuple[NextTarget, ...] = ()
    silent: tuple[SilentNode, ...] = ()
    alone: BlockRange | None = None
    deferred_from: str | None = None
    agreed_until: datetime | None = None
    silent_of_transfers: tuple[SilentNode, ...] = ()

    @property
    def all_silent(self) -> tuple[SilentNode, ...]:
        return (*self.silent, *self.silent_of_transfers)

    @property
    def is_paused(self) -> bool:
        """Whether the network is not read, because its nodes disagree."""
        return self.nodes is not None and not self.nodes.agree

    @property
    def read_again_to(self) -> int:
        """Every block up to here was read a second time, or is proved; nothing was at first."""
        return self.verifications[0].verified_to if self.verifications else 0

    @property
    def ends_until(self) -> "Agreed[datetime] | None":
        """Until when what ends by time has ended, None before that is known."""
        from chalicelib.chains.nodes.readings import Agreed  # most of what loads records ends nothing

        return Agreed(self.agreed_until) if self.agreed_until is not None else None

    @property
    def newest(self) -> Checkpoint | None:
        return self.checkpoints[-1] if self.checkpoints else None


@frozen
class ScanLease(Record):
    """Keeps a second tick of a network from starting before `ends_at`, unless the first one has ended."""

    KEY = KeyPattern(OPS, "CHAIN#{network}", "LEASE")
    ARE_FEW = True

    network: str
    ends_at: datetime


class TransferState(StrEnum):
    """What the recorder has done with a logged transfer."""

    UNRECORDED = "unrecorded"
    PAYMENT = "payment"
    """It counts, and has a Payment."""
    DUST = "dust"
    """It counts, but is too small to be listed: it is only part of the request's totals."""
    UNMATCHED = "unmatched"
    """It does not count, and has an UnmatchedTransfer."""
    IGNORED = "ignored"
    """It does not count, and the request has enough unmatched transfers of its kind."""
    UNVALUED = "unvalued"
    """It counts, but there is no rate to value it by yet: work of its own waits for that."""
    REFUND = "refund"
    """It has the reference of a refund and reached the payer: it is part of the Refund's sum."""
    ESCROW = "escrow"
    """It is an event of the commerce escrow, and is in the ledger of its payment."""
    REVERSED = "reversed"
    """A fork removed it, and everything that followed from it was undone."""


@frozen
class TransferId:
    """Identifies a transfer in a block. `event_key` is its own in its transaction (chains/nodes/history/logs.py)."""

    block_number: int
    block_hash: str
    tx_hash: str
    event_key: str


@frozen
class LoggedTransfer(Record):
    """A transfer that has the reference of a request, in a block that was confirmed when it was read.

    Its fields are those of the event (chains/nodes/history/logs.py), but `amount` and `fee_amount` are what arrived of
    them (checks/arrivals.py). `payable_id` is that of the reference's request when it was read. `payer` is who paid, as
    its network writes addresses; None if the receipt does not show it. `conversion` is set if a conversion proxy paid
    it, and `path_amount` is then what it would have moved by the path of the catalogue, None if that is not known
    (payments/scanning/details.py). `value` is what it counts for once it is SUMMED, in the units of the request's
    amount.
    """

    KEY = KeyPattern(
        PAYMENTS, "TRANSFERS#{network}#{partition}", "{block_number:012}#{block_hash}#{tx_hash}#{event_key}"
    )

    network: str
    block_number: int
    block_hash: str
    tx_hash: str
    event_key: str
    log_index: int
    reference_topic: str
    payable_id: str = field(metadata={"attribute": "link_token"})
    token_address: str | None
    payee: str
    amount: BaseUnits
    fee_amount: BaseUnits
    fee_address: str
    paid_at: datetime
    detected_at: datetime
    state: TransferState = TransferState.UNRECORDED
    payer: str | None = None
    conversion: LoggedConversion | None = None
    path_amount: BaseUnits | None = None
    value: BaseUnits | None = None
    bridged_from: str | None = None
    """The network from which a bridge brought it; `payer` is then a wallet there."""
    fill_key: str | None = None
    """Of the deposit that brought it (chains/nodes/bridges/deposits.py)."""
    escrow: LoggedEscrow | None = None
    """Set if it is an event of the commerce escrow, which says neither token nor payee."""
    account_id: str = ""
    """Of the payable."""
    emptied_address: str | None = None
    """The address for plain transfers that was emptied without an event of a proxy; else None."""
    stated_amount: BaseUnits | None = None
    """What the event says, if another amount arrived; else None."""

    @property
    def said_amount(self) -> BaseUnits:
        """What the event says."""
        return self.amount if self.stated_amount is None else self.stated_amount

    @property
    def partition(self) -> int:
        return self.block_number // BLOCKS_PER_PARTITION

    @property
    def transfer_id(self) -> TransferId:
        return TransferId(self.block_number, self.block_hash, self.tx_hash, self.event_key)

    @property
    def vanishes_at(self) -> datetime | None:
        """7 days after it was read, whatever it became; None while it is not recorded, however long that takes."""
        is_waiting = self.state in (TransferState.UNRECORDED, TransferState.UNVALUED)
        return None if is_waiting else self.detected_at + LOG_RETENTION


@frozen
class DeferredTransaction(Record):
    """A transaction whose transfers are not recorded, as no node returns what they are compared with. It is read again,
    by itself, until one does (undecided.py)."""

    KEY = KeyPattern(PAYMENTS, "DEFERRED#{network}", "{block_number:012}#{tx_hash}")

    network: str
    block_number: int
    tx_hash: str
    deferred_at: datetime

    @property
    def place(self) -> str:
        """The sort key of the record, which orders those of a network."""
        return self.key.sk


@frozen
class LoggedBlock(Record):
    """Says that the log has transfers of a block: the blocks of a range that is read again are found by one query."""

    KEY = KeyPattern(PAYMENTS, "LOGGED#{network}", "{block_number:012}")

    network: str
    block_number: int
    logged_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """With the transfers of the block that are recorded."""
        return self.logged_at + LOG_RETENTION


@frozen
class UnrecordedTransfers(Record):
    """Work for the recorder: some transfers of one payable, as many as fit into one transaction.

    `added` are transfers to record, `removed` transfers whose block a fork removed; a transfer in both has moved to
    another block. The sort key orders the work as the blocks were read: by `sequence`, the version of the network's
    cursor, then by block and part. The work of a fork has the block 0, because it has an order of its own. `digest` is
    a hash of the content, so writing the same work again changes nothing. The recorder deletes it.

    `waits_for_rate` is set on work that the recorder writes itself, for the UNVALUED transfers of other work. It is
    behind all other work of the payable, so that it holds none of that up, and in the order of its digests, so that a
    run can start anywhere in it.

    The sort key ends with the account of the payable, as a sweep reads only keys.
    """

    KEY = KeyPattern(
        PAYMENTS, "UNRECORDED#{payable_id}", "{place}#{sequence:012}#{block_number:012}#{part:06}#{digest}{owner}"
    )
    DUE_GROUP = "UNRECORDED"

    payable_id: str = field(metadata={"attribute": "link_token"})
    network: str
    sequence: int
    block_number: int
    part: int
    digest: str
    detected_at: datetime
    added: tuple[TransferId, ...]
    removed: tuple[TransferId, ...] = ()
    waits_for_rate: bool = False
    account_id: str = ""

    @property
    def place(self) -> str:
        return f"{WAITING}{self.digest[:4]}#{self.network}" if self.waits_for_rate else self.network

    @property
    def owner(self) -> str:
        return f"{OWNED_BY}{self.account_id}" if self.account_id else ""

    @property
    def next_due(self) -> datetime:
        """From the moment on at which it was read, until it is deleted."""
        return self.detected_at
