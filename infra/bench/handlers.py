"""CPU of one request through the whole app, beside a bare Chalice route that returns the same JSON.

DynamoDB is left out of the clock: the answers it gave to the same requests are recorded once and played again right
below the boto3 client, which therefore still builds, signs and parses everything. What the client takes for these
very calls is measured alone, too, so that it can be told from the app's own part; alone it runs with warm caches, so
what is left for the app is rather too much than too little.
"""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore import xform_name
from botocore.awsrequest import AWSResponse
from chalice import Chalice

from infra.bench.deployment import Deployment, fresh_services, request, with_merchant
from infra.bench.figures import Figure, cpu_seconds
from tests.fakes.world import in_process_aws

_BARE = "bare Chalice route, same JSON"


def measure() -> list[Figure]:
    with fresh_services() as services:
        with in_process_aws():
            deployment = with_merchant(services, {"sepolia": "http://no-node.test"})
            token = deployment.ask(deployment.create_link())["token"]
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
    """One request, the body it was answered with, the calls (operation, parameters) and DynamoDB's raw answers."""

    event: dict[str, Any]
    body: Any = None
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)


def record(deployment: Deployment, event: dict[str, Any]) -> Recording:
    """Asks for real, and keeps what passes the DynamoDB client."""
    recording, events = Recording(event), deployment.services.store.client.meta.events

    def called(params: dict[str, Any], model: Any, **_: Any) -> None:
        recording.calls.append((model.name, params))

    def answered(http_response: Any, model: Any, **_: Any) -> None:
        recording.answers[model.name] = http_response.content

    events.register("provide-client-params.dynamodb", called)
    events.register("after-call.dynamodb", answered)
    recording.body = deployment.ask(event)
    events.unregister("provide-client-params.dynamodb", called)
    events.unregister("after-call.dynamodb", answered)
    return recording


@contextmanager
def played(recording: Recording, client: Any) -> Iterator[None]:
    """Gives the client the recorded answer to every operation; nothing leaves the process."""

    def answer(request: Any, **_: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        return AWSResponse(request.url, 200, {}, _Body(recording.answers[operation]))

    client.meta.events.register("before-send.dynamodb", answer)
    yield
    client.meta.events.unregister("before-send.dynamodb", answer)


class _Body(io.BytesIO):
    def stream(self) -> list[bytes]:
        return [self.getvalue()]


def _figures(name: str, recording: Recording, deployment: Deployment) -> list[Figure]:
    event, client = recording.event, deployment.services.store.client
    bare_app = _bare(event, recording.body)

    def whole() -> Any:
        return deployment.app(event, None)

    def bare() -> Any:
        return bare_app(event, None)

    def client_alone() -> None:
        for operation, params in recording.calls:
            getattr(client, xform_name(operation))(**params)

    with played(recording, client):
        if json.loads(bare()["body"]) != recording.body or whole()["statusCode"] >= 300:
            raise AssertionError(f"{name}: the answers are not what was recorded, so their times mean nothing")
        if not recording.calls:
            ours, theirs = (seconds * 1e6 for seconds in cpu_seconds(whole, bare))
            return [Figure(name, ours, "us", _BARE, theirs)]
        ours, theirs, client_only = (seconds * 1e6 for seconds in cpu_seconds(whole, bare, client_alone))
    return [
        Figure(name, ours, "us", f"{_BARE}, with the same boto3 calls", theirs + client_only),
        Figure(f"{name}, less the boto3 calls", ours - client_only, "us", _BARE, theirs),
    ]


def _bare(event: dict[str, Any], body: Any) -> Chalice:
    app = Chalice(app_name="bare")

    def view(**_: str) -> Any:
        return body

    app.route(event["resource"], methods=[event["httpMethod"]])(view)
    return app
