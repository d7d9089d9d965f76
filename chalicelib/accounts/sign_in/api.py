"""Views for signing in by wallet or e-mail, signing out, and the caller's sessions, on the auth host."""

from urllib.parse import urlsplit

from chalicelib.accounts.sign_in import flows as sessions
from chalicelib.accounts.sign_in.schemas import (
    AnswerChallenge,
    AskChallenge,
    ChallengeAnswer,
    Done,
    EmailAndPassword,
    LoggedIn,
    Me,
    Registered,
    SessionAnswer,
    SignedIn,
)
from chalicelib.platform.access.sessions.records import Session, SessionKind
from chalicelib.platform.access.sessions.rules import COOKIE, EMAIL_LIFETIME
from chalicelib.platform.http.view import AnyCall, Call, Reply


def ask_challenge(call: Call[AskChallenge, None]) -> ChallengeAnswer:
    return ChallengeAnswer.of(sessions.challenge(call.services, call.body.address, call.body.chainId))


def verify_wallet(call: Call[AnswerChallenge, None]) -> Reply[SignedIn]:
    opened = sessions.sign_in(call.services, call.body.signed(), call.caller.sent_session, call.actor)
    return Reply(SignedIn(), _cookie(call, *opened))


def register(call: Call[EmailAndPassword, None]) -> Registered:
    return Registered.of(sessions.register(call.services, call.body.email, call.body.password, call.actor))


def log_in(call: Call[EmailAndPassword, None]) -> Reply[LoggedIn]:
    email, password = call.body.email, call.body.password
    opened = sessions.log_in(call.services, email, password, call.caller.sent_session, call.actor)
    return Reply(LoggedIn(id=opened[0].account_id, email=opened[0].subject), _cookie(call, *opened))


def log_out(call: Call[None, None]) -> Reply[Done]:
    sessions.log_out(call.services, _session(call), call.actor)
    return Reply(Done(success=True), _cleared(call))


def me(call: Call[None, None]) -> Me:
    return Me.of(_session(call))


def list_sessions(call: Call[None, None]) -> list[SessionAnswer]:
    open_sessions = sessions.list_open(call.services, call.caller.account_id)
    return [SessionAnswer.of(each, _session(call)) for each in open_sessions]


def revoke_session(call: Call[None, None]) -> Done:
    sessions.revoke(call.services, call.caller.account_id, call.path["session_id"], call.actor)
    return Done(success=True)


def _session(call: AnyCall) -> Session:
    assert call.caller.session is not None, "set in session mode"
    return call.caller.session


def _cookie(call: AnyCall, session: Session, token: str) -> dict[str, str]:
    """The cookie of a wallet session has no Max-Age, as the server decides by its use when the session ends."""
    ages = {SessionKind.EMAIL: f"; Max-Age={int(EMAIL_LIFETIME.total_seconds())}", SessionKind.WALLET: ""}
    return _set_cookie(call, f"{token}{ages[session.kind]}")


def _cleared(call: AnyCall) -> dict[str, str]:
    return _set_cookie(call, "; Max-Age=0")


def _set_cookie(call: AnyCall, value: str) -> dict[str, str]:
    """Always `Secure`: over plain HTTP a client sends the token itself, as a cookie or as `Authorization: Bearer`.

    The path is that of AUTH_URL, which is below `/<stage>` where the stage has no hosts of its own.
    """
    settings = call.services.settings
    path = urlsplit(settings.auth_url).path or "/"
    shared = f"; Domain={settings.session_domain}" if settings.session_domain else ""
    return {"Set-Cookie": f"{COOKIE}={value}; Path={path}{shared}; HttpOnly; Secure; SameSite=Lax"}
