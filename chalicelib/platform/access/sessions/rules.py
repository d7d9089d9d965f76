"""Opens and checks sessions, and decides when they end."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.errors import Conflict, Unauthorized
from chalicelib.base.frozen import make_from
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.people.records import Membership, MembershipPointer, Person
from chalicelib.platform.access.people.rules import pointer_of as pointer_of_member
from chalicelib.platform.access.sessions.records import PresenceProof, Session, SessionKind, SessionPointer

WALLET_IDLE = timedelta(minutes=15)
EMAIL_LIFETIME = timedelta(days=30)
TOUCH_INTERVAL = timedelta(seconds=10)
"""How often the use of a session is written, as one dashboard page makes ten requests."""
PROOFS = {
    SessionKind.WALLET: PresenceProof.WALLET,
    SessionKind.EMAIL: PresenceProof.PASSWORD,
    SessionKind.PASSKEY: PresenceProof.PASSKEY,
}
"""What a person proves by signing in."""
COOKIE = "session_token"
_ID = "([0-9A-HJKMNP-TV-Z]{26})"
_TOKEN = re.compile(rf"{_ID}\.{_ID}\.[A-Za-z0-9]{{43}}")


class SignedInAsAnother(Conflict):
    """The call was meant for another person or account than those of the session that came with it."""


def open_session(
    member: MembershipPointer,
    kind: SessionKind,
    subject: str,
    now: datetime,
    entropy: Entropy,
    chain_id: int | None = None,
    person_version: int = 0,
) -> tuple[Session, str]:
    """A new session of a member and its token: the ids of account and person and 256 random bits, with dots between.

    With the ids in the token, the membership and the person are read together with the session.
    """
    token = f"{member.account_id}.{member.person_id}.{ids.session_token(entropy)}"
    session = Session(
        token_hash=credential_hash(token),
        session_id=ids.ulid(now, entropy),
        account_id=member.account_id,
        person_id=member.person_id,
        member_since=member.joined_at,
        kind=kind,
        subject=subject,
        created_at=now,
        last_seen_at=now,
        expires_at=now + (WALLET_IDLE if kind is SessionKind.WALLET else EMAIL_LIFETIME),
        proved_at=now,
        proved_by=PROOFS[kind],
        has_second_factor=PROOFS[kind] is not PresenceProof.PASSWORD,
        chain_id=chain_id,
        person_version=person_version,
    )
    return session, token


def reopen_session(
    session: Session, member: Membership, person: Person, now: datetime, entropy: Entropy
) -> tuple[Session, str]:
    """The session for another account of the person, and its token: how they signed in, their proofs, and its end stay.
    """
    opened, token = open_session(
        pointer_of_member(member), session.kind, session.subject, now, entropy, session.chain_id, person.version
    )
    kept = {name: getattr(session, name) for name in _KEPT}
    return replace(opened, **kept), token


_KEPT = ("created_at", "expires_at", "proved_at", "proved_by", "has_second_factor")


def add_proof(session: Session, proof: PresenceProof, now: datetime) -> Session:
    """The session with another proof of presence."""
    has_second_factor = session.has_second_factor or proof is not PresenceProof.PASSWORD
    return replace(session, proved_at=now, proved_by=proof, has_second_factor=has_second_factor)


def parse_token(token: str) -> tuple[str, str] | None:
    """The ids of account and person in a session's token; None if it names none, as forged ones may."""
    match = _TOKEN.fullmatch(token)
    return (match[1], match[2]) if match else None


def is_open(
    session: Session, joined: Membership | MembershipPointer | None, person: Person | None, now: datetime
) -> bool:
    """Whether the session has not ended: by itself, with its membership, or by a new password.

    `joined` is the membership of the session's account, or its pointer; None if there is none.
    """
    return (
        now < session.expires_at
        and joined is not None
        and joined.joined_at == session.member_since
        and person is not None
        and session.person_version >= person.sessions_since
    )


def check_session(
    session: Session | None, membership: Membership | None, person: Person | None, now: datetime
) -> tuple[Session, Membership, Person]:
    """Raises Unauthorized unless the session exists and is open."""
    if session is None or membership is None or person is None or not is_open(session, membership, person, now):
        raise Unauthorized("Session is missing or has ended: sign in again")
    return session, membership, person


def check_signed_in_as(session: Session, named: str) -> None:
    """Raises SignedInAsAnother unless `named` are the ids of the session's person and account, as `person/account`.

    A page shows one account for hours, and the cookie that its browser sends is that of whoever signed in last.
    """
    if named != f"{session.person_id}/{session.account_id}":
        raise SignedInAsAnother(
            "Another person, or another account, is signed in than x-signed-in-as names, and nothing was done: read "
            "who is (GET /v1/auth/me), and repeat the call only if it is meant for them"
        )


def touch_session(session: Session, now: datetime) -> Session | None:
    """The session as used now, or None within TOUCH_INTERVAL of its last use. A wallet session is prolonged."""
    if now - session.last_seen_at < TOUCH_INTERVAL:
        return None
    expires_at = now + WALLET_IDLE if session.kind is SessionKind.WALLET else session.expires_at
    return replace(session, last_seen_at=now, expires_at=expires_at)


def pointer_of(session: Session) -> SessionPointer:
    """The pointer to a session. Both are always written together, so their versions are equal."""
    return make_from(SessionPointer, session, version=session.version)
