"""Reads sessions, by the hash of their token or by person."""

from datetime import datetime

from chalicelib.base.records import Key, Record
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Person
from chalicelib.platform.access.sessions.records import Session, SessionPointer
from chalicelib.platform.access.sessions.rules import is_open
from chalicelib.platform.storage.store import Store


def session(store: Store, token_hash: str) -> Session | None:
    """The session with this token hash. One read."""
    return store.get(Session, Session.KEY.of(token_hash=token_hash))


def pointer(store: Store, person_id: str, session_id: str) -> SessionPointer | None:
    """The pointer from a person to one of their sessions. One read."""
    return store.get(SessionPointer, SessionPointer.KEY.of(person_id=person_id, session_id=session_id))


def sessions_of(store: Store, person_id: str, now: datetime) -> list[Session]:
    """The sessions of a person that have not expired. One query, and one read for up to a hundred."""
    pointers = store.query(SessionPointer, SessionPointer.KEY.all(person_id=person_id))
    wanted = {Session.KEY.of(token_hash=each.token_hash): Session for each in pointers if now < each.expires_at}
    return list(store.get_many(wanted).values())


def open_sessions(store: Store, person_id: str, now: datetime) -> list[Session]:
    """The open sessions of a person, the newest first. Two queries, and one read for up to a hundred."""
    pointers = store.query(SessionPointer, SessionPointer.KEY.all(person_id=person_id))
    joined = {each.account_id: each for each in person_store.memberships_of(store, person_id)}
    person_key = Person.KEY.of(person_id=person_id)
    current = (each for each in pointers if now < each.expires_at)
    wanted: dict[Key, type[Record]] = {Session.KEY.of(token_hash=each.token_hash): Session for each in current}
    found = store.get_many({person_key: Person, **wanted})
    person: Person | None = found.pop(person_key, None)
    still = (each for each in found.values() if is_open(each, joined.get(each.account_id), person, now))
    return sorted(still, key=lambda session: str(session.session_id), reverse=True)
