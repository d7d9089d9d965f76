"""A session of a merchant's account, written as signing in writes it."""

from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.sessions.records import SessionKind
from chalicelib.platform.access.sessions.rules import COOKIE
from tests.fakes.world import WALLET
from tests.support.members import opened
from tests.support.running import running


def by_session(
    account_id: str, kind: SessionKind = SessionKind.WALLET, role: Role = Role.OWNER
) -> dict[str, str]:
    """Opens a session of the account; returns the headers of a browser with it."""
    subject = WALLET if kind is SessionKind.WALLET else "ann@example.com"
    return {"cookie": f"{COOKIE}={opened(running(), account_id, subject, role)[1]}"}
