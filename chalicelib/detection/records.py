"""How far a network is read, and which payments a fork could still remove, as they are stored."""

from dataclasses import dataclass
from datetime import datetime

from chalicelib.chain.logs import Checkpoint


@dataclass(frozen=True)
class YoungPayment:
    """A payment, or a transfer that does not count, that a deep fork could still remove: findable by its block."""

    network: str
    block_number: int
    block_hash: str
    log_index: int
    link_token: str
    request_id: str
    detected_at: datetime
    is_stray: bool = False
    version: int = 0

@dataclass(frozen=True)
class Cursor:
    """How far a network has been read: every block up to `scanned_to` is confirmed and done.

    `range_limit` is how many blocks the node answers for at once; it falls when the node refuses and grows again.
    """

    network: str
    scanned_to: int
    checkpoints: tuple[Checkpoint, ...]
    range_limit: int
    version: int = 0

    @property
    def newest(self) -> Checkpoint | None:
        return self.checkpoints[-1] if self.checkpoints else None
