"""CPU of one request through the whole app, compared with a bare Chalice route.

That route makes the same calls to DynamoDB with a client as boto3 makes it, and returns the same JSON. DynamoDB's own
time is not included: its responses are recorded once and replayed below the clients, which still build, sign and parse
every call. What the app adds to the calls of its own client is shown beside it: these are also measured alone, with
warm caches, and subtracted, so the app's own part is slightly too high.
"""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from chalice import Chalice

from tests.bench.calls import watched
from tests.bench.deployment import Deployment, fresh_services, request, with_merchant
from tests.bench.figures import Figure, cpu_seconds
from tests.fakes.world import dynamodb_of_moto

_BARE = "bare Chalice route, same JSON"


def measure() -> list[Figure]:
    with fresh_services() as services:
        with dynamodb_of_moto():
            deployment = with_merchant(services, {"sepolia": "http://no-node.test"})
            token = deployment.call(deployment.create_link())["token"]
            recordings = {
                name: record(deployment, event)
                for name, event in {
                    "GET /v2/health": request("GET", "/v2/health"),
                    "GET /v2/currencies?id=": request("GET", "/v2/currencies", query={"id": "fUSDC-sepolia"}),
                    "POST /v2/secure-payments": deployment.create_link(),
                    "GET /v2/secure-payments/:token": deployment.read_link(token),
                }.items()
            }
        return [figure for name, recording in recordings.items() for figure in _figures(name, recording, deployment)]


@dataclass
class Recording:
    """One request, the body of its response, its DynamoDB calls (operation, parameters) and raw responses."""

    event: dict[str, Any]
    body: Any = None
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    responses: dict[str, bytes] = field(default_factory=dict)


def record(deployment: Deployment, event: dict[str, Any]) -> Recording:
    """Sends the request to the app twice and records the calls and responses of the DynamoDB client in the second one:
    what a container reads once and keeps is not a part of each request."""
    deployment.call(event)
    recording = Recording(event)

    def before_call(params: dict[str, Any], model: Any, **_: Any) -> None:
        recording.calls.append((model.name, params))

    def after_call(http_response: Any, model: Any, **_: Any) -> None:
        recording.responses[model.name] = http_response.content

    with watched(deployment.services.store.client, before_call, after_call):
        recording.body = deployment.call(event)
    return recording


@contextmanager
def replayed(recording: Recording, client: Any) -> Iterator[None]:
    """Makes the client receive the recorded response of every operation; nothing is sent."""

    def respond(request: Any, **_: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        return AWSResponse(request.url, 200, {}, _Body(recording.responses[operation]))

    client.meta.events.register("before-send.dynamodb", respond)
    try:
        yield
    finally:
        client.meta.events.unregister("before-send.dynamodb", respond)


class _Body(io.BytesIO):
    def stream(self) -> list[bytes]:
        return [self.getvalue()]


def _figures(name: str, recording: Recording, deployment: Deployment) -> list[Figure]:
    event, client, plain = recording.event, deployment.services.store.client, boto3.client("dynamodb")
    bare_app = bare_route(recording, plain)

    def call_app() -> Any:
        return deployment.app(event, None)

    def call_bare_app() -> Any:
        return bare_app(event, None)

    def call_client() -> None:
        for operation, params in recording.calls:
            getattr(client, xform_name(operation))(**params)

    with replayed(recording, client), replayed(recording, plain):
        if json.loads(call_bare_app()["body"]) != recording.body or call_app()["statusCode"] >= 300:
            raise AssertionError(f"{name}: the responses are not the recorded ones, so times cannot be compared")
        if not recording.calls:
            app, bare = (seconds * 1e6 for seconds in cpu_seconds(call_app, call_bare_app))
            return [Figure(name, app, "us", _BARE, bare, 3)]
        app, bare, calls = (seconds * 1e6 for seconds in cpu_seconds(call_app, call_bare_app, call_client))
    return [
        Figure(name, app, "us", f"{_BARE}, with the same boto3 calls", bare, 1.1),
        Figure(f"{name}, less the calls", app - calls, "us", "its calls by the app's own client", calls, 1.5),
    ]


def bare_route(recording: Recording, client: Any) -> Chalice:
    """An app whose one route makes the recorded calls, one after the other, and returns the recorded body."""
    app, event = Chalice(app_name="bare", env={}), recording.event

    def view(**_: str) -> Any:
        for operation, params in recording.calls:
            getattr(client, xform_name(operation))(**params)
        return recording.body

    app.route(event["resource"], methods=[event["httpMethod"]])(view)
    return app
