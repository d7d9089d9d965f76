"""The entry of an operation in the table of routes. It imports no model and no view."""

from enum import Enum, auto

from chalicelib.base.frozen import frozen
from chalicelib.platform.access.modes import Mode, Rate


class ProblemForm(Enum):
    """How a response says what is wrong with a body or a query. Each is what the interface documents somewhere."""

    FIRST = auto()
    """`message` is the first problem as a sentence, `errors` lists all."""
    SUMMARY = auto()
    """`message` says only that the validation failed, `errors` lists all."""
    LIST = auto()
    """`message` is the list of all."""


@frozen
class Operation:
    """One endpoint. Its view is the function `name` in the module under which the table of its product lists it.

    The annotations of the view name the models of body, query and response (platform/http/view.py). What the OpenAPI
    document says of it, and its example, are in docs/operations.
    """

    method: str
    path: str
    name: str
    """The view's name, and the operation id in the OpenAPI document."""
    modes: tuple[Mode, ...]
    """Who may call it."""
    status: int = 200
    """The status of a successful response."""
    scope: str | None = None
    """The scope that an API key limited to scopes needs."""
    rate: Rate | None = Rate.TIER
    """The rate limit; None for health and the OpenAPI document, which read nothing."""
    problem_form: ProblemForm = ProblemForm.FIRST
    """How an invalid body or query is refused, as the interface documents it."""
    shows_secret: bool = False
    """True if the response holds a secret: it is then stored encrypted for its idempotency key."""
    is_repeatable: bool = False
    """True if the same request has one effect however often it is sent. Then its Idempotency-Key is not looked at, and
    no response is kept for it: one that has personal data, if only in an error, would outlast its erasure."""
    moves_money: bool = False
    """True if the response has a transaction or a payment to sign, or if one is sent: it is refused while the operator
    has stopped payments (platform/emergency_stop/flows.py)."""
    executes: bool = False
    """True if the service's own account sends a transaction for it, now or by a schedule that it begins: a client id
    that is sent alone needs `mayExecute` then (platform/access/callers.py)."""
    needs_presence: bool = False
    """True if it redirects money, or who may do so: a session needs a proof of presence that is not older than five
    minutes then (platform/access/presence.py)."""
    changes_sign_in: bool = False
    """True if it changes how a person signs in. A password is then no proof of presence, once they have a passkey or a
    wallet, whatever the account demands."""
    redirects: bool = False
    """True if it may change where money goes, or who says so: in an account with approvals such a change waits, and the
    response is 202 with it (accounts/changes)."""
    before_second_factor: bool = False
    """True if a session may call it that has a password alone where the account demands a second factor."""
    looks_up_token: bool = False
    """True if the path names a link by its token: failed look-ups are limited."""
    by_page: bool = False
    """True if the hosted payment page may call it."""
    calls_operations: bool = False
    """True if all that it does is done by other operations, each of which opens the sandbox of a test credential."""
    former_path_of: str = ""
    """The path of the operation that this one does under an earlier path: both share their idempotency keys."""

    @property
    def takes_idempotency_key(self) -> bool:
        """Whether the operation changes something and its Idempotency-Key is looked at."""
        return self.method != "GET" and not self.is_repeatable

    @property
    def signs_in(self) -> bool:
        """Whether the operation opens a session or leads to one: then pages of foreign origins may not call it."""
        return self.rate is Rate.SIGN_IN

    @property
    def with_session(self) -> bool:
        """Whether browsers may send cookies."""
        return Mode.SESSION in self.modes or self.signs_in


@frozen
class PageRoute:
    """A path that is no operation: a page, with GET or HEAD, or what agents call. Its view is found as that of one."""

    path: str
    name: str
    methods: tuple[str, ...] = ("GET", "HEAD")


OPERATIONS: dict[Operation, str] = {}
"""Every registered operation and the module of its view, for the OpenAPI document and the tests."""
