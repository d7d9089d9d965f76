"""An operation as it is routed and documented: a light table entry that imports no model and no view."""

from dataclasses import dataclass

from chalicelib.access.modes import Mode, Rate


@dataclass(frozen=True)
class Operation:
    """One endpoint. Its view is the function `name` in the `api` module beside the `routes` module that lists it.

    The view's annotations say the models of body, query and response (http/view.py).
    """

    method: str
    path: str
    name: str
    """The view's name, and the operation id in the OpenAPI document."""
    summary: str
    modes: tuple[Mode, ...]
    """Who may call it."""
    status: int = 200
    """The status of a success."""
    errors: tuple[int, ...] = ()
    """The statuses of its own refusals; those that any operation may have are added to the document."""
    scope: str | None = None
    """What a limited API key must be allowed to do."""
    rate: Rate | None = Rate.TIER
    """The limit it is under; None for health and the document, which read nothing."""
    lists_problems: bool = False
    """True where the interface documents validation problems as a list under `message`."""
    shows_secret: bool = False
    """True where the response holds a secret: an idempotency key then keeps it encrypted."""
    looks_up_token: bool = False
    """True where a path names a link by its token: guessing is limited."""
    by_page: bool = False
    """True for what the hosted payment page may call, which is what payers do with a link."""

    @property
    def with_session(self) -> bool:
        """Whether browsers may send cookies to it."""
        return Mode.SESSION in self.modes or self.rate is Rate.SIGN_IN


@dataclass(frozen=True)
class PageRoute:
    """A path that browsers open, for GET and HEAD. Its view is the function `name` in the `api` module of its room."""

    path: str
    name: str


OPERATIONS: dict[Operation, str] = {}
"""Every operation that was routed, and the module of its view: for the OpenAPI document and the tests."""
