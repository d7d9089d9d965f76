"""Stored records: how far a network is read, and the recorded transfers that a fork could still remove."""

from dataclasses import field
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record
from chalicelib.chain.logs import Checkpoint

UNFINALIZED_RETENTION = timedelta(days=7)
"""No supported network forks deeper than this."""


@frozen
class UnfinalizedTransfer(Record):
    """Index entry from a block to a recorded transfer that a deep fork could still remove.

    The transfer is an UnmatchedTransfer if `is_unmatched`, else a Payment.
    """

    KEY = KeyPattern(OPS, "CHAIN#{network}", "PAYMENT#{block_number:012}#{block_hash}#{log_index:06}")

    network: str
    block_number: int
    block_hash: str
    log_index: int
    link_token: str
    request_id: str
    detected_at: datetime
    is_unmatched: bool = field(default=False, metadata={"attribute": "is_stray"})
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """7 days after it was detected."""
        return self.detected_at + UNFINALIZED_RETENTION


@frozen
class Cursor(Record):
    """How far a network has been read: every block up to `scanned_to` is confirmed and recorded.

    `range_limit` is the most blocks per request to the node; it is halved when the node refuses, and grows again.
    """

    KEY = KeyPattern(OPS, "CHAIN#{network}", "CURSOR")

    network: str
    scanned_to: int
    checkpoints: tuple[Checkpoint, ...]
    range_limit: int
    version: int = 0

    @property
    def newest(self) -> Checkpoint | None:
        return self.checkpoints[-1] if self.checkpoints else None
