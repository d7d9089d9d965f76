"""Lists sessions, and ends them."""

from dataclasses import replace

from chalicelib.base.errors import NotFound
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.sessions import store as session_store
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.access.sessions.rules import pointer_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete, Write


def list_open(services: Services, person_id: str) -> list[Session]:
    """The open sessions of a person, in all accounts, the newest first. Two queries, one read for up to a hundred."""
    return session_store.open_sessions(services.store, person_id, services.clock())


def end_all(services: Services, person_id: str, actor: Actor, account_id: str | None = None) -> int:
    """Ends every session of a person, or those in one account, in one transaction each. Returns how many."""
    own = session_store.sessions_of(services.store, person_id, services.clock())
    ended = (each for each in own if account_id in (None, each.account_id))
    return sum(_end(services, session.token_hash, actor, "session.revoked") for session in ended)


def end_all_of_account(services: Services, account_id: str, actor: Actor) -> int:
    """Ends every session of an account's members in it, one transaction each. Returns how many."""
    members = person_store.members(services.store, account_id)
    return sum(end_all(services, each.person_id, actor, account_id) for each in members)


def log_out(services: Services, session: Session, actor: Actor) -> None:
    """Ends the caller's session."""
    _end(services, session.token_hash, actor, "session.ended")


def revoke(services: Services, person_id: str, session_id: str, actor: Actor) -> None:
    """Ends a session of the person. Raises NotFound if it is unknown, has ended, or is somebody else's."""
    pointer = session_store.pointer(services.store, person_id, session_id)
    if pointer is None or not _end(services, pointer.token_hash, actor, "session.revoked"):
        raise NotFound("Session not found")


@retry_conflicts(5)
def _end(services: Services, token_hash: str, actor: Actor, action: str) -> bool:
    """Deletes a session; returns False if it has ended. Tries again if a use of the session was recorded meanwhile."""
    writes = writes_to_end(services, token_hash, actor, action)
    if writes:
        services.store.write(*writes)
    return bool(writes)


def writes_to_end(services: Services, token_hash: str, actor: Actor, action: str) -> tuple[Write, ...]:
    """The writes that end a session, with its audit entry; empty if it has ended."""
    now, session = services.clock(), session_store.session(services.store, token_hash)
    if session is None or now >= session.expires_at:
        return ()
    actor = replace(actor, account_id=session.account_id)
    entry = audit.make_entry(actor, action, session.session_id, now, services.entropy)
    return Delete(session), Delete(pointer_of(session)), entry
