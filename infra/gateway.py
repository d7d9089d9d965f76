"""Sets the error responses that API Gateway sends itself: the shape of all errors, with a request id.

Every deployment by Chalice overwrites the API with its responses, so they are set after each one.
"""

import json
from http import HTTPStatus
from typing import Any

# Type -> status, message. The statuses are those of API Gateway, except for the first: an unknown path is a 403 there.
# A known path with another method reaches the app, which responds with 405.
RESPONSES = {
    "MISSING_AUTHENTICATION_TOKEN": (404, "There is nothing at this path"),
    "RESOURCE_NOT_FOUND": (404, "There is nothing at this path"),
    "BAD_REQUEST_BODY": (400, "The request body is not valid"),
    "BAD_REQUEST_PARAMETERS": (400, "The request parameters are not valid"),
    "UNAUTHORIZED": (401, "Unauthorized"),
    "ACCESS_DENIED": (403, "Forbidden"),
    "EXPIRED_TOKEN": (403, "Forbidden"),
    "INVALID_API_KEY": (403, "Forbidden"),
    "INVALID_SIGNATURE": (403, "Forbidden"),
    "WAF_FILTERED": (403, "Forbidden"),
    "REQUEST_TOO_LARGE": (413, "The request body is too large"),
    "UNSUPPORTED_MEDIA_TYPE": (415, "The content type is not supported"),
    "THROTTLED": (429, "Too many requests"),
    "QUOTA_EXCEEDED": (429, "Too many requests"),
    "API_CONFIGURATION_ERROR": (500, "Internal server error"),
    "AUTHORIZER_CONFIGURATION_ERROR": (500, "Internal server error"),
    "AUTHORIZER_FAILURE": (500, "Internal server error"),
    "INTEGRATION_FAILURE": (504, "The service did not answer"),
    "INTEGRATION_TIMEOUT": (504, "The service did not answer in time"),
    "DEFAULT_4XX": (400, "The request cannot be served"),
    "DEFAULT_5XX": (500, "Internal server error"),
}


def set_gateway_responses(apigateway: Any, api: str, stage: str) -> None:
    """Sets all RESPONSES on the REST API `api` and deploys them to `stage`."""
    for kind, (status, message) in RESPONSES.items():
        apigateway.put_gateway_response(
            restApiId=api,
            responseType=kind,
            statusCode=str(status),
            responseParameters={
                "gatewayresponse.header.x-request-id": "context.requestId",
                "gatewayresponse.header.Access-Control-Allow-Origin": "'*'",
            },
            responseTemplates={"application/json": body(status, message)},
        )
    apigateway.create_deployment(restApiId=api, stageName=stage, description="gateway responses")


def body(status: int, message: str) -> str:
    """The template of a body: `{"statusCode", "message", "error"}`."""
    return json.dumps({"statusCode": status, "message": message, "error": HTTPStatus(status).phrase})
