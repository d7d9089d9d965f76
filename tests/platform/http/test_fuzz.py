"""Bytes, paths and headers of any kind, and links with anything in one place: never a 500, and nothing half written.

Requests that are generated from the OpenAPI document are in test_generated.py.
"""

import json
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import ORIGIN, Reply, Shop, item, stored
from tests.support.items import PAYOUTS, payout

THOROUGH = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
"""Bodies of many fields."""
LIGHT = settings(THOROUGH, max_examples=20)
OPERATIONS = [
    ("GET", "/v2/currencies"),
    ("GET", "/v2/currencies/{}/conversion-routes"),
    ("POST", "/v2/secure-payments"),
    ("POST", "/v2/secure-payments/payouts"),
    ("POST", "/v2/secure-payments/payouts/batch"),
    ("POST", "/v2/secure-payments/batch-payouts"),
    ("POST", "/v2/secure-payments/fees/preview"),
    ("POST", "/v2/secure-payments/multicall-payouts"),
    ("GET", "/v2/secure-payments/{}"),
    ("GET", "/v2/secure-payments/{}/pay"),
    ("POST", "/v1/webhook"),
    ("GET", "/v1/webhook"),
    ("PUT", "/v1/webhook/{}"),
    ("DELETE", "/v1/webhook/{}"),
    ("POST", "/v1/webhook/test"),
    ("GET", "/v1/webhook/{}/deliveries"),
    ("POST", "/v1/webhook/{}/redeliver"),
    ("GET", "/v2/health"),
    ("GET", "/openapi.json"),
    ("GET", "/openapi-3.0.json"),
]
POSTS = [path for method, path in OPERATIONS if method == "POST"]

LIKELY = st.sampled_from(
    ["", "0", "1", "-1", "1e3", "NaN", "12.50", "9" * 90, "0." + "0" * 40 + "1", "null", "true", "USD", "pay", "test"]
    + [PAYEE, PAYEE.lower(), WALLET, FEE_ADDRESS, "0x" + "0" * 40, "0x", "fUSDC-sepolia", "ETH-sepolia-sepolia"]
    + ["USDT-tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "sepolia", "polygon", "tron", "fiat", "BASE", "USDC"]
    + [f"{PAYEE}@eip155:11155111#5AB3182D:0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "https://shop.example"]
    + ["payment.confirmed", "javascript:x", "\x00", "\ud800", "\U0001f4b8", "x" * 256, "x" * 3000, "%00", "'\"<>&`"]
)
TEXTS = LIKELY | st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
ITEM_FIELDS = ["amount", "destinationId", "payee", "invoiceCurrency", "paymentCurrency"]
FIELDS = ["requests", "feePercentage", "feeAddress", "reference", "payerIdentifier", "redirectUrl", "redirectLabel"]
PAYOUT_FIELDS = ["recipient", "creatorWalletAddress", "network", "currency", "amount", "flow", "accessPolicy"]
ITEMS = st.fixed_dictionaries({}, optional=dict.fromkeys(ITEM_FIELDS, TEXTS | JSON))
BODIES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(FIELDS, TEXTS | JSON),
        "requests": st.lists(ITEMS, max_size=3) | JSON,
        "childTokens": st.lists(TEXTS, max_size=4) | JSON,
        "requestedExecutionKind": TEXTS | JSON,
        "url": TEXTS | JSON,
        "eventType": TEXTS | JSON,
        **dict.fromkeys(PAYOUT_FIELDS, TEXTS | JSON),
        "tokens": st.lists(TEXTS, max_size=4) | JSON,
    },
)
PATH_PARTS = TEXTS | st.binary(max_size=20)
HEADER_NAMES = ["origin", "x-api-key", "x-client-id", "content-type", "accept", "x-request-id", "cookie", "host"]
HEADERS = st.dictionaries(
    st.sampled_from(HEADER_NAMES), st.text(st.characters(max_codepoint=0xFF, exclude_categories=["Cc"]), max_size=20)
)


def encoded(part: str | bytes) -> str:
    raw = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
    return quote_from_bytes(raw, safe="")


Ask = Callable[..., Reply]


@pytest.fixture(scope="module", autouse=True)
def high_recursion_limit() -> None:
    """Python's recursion limit as importing web3 leaves it, 100,000: the worst case for nested JSON."""
    import web3  # noqa: F401

    assert sys.getrecursionlimit() > 10_000


@pytest.fixture
def ask(shop: Shop) -> Ask:
    """Sends a request; holds that it is answered, and that a refused one has left every table and queue as it was."""
    state = {"stored": stored()}

    def send(method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        reply = shop.api.request(method, path, body, {**shop.by_client, **(headers or {})})
        assert reply.status < 500, reply
        now = stored()
        assert now == state["stored"] or reply.status < 300
        state["stored"] = now
        return reply

    return send


@THOROUGH
@given(changes=st.dictionaries(st.sampled_from(ITEM_FIELDS), TEXTS | JSON, max_size=2), fields=BODIES)
def test_a_link_with_anything_in_one_place_is_made_or_refused_whole(
    ask: Ask, changes: dict[str, Any], fields: dict[str, Any]
) -> None:
    fields.pop("requests", None)
    body = {"requests": [{**item(), **changes}], **fields}
    reply = ask("POST", "/v2/secure-payments", body)
    assert reply.status in (201, 400)
    if reply.status == 201:
        token = reply.json["token"]
        for path in (token, f"{token}/pay", f"{token}?wallet={WALLET}", f"{token}/pay?wallet={WALLET}"):
            assert ask("GET", f"/v2/secure-payments/{path}").status == 200


@settings(LIGHT, max_examples=40)
@given(
    changes=st.dictionaries(st.sampled_from([*PAYOUT_FIELDS, *FIELDS]), TEXTS | JSON, max_size=2),
    items=st.lists(st.dictionaries(st.sampled_from(ITEM_FIELDS), TEXTS, max_size=1), min_size=2, max_size=4),
)
def test_a_payout_and_a_batch_with_anything_in_one_place_are_made_or_refused_whole(
    ask: Ask, changes: dict[str, Any], items: list[dict[str, Any]]
) -> None:
    for path, body in (
        (PAYOUTS, {**payout(), **changes}),
        ("/v2/secure-payments", {**changes, "requests": [{**item(), **each} for each in items]}),
    ):
        reply = ask("POST", path, body)
        assert reply.status in (201, 400)
        if reply.status == 201:
            token, payer = reply.json["token"], body["creatorWalletAddress"] if path == PAYOUTS else WALLET
            for rest in ("", "/pay"):
                assert ask("GET", f"/v2/secure-payments/{token}{rest}").status == 200
            paid = ask("GET", f"/v2/secure-payments/{token}/pay?wallet={WALLET}")
            assert paid.status == (200 if payer == WALLET else 403)


@LIGHT
@given(path=st.sampled_from(POSTS), body=st.binary(max_size=60))
def test_any_bytes_are_answered(ask: Ask, path: str, body: bytes) -> None:
    assert ask("POST", path, body, {"content-type": "application/json"}).status == 400


@LIGHT
@given(path=st.sampled_from(POSTS), data=st.data())
def test_a_damaged_body_is_answered(ask: Ask, path: str, data: st.DataObject) -> None:
    body = bytearray(json.dumps({"requests": [item(amount="0")], "url": "https://10.0.0.1", "eventType": "x"}).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    ask("POST", path, bytes(body), {"content-type": "application/json"})


@LIGHT
@given(operation=st.sampled_from(OPERATIONS), headers=HEADERS)
def test_any_headers_are_answered(ask: Ask, operation: tuple[str, str], headers: dict[str, str]) -> None:
    method, path = operation
    reply = ask(method, path.format("x"), {} if method == "POST" else None, headers)
    if headers.get("origin", ORIGIN) != ORIGIN and path not in ("/v2/health", "/openapi.json", "/openapi-3.0.json"):
        assert reply.status in (400, 401, 403)


@LIGHT
@given(method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]), parts=st.lists(PATH_PARTS, max_size=5))
def test_any_path_at_all_is_answered(ask: Ask, method: str, parts: list[str | bytes]) -> None:
    path = "/" + "/".join(encoded(part) for part in parts)
    if path.strip("/"):  # or it is the payment page's
        assert ask(method, path).status in (404, 405)
