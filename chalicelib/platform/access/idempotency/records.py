"""Stored records: a request with an idempotency key, and its response."""

from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record

CONFLICT = "conflict"
"""In the place of a transaction that conflicted with another write and was not made."""


@frozen
class IdempotentRequest(Record):
    """A request that was sent with an idempotency key, the transactions that it has made, and its response.

    `status` is None while it runs. `answer` is the response. A run sees `started_at` as the time, and draws its random
    bytes from `nonce`. Both `answer` and `nonce` are encrypted if the operation shows a secret. `steps` has a short
    hash of each transaction that was made, in order, and CONFLICT for each in between that conflicted.
    """

    KEY = KeyPattern(OPS, "REPEAT#{scope_hash}", "REPEAT")

    scope_hash: str
    body_hash: str
    lease_until: datetime
    expires_at: datetime
    status: int | None
    answer: str | None
    is_encrypted: bool
    started_at: datetime
    nonce: str
    steps: tuple[str, ...] = ()

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at
