"""Stored records of a sandbox, all in its namespace: its clock, and the virtual chains with their blocks."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, PAYMENTS, KeyPattern, Record

GENESIS_HEAD = 1_000
"""The newest block of a virtual chain that is new."""


@frozen
class Sandbox(Record):
    """The clock of a sandbox: how many seconds it is ahead of the real time."""

    KEY = KeyPattern(PAYMENTS, "SANDBOX", "SANDBOX")
    ARE_FEW = True

    seconds_ahead: int = 0


@frozen
class OperationCount(Record):
    """How many operations on a sandbox were made on a day (UTC, real time): the attribute `calls`."""

    KEY = KeyPattern(OPS, "SANDBOX#{day}", "COUNT")

    day: str
    ends_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """A day after its own has ended."""
        return self.ends_at + timedelta(days=1)


@frozen
class BlockTime:
    """The time of the blocks from `first` on, up to the next one of these."""

    first: int
    time: datetime


@frozen
class Fork:
    """Since when blocks are on another branch: those from `first` on, up to the next fork, have this number in their
    hashes."""

    first: int
    branch: int


@frozen
class VirtualChain(Record):
    """A virtual chain: its newest block, the times of its blocks and its forks, both by ascending `first`.

    Its blocks follow from that and are not stored, but those with a transaction. `branches` counts all forks there
    were.
    """

    KEY = KeyPattern(PAYMENTS, "VIRTUAL#{network}", "CHAIN")
    ARE_FEW = True

    network: str
    head: int
    times: tuple[BlockTime, ...]
    forks: tuple[Fork, ...] = ()
    branches: int = 0


@frozen
class VirtualLog:
    """A log as a node has it: lower-case hex."""

    address: str
    topics: tuple[str, ...]
    data: str


@frozen
class VirtualBlock(Record):
    """A block of a virtual chain with a transaction: the sender, the contract it calls, and its logs."""

    KEY = KeyPattern(PAYMENTS, "VIRTUAL#{network}", "BLOCK#{number:012}")

    network: str
    number: int
    tx_hash: str
    sender: str
    to: str
    logs: tuple[VirtualLog, ...]


@frozen
class VirtualTransaction(Record):
    """Index entry from a transaction's hash to its block; None if a reorganisation has removed it."""

    KEY = KeyPattern(PAYMENTS, "VIRTUAL#{network}", "TRANSACTION#{tx_hash}")

    network: str
    tx_hash: str
    number: int | None
