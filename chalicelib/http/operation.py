"""An operation as it is routed and documented, and what its view is handed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from chalicelib.access.audit.records import Actor
from chalicelib.access.callers import Caller
from chalicelib.access.modes import Mode, Rate
from chalicelib.services import Services


@dataclass(frozen=True)
class Call:
    """What a view is handed: the world, the caller, and the request as typed values."""

    services: Services
    caller: Caller
    actor: Actor
    body: Any
    query: Any
    path: Mapping[str, str]


@dataclass(frozen=True)
class Operation:
    """One endpoint, as it is routed and as it is documented."""

    method: str
    path: str
    name: str
    summary: str
    modes: tuple[Mode, ...]
    answer: Any
    status: int = 200
    body: type[BaseModel] | None = None
    optional_body: bool = False
    """True where a request without a body has a meaning of its own; the view's body is then None."""
    query: type[BaseModel] | None = None
    errors: tuple[int, ...] = ()
    scope: str | None = None
    """What a limited API key must be allowed to do."""
    rate: Rate | None = Rate.TIER
    """The limit it is under; None for health and the document, which read nothing."""
    lists_problems: bool = False
    """True where the interface documents validation problems as a list under `message`."""
    shows_secret: bool = False
    """True where the answer holds a secret: an idempotency key then keeps it encrypted."""
    looks_up_token: bool = False
    """True where a path names a link by its token: guessing is limited."""
    by_page: bool = False
    """True for what the hosted payment page may do, which is what payers do with a link."""

    @property
    def with_session(self) -> bool:
        """Whether browsers may send cookies to it."""
        return Mode.SESSION in self.modes or self.rate is Rate.SIGN_IN


@dataclass(frozen=True)
class Reply:
    """A view's answer with headers of its own, such as Set-Cookie."""

    value: Any
    headers: Mapping[str, str]
