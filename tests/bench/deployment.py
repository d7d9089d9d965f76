"""The app in this process on in-process AWS, with one merchant; requests are events of API Gateway."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3
from chalice import Chalice
from chalice.local import LambdaContext
from moto import mock_aws

from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.store import Store
from infra import admin
from infra.configuration import variables_of
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.world import PAYEE, PREFIX, in_process_aws

LINKS = "/v2/secure-payments"
LINK = "/v2/secure-payments/{token}"
NEW_LINK: dict[str, Any] = {
    "requests": [
        {
            "amount": "12.50",
            "payee": PAYEE,
            "invoiceCurrency": "fUSDC-sepolia",
            "paymentCurrency": "fUSDC-sepolia",
        }
    ],
    "feePercentage": "1",
    "feeAddress": FEE_ADDRESS,
    "reference": "INV-1",
}
_CONTEXT = LambdaContext("api_handler", 1024, 29_000)


@dataclass(frozen=True)
class Deployment:
    """The app, its services and its merchant's API key."""

    app: Chalice
    services: Services
    api_key: str

    def call(self, event: Mapping[str, Any]) -> Any:
        """Returns the parsed body of the response. Raises AssertionError unless its status is below 300."""
        response = self.app(event, _CONTEXT)
        assert response["statusCode"] < 300, response["body"]
        return json.loads(response["body"])

    def create_link(self, items: int = 1) -> Any:
        return request("POST", LINKS, key=self.api_key, body={**NEW_LINK, "requests": NEW_LINK["requests"] * items})

    def read_link(self, token: str, query: Mapping[str, str] = {}) -> Any:
        return request("GET", LINK, {"token": token}, query, self.api_key)

    def from_page(self, event: dict[str, Any]) -> Any:
        """The request as the hosted payment page sends it: with its own client id, which is counted by address."""
        settings = self.services.settings
        headers = {name: value for name, value in event["headers"].items() if name != "x-api-key"}
        of_page = {"x-client-id": settings.page_client_id, "origin": settings.page_origin}
        return {**event, "headers": headers | of_page}

    def pay_link(self, token: str, query: Mapping[str, str] = {}) -> Any:
        return request("GET", f"{LINK}/pay", {"token": token}, query, self.api_key)


def request(
    method: str,
    resource: str,
    parameters: Mapping[str, str] = {},
    query: Mapping[str, str] = {},
    key: str | None = None,
    body: Any = None,
) -> dict[str, Any]:
    """Returns API Gateway's event of a request to a route such as `/v2/secure-payments/{token}`."""
    headers = {"content-type": "application/json", "host": "api.example"}
    return {
        "resource": resource,
        "path": resource.format(**parameters),
        "httpMethod": method,
        "headers": {**headers, **({"x-api-key": key} if key else {})},
        "multiValueQueryStringParameters": {name: [value] for name, value in query.items()} or None,
        "pathParameters": dict(parameters) or None,
        "stageVariables": None,
        "requestContext": {"resourcePath": resource, "httpMethod": method, "requestId": "bench", "identity": {}},
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }


def use_local_settings() -> None:
    """Sets the environment variables of `local_settings`."""
    os.environ.update(local_settings())


def local_settings() -> dict[str, str]:
    """The environment variables of the stage `local`, and AWS credentials without an account."""
    credentials = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    return {**variables_of("local"), **credentials}


@contextmanager
def deployed(rpc_urls: Mapping[str, str]) -> Iterator[Deployment]:
    """Yields a deployment with a node for each network of `rpc_urls`."""
    with fresh_services() as services, mock_aws(), in_process_aws() as client:
        yield with_merchant(replace(services, store=Store(PREFIX, client)), rpc_urls)


@contextmanager
def fresh_services() -> Iterator[Services]:
    """Yields newly assembled services that write no log and have very high rate limits."""
    before_limit = os.environ.get("RATE_LIMIT_SCALE")
    os.environ["RATE_LIMIT_SCALE"] = "1000000"
    services = assemble(Settings.read())
    handler: Any = services.log.registered_handler
    with Path(os.devnull).open("w") as devnull:
        before = handler.setStream(devnull)
        try:
            yield services
        finally:
            handler.setStream(before)
            del os.environ["RATE_LIMIT_SCALE"]
            if before_limit is not None:
                os.environ["RATE_LIMIT_SCALE"] = before_limit


def with_merchant(services: Services, rpc_urls: Mapping[str, str]) -> Deployment:
    """Creates the secret with the node URLs, an account and its API key on the current mock of AWS; returns the app."""
    from app import build

    boto3.client("secretsmanager").create_secret(Name=f"{PREFIX}-rpc-urls", SecretString=json.dumps(rpc_urls))
    account_id = admin.create_account(services, "bench")
    app = build(services.settings, lambda: services)
    return Deployment(app, services, admin.create_api_key(services, account_id, "bench"))
