"""A receiver of webhooks on this machine, and what it has received."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Received:
    """`url` is put together from the header Host and the request's target, as receivers do it."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Inbox:
    url: str = ""
    status: int = 200
    received: list[Received] = field(default_factory=list)
