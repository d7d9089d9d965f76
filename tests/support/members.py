"""People, memberships and sessions, written as signing in and joining write them."""

from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Membership, MembershipPointer, Person, Role, is_email
from chalicelib.platform.access.people.rules import new_membership, new_person, pointer_of
from chalicelib.platform.access.sessions.records import Session, SessionKind
from chalicelib.platform.access.sessions.rules import open_session
from chalicelib.platform.access.sessions.rules import pointer_of as pointer_of_session
from chalicelib.platform.services import Services
from tests.fakes.world import START


def person_named(services: Services, name: str, account_id: str) -> Person:
    """Whoever signs in with this wallet or e-mail address; a new person if nobody does."""
    known = person_store.identity(services.store, name)
    if known is None:
        made, known = new_person(name, account_id, None, services.clock(), services.entropy)
        services.store.write(made, known)
    person = person_store.find_person(services.store, known.person_id)
    assert person is not None
    return person


def member_of(services: Services, account_id: str, name: str, role: Role = Role.OWNER) -> Membership:
    """The membership of whoever signs in with this name, who joins the account if they are not in it."""
    person = person_named(services, name, account_id)
    known = person_store.find_membership(services.store, account_id, person.person_id)
    if known is None:
        services.store.write(*new_membership(account_id, person.person_id, role, services.clock()))
        known = person_store.find_membership(services.store, account_id, person.person_id)
    assert known is not None
    return known


def opened(services: Services, account_id: str, name: str, role: Role = Role.OWNER) -> tuple[Session, str]:
    """A session of the account for whoever signs in with this name, and its token."""
    joined = pointer_of(member_of(services, account_id, name, role))
    kind = SessionKind.EMAIL if is_email(name) else SessionKind.WALLET
    version = person_named(services, name, account_id).version
    session, token = open_session(joined, kind, name, services.clock(), services.entropy, None, version)
    return services.store.write(session, pointer_of_session(session)), token


def pointer(account_id: str = "acct", person_id: str = "person") -> MembershipPointer:
    """The pointer to a membership that is not stored, for tests of rules."""
    return MembershipPointer(account_id, person_id, START)
