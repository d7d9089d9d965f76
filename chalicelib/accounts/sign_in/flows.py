"""Signs in by a wallet's signature or by e-mail and password, switches between accounts, and sets passwords."""

from dataclasses import replace
from functools import partial

from chalicelib.accounts.sign_in import passwords, refusals, wallets
from chalicelib.accounts.sign_in.open_sessions import end_all, writes_to_end
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.wallets import SignedChallenge, find_challenge
from chalicelib.base import ids
from chalicelib.base.email_addresses import email_address
from chalicelib.base.errors import NotFound, Unauthorized
from chalicelib.base.frozen import frozen
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Membership, MembershipPointer, Person
from chalicelib.platform.access.people.rules import account_for, new_account, new_person, with_sessions_ended
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.access.rate_limits.rules import failure_windows
from chalicelib.platform.access.sessions import store as session_store
from chalicelib.platform.access.sessions.records import Session, SessionKind
from chalicelib.platform.access.sessions.rules import check_session, open_session, pointer_of, reopen_session
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry, try_write
from chalicelib.platform.storage.store import Delete, Unchanged, Write


@frozen
class Way:
    """How a person signs in: `subject` and `chain_id` are those of the session."""

    kind: SessionKind
    subject: str
    chain_id: int | None = None


def sign_in(services: Services, signed: SignedChallenge, replaced: str | None, actor: Actor) -> tuple[Session, str]:
    """Opens a session for the wallet that signed; the first one creates its account. Returns session and token.

    `replaced` is the token hash of a session that ends with this one. Three reads, a query, and one transaction, which
    deletes the challenge, so it can be used once. Raises BadRequest for a malformed signature, Unauthorized for a wrong
    signature or a used challenge (both are recorded in the audit log of the wallet's account), ChainUnavailable if the
    contract of the wallet cannot be called.
    """
    issued = find_challenge(services, signed, actor)
    wallet = wallets.signer(services, issued, signed, actor)
    way = Way(SessionKind.WALLET, wallet.address, wallet.chain_id)

    def open_with(unused: Challenge) -> tuple[Session, str]:
        known = person_store.identity(services.store, wallet.name)
        if known is not None:
            person = _person(services, known.person_id)
            return open_for(services, person, way, actor, replaced, Delete(unused))
        person, identity = new_person(wallet.name, "", None, services.clock(), services.entropy)
        return open_for(services, person, way, actor, replaced, Delete(unused), identity)

    # The second reading raises if the challenge was used; else the person or the session has changed.
    return retry(5, open_with, issued, lambda: find_challenge(services, signed, actor))


def register(services: Services, email: str, password: str, actor: Actor) -> Person:
    """Creates a person with an account for an e-mail address, in one transaction. Raises BadRequest.

    For an address that is registered the response is the same, after the same work, and nothing is written, so it
    does not reveal who is a customer. Logging in afterwards does. A deployment that sends e-mail registers by a link
    instead (accounts/email), which reveals nothing.
    """
    name = email_address(email).name
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    person, identity = new_person(name, "", hashed, services.clock(), services.entropy)
    person, _, writes = found_account(services, person, actor)
    if not try_write(services.store, identity, *writes):
        services.log.info("e-mail address is registered already")
    return person


def log_in(services: Services, email: str, password: str, replaced: str | None, actor: Actor) -> tuple[Session, str]:
    """Opens a session for an e-mail address in one transaction. Returns session and token.

    Raises Unauthorized, with the same message and after the same work, for an unknown address and for a wrong password;
    TooManyRequests after too many failures. An attempt is counted before the password is checked, so that parallel
    requests do not get more attempts, and uncounted if the password is right. If the person changed meanwhile, the
    password is checked again: no session is opened with one that was replaced.
    """
    name = email_address(email).name
    passwords.check_password(password)
    windows = failure_windows(name, actor.ip_address, services.settings.rate_limit_scale, services.clock())
    rate_limits.count_in_all(services, *windows)
    person = _check_password(services, name, password, actor)
    rate_limits.uncount(services, *windows)
    way = Way(SessionKind.EMAIL, name)
    again = partial(_check_password, services, name, password, actor)
    return retry(5, lambda person: open_for(services, person, way, actor, replaced), person, again)


def reset_password(services: Services, email: str, password: str, actor: Actor) -> int:
    """Sets a new password for an e-mail address and ends the person's sessions. Returns how many.

    All of them end in the transaction that sets the password; then they are deleted, one transaction each. Each account
    of the person has an audit entry. Raises NotFound, BadRequest.
    """
    identity = person_store.identity(services.store, email_address(email).name)
    if identity is None:
        raise NotFound("There is no user with this e-mail address.")
    return set_password(services, _person(services, identity.person_id), password, actor)


def set_password(services: Services, person: Person, password: str, actor: Actor, *writes: Write) -> int:
    """Sets a new password of a person and ends their sessions, with `writes`, as `reset_password`. Returns how many.

    Raises BadRequest, and WriteConflict if the person was changed since they were read.
    """
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    accounts = [each.account_id for each in person_store.memberships_of(services.store, person.person_id)]
    entries = audit.entries_of_person(
        actor, "person.password_reset", person.person_id, accounts, services.clock(), services.entropy
    )
    services.store.write(with_sessions_ended(replace(person, password_hash=hashed)), *entries, *writes)
    return end_all(services, person.person_id, actor)


def switch(services: Services, member: Member, account_id: str, actor: Actor) -> tuple[Session, str]:
    """Opens a session for another account of the person in place of the present one. Returns session and token.

    It ends when the present one would. Later sessions are for this account, too. Four reads, one transaction. Raises
    NotFound if the person is not a member of the account, Unauthorized if the present session has ended meanwhile.
    """
    person_id, token_hash = member.person.person_id, member.session.token_hash

    def read() -> tuple[Person, Membership | None]:
        return _person(services, person_id), person_store.find_membership(services.store, account_id, person_id)

    def open_with(known: tuple[Person, Membership | None]) -> tuple[Session, str]:
        person, membership = known
        if membership is None:
            raise NotFound("You are not a member of this account")
        now = services.clock()
        check_session(session_store.session(services.store, token_hash), member.membership, person, now)
        session, token = reopen_session(member.session, membership, person, now, services.entropy)
        there = replace(actor, account_id=account_id, session_id=session.session_id)
        entry = audit.make_entry(there, "session.created", session.session_id, now, services.entropy)
        ended = writes_to_end(services, token_hash, actor, "session.replaced")
        if not ended:
            raise Unauthorized("Session is missing or has ended: sign in again")
        changed = replace(person, account_id=account_id)
        return services.store.write(session, pointer_of(session), entry, *ended, changed, Unchanged(membership)), token

    return retry(5, open_with, read(), read)


def _person(services: Services, person_id: str) -> Person:
    person = person_store.find_person(services.store, person_id)
    assert person is not None, "written together with their identities"
    return person


def _check_password(services: Services, name: str, password: str, actor: Actor) -> Person:
    """The person with this e-mail address, if it is their password. Raises Unauthorized, and records the refusal."""
    identity = person_store.identity(services.store, name)
    person = person_store.find_person(services.store, identity.person_id if identity else refusals.NOBODY)
    is_right = passwords.is_password(password, person.password_hash if person else None)
    if person is None or not is_right:
        refusals.record(services, person, actor)
        raise Unauthorized("Wrong e-mail address or password")
    return person


def found_account(
    services: Services, person: Person, actor: Actor, account_id: str | None = None
) -> tuple[Person, MembershipPointer, tuple[Write, ...]]:
    """A new account of a person, who is its owner: the person, the membership, and all that is written.

    It has the id `account_id` if that is given.
    """
    now = services.clock()
    person = replace(person, account_id=account_id or ids.ulid(now, services.entropy))
    account, membership, pointer = new_account(person, person.label, now)
    actor = replace(actor, account_id=account.account_id, name=f"person:{person.person_id}")
    entry = audit.make_entry(actor, "account.created", account.account_id, now, services.entropy)
    return person, pointer, (person, account, membership, pointer, entry)


def open_for(
    services: Services, person: Person, way: Way, actor: Actor, replaced: str | None, *writes: Write
) -> tuple[Session, str]:
    """Writes a new session and its audit entry, together with `writes`, which use up what proves who it is.

    A person who is in no account gets a new one. The session with the token hash `replaced` ends in the same
    transaction. Raises WriteConflict if the person was changed since they were read. The identity of a new person is
    one of `writes`.
    """
    memberships = person_store.memberships_of(services.store, person.person_id) if person.version else ()
    joined, known = account_for(person, memberships), tuple[Write, ...]((Unchanged(person),))
    if joined is None:
        person, joined, known = found_account(services, person, actor)
    now = services.clock()
    opened = open_session(joined, way.kind, way.subject, now, services.entropy, way.chain_id, person.version)
    session, token = opened
    name = f"person:{person.person_id}"
    actor = replace(actor, account_id=session.account_id, name=name, session_id=session.session_id)
    entry = audit.make_entry(actor, "session.created", session.session_id, now, services.entropy)
    ended = writes_to_end(services, replaced, actor, "session.replaced") if replaced is not None else ()
    return services.store.write(session, pointer_of(session), entry, *ended, *known, *writes), token
