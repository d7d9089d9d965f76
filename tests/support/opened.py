"""A session of a merchant's account, written as signing in writes it."""

from chalicelib.platform.access.sessions.records import SessionKind, SessionPointer
from chalicelib.platform.access.sessions.rules import COOKIE, open_session
from tests.fakes.world import WALLET
from tests.support.running import running


def by_session(account_id: str, kind: SessionKind = SessionKind.WALLET) -> dict[str, str]:
    """Opens a session of the account; returns the headers of a browser with it."""
    services = running()
    subject = WALLET if kind is SessionKind.WALLET else "ann@example.com"
    session, token = open_session(account_id, kind, subject, services.clock(), services.entropy)
    pointer = SessionPointer(account_id, session.session_id, session.token_hash, session.expires_at)
    services.store.write(session, pointer)
    return {"cookie": f"{COOKIE}={token}"}
