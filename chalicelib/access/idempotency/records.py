"""Stored records: a request with an idempotency key, and its response."""


from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record


@frozen
class IdempotentRequest(Record):
    """A request that was sent with an idempotency key, and its response.

    `status` is None while the first request runs. `answer` is the response, encrypted if it contains a secret.
    """

    KEY = KeyPattern(OPS, "REPEAT#{scope_hash}", "REPEAT")

    scope_hash: str
    body_hash: str
    lease_until: datetime
    expires_at: datetime
    status: int | None
    answer: str | None
    is_encrypted: bool
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at
