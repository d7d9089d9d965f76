"""The cookie of a session."""

from urllib.parse import urlsplit

from chalicelib.platform.access.sessions.records import Session, SessionKind
from chalicelib.platform.access.sessions.rules import COOKIE, EMAIL_LIFETIME
from chalicelib.platform.settings import Settings


def session_cookie(settings: Settings, session: Session, token: str) -> dict[str, str]:
    """The header that sets it. That of a wallet session has no Max-Age, as its use decides when the session ends."""
    lasts = "" if session.kind is SessionKind.WALLET else f"; Max-Age={int(EMAIL_LIFETIME.total_seconds())}"
    return _set_cookie(settings, f"{token}{lasts}")


def clear_cookie(settings: Settings) -> dict[str, str]:
    return _set_cookie(settings, "; Max-Age=0")


def _set_cookie(settings: Settings, value: str) -> dict[str, str]:
    """Always `Secure`: over plain HTTP a client sends the token itself, as a cookie or as `Authorization: Bearer`.

    The path is that of AUTH_URL, which is below `/<stage>` where the stage has no hosts of its own.
    """
    path = urlsplit(settings.auth_url).path or "/"
    shared = f"; Domain={settings.session_domain}" if settings.session_domain else ""
    return {"Set-Cookie": f"{COOKIE}={value}; Path={path}{shared}; HttpOnly; Secure; SameSite=Lax"}
