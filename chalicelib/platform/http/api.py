"""Views of the service itself: health, its OpenAPI document, the document as a page, the workflows, and the guides."""

from chalicelib.base.errors import NotFound
from chalicelib.platform.emergency_stop.flows import stopped_since
from chalicelib.platform.http import documents
from chalicelib.platform.http.documents import (
    GUIDE_FOLDER,
    GUIDES,
    INDEX,
    OPENAPI,
    OPENAPI_3_0,
    REFERENCE,
    WORKFLOWS,
    Page,
)
from chalicelib.platform.http.responses import HttpResponse
from chalicelib.platform.http.schemas import HealthAnswer
from chalicelib.platform.http.view import Call, Visit, respond_with_file


def health(call: Call[None, None]) -> HealthAnswer:
    from botocore.exceptions import BotoCoreError, ClientError  # only a process that calls AWS loads botocore

    try:
        payments = "stopped" if stopped_since(call.services) is not None else None
    except (BotoCoreError, ClientError):
        payments = "unknown"
    return HealthAnswer(status="ok", payments=payments) if payments else HealthAnswer(status="ok")


auth_health = health


def openapi(call: Call[None, None]) -> HttpResponse:
    return HttpResponse(200, documents.document(OPENAPI, call.services.settings.api_url), {})


def openapi_3_0(call: Call[None, None]) -> HttpResponse:
    return HttpResponse(200, documents.document(OPENAPI_3_0, call.services.settings.api_url), {})


def show_docs(visit: Visit) -> HttpResponse:
    return _show(visit, documents.page(REFERENCE, visit.services.settings.api_url))


def show_guide(visit: Visit) -> HttpResponse:
    """A guide as HTML, or as Markdown by its name with `.md`. Raises NotFound."""
    name = visit.request.parameters["name"]
    if name.removesuffix(".md") not in GUIDES:
        raise NotFound("There is no such guide: /llms.txt lists them")
    url, file = visit.services.settings.api_url, f"{GUIDE_FOLDER}/{name}"
    if name.endswith(".md"):
        return _show(visit, documents.plain_page(file, url, "text/markdown"))
    return _show(visit, documents.page(f"{file}.html", url))


def show_workflows(visit: Visit) -> HttpResponse:
    return _show(visit, documents.plain_page(WORKFLOWS, visit.services.settings.api_url, "application/yaml"))


def show_index(visit: Visit) -> HttpResponse:
    url = visit.services.settings.api_url
    return _show(visit, documents.plain_page(f"{GUIDE_FOLDER}/{INDEX}", url, "text/plain"))


def _show(visit: Visit, page: Page) -> HttpResponse:
    return respond_with_file(visit, page.text, page.version, page.headers)
