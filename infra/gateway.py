"""Sets what Chalice does not know of API Gateway: the error responses that it sends itself, access logs, throttling.

Every deployment by Chalice overwrites the API with its responses, so they are set after each one.

    python -m infra.gateway     # once per account and region: gives API Gateway a role to write access logs with
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.platform.http.errors import phrase_of
from infra.stack import DeploymentStopped

RATE, BURST = 500, 1000
"""Requests a second that the API takes by default, and how many at once; above them API Gateway answers 429."""
ACCESS_LOG = {
    "request_id": "$context.requestId",
    "time": "$context.requestTime",
    "method": "$context.httpMethod",
    "route": "$context.resourcePath",
    "status": "$context.status",
    "latency_ms": "$context.responseLatency",
    "integration_error": "$context.integrationErrorMessage",
}
"""A line for each call. No address and no path: both can name a person, and `route` says which operation was called."""

Paths = Mapping[str, Mapping[str, Any]]
"""Path -> method -> operation, as in a document of OpenAPI."""
_INTEGRATION = "x-amazon-apigateway-integration"

LOGS_ROLE = "api-gateway-logs"
LOGS_POLICY = "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
ROLE_SECONDS = 60
"""How long IAM may take at most until API Gateway can use a new role."""

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


def set_stage(apigateway: Any, api: str, stage: str, log_group: str, limits: Mapping[str, int]) -> None:
    """Sets throttling, and the access log, to the log group with that ARN; safe to repeat. `limits` are `rate` and
    `burst`. Raises DeploymentStopped if API Gateway has no role to write logs in this account."""
    rate, burst = limits_of(limits)
    values = {
        "/*/*/throttling/rateLimit": str(rate),
        "/*/*/throttling/burstLimit": str(burst),
        "/accessLogSettings/format": json.dumps(ACCESS_LOG),
        "/accessLogSettings/destinationArn": log_group,
    }
    patches = [{"op": "replace", "path": path, "value": value} for path, value in values.items()]
    try:
        apigateway.update_stage(restApiId=api, stageName=stage, patchOperations=patches)
    except ClientError as error:
        if "CloudWatch Logs role" not in str(error):
            raise
        raise DeploymentStopped(
            "API Gateway has no role to write logs in this account and region. It is one for all APIs, so you set it,"
            " once: run `.venv/bin/python -m infra.gateway`, then deploy again."
        ) from error


def limits_of(limits: Mapping[str, int]) -> tuple[int, int]:
    """Rate and burst, those of RATE and BURST where `limits` have none."""
    return limits.get("rate", RATE), limits.get("burst", BURST)


def stage_differences(
    apigateway: Any, api: str, stage: str, log_group: str, limits: Mapping[str, int]
) -> Iterator[str]:
    """Yields a line for each of these that is not what `set_stage` sets."""
    found = apigateway.get_stage(restApiId=api, stageName=stage)
    log, every = found.get("accessLogSettings", {}), found.get("methodSettings", {}).get("*/*", {})
    rate, burst = limits_of(limits)
    for name, here, there in (
        ("access log", log_group, log.get("destinationArn", "").removesuffix(":*")),
        ("format of the access log", json.dumps(ACCESS_LOG), log.get("format")),
        ("rate", rate, every.get("throttlingRateLimit")),
        ("burst", burst, every.get("throttlingBurstLimit")),
    ):
        if here != there:
            yield f"API: its {name} is {there!r}, and {here!r} here"


def route_differences(apigateway: Any, api: str, stage: str, wanted: Paths, function: str) -> Iterator[str]:
    """Yields a line for each route that the stage serves and `wanted` has not, or the other way round, and for each
    that is not led to `function` without a condition. `wanted` are the paths of the document that Chalice deploys."""
    export = {"exportType": "swagger", "parameters": {"extensions": "integrations"}, "accepts": "application/json"}
    served = json.loads(apigateway.get_export(restApiId=api, stageName=stage, **export)["body"].read())["paths"]
    here, there = _routes(wanted), _routes(served)
    yield from (f"API: {route} is not served" for route in sorted(here.keys() - there))
    for route, operation in sorted(there.items()):
        led_to = operation.get(_INTEGRATION, {}).get("uri", "nothing")
        if route not in here:
            yield f"API: {route} is served, by {led_to}, and not here"
        elif not led_to.endswith(f":{function}/invocations") or operation.get("security"):
            asked = operation.get("security") or "no"
            yield f"API: {route} is led to {led_to}, with {asked} credentials of API Gateway"


def _routes(paths: Paths) -> dict[str, Any]:
    """The operations by method and path, `GET /v2/health`."""
    return {f"{method.upper()} {path}": each for path, methods in paths.items() for method, each in methods.items()}


def response_differences(apigateway: Any, api: str) -> Iterator[str]:
    """Yields a line for each of RESPONSES that API Gateway sends otherwise."""
    for each in apigateway.get_gateway_responses(restApiId=api)["items"]:
        kind, there = each["responseType"], (each.get("statusCode"), each.get("responseTemplates", {}))
        if kind in RESPONSES:
            status, message = RESPONSES[kind]
            if there != (str(status), {"application/json": body(status, message)}):
                yield f"API: its response {kind} is {there}, and {status} {message!r} here"


def body(status: int, message: str) -> str:
    """The template of a body: `{"statusCode", "message", "error"}`."""
    return json.dumps({"statusCode": status, "message": message, "error": phrase_of(status)})


def allow_access_logs(apigateway: Any, iam: Any) -> str:
    """Gives API Gateway a role to write logs, unless it has one; safe to repeat. Returns a sentence."""
    if role := apigateway.get_account().get("cloudwatchRoleArn"):
        return f"API Gateway writes its logs already, as {role}."
    trust = {"Effect": "Allow", "Principal": {"Service": "apigateway.amazonaws.com"}, "Action": "sts:AssumeRole"}
    try:
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        iam.create_role(RoleName=LOGS_ROLE, AssumeRolePolicyDocument=document)
    except ClientError as error:
        if error.response["Error"]["Code"] != "EntityAlreadyExists":
            raise
    iam.attach_role_policy(RoleName=LOGS_ROLE, PolicyArn=LOGS_POLICY)
    arn = iam.get_role(RoleName=LOGS_ROLE)["Role"]["Arn"]
    deadline = time.monotonic() + ROLE_SECONDS
    while True:
        try:
            apigateway.update_account(patchOperations=[{"op": "replace", "path": "/cloudwatchRoleArn", "value": arn}])
            return f"API Gateway writes its logs as {arn} from now on."
        except ClientError as error:
            if error.response["Error"]["Code"] != "BadRequestException" or time.monotonic() > deadline:
                raise
        time.sleep(5)


def main() -> int:
    try:
        print(allow_access_logs(boto3.client("apigateway"), boto3.client("iam")))
    except (ClientError, BotoCoreError) as error:
        print(f"API Gateway got no role to write logs: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
