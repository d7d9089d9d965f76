"""Adds ways to sign in to a person, and removes them.

An e-mail address is added in the same way as a wallet, once its owner has followed the link in a message to it.
"""

from dataclasses import replace

from chalicelib.accounts.sign_in import wallets
from chalicelib.accounts.sign_in.records import Challenge, Purpose
from chalicelib.accounts.sign_in.rules import Wanted
from chalicelib.accounts.sign_in.wallets import SignedChallenge, find_challenge
from chalicelib.base.errors import BadRequest, Conflict, NotFound
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Identity, Person, is_email, name_hash
from chalicelib.platform.access.people.rules import with_sessions_ended
from chalicelib.platform.access.sessions import store as session_store
from chalicelib.platform.access.sessions.rules import check_session, pointer_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete, Write

MAX_IDENTITIES = 10
"""How many wallets and e-mail addresses a person may sign in with."""


def challenge(services: Services, member: Member, address: str, chain_id: int) -> Challenge:
    """A text for a wallet to sign that is added to the person of the session. One write. Raises BadRequest."""
    return wallets.create_challenge(services, address, chain_id, Wanted(Purpose.ADD, member.session.session_id))


@retry_conflicts(5)
def add_wallet(services: Services, member: Member, signed: SignedChallenge, actor: Actor) -> Identity:
    """Lets the person sign in with the wallet that signed the challenge of this session.

    Raises as `wallets.signer`, and Conflict if somebody signs in with it.
    """
    wanted = Wanted(Purpose.ADD, member.session.session_id)
    issued = find_challenge(services, signed, actor, wanted)
    wallet = wallets.signer(services, issued, signed, actor)
    return add(services, _person(services, member.person.person_id), wallet.name, actor, Delete(issued))


def add(services: Services, person: Person, name: str, actor: Actor, *proof: Write) -> Identity:
    """Lets a person sign in with another wallet or e-mail address, which they have shown to be theirs.

    `proof` uses up what has shown it, in the same transaction. Raises Conflict if somebody signs in with it, BadRequest
    if the person has too many, WriteConflict, also if they were changed since they were read.
    """
    now = services.clock()
    if person_store.identity(services.store, name) is not None:
        yours = " already" if name in person.identities else ", another person: remove it there first"
        raise Conflict(f"Somebody signs in with this name{yours}")
    if len(person.identities) >= MAX_IDENTITIES:
        raise BadRequest(f"No more than {MAX_IDENTITIES} wallets and e-mail addresses a person")
    identity = Identity(name, person.person_id, now, now)
    changed = replace(person, identities=(*person.identities, name))
    services.store.write(changed, identity, *_entries(services, person, "identity.added", identity, actor), *proof)
    return identity


@retry_conflicts(5)
def remove(services: Services, member: Member, identity_id: str, actor: Actor) -> None:
    """Ends a way to sign in of the person, and all sessions but this one; also this one, if it was opened that way.

    The password goes with the last e-mail address. Raises NotFound, and Conflict for the last way to sign in.
    """
    person = _person(services, member.person.person_id)
    name = next((each for each in person.identities if name_hash(each) == identity_id), None)
    identity = person_store.identity(services.store, name) if name else None
    if identity is None or name is None:
        raise NotFound("There is no such way to sign in")
    if len(person.identities) == 1:
        raise Conflict("This is your only way to sign in: add another one first")
    left = tuple(each for each in person.identities if each != name)
    password_hash = person.password_hash if any(is_email(each) for each in left) else None
    changed = with_sessions_ended(replace(person, identities=left, password_hash=password_hash))
    kept = () if member.session.name == name else keep_session(services, member, person, changed)
    entries = _entries(services, person, "identity.removed", identity, actor)
    services.store.write(changed, Delete(identity), *kept, *entries)


def keep_session(services: Services, member: Member, person: Person, changed: Person) -> tuple[Write, ...]:
    """The writes that keep the session of the caller while all others of the person end. One read.

    Raises Unauthorized if it has ended meanwhile, as by a new password.
    """
    found = session_store.session(services.store, member.session.token_hash)
    session, _, _ = check_session(found, member.membership, person, services.clock())
    session = replace(session, person_version=changed.sessions_since)
    return session, pointer_of(session)


def _entries(
    services: Services, person: Person, action: str, identity: Identity, actor: Actor
) -> tuple[AuditEntry, ...]:
    """An entry for each account of the person, as they were before, which is told to the addresses of then."""
    accounts = [each.account_id for each in person_store.memberships_of(services.store, person.person_id)]
    now, target, addresses = (
        services.clock(),
        identity.name_hash,
        person_store.list_confirmed_addresses(services.store, person),
    )
    return audit.entries_of_person(actor, action, target, accounts, now, services.entropy, addresses)


def _person(services: Services, person_id: str) -> Person:
    person = person_store.find_person(services.store, person_id)
    assert person is not None, "people are not deleted"
    return person
