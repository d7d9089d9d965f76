"""The service about itself: health, and its OpenAPI document."""

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.http.edge import operation
from chalicelib.http.idempotency import Answer
from chalicelib.http.openapi import document
from chalicelib.http.operation import Call
from chalicelib.http.schemas import HealthAnswer

blueprint = Blueprint(__name__)


@operation(
    blueprint,
    "GET",
    "/v2/health",
    summary="Whether the API answers",
    modes=(Mode.PUBLIC,),
    answer=HealthAnswer,
    rate=None,
)
def health(call: Call) -> HealthAnswer:
    return HealthAnswer(status="ok")


@operation(blueprint, "GET", "/openapi.json", summary="This document", modes=(Mode.PUBLIC,), answer=dict, rate=None)
def openapi(call: Call) -> Answer:
    return Answer(200, document(call.services.settings.api_url), {})
