"""Registers passkeys, lists, names and removes them, and signs in or proves presence with one."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from chalicelib.accounts.passkeys import store
from chalicelib.accounts.passkeys.records import Passkey, PasskeyChallenge
from chalicelib.accounts.passkeys.rules import (
    CHALLENGE_BYTES,
    REFUSED,
    RelyingParty,
    challenge_in,
    check_challenge,
    new_challenge,
    passkey_id_of,
    person_named_in,
    use_passkey,
    with_passkey,
)
from chalicelib.accounts.passkeys.verification import (
    Credential,
    registration_options,
    request_options,
    verify_assertion,
    verify_registration,
)
from chalicelib.accounts.sign_in import refusals
from chalicelib.accounts.sign_in.flows import Way, open_for
from chalicelib.accounts.sign_in.identities import keep_session
from chalicelib.accounts.sign_in.presence_proofs import with_proof
from chalicelib.accounts.sign_in.records import Purpose
from chalicelib.accounts.sign_in.rules import SIGN_IN, Wanted
from chalicelib.base.errors import Conflict, NotFound, Unauthorized
from chalicelib.base.frozen import make_from
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Person
from chalicelib.platform.access.people.rules import with_sessions_ended
from chalicelib.platform.access.sessions.records import PresenceProof, Session, SessionKind
from chalicelib.platform.services import Services
from chalicelib.platform.settings import origin_of
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete, Write


def ask_to_register(services: Services, member: Member) -> dict[str, Any]:
    """The options for a new passkey of the person, with a challenge for this session. One query, one write."""
    known = [each.credential_id for each in store.passkeys(services.store, member.person.person_id)]
    challenge = _challenge(services, Wanted(Purpose.ADD, member.session.session_id))
    return registration_options(_party(services), member.person.person_id, member.person.label, challenge, known)


@retry_conflicts(5)
def register(services: Services, member: Member, credential: Credential, name: str, actor: Actor) -> Passkey:
    """Registers a passkey. One transaction, which uses up the challenge.

    Raises BadRequest or Unauthorized for a response that does not hold, Conflict if it is registered.
    """
    wanted = Wanted(Purpose.ADD, member.session.session_id)
    challenge, stored = _find_challenge(services, credential, wanted)
    found = verify_registration(_party(services), credential, challenge)
    passkey_id, now = passkey_id_of(found.credential_id), services.clock()
    person = with_passkey(_person(services, member), passkey_id)
    passkey = make_from(Passkey, found, person_id=person.person_id, passkey_id=passkey_id, name=name, created_at=now)
    entries = _entries(services, person, "passkey.added", passkey_id, actor)
    services.store.write(person, passkey, Delete(stored), *entries)
    return passkey


def list_own(services: Services, person_id: str) -> list[Passkey]:
    """The passkeys of a person, the oldest first. One query."""
    return sorted(store.passkeys(services.store, person_id), key=lambda each: each.created_at)


@retry_conflicts(5)
def rename(services: Services, member: Member, passkey_id: str, name: str, actor: Actor) -> Passkey:
    """Gives a passkey another name, with an entry in the audit log; no write if it has it. Raises NotFound."""
    known = _own(services, member.person.person_id, passkey_id)
    if known.name == name:
        return known
    entries = _entries(services, member.person, "passkey.renamed", passkey_id, actor)
    return services.store.write(replace(known, name=name), *entries)


@retry_conflicts(5)
def remove(services: Services, member: Member, passkey_id: str, actor: Actor) -> None:
    """Removes a passkey, and ends all sessions of the person but this one. Raises NotFound, and Conflict for the last
    passkey where the account of the session demands a second factor."""
    passkey, person = _own(services, member.person.person_id, passkey_id), _person(services, member)
    left = tuple(each for each in person.passkeys if each != passkey_id)
    if not left and member.account.requires_second_factor:
        raise Conflict("This account demands a second factor: add another passkey before you remove this one")
    changed = with_sessions_ended(replace(person, passkeys=left))
    kept = keep_session(services, member, person, changed)
    entries = _entries(services, person, "passkey.removed", passkey_id, actor)
    services.store.write(changed, Delete(passkey), *kept, *entries)


def ask_to_sign_in(services: Services) -> dict[str, Any]:
    """The options to sign in with any passkey of the site. One write."""
    return request_options(_party(services), _challenge(services, SIGN_IN), [])


@retry_conflicts(5)
def sign_in(services: Services, credential: Credential, replaced: str | None, actor: Actor) -> tuple[Session, str]:
    """Opens a session for the person whose passkey it is. Returns session and token.

    One transaction, which uses up the challenge. Raises BadRequest, and Unauthorized with one text for whatever does
    not hold, which is in the audit log of the person if the passkey is known.
    """
    person_id = person_named_in(credential["response"].get("userHandle"))
    person, writes = _proven(services, person_id, credential, SIGN_IN, actor)
    way = Way(SessionKind.PASSKEY, person.label)
    return open_for(services, person, way, actor, replaced, *writes)


def ask_to_prove(services: Services, member: Member) -> dict[str, Any]:
    """The options to prove presence by a passkey of the person. One query, one write. Raises NotFound without any."""
    allowed = [each.credential_id for each in store.passkeys(services.store, member.person.person_id)]
    if not allowed:
        raise NotFound("You have no passkey")
    challenge = _challenge(services, Wanted(Purpose.PROVE, member.session.session_id))
    return request_options(_party(services), challenge, allowed)


@retry_conflicts(5)
def prove(services: Services, member: Member, credential: Credential, actor: Actor) -> Session:
    """Proves the presence of the person in this session by one of their passkeys. Raises as `sign_in`."""
    wanted = Wanted(Purpose.PROVE, member.session.session_id)
    _, writes = _proven(services, member.person.person_id, credential, wanted, actor)
    return with_proof(services, member, PresenceProof.PASSKEY, actor, *writes)


def _proven(
    services: Services, person_id: str, credential: Credential, wanted: Wanted, actor: Actor
) -> tuple[Person, tuple[Write, ...]]:
    """The person whose passkey signed the challenge, and the writes that use it up. Raises BadRequest, Unauthorized."""
    challenge, stored = _find_challenge(services, credential, wanted)
    named = credential["response"].get("userHandle")
    passkey = store.passkey(services.store, person_id, passkey_id_of(credential["id"]))
    person = person_store.find_person(services.store, person_id)
    if passkey is None or person is None or (named is not None and person_named_in(named) != person_id):
        raise Unauthorized(REFUSED)
    try:
        now = services.clock()
        changed, fell = use_passkey(passkey, verify_assertion(_party(services), credential, challenge, passkey), now)
    except Unauthorized:
        refusals.record(services, person, actor)
        raise
    entries = _entries(services, person, "passkey.count_fell", passkey.passkey_id, actor) if fell else ()
    return person, (Delete(stored), changed, *entries)


def _find_challenge(services: Services, credential: Credential, wanted: Wanted) -> tuple[bytes, PasskeyChallenge]:
    """The challenge that a response answers, and its record. One read. Raises BadRequest, Unauthorized."""
    challenge, hashed = challenge_in(credential["response"]["clientDataJSON"])
    return challenge, check_challenge(store.challenge(services.store, hashed), wanted, services.clock())


def _challenge(services: Services, wanted: Wanted) -> bytes:
    challenge = services.entropy(CHALLENGE_BYTES)
    services.store.write(new_challenge(challenge, wanted, services.clock()))
    return challenge


def _party(services: Services) -> RelyingParty:
    settings = services.settings
    return RelyingParty(urlsplit(settings.auth_url).hostname or "", origin_of(settings.auth_url), settings.brand)


def _person(services: Services, member: Member) -> Person:
    person = person_store.find_person(services.store, member.person.person_id)
    assert person is not None, "people are not deleted"
    return person


def _own(services: Services, person_id: str, passkey_id: str) -> Passkey:
    passkey = store.passkey(services.store, person_id, passkey_id)
    if passkey is None:
        raise NotFound("Passkey not found")
    return passkey


def _entries(
    services: Services, person: Person, action: str, passkey_id: str, actor: Actor
) -> tuple[AuditEntry, ...]:
    """An entry for each account of the person, which is told to their addresses."""
    accounts = [each.account_id for each in person_store.memberships_of(services.store, person.person_id)]
    now, addresses = services.clock(), person_store.list_confirmed_addresses(services.store, person)
    return audit.entries_of_person(actor, action, passkey_id, accounts, now, services.entropy, addresses)
