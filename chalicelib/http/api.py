"""The service about itself: health, and its OpenAPI document."""

from chalice import Blueprint

from chalicelib.api.caller import Mode
from chalicelib.api.edge import Call, operation
from chalicelib.api.openapi import document
from chalicelib.api.repeats import Answer
from chalicelib.api.schemas.common import HealthAnswer

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
