"""Views of the service itself: health, its OpenAPI document, and the document as a page."""

from chalicelib.http import reference
from chalicelib.http.caching import cached
from chalicelib.http.openapi import document
from chalicelib.http.openapi_3_0 import older_document
from chalicelib.http.responses import HttpResponse
from chalicelib.http.schemas import HealthAnswer
from chalicelib.http.view import Call, Visit
from chalicelib.stopping.flows import stopped_since


def health(call: Call[None, None]) -> HealthAnswer:
    from botocore.exceptions import BotoCoreError, ClientError  # only a process that calls AWS loads botocore

    try:
        payments = "stopped" if stopped_since(call.services) is not None else None
    except (BotoCoreError, ClientError):
        payments = "unknown"
    return HealthAnswer(status="ok", payments=payments) if payments else HealthAnswer(status="ok")


auth_health = health


def openapi(call: Call[None, None]) -> HttpResponse:
    return HttpResponse(200, document(call.services.settings.api_url), {})


def openapi_3_0(call: Call[None, None]) -> HttpResponse:
    return HttpResponse(200, older_document(call.services.settings.api_url), {})


def show_docs(visit: Visit) -> HttpResponse:
    made = reference.page(visit.services.settings.api_url)
    return cached(visit, made.text, made.version, reference.headers(made))
