"""Views of the service itself: health, its OpenAPI document, and the document as a page."""

from chalicelib.platform.emergency_stop.flows import stopped_since
from chalicelib.platform.http.documents import OPENAPI, OPENAPI_3_0, document, reference_page
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
    return HttpResponse(200, document(OPENAPI, call.services.settings.api_url), {})


def openapi_3_0(call: Call[None, None]) -> HttpResponse:
    return HttpResponse(200, document(OPENAPI_3_0, call.services.settings.api_url), {})


def show_docs(visit: Visit) -> HttpResponse:
    page = reference_page(visit.services.settings.api_url)
    return respond_with_file(visit, page.text, page.version, page.headers)
