"""Opens and checks sessions, and decides when they end."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.errors import Unauthorized
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.sessions.records import Session, SessionKind, SessionPointer

WALLET_IDLE = timedelta(minutes=15)
EMAIL_LIFETIME = timedelta(days=30)
TOUCH_INTERVAL = timedelta(seconds=10)
"""How often the use of a session is written, as one dashboard page makes ten requests."""
COOKIE = "session_token"
_TOKEN = re.compile(r"([0-9A-HJKMNP-TV-Z]{26})\.[A-Za-z0-9]{43}")


def open_session(
    account_id: str,
    kind: SessionKind,
    subject: str,
    now: datetime,
    entropy: Entropy,
    chain_id: int | None = None,
    user_version: int = 0,
) -> tuple[Session, str]:
    """A new session and its token: the id of the account, a dot, and 256 random bits.

    With the id in the token, the account is read together with the session.
    """
    token = f"{account_id}.{ids.session_token(entropy)}"
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
        user_version=user_version,
    )
    return session, token


def account_named_in(token: str) -> str | None:
    """The account of a session's token; None if it names none, as forged ones may."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match else None


def check_session(session: Session | None, account: Account | None, now: datetime) -> Session:
    """Raises Unauthorized unless the session exists and has not ended, by itself or by a new password."""
    since = account.sessions_since if account else 0
    if session is None or now >= session.expires_at or session.user_version < since:
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
