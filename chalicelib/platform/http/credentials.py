"""Reads the credential of a request from its headers.

Of several credential headers, the first one that the operation accepts is used, in the order of the interface: a caller
who always sends an API key and a client id may call every operation that accepts either. A session is used only if no
credential header is sent that the operation accepts (supplement, part 1). What is not used must not be of another
account; a cookie may be, as browsers send it by themselves.

Generated clients send every header that the document names: those without a value empty, or all with the one key that
they were given. An empty header counts as absent. A value that stands in several headers counts in that of its kind,
and the token of a session as the session alone.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from chalicelib.base.errors import ForeignOrigin, Unauthorized
from chalicelib.platform.access.callers import SentCredential
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.sessions.rules import COOKIE, parse_token
from chalicelib.platform.http.request import CHANGING, HttpRequest
from chalicelib.platform.settings import Settings, origin_of


def read_credential(request: HttpRequest, accepted: tuple[Mode, ...]) -> SentCredential | None:
    """The credential of a request; None if the operation is public and none is sent. Raises Unauthorized.

    An operation that is only public ignores credentials. One that accepts other modes too checks a credential that is
    sent. Where none that is sent is of an accepted mode, the first one is returned, to be refused.
    """
    if accepted == (Mode.PUBLIC,):
        return None
    headers, given = request.headers, _credential_headers(request.headers)
    client_id = given.get("x-client-id")
    present = [(mode, given[name]) for mode, name in _HEADERS if name in given]
    usable = [(mode, secret) for mode, secret in present if mode in accepted]
    for mode, secret in usable:
        if mode is not Mode.ORCHESTRATOR or client_id is not None:
            used = client_id if mode in (Mode.ORCHESTRATOR, Mode.API_KEY) else None
            beside = None if mode is Mode.API_KEY else given.get("x-api-key")
            named = parse_token(bearer_token(headers) or "")
            return SentCredential(mode, secret, used, beside, named[0] if named else None)
    if usable:
        raise Unauthorized("x-client-id is required with x-orchestrator-key")
    has_platform = "x-orchestrator-key" in given  # whose account is not read beside a session
    if not has_platform and Mode.SESSION in accepted and (token := session_token(headers)):
        return SentCredential(Mode.SESSION, token, client_id, given.get("x-api-key"))
    if not present and Mode.PUBLIC in accepted:
        return None
    if present:
        return next(SentCredential(*each) for each in present if each[0] is not Mode.ORCHESTRATOR)
    if token := session_token(headers):
        return SentCredential(Mode.SESSION, token)
    raise Unauthorized


def describe_refusal(refused: Mode, accepted: tuple[Mode, ...]) -> str:
    """Why a credential of a mode that an operation does not accept is refused, and what to send."""
    name = next((name for mode, name in _HEADERS if mode is refused), "A session")
    return f"{name} is not accepted here: send {describe_accepted(accepted)}"


def describe_accepted(accepted: tuple[Mode, ...]) -> str:
    """The credentials that an operation accepts, in words."""
    return ", or ".join(_NAMES[mode] for mode in _NAMES if mode in accepted)


_NAMES = {
    Mode.ORCHESTRATOR: "x-orchestrator-key with x-client-id",
    Mode.ORCHESTRATOR_KEY: "x-orchestrator-key",
    Mode.API_KEY: "x-api-key",
    Mode.CLIENT_ID: "x-client-id",
    Mode.SESSION: "a session alone (cookie or authorization: Bearer)",
    Mode.PUBLIC: "no credential",
}


_HEADERS = (
    (Mode.ORCHESTRATOR, "x-orchestrator-key"),
    (Mode.ORCHESTRATOR_KEY, "x-orchestrator-key"),
    (Mode.API_KEY, "x-api-key"),
    (Mode.CLIENT_ID, "x-client-id"),
)
_KINDS = {"x-orchestrator-key": "orc_", "x-api-key": "key_", "x-client-id": "cli_"}
"""How the value of each header begins (base/ids.py)."""


def _credential_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The credential headers that count, by name."""
    session = session_token(headers) or ""
    passed_over = {"", session if parse_token(session) else ""}
    filled = {name: headers[name] for name in _KINDS if headers.get(name, "").strip() not in passed_over}
    own = {text: name for name, text in filled.items() if text.startswith(_KINDS[name])}
    return {name: text for name, text in filled.items() if own.get(text, name) == name}


def refuse_foreign_pages(settings: Settings, request: HttpRequest) -> None:
    """Raises ForeignOrigin if a page of another origin sends a changing request that uses or opens a session.

    SameSite=Lax stops pages of other sites, but not those of sibling hosts, such as a blog: they could act as their
    visitor, or sign them into an account that is not theirs. Browsers send an Origin with every changing request, and
    others (curl, servers) need none.
    """
    if request.method in CHANGING and is_foreign_page(settings, request.origin):
        raise ForeignOrigin("Origin may not use session cookies: SESSION_ORIGINS lists those that may")


def is_foreign_page(settings: Settings, origin: str | None) -> bool:
    """Whether a request is of a page that is neither the service's own nor one of SESSION_ORIGINS."""
    own = {origin_of(url) for url in (settings.api_url, settings.auth_url, settings.pay_url)}
    return origin not in {None, *own, *settings.session_origins}


def effective_origin(settings: Settings, request: HttpRequest, sent: SentCredential) -> str | None:
    """The Origin of a request. For a GET of the hosted payment page without one, the page's origin.

    Browsers send no Origin with a GET to the page's own host (Fetch, 3.2). If API and page share a host, the Host
    header shows that the page sent the request. Pages of other hosts cannot send `x-client-id` without an Origin. A
    program can type either header, and reads what anybody reads who has the link.
    """
    is_page = sent.mode is Mode.CLIENT_ID and sent.secret == settings.page_client_id
    if is_page and request.origin is None and request.method == "GET":
        return settings.page_origin if request.headers.get("host") == urlsplit(settings.page_origin).netloc else None
    return request.origin


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """The token of `Authorization: Bearer`, which no browser sends by itself."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def session_token(headers: Mapping[str, str]) -> str | None:
    """The session token of `Authorization: Bearer`, or of the cookie. None if two different cookies are sent.

    http.cookies is not used: it stops at the first malformed cookie, which another page of the domain may have set.
    """
    if token := bearer_token(headers):
        return token
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    tokens = {value.strip('"') for name, _, value in pairs if name == COOKIE}
    return tokens.pop() if len(tokens) == 1 else None
