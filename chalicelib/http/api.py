"""Views of the service itself: health, and its OpenAPI document."""

from chalicelib.http.openapi import document
from chalicelib.http.responses import HttpResponse
from chalicelib.http.schemas import HealthAnswer
from chalicelib.http.view import Call


def health(call: Call[None, None]) -> HealthAnswer:
    return HealthAnswer(status="ok")


auth_health = health


def openapi(call: Call[None, None]) -> HttpResponse:
    return HttpResponse(200, document(call.services.settings.api_url), {})
