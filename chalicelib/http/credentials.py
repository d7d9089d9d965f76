"""Who is calling, as the headers say it: which credential decides the mode, in the order of the interface.

A session is looked at only when no credential header is sent (supplement, part 1). Of several headers the first one
counts that the operation accepts: a client that always sends its API key and its client id may call everything.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from chalicelib.access.callers import SentCredential
from chalicelib.access.modes import Mode
from chalicelib.access.sessions.rules import COOKIE
from chalicelib.base.errors import ForeignOrigin, Unauthorized
from chalicelib.http.request import CHANGING, HttpRequest
from chalicelib.settings import Settings, origin_of


def sent_by(request: HttpRequest, accepted: tuple[Mode, ...]) -> SentCredential | None:
    """The credential of a request; None where the operation is public and none is sent. Raises Unauthorized.

    An operation that is public beside other modes needs no credential, but one that is sent has to be right; one that
    is only public does not look.
    """
    if accepted == (Mode.PUBLIC,):
        return None
    headers = request.headers
    platform, client_id = headers.get("x-orchestrator-key"), headers.get("x-client-id")
    in_order = (
        (Mode.ORCHESTRATOR, platform),
        (Mode.ORCHESTRATOR_KEY, platform),
        (Mode.API_KEY, headers.get("x-api-key")),
        (Mode.CLIENT_ID, client_id),
    )
    present = [(mode, secret) for mode, secret in in_order if secret is not None]
    for mode, secret in present:
        if mode in accepted:
            return _checked(mode, secret, client_id)
    if not present and Mode.SESSION in accepted and (token := session_token(headers)):
        return SentCredential(Mode.SESSION, token)
    if not present and Mode.PUBLIC in accepted:
        return None
    raise Unauthorized()


def _checked(mode: Mode, secret: str, client_id: str | None) -> SentCredential:
    if not secret:
        raise Unauthorized()
    if mode is Mode.ORCHESTRATOR and not client_id:
        raise Unauthorized("x-client-id is required with x-orchestrator-key")
    return SentCredential(mode, secret, client_id if mode in (Mode.ORCHESTRATOR, Mode.API_KEY) else None)


def refuse_other_pages(settings: Settings, request: HttpRequest) -> None:
    """Raises ForeignOrigin when a page that is not ours wants to change something by a cookie.

    SameSite=Lax keeps other sites' pages from sending it, not those of sibling hosts: a blog, a status page.
    """
    ours = {origin_of(url) for url in (settings.api_url, settings.auth_url, settings.pay_url)}
    if request.method in CHANGING and request.origin not in {None, *ours, *settings.session_origins}:
        raise ForeignOrigin("Origin may not use session cookies: SESSION_ORIGINS lists those that may")


def origin_sent(settings: Settings, request: HttpRequest, sent: SentCredential) -> str | None:
    """The Origin of a request. Browsers send none with a GET to a page's own host (Fetch, 3.2), which is where a
    deployment with one host for all has its API: then the hosted payment page is told by the host it asks."""
    is_page = sent.mode is Mode.CLIENT_ID and sent.secret == settings.page_client_id
    if is_page and request.origin is None and request.method == "GET":
        return settings.page_origin if request.headers.get("host") == urlsplit(settings.pay_url).netloc else None
    return request.origin


def session_token(headers: Mapping[str, str]) -> str | None:
    """The session token of `Authorization: Bearer`, or of the cookie.

    The cookie header is split by hand: http.cookies stops at the first cookie it dislikes, and another page of the
    domain may have set that one. Two different tokens have no one meaning: then there is none.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    tokens = {value.strip('"') for name, _, value in pairs if name == COOKIE}
    return tokens.pop() if len(tokens) == 1 else None
