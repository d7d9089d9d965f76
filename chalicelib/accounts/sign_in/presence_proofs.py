"""Has a person prove their presence in a session, by password or by a wallet's signature."""

from chalicelib.accounts.sign_in import passwords, refusals, wallets
from chalicelib.accounts.sign_in.records import Challenge, Purpose
from chalicelib.accounts.sign_in.rules import Wanted
from chalicelib.accounts.sign_in.wallets import SignedChallenge, find_challenge
from chalicelib.base.errors import Forbidden, Unauthorized
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.presence import password_counts
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.access.rate_limits.rules import failure_windows
from chalicelib.platform.access.sessions import store as session_store
from chalicelib.platform.access.sessions.records import PresenceProof, Session
from chalicelib.platform.access.sessions.rules import add_proof, pointer_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete, Unchanged, Write


def by_password(services: Services, member: Member, password: str, actor: Actor) -> Session:
    """Proves the presence by the person's password. It is counted and limited as a sign-in.

    Raises Unauthorized for a wrong one, TooManyRequests, BadRequest, and Forbidden where a password does not count.
    """
    if not password_counts(member):
        raise Forbidden("This account demands a second factor: a password does not prove your presence")
    passwords.check_password(password)
    scale, now = services.settings.rate_limit_scale, services.clock()
    windows = failure_windows(member.person.label, actor.ip_address, scale, now)
    rate_limits.count_in_all(services, *windows)
    if not passwords.is_password(password, member.person.password_hash):
        refusals.record(services, member.person, actor)
        raise Unauthorized("Wrong password")
    rate_limits.uncount(services, *windows)
    return prove(services, member, PresenceProof.PASSWORD, actor)


def challenge(services: Services, member: Member, address: str, chain_id: int) -> Challenge:
    """A text for a wallet of the person to sign. One write. Raises BadRequest."""
    return wallets.create_challenge(services, address, chain_id, Wanted(Purpose.PROVE, member.session.session_id))


@retry_conflicts(5)
def by_wallet(services: Services, member: Member, signed: SignedChallenge, actor: Actor) -> Session:
    """Proves the presence by the signature of a wallet that the person signs in with.

    Raises as `wallets.signer`, and Forbidden for a wallet that is not the person's.
    """
    issued = find_challenge(services, signed, actor, Wanted(Purpose.PROVE, member.session.session_id))
    wallet = wallets.signer(services, issued, signed, actor)
    identity = person_store.identity(services.store, wallet.name)
    if identity is None or identity.person_id != member.person.person_id:
        raise Forbidden("You do not sign in with this wallet")
    return with_proof(services, member, PresenceProof.WALLET, actor, Delete(issued), Unchanged(identity))


@retry_conflicts(5)
def prove(services: Services, member: Member, proof: PresenceProof, actor: Actor) -> Session:
    """Writes a proof into the session that needs nothing else written with it."""
    return with_proof(services, member, proof, actor)


def with_proof(services: Services, member: Member, proof: PresenceProof, actor: Actor, *writes: Write) -> Session:
    """Writes a proof into the session, with `writes`, which use up what proves it. One read, one transaction.

    Raises Unauthorized if the session has ended, WriteConflict.
    """
    session = session_store.session(services.store, member.session.token_hash)
    if session is None:
        raise Unauthorized("Session is missing or has ended: sign in again")
    now = services.clock()
    changed = add_proof(session, proof, now)
    entry = audit.make_entry(actor, "session.proved", session.session_id, now, services.entropy)
    return services.store.write(changed, pointer_of(changed), entry, *writes)
