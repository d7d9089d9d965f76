"""Records the use of a session."""

from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.access.sessions.rules import pointer_of, touch_session
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict


def touch(services: Services, session: Session) -> Session:
    """Records the use of a session, at most every ten seconds; this prolongs a wallet session. Returns the session."""
    changed = touch_session(session, services.clock())
    if changed is None:
        return session
    try:
        return services.store.write(changed, pointer_of(changed))
    except WriteConflict:
        return session  # another request recorded its use, or ended the session
