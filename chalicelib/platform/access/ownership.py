"""What a caller may do with what an account has, by the credential that it was made with: one table for all of it.

A client id is public: whoever reads it in a page can send it. So what a secret of the account has made, an API key or a
session, is changed by these alone. An orchestrator's key is a secret of somebody else, who was admitted for one client
id: it reaches what was made for that one.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Protocol

from chalicelib.base.errors import Forbidden
from chalicelib.platform.access.modes import Mode


class Asking(Protocol):
    """Who wants something: an account by a credential, and the client id that was sent, if any.

    Without a mode it is the service itself, which acts for the account.
    """

    @property
    def account_id(self) -> str: ...
    @property
    def client_id(self) -> str | None: ...
    @property
    def mode(self) -> Mode | None: ...


class Owned(Protocol):
    """What an account has, alone or for one of its client ids."""

    @property
    def account_id(self) -> str: ...
    @property
    def client_id(self) -> str | None: ...


class Made(Owned, Protocol):
    """What was made with a credential; None is not known, and counts as a secret of the account."""

    @property
    def created_with(self) -> Mode | None: ...


class Use(Enum):
    """What operations do with what they find."""

    SEE = auto()
    """Read it, and do what payers do: get transactions, sign, and announce what was sent."""
    FIND_LINK = auto()
    """Learn the token of a link, with which anybody opens it."""
    CHANGE = auto()
    """Change or end it, combine it with others, say where its money goes or what its fee is."""
    READ_PRIVATE = auto()
    """Read what it says of persons, and read and set the merchant's own note."""


_SECRET = frozenset({Mode.API_KEY, Mode.SESSION})
_PAIR, _PUBLIC, _NONE = frozenset({Mode.ORCHESTRATOR}), frozenset({Mode.CLIENT_ID}), frozenset[Mode]()
_ALL = _SECRET | _PAIR | _PUBLIC

TABLE: Mapping[Use, Mapping[Mode, frozenset[Mode]]] = {
    Use.SEE: {
        Mode.API_KEY: _ALL, Mode.SESSION: _ALL, Mode.ORCHESTRATOR: _ALL, Mode.CLIENT_ID: _ALL,
    },
    Use.FIND_LINK: {
        Mode.API_KEY: _ALL, Mode.SESSION: _ALL, Mode.ORCHESTRATOR: _ALL, Mode.CLIENT_ID: _NONE,
    },
    Use.CHANGE: {
        Mode.API_KEY: _ALL, Mode.SESSION: _ALL, Mode.ORCHESTRATOR: _PAIR | _PUBLIC, Mode.CLIENT_ID: _PUBLIC,
    },
    Use.READ_PRIVATE: {
        Mode.API_KEY: _ALL, Mode.SESSION: _ALL, Mode.ORCHESTRATOR: _PAIR, Mode.CLIENT_ID: _NONE,
    },
}  # fmt: skip
"""For each use and the credential that asks: with which credentials the thing may have been made."""


def sees(asking: Asking, owned: Owned) -> bool:
    """Whether a caller sees what an account has.

    It is its own account's. With a client id it is what that one or none has; for an orchestrator what that one has.
    """
    if owned.account_id != asking.account_id:
        return False
    if asking.client_id is None or owned.client_id == asking.client_id:
        return True
    return owned.client_id is None and asking.mode is not Mode.ORCHESTRATOR


def may(asking: Asking, use: Use, made: Made) -> bool:
    """Whether a caller may do something with what an account has."""
    return sees(asking, made) and (made.created_with or Mode.API_KEY) in TABLE[use][asking.mode or Mode.API_KEY]


def finds_links(asking: Asking) -> bool:
    """Whether a caller finds links without knowing their tokens."""
    return bool(TABLE[Use.FIND_LINK][asking.mode or Mode.API_KEY])


def changes_only_public(asking: Asking) -> bool:
    """Whether a caller changes nothing but what a client id alone has made."""
    return TABLE[Use.CHANGE][asking.mode or Mode.API_KEY] == _PUBLIC


def check_changes(asking: Asking, made: Made) -> None:
    """Raises Forbidden unless a caller that sees it may change it."""
    if not may(asking, Use.CHANGE, made):
        raise Forbidden(
            "A secret of the account has made this, so that neither a client ID alone nor an orchestrator changes it, "
            "nor a client ID what an orchestrator has made: send an x-api-key, or sign in for a session"
        )
