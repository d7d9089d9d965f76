"""Opens and checks sessions, and decides when they end."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.access.credentials.rules import credential_hash
from chalicelib.access.sessions.records import Session, SessionKind, SessionPointer
from chalicelib.base import ids
from chalicelib.base.errors import Unauthorized
from chalicelib.base.ids import Entropy

WALLET_IDLE = timedelta(minutes=15)
EMAIL_LIFETIME = timedelta(days=30)
TOUCH_INTERVAL = timedelta(seconds=10)
"""How often the use of a session is written, as one dashboard page makes ten requests."""
COOKIE = "session_token"


def open_session(
    account_id: str, kind: SessionKind, subject: str, now: datetime, entropy: Entropy, chain_id: int | None = None
) -> tuple[Session, str]:
    """A new session and its token of 256 random bits."""
    token = ids.session_token(entropy)
    session = Session(
        token_hash=credential_hash(token),
        session_id=ids.ulid(now, entropy),
        account_id=account_id,
        kind=kind,
        subject=subject,
        created_at=now,
        last_seen_at=now,
        expires_at=now + (WALLET_IDLE if kind is SessionKind.WALLET else EMAIL_LIFETIME),
        chain_id=chain_id,
    )
    return session, token


def check_session(session: Session | None, now: datetime) -> Session:
    """Raises Unauthorized unless the session exists and has not ended."""
    if session is None or now >= session.expires_at:
        raise Unauthorized("Session is missing or has ended: sign in again")
    return session


def touched(session: Session, now: datetime) -> Session | None:
    """The session as used now, or None within TOUCH_INTERVAL of its last use. A wallet session is prolonged."""
    if now - session.last_seen_at < TOUCH_INTERVAL:
        return None
    expires_at = now + WALLET_IDLE if session.kind is SessionKind.WALLET else session.expires_at
    return replace(session, last_seen_at=now, expires_at=expires_at)


def pointer_of(session: Session) -> SessionPointer:
    """The pointer to a session. Both are always written together, so their versions are equal."""
    return SessionPointer(
        session.account_id, session.session_id, session.token_hash, session.expires_at, session.version
    )
