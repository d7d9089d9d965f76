"""The views of the hosted payment page and of the dashboard: pages, files, QR codes, logos; without credentials."""

import hashlib
import io
import json
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from chalicelib.accounts.branding import flows as branding
from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Forbidden, NotFound, TooManyRequests
from chalicelib.base.languages import language_of
from chalicelib.pages import dashboard_html, flows
from chalicelib.pages.assets import served_assets
from chalicelib.pages.files import JSON, Asset
from chalicelib.pages.flows import PageFacts
from chalicelib.pages.html import NOWHERE, Absence, page, page_headers
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.flows import page_visitor
from chalicelib.platform.access.modes import Rate
from chalicelib.platform.access.rate_limits.flows import count_call
from chalicelib.platform.http.responses import HttpResponse
from chalicelib.platform.http.view import Visit, respond_with_file
from chalicelib.platform.services import Services
from chalicelib.relayer.keys.signer import gasless_accounts

_IMAGE = {
    "Content-Type": "image/svg+xml",
    "Content-Security-Policy": "default-src 'none'; img-src data:",
    "X-Content-Type-Options": "nosniff",
}
_NOT_KEPT = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_OPENED = ("document", "iframe")
"""Values of Sec-Fetch-Dest for a page that is opened, also from another site or within Safe's app."""
_STEP = re.compile(r"[0-9]{1,3}")


def show_page(visit: Visit) -> HttpResponse:
    """Returns the page for every token; its script shows that a link does not exist.

    Over a rate limit the page is served without the facts of the link. With `connect=walletconnect`, and a project of
    the operator, it has the scripts for WalletConnect, and a policy that allows its relay.
    """
    settings = visit.services.settings
    _refuse_other_hosts(visit)
    if visit.header("sec-fetch-dest") not in _OPENED:
        _refuse_other_sites(visit)
    facts, language = _facts(visit), language_of(visit.header("accept-language"))
    with_walletconnect = bool(settings.walletconnect_project_id) and visit.query("connect") == "walletconnect"
    accounts = gasless_accounts(visit.services) if settings.relayer_keys else NOWHERE
    text = page(settings, facts, language, with_walletconnect, gasless=accounts)
    return HttpResponse(200, text, {**page_headers(settings, facts, with_walletconnect), "Vary": "Accept-Language"})


def show_asset(visit: Visit) -> HttpResponse:
    return _asset(visit, visit.request.parameters["name"])


def show_locale(visit: Visit) -> HttpResponse:
    return _asset(visit, f"locales/{visit.request.parameters['name']}")


def show_code(visit: Visit) -> HttpResponse:
    step = visit.query("step")
    if step not in ("page", "address") and not _STEP.fullmatch(step):
        raise BadRequest("step must be page, address, or the position of a transaction of /pay, from 0")
    wanted = step if step in ("page", "address") else int(step)
    visitor, token = _admit_visitor(visit, "picture"), visit.query("token")
    text = flows.code_text(_services_for(visit, token), visitor, token, wanted)
    return HttpResponse(200, draw_qr_code(text), {**_IMAGE, "Cache-Control": "no-store"})


def show_receipt(visit: Visit) -> HttpResponse:
    """Returns the receipts of a link as a file, for whoever has its token."""
    from chalicelib.books.receipts.api import signed_receipt  # imported here: few calls ask for it
    from chalicelib.books.receipts.schemas import ReceiptsOfLink

    visitor, token = _admit_visitor(visit, "page"), visit.query("token")
    services = _services_for(visit, token)
    paid = flows.list_paid(services, visitor, token)
    file = ReceiptsOfLink(receipts=[signed_receipt(services, each) for each in paid])
    headers = {"Content-Type": JSON, "Content-Disposition": 'attachment; filename="receipt.json"', **_NOT_KEPT}
    return HttpResponse(200, file.model_dump_json(exclude_unset=True, indent=1), headers)


def show_logo(visit: Visit) -> HttpResponse:
    """Returns the PNG embedded in an SVG, which is text.

    API Gateway returns binary bodies only if the Accept header names their exact type.
    """
    _admit_visitor(visit, "picture")
    logo = branding.logo(visit.services, visit.request.parameters["name"])
    picture = f'<image width="{logo.width}" height="{logo.height}" href="data:image/png;base64,{logo.png}"/>'
    size = f'width="{logo.width}" height="{logo.height}" viewBox="0 0 {logo.width} {logo.height}"'
    text = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{picture}</svg>'
    return respond_with_file(visit, text, logo.version, _IMAGE)


def show_dashboard(visit: Visit) -> HttpResponse:
    """Returns the dashboard's page for every view, at the host of AUTH_URL alone: cookies and passkeys belong to it."""
    _refuse_other_than_dashboard(visit)
    settings = visit.services.settings
    return HttpResponse(200, dashboard_html.page(settings), dashboard_html.page_headers(settings))


def _refuse_other_than_dashboard(visit: Visit) -> None:
    """Raises NotFound if the request was sent to another host than that of AUTH_URL."""
    if visit.header("host").lower() != urlsplit(visit.services.settings.auth_url).netloc.lower():
        raise NotFound(f"Cannot {visit.request.method} {visit.request.path}")


def show_preview(visit: Visit) -> HttpResponse:
    """Returns the payment page for a frame of the dashboard, which has what it shows."""
    _refuse_other_than_dashboard(visit)
    settings, language = visit.services.settings, language_of(visit.header("accept-language"))
    text = page(settings, Absence.UNKNOWN, language, extra=dashboard_html.preview_script(settings))
    return HttpResponse(200, text, dashboard_html.preview_headers(settings))


def show_dashboard_file(visit: Visit) -> HttpResponse:
    return _file(visit, dashboard_html.served_files().get(visit.request.parameters["name"]))


def show_descriptors(visit: Visit) -> HttpResponse:
    return _json(visit, {"files": sorted(_descriptors())})


def show_descriptor(visit: Visit) -> HttpResponse:
    found = _descriptors().get(visit.request.parameters["name"])
    if found is None:
        raise NotFound(f"Cannot {visit.request.method} {visit.request.path}")
    return _json(visit, found)


def _descriptors() -> Mapping[str, dict[str, Any]]:
    from chalicelib.chains.calldata.clear_signing.descriptors import descriptors  # imported here: wallets alone

    return descriptors()


def _json(visit: Visit, body: Any) -> HttpResponse:
    """Returns public JSON, which scripts of every site may read."""
    text = json.dumps(body)
    headers = {"Content-Type": JSON, "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "*"}
    return respond_with_file(visit, text, hashlib.sha256(text.encode()).hexdigest()[:16], headers)


def draw_qr_code(text: str) -> str:
    """Returns a QR code as an SVG of one path, with the quiet zone that readers need."""
    import segno  # imported here: only QR codes need it

    drawing = io.BytesIO()
    code = segno.make(text, error="m" if len(text) < 400 else "l", micro=False, boost_error=False)
    code.save(drawing, kind="svg", xmldecl=False, scale=1, border=4, dark="#000", light="#fff", omitsize=True)
    return drawing.getvalue().decode()


def _facts(visit: Visit) -> PageFacts | Absence:
    token = visit.query("token")
    if not token:
        return Absence.UNKNOWN
    try:
        visitor = _admit_visitor(visit, "page")
        return flows.page_facts(_services_for(visit, token), visitor, token) or Absence.UNKNOWN
    except TooManyRequests:
        return Absence.LIMITED


def _services_for(visit: Visit, token: str) -> Services:
    """The services of the sandbox that a link is in by its token, else the live ones."""
    sandbox = ids.sandbox_of(token)
    if sandbox is None:
        return visit.services
    from chalicelib.sandbox.opening import open_sandbox  # imported here: few links are in one

    return open_sandbox(visit.services, sandbox)


def _asset(visit: Visit, name: str) -> HttpResponse:
    return _file(visit, served_assets().get(name))


def _file(visit: Visit, asset: Asset | None) -> HttpResponse:
    if asset is None:
        raise NotFound(f"Cannot {visit.request.method} {visit.request.path}")
    headers = {"Content-Type": asset.content_type, "X-Content-Type-Options": "nosniff"}
    return respond_with_file(visit, asset.text, asset.path, headers, has_version_in_path=True)


def _admit_visitor(visit: Visit, purpose: Literal["page", "picture"]) -> Caller:
    """Returns the visitor after counting the request against its rate limit.

    Raises TooManyRequests, or Forbidden if another site embeds a picture.
    """
    if purpose == "picture":
        _refuse_other_sites(visit)
    visitor = page_visitor(visit.services, visit.request.ip_address, purpose)
    count_call(visit.services, visitor, Rate.TIER)
    return visitor


def _refuse_other_sites(visit: Visit) -> None:
    """Raises Forbidden if another site makes the browser send this request, for example by `<img>`.

    Such a request is not looked up and is not counted against the visitor's limit. Browsers name the origin of a
    request in Sec-Fetch-Site; requests without this header are served and counted.
    """
    if visit.header("sec-fetch-site") in ("cross-site", "same-site"):
        raise Forbidden("This is a part of the payment page, for that page alone")


def _refuse_other_hosts(visit: Visit) -> None:
    """Raises NotFound if the request was sent to a host of the API: the page has a host of its own."""
    settings = visit.services.settings
    api_hosts = {urlsplit(url).netloc for url in (settings.api_url, settings.auth_url)}
    if visit.header("host").lower() in api_hosts - {urlsplit(settings.pay_url).netloc}:
        raise NotFound(f"Cannot {visit.request.method} {visit.request.path}")
