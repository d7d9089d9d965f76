"""An idempotency key with its response, as it is stored."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Repeatable:
    """One key. `status` is None while the first request runs; the answer is kept encrypted when it shows a secret."""

    scope_hash: str
    body_hash: str
    lease_until: datetime
    expires_at: datetime
    status: int | None
    answer: str | None
    is_encrypted: bool
    version: int = 0
