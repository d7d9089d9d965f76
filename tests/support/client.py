"""A client of the API over HTTP that checks the common form of every response, and a merchant that uses it."""

import http.client
import io
import json
import re
import select
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.sqs.models import sqs_backends

from chalicelib.base.addresses import evm_address
from chalicelib.chains.catalogue.tokens import find_tokens
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.http.errors import phrase_of
from infra import admin
from tests.fakes.world import PAYEE, PREFIX, in_process_tables
from tests.support.patience import patience
from tests.support.running import running

ORIGIN = "https://shop.example"
TABLES = ("payments", "identity", "sessions", "webhooks", "ops", "keys")
UNLIMITED = ("/v2/health", "/v1/health", "/openapi.json", "/openapi-3.0.json")
_FILES = {f"{each}; charset=utf-8" for each in ("text/csv", "text/x-beancount", "application/x-ofx")}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> Any:
        return self.json["message"]


class Api:
    """Requests to the app. Checks request id and rate limit headers of each response and the body of each error.

    Each thread keeps its connection, as browsers do: a new one for each request takes as long as most answers.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.log = io.StringIO()
        self._kept = threading.local()

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Sends a request; a `body` of bytes is sent unchanged, others as JSON. `path` has to be percent-encoded."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("content-type", "application/json")
        connection = self._connection()
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            reply = Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        self._check(method, path, reply)
        return reply

    def _connection(self) -> http.client.HTTPConnection:
        """That of this thread, which opens itself; a new one if the app has closed it meanwhile."""
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is None:
            kept = self._kept.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(2))
        elif kept.sock is not None and select.select([kept.sock], [], [], 0)[0]:
            kept.close()
        return kept

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return self.request("GET", path, None, headers)

    def listen(self) -> None:
        """Starts a new log of the lines that Lambda would write to CloudWatch."""
        self.log = io.StringIO()
        running().log.registered_handler.setStream(self.log)  # type: ignore[attr-defined]

    def log_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    @staticmethod
    def _check(method: str, path: str, reply: Reply) -> None:
        assert reply.headers["x-request-id"]
        if reply.status == 204:
            assert reply.body == b""
            return
        is_file = reply.status == 200 and reply.headers["content-type"] in _FILES
        assert is_file or reply.headers["content-type"] == "application/json"
        is_gateway = reply.headers.get("access-control-allow-origin") == "*"
        if not is_gateway and reply.status not in (405, 500) and path.split("?")[0] not in UNLIMITED:
            limit, remaining, reset = (int(reply.headers[f"ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))
            assert 0 <= remaining < limit and 1 <= reset <= 15 * 60
            assert (reply.status == 429) == ("retry-after" in reply.headers and remaining == 0 and reply.status != 503)
        if reply.status >= 400 and method != "HEAD":
            body = reply.json
            assert body["statusCode"] == reply.status
            assert body["error"] == phrase_of(reply.status)
            assert body["message"]
            text = reply.body.decode()
            assert not any(hint in text for hint in ("Traceback", "botocore", "arn:", PREFIX, ".py")), text
        elif not is_file and method != "HEAD" and not path.startswith("/openapi"):  # its examples were checked when recorded
            assert not (found := list(unchecksummed(reply.json))), f"{method} {path}: not in EIP-55: {found}"


def unchecksummed(value: Any) -> Iterator[str]:
    """The EVM addresses in a response that are not in EIP-55. Hashes of coins and currencies are not addresses, nor are
    references."""
    if isinstance(value, dict):
        for name, each in value.items():
            if not name.lower().endswith("reference"):
                yield from unchecksummed(each)
    elif isinstance(value, list):
        for each in value:
            yield from unchecksummed(each)
    elif isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{40}", value):
        yield from {value} - {evm_address(value)} - calculated_hashes()


@cache
def calculated_hashes() -> frozenset[str]:
    """What takes the place of a contract's address in coins and fiat currencies."""
    return frozenset(
        text for each in find_tokens() if each.type in ("ETH", "ISO4217") for text in (each.hash, each.address)
    )


def stored() -> dict[str, int]:
    """Returns the number of items by table, without counts and notes of use, and of messages about deliveries.

    Counted inside the tables and moto, because over their API it takes longer than most tests.
    """
    tables = in_process_tables()
    queues = sqs_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].queues
    waiting = (queues[f"{PREFIX}-{name}"].approximate_number_of_messages for name in ("webhooks", "webhook-retries"))
    count = {
        name: sum(
            len(partition)
            for pk, partition in list(tables[f"{PREFIX}-{name}"].items.items())
            if not pk.startswith(("RATE#", "USED#", "COUNTS#"))
        )
        for name in TABLES
    }
    return {**count, "messages": sum(waiting)}


def item(**changes: Any) -> dict[str, Any]:
    """Returns an entry of `requests`: 12.50 fUSDC on sepolia; None removes a field."""
    fields = {
        "amount": "12.50",
        "payee": PAYEE,
        "invoiceCurrency": "fUSDC-sepolia",
        "paymentCurrency": "fUSDC-sepolia",
        **changes,
    }
    return {name: value for name, value in fields.items() if value is not None}


def let_execute(client_id: str, may_execute: bool = True) -> None:
    """Sets whether a client id has transactions sent when it is sent alone."""
    found = running().store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(client_id)))
    assert found is not None
    running().store.write(replace(found, may_execute=may_execute))


@dataclass
class Shop:
    """A merchant: an account with an API key and a client id for one origin."""

    api: Api
    domains: list[str] = field(default_factory=lambda: [ORIGIN])

    def __post_init__(self) -> None:
        services = running()
        self.account_id = admin.create_account(services, "shop")
        self.key = admin.create_api_key(services, self.account_id, "server")
        self.client_id = admin.create_client_id(services, self.account_id, "web", self.domains)
        let_execute(self.client_id)
        self.by_key = {"x-api-key": self.key}
        self.by_client = {"x-client-id": self.client_id, "origin": ORIGIN}

    def get(self, path: str) -> Reply:
        return self.api.request("GET", path, None, self.by_client)

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        return self.api.request(method, path, body, self.by_client)

    def create(self, *items: dict[str, Any], **fields: Any) -> Reply:
        """Sends POST /v2/secure-payments with the given items (default: one of `item()`) and top-level fields."""
        body = {"requests": list(items) or [item()], **fields}
        return self.send("POST", "/v2/secure-payments", body)

    def link(self, *items: dict[str, Any], **fields: Any) -> str:
        """Creates a link; returns its token."""
        reply = self.create(*items, **fields)
        assert reply.status == 201, reply.json
        token: str = reply.json["token"]
        return token
