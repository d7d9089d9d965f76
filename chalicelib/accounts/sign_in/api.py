"""Signing in and out on the auth host: by wallet, or by e-mail and password; and the caller's own sessions."""

from chalice import Blueprint

from chalicelib.access.modes import Mode, Rate
from chalicelib.access.sessions.records import Session, SessionKind
from chalicelib.access.sessions.rules import COOKIE, EMAIL_LIFETIME
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
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call, Reply
from chalicelib.http.schemas import HealthAnswer

blueprint = Blueprint(__name__)
_PUBLIC, _SESSION = (Mode.PUBLIC,), (Mode.SESSION,)


@operation(
    blueprint,
    "POST",
    "/v1/auth/wallet/challenge",
    summary="Ask for a text that a wallet is to sign",
    modes=_PUBLIC,
    rate=Rate.SIGN_IN,
    body=AskChallenge,
    answer=ChallengeAnswer,
    status=201,
    errors=(400, 429),
)
def ask_challenge(call: Call) -> ChallengeAnswer:
    return ChallengeAnswer.of(sessions.challenge(call.services, call.body.address, call.body.chainId))


@operation(
    blueprint,
    "POST",
    "/v1/auth/wallet/verify",
    summary="Sign in with the signed text",
    modes=_PUBLIC,
    rate=Rate.SIGN_IN,
    body=AnswerChallenge,
    answer=SignedIn,
    errors=(400, 401, 429, 503),
    shows_secret=True,
)
def verify_wallet(call: Call) -> Reply:
    opened = sessions.sign_in(call.services, call.body.signed(), call.caller.sent_session, call.actor)
    return Reply(SignedIn(), _cookie(call, *opened))


@operation(
    blueprint,
    "POST",
    "/v1/auth/register",
    summary="Register with an e-mail address; the answer does not tell whether it was known",
    modes=_PUBLIC,
    rate=Rate.SIGN_IN,
    body=EmailAndPassword,
    answer=Registered,
    status=201,
    errors=(400, 429),
)
def register(call: Call) -> Registered:
    return Registered.of(sessions.register(call.services, call.body.email, call.body.password, call.actor))


@operation(
    blueprint,
    "POST",
    "/v1/auth/login",
    summary="Sign in with e-mail address and password",
    modes=_PUBLIC,
    rate=Rate.SIGN_IN,
    body=EmailAndPassword,
    answer=LoggedIn,
    errors=(400, 401, 429),
    shows_secret=True,
)
def log_in(call: Call) -> Reply:
    email, password = call.body.email, call.body.password
    opened = sessions.log_in(call.services, email, password, call.caller.sent_session, call.actor)
    return Reply(LoggedIn(id=opened[0].account_id, email=opened[0].subject), _cookie(call, *opened))


@operation(
    blueprint,
    "POST",
    "/v1/auth/logout",
    summary="End this session",
    modes=_SESSION,
    answer=Done,
    errors=(401,),
)
def log_out(call: Call) -> Reply:
    sessions.log_out(call.services, _session(call), call.actor)
    return Reply(Done(success=True), _cleared(call))


@operation(
    blueprint, "GET", "/v1/auth/me", summary="Who is signed in", modes=_SESSION, answer=Me, errors=(401,)
)
def me(call: Call) -> Me:
    return Me.of(_session(call))


@operation(
    blueprint,
    "GET",
    "/v1/auth/sessions",
    summary="List your open sessions, the newest first",
    modes=_SESSION,
    answer=list[SessionAnswer],
    errors=(401,),
)
def list_sessions(call: Call) -> list[SessionAnswer]:
    found = sessions.list_open(call.services, call.caller.account_id)
    return [SessionAnswer.of(each, _session(call)) for each in found]


@operation(
    blueprint,
    "DELETE",
    "/v1/auth/sessions/{session_id}",
    summary="End one of your sessions",
    modes=_SESSION,
    answer=Done,
    errors=(401, 404),
)
def revoke_session(call: Call) -> Done:
    sessions.revoke(call.services, call.caller.account_id, call.path["session_id"], call.actor)
    return Done(success=True)


@operation(
    blueprint,
    "GET",
    "/v1/health",
    summary="Whether the auth API answers",
    modes=_PUBLIC,
    rate=None,
    answer=HealthAnswer,
)
def auth_health(call: Call) -> HealthAnswer:
    return HealthAnswer(status="ok")


def _session(call: Call) -> Session:
    assert call.caller.session is not None, "session mode has a session"
    return call.caller.session


def _cookie(call: Call, session: Session, token: str) -> dict[str, str]:
    """A wallet's cookie stays until the browser closes: when its session ends depends on use, and is decided here."""
    ages = {SessionKind.EMAIL: f"; Max-Age={int(EMAIL_LIFETIME.total_seconds())}", SessionKind.WALLET: ""}
    return _set_cookie(call, f"{token}{ages[session.kind]}")


def _cleared(call: Call) -> dict[str, str]:
    return _set_cookie(call, "; Max-Age=0")


def _set_cookie(call: Call, value: str) -> dict[str, str]:
    """Secure always: over plain HTTP a client sends the token by hand, as a cookie or as `Authorization: Bearer`."""
    domain = call.services.settings.session_domain
    shared = f"; Domain={domain}" if domain else ""
    return {"Set-Cookie": f"{COOKIE}={value}; Path=/{shared}; HttpOnly; Secure; SameSite=Lax"}
