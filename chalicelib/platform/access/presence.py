"""When a session needs a proof: of presence for what redirects money, of a second factor where the account says so.

A proof of presence is not older than five minutes; signing in is one. Ways to sign in and passkeys belong to the person
and count in every account, so what changes them asks the same in every account.
"""

from datetime import datetime, timedelta

from chalicelib.base.errors import Forbidden
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people.records import Person, is_email
from chalicelib.platform.access.sessions.records import PresenceProof

PRESENCE = timedelta(minutes=5)


class ProofRequired(Forbidden):
    """`code` says for what the proof is needed, `proofs` which ones the person can give."""

    def __init__(self, message: str, code: str, proofs: tuple[PresenceProof, ...]) -> None:
        super().__init__(message)
        self.code = code
        self.proofs = proofs


def check_second_factor(member: Member) -> None:
    """Raises ProofRequired if the account demands a second factor and the session has a password alone."""
    if member.account.requires_second_factor and not member.session.has_second_factor:
        raise ProofRequired(
            "This account demands a second factor: prove your presence by a passkey or a wallet, or add a passkey",
            "second_factor_required",
            second_factors_of(member),
        )


def check_presence(member: Member, now: datetime, *, changes_sign_in: bool = False) -> None:
    """Raises ProofRequired unless the person has proved their presence in this session within five minutes.

    What `changes_sign_in` needs a passkey or a wallet, if the person has one.
    """
    session, proofs = member.session, proofs_of(member, changes_sign_in=changes_sign_in)
    counts = session.proved_by is not PresenceProof.PASSWORD or password_counts(member, changes_sign_in)
    if not counts or now - session.proved_at > PRESENCE:
        raise ProofRequired(
            "This needs a proof of your presence that is not older than five minutes", "presence_required", proofs
        )


def password_counts(member: Member, changes_sign_in: bool = False) -> bool:
    """Whether a password proves presence: once the person has a second factor, neither where the account demands one
    nor for what changes how they sign in."""
    has_second_factor = bool(member.person.passkeys) or has_wallet(member.person)
    return not has_second_factor or not (changes_sign_in or member.account.requires_second_factor)


def proofs_of(member: Member, *, changes_sign_in: bool = False) -> tuple[PresenceProof, ...]:
    """The proofs that the person can give, the strongest first."""
    person = member.person
    can = {
        PresenceProof.PASSKEY: bool(person.passkeys),
        PresenceProof.WALLET: has_wallet(person),
        PresenceProof.PASSWORD: person.password_hash is not None and password_counts(member, changes_sign_in),
    }
    return tuple(proof for proof, is_possible in can.items() if is_possible)


def second_factors_of(member: Member) -> tuple[PresenceProof, ...]:
    """The proofs that the person can give and that make a second factor of the session, the strongest first."""
    return tuple(each for each in proofs_of(member) if each is not PresenceProof.PASSWORD)


def has_wallet(person: Person) -> bool:
    return any(not is_email(name) for name in person.identities)
