"""Reads sessions, by the hash of their token or by account."""

from datetime import datetime

from chalicelib.platform.access.sessions.records import Session, SessionPointer
from chalicelib.platform.storage.store import Store


def session(store: Store, token_hash: str) -> Session | None:
    """The session with this token hash. One read."""
    return store.get(Session, Session.KEY.of(token_hash=token_hash))


def pointer(store: Store, account_id: str, session_id: str) -> SessionPointer | None:
    """The pointer from an account to one of its sessions. One read."""
    return store.get(SessionPointer, SessionPointer.KEY.of(account_id=account_id, session_id=session_id))


def open_sessions(store: Store, account_id: str, now: datetime) -> list[Session]:
    """The open sessions of an account, the newest first. Two reads for up to a hundred."""
    pointers = store.query(SessionPointer, SessionPointer.KEY.all(account_id=account_id))
    wanted = {Session.KEY.of(token_hash=each.token_hash): Session for each in pointers if now < each.expires_at}
    return sorted(store.get_many(wanted).values(), key=lambda session: str(session.session_id), reverse=True)
