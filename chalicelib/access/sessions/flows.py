"""Writes down that a session is in use."""

from dataclasses import replace

from chalicelib.access.sessions.records import Session
from chalicelib.access.sessions.rules import pointer_of, touched
from chalicelib.services import Services
from chalicelib.storage.store import WriteConflict


def touch(services: Services, session: Session) -> Session:
    """Writes down that a session is in use, at most every ten seconds; a wallet's is prolonged by it. Returns it."""
    used = touched(session, services.clock())
    if used is None:
        return session
    try:
        services.store.write(used, pointer_of(used))
    except WriteConflict:
        return session  # another request wrote it down, or ended the session
    return replace(used, version=used.version + 1)
