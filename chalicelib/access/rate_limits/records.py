"""A ban, as it is stored."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Block:
    """A caller who is shut out until then; `caller` is a digest."""

    caller: str
    until: datetime
    version: int = 0
