"""The OpenAPI document: valid, complete, and true of what the app really answers."""

import json
import re
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY as SPECIFICATIONS
from openapi_spec_validator import OpenAPIV31SpecValidator
from openapi_spec_validator.schemas import schema_v31
from referencing import Resource

from chalicelib.payments.announcements.admission import MAX_PENDING
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.requests import store_request
from tests.fakes.world import FEE_ADDRESS, WALLET
from tests.support.client import Api, Reply, Shop, item
from tests.support.items import BATCH, PAYOUTS, payout
from tests.support.node import Node
from tests.support.running import app, running
from tests.support.signed_in import by_email
from tests.support.stored_links import complete, expire
from tests.support.stored_transfers import FUSDT, paid_by, store_payment, store_payment_of, store_unmatched

DESTINATION = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7@eip155:11155111#A1B2C3D4:0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"
EXAMPLES: list[tuple[str, dict[str, Any]]] = [
    ("/v2/secure-payments", {"requests": [{"destinationId": DESTINATION, "amount": "10"}]}),
    ("/v2/secure-payments", {"requests": [{"amount": "10"}]}),
    (
        "/v2/secure-payments",
        {
            "requests": [{"destinationId": DESTINATION, "amount": "10"}],
            "feePercentage": "2.5",
            "feeAddress": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
        },
    ),
    ("/v2/secure-payments", {"requests": [{"destinationId": DESTINATION, "amount": amount} for amount in ("10", "5")]}),
    (
        "/v2/secure-payments",
        {
            "requests": [item()],
            "reference": "INV-1",
            "payerIdentifier": "jane",
            "redirectUrl": "https://shop.example",
            "redirectLabel": "Back",
        },
    ),
    ("/v2/secure-payments/multicall-payouts", {"childTokens": ["01JZ4PC7EXAMPLECHILD000001", "01JZ4PC7EXAMPLECHILD000002"]}),
    ("/v2/secure-payments/multicall-payouts", {"childTokens": ["a", "b"], "requestedExecutionKind": "evm_cross_chain"}),
    ("/v2/secure-payments/payouts", {**payout(), "recipientIdentifier": "recipient-acme", "accessPolicy": {"mode": "off"}}),
    ("/v2/secure-payments/payouts", payout(feePercentage="2.5", feeAddress=FEE_ADDRESS, reference="PAYOUT-2025-001")),
    ("/v2/secure-payments/batch-payouts", {"tokens": ["a", "b"], "redirectUrl": "https://shop.example"}),
    ("/v2/secure-payments/fees/preview", {"amount": "100", "currency": "USDC", "flow": "pay"}),
    (
        "/v2/secure-payments/fees/preview",
        {"amount": "100", "currency": "USDC", "flow": "get_paid", "defaultFeeBearer": "payer"},
    ),
    (
        "/v2/secure-payments/{token}/tron/broadcast",
        {
            "signedTransaction": {
                "raw_data_hex": "0a02267e",
                "signature": ["11" * 65],
                "txID": "ab" * 32,
                "raw_data": {"contract": [{}], "fee_limit": 5},
            }
        },
    ),
    ("/v1/webhook", {"url": "https://shop.example/hook"}),
    ("/v1/webhook/test", {"eventType": "payment.confirmed"}),
]


class Validator(OpenAPIV31SpecValidator):
    """With the schemas of OpenAPI and JSON Schema looked through once, and not again at each reference."""

    schema_validator = Draft202012Validator(
        {"$ref": schema_v31["$id"]}, registry=(Resource.from_contents(dict(schema_v31)) @ SPECIFICATIONS).crawl()
    )


@cache
def text_of(port: int) -> str:
    reply = Api(port).get("/openapi.json")
    assert reply.status == 200
    return reply.body.decode()


@pytest.fixture
def document(api: Api) -> dict[str, Any]:
    return json.loads(text_of(api.port))


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def check(document: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    """Holds `value` to a schema of the document."""
    whole = {**schema, "components": document["components"]}
    Draft202012Validator(whole).validate(value)


def check_answer(document: dict[str, Any], method: str, path: str, reply: Reply) -> None:
    described = document["paths"][path][method.lower()]["responses"]
    assert str(reply.status) in described, f"{method} {path} answers {reply.status}, which is not described"
    answer = answer_of(document, described[str(reply.status)])
    check(document, answer["content"]["application/json"]["schema"], reply.json)


def answer_of(document: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    name = described.get("$ref", "").rpartition("/")[2]
    return document["components"]["responses"][name] if name else described


def test_it_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert document["servers"] == [{"url": "http://api.test"}]
    Validator(document).validate()
    document["paths"]["/v2/health"]["get"]["responses"]["200"].pop("description")
    assert not Validator(document).is_valid()


def test_every_operation_is_in_one_of_the_groups_and_every_group_has_some(document: dict[str, Any]) -> None:
    used = [tag for methods in document["paths"].values() for each in methods.values() for tag in each["tags"]]
    assert len(used) == len(OPERATIONS), "docs/openapi.json has not the operations of the code: run `make docs`"
    assert set(used) == {group["name"] for group in document["tags"]}


def test_it_describes_every_route_of_the_app_and_no_other(document: dict[str, Any]) -> None:
    routed = {
        (method, path)
        for path, entries in app.routes.items()
        for method, entry in entries.items()
        if entry.view_name not in ("method_not_allowed", "preflight")
        if path not in ("/", "/docs", "/llms.txt", "/workflows.arazzo.yaml", "/mcp")  # for people and their tools
        if not path.startswith(("/docs/", "/pages/", "/dashboard", "/clear-signing"))
    }
    assert set(operations(document)) == routed, "docs/openapi.json has not the operations of the code: run `make docs`"
    assert {
        ("GET", "/v2/currencies"),
        ("GET", "/v2/currencies/{currency_id}/conversion-routes"),
        ("POST", "/v2/secure-payments"),
        ("GET", "/v2/secure-payments"),
        ("POST", "/v2/secure-payments/payouts"),
        ("POST", "/v2/secure-payments/batch-payouts"),
        ("POST", "/v2/secure-payments/fees/preview"),
        ("GET", "/v2/secure-payments/{token}"),
        ("GET", "/v2/secure-payments/{token}/pay"),
        ("POST", "/v1/webhook"),
        ("GET", "/v1/webhook"),
        ("PUT", "/v1/webhook/{webhook_id}"),
        ("DELETE", "/v1/webhook/{webhook_id}"),
        ("POST", "/v1/webhook/test"),
        ("GET", "/v2/health"),
        ("GET", "/openapi.json"),
    } <= routed


def test_every_operation_has_a_name_a_summary_its_path_parameters_and_its_credentials(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for operation in operations(document).values()]
    assert len(set(names)) == len(names)
    schemes = set(document["components"]["securitySchemes"])
    for (_, path), operation in operations(document).items():
        assert operation["summary"]
        wanted = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert wanted == set(re.findall(r"\{(\w+)\}", path))
        assert operation["security"]
        assert all(set(way) <= schemes for way in operation["security"])


def test_the_wallet_stands_first_of_what_a_payer_asks_with(document: dict[str, Any]) -> None:
    """Generated clients have parameters in this order, and most answers need the wallet."""
    queries = {
        known: [each["name"] for each in operation["parameters"] if each["in"] == "query"]
        for known, operation in operations(document).items()
    }
    with_wallet = {name: names for name, names in queries.items() if "wallet" in names}
    assert len(with_wallet) >= 5
    assert {name: names[0] for name, names in with_wallet.items()} == dict.fromkeys(with_wallet, "wallet")


def test_every_guarded_operation_describes_401_and_403(document: dict[str, Any]) -> None:
    for known, operation in operations(document).items():
        if operation["security"] != [{}]:
            assert {"401", "403"} <= set(operation["responses"]), known
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= set(operation["responses"]), known


WAYS: dict[Mode, list[dict[str, list[str]]]] = {
    Mode.PUBLIC: [{}],
    Mode.ORCHESTRATOR: [{"orchestratorKey": [], "clientId": []}],
    Mode.ORCHESTRATOR_KEY: [{"orchestratorKey": []}],
    Mode.API_KEY: [{"apiKey": []}],
    Mode.CLIENT_ID: [{"clientId": []}],
    Mode.SESSION: [{"sessionCookie": []}, {"sessionToken": []}],
}


def test_the_security_of_an_operation_is_the_one_that_the_edge_asks_for(document: dict[str, Any]) -> None:
    described = {name: operation["security"] for name, operation in operations(document).items()}
    asked = {
        (known.method, known.path): [way for mode in known.modes for way in WAYS[mode]] for known in OPERATIONS
    }
    assert described == asked


def test_each_security_scheme_says_where_its_credential_is_sent(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"]
    places = {name: (scheme.get("in"), scheme.get("name", scheme.get("scheme"))) for name, scheme in schemes.items()}
    assert places == {
        "apiKey": ("header", "x-api-key"),
        "clientId": ("header", "x-client-id"),
        "orchestratorKey": ("header", "x-orchestrator-key"),
        "sessionCookie": ("cookie", "session_token"),
        "sessionToken": (None, "bearer"),
    }


def test_limits_and_idempotency_keys_are_described_where_they_are(document: dict[str, Any]) -> None:
    described = operations(document)
    for known in OPERATIONS:
        assert_limits_are_described(known, described[known.method, known.path])
    for name, answer in document["components"]["responses"].items():
        assert ("Retry-After" in answer["headers"]) == (name in ("TooManyRequests", "ServiceUnavailable"))


def assert_limits_are_described(known: Operation, described: dict[str, Any]) -> None:
    answers, changes = described["responses"], known.method != "GET"
    assert ("429" in answers) == (known.rate is not None)
    headers = set(answers[str(known.status)]["headers"])
    assert ({"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} <= headers) == (known.rate is not None)
    takes_key = changes and not known.is_repeatable
    assert ("Idempotency-Key" in {parameter["name"] for parameter in described["parameters"]}) == takes_key
    assert ("422" in answers) == takes_key
    assert ("409" in answers) >= (changes or Mode.SESSION in known.modes)
    if changes:
        assert ("Idempotent-Replayed" in answers[str(known.status)]["headers"]) == takes_key


def test_every_component_is_used(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, name


def test_only_a_body_that_refuses_unknown_fields_forbids_them(document: dict[str, Any]) -> None:
    """Bodies ignore them else, and a response may get new ones: a client that validates it must not break."""
    schemas = document["components"]["schemas"]
    closed = {name for name, schema in schemas.items() if schema.get("additionalProperties") is False}
    assert closed == {"CreateMulticall"}


@pytest.mark.parametrize(("path", "body"), EXAMPLES, ids=lambda value: str(value)[:60])
def test_bodies_of_the_interface_are_described_as_valid(document: dict[str, Any], path: str, body: dict[str, Any]) -> None:
    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    check(document, schema, body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/secure-payments", {}),
        ("/v2/secure-payments", {"requests": []}),
        ("/v2/secure-payments", {"requests": [{"amount": 5}]}),
        ("/v2/secure-payments", {"requests": [item()], "reference": "x" * 256}),
        ("/v2/secure-payments/multicall-payouts", {"childTokens": ["a"]}),
        ("/v2/secure-payments/multicall-payouts", {"childTokens": ["a", "b"], "note": "x"}),
        ("/v2/secure-payments/multicall-payouts", {"childTokens": ["a", "b"], "requestedExecutionKind": "fastest"}),
        ("/v2/secure-payments/payouts", {**payout(), "recipientIdentifier": "x" * 256}),
        ("/v2/secure-payments/payouts", payout(creatorWalletAddress=None)),
        ("/v2/secure-payments/batch-payouts", {"tokens": ["a"]}),
        ("/v2/secure-payments/batch-payouts", {"tokens": ["a"] * 31}),
        ("/v2/secure-payments/fees/preview", {"amount": "100", "currency": "USDC", "flow": "gift"}),
        ("/v1/webhook", {}),
        ("/v1/webhook/test", {"eventType": 5}),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bodies_that_are_refused_are_described_as_invalid(
    document: dict[str, Any], shop: Shop, path: str, body: dict[str, Any]
) -> None:
    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert not Draft202012Validator({**schema, "components": document["components"]}).is_valid(body)
    assert shop.send("POST", path, body).status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/v2/currencies",
        "/v2/currencies?network=tron",
        "/v2/currencies?id=ETH-mainnet",
        "/v2/currencies?id=NOPE",
        "/v2/currencies?firstOnly=x",
    ],
)
def test_currencies_answer_as_described(document: dict[str, Any], api: Api, path: str) -> None:
    check_answer(document, "GET", "/v2/currencies", api.get(path))


@pytest.mark.parametrize("rest", ["USD/conversion-routes", "USD/conversion-routes?networks=base,matic", "NOPE/conversion-routes"])
def test_routes_answer_as_described(document: dict[str, Any], api: Api, rest: str) -> None:
    path = "/v2/currencies/{currency_id}/conversion-routes"
    check_answer(document, "GET", path, api.get(f"/v2/currencies/{rest}"))


@pytest.mark.parametrize("path", ["/v2/currencies", "/v2/health", "/openapi.json"])
def test_public_operations_answer_as_described_with_and_without_credentials(
    document: dict[str, Any], shop: Shop, path: str
) -> None:
    for credentials in ({}, shop.by_key, shop.by_client):
        check_answer(document, "GET", path, shop.api.get(path, credentials))


@pytest.mark.parametrize("credentials", [{"x-api-key": "wrong"}, {"x-client-id": "wrong"}], ids=str)
def test_refused_credentials_are_described_wherever_credentials_are_looked_at(
    document: dict[str, Any], api: Api, credentials: dict[str, str]
) -> None:
    for method, path in operations(document):
        reply = api.request(method, re.sub(r"\{\w+\}", "x", path), {} if method == "POST" else None, credentials)
        check_answer(document, method, path, reply)


def test_creating_answers_as_described(document: dict[str, Any], shop: Shop, node: Node) -> None:
    path = "/v2/secure-payments"
    native = item(invoiceCurrency="ETH-sepolia-sepolia", paymentCurrency="ETH-sepolia-sepolia")
    replies = [
        shop.create(),
        shop.create(item(amount="0")),
        shop.create(item(amount=1), reference=""),
        shop.send("POST", path, b"x" * 300_000),
        shop.api.request("POST", path, b"{}", {**shop.by_key, "content-type": "text/plain"}),
        shop.api.request("POST", path, {}, {}),
        shop.api.request("POST", path, {}, {**shop.by_client, "origin": "https://evil.example"}),
    ]
    node.status = 500
    replies.append(shop.create(native, feePercentage="1", feeAddress=FEE_ADDRESS))
    assert [reply.status for reply in replies] == [201, 400, 400, 413, 415, 401, 403, 503]
    for reply in replies:
        check_answer(document, "POST", path, reply)


@pytest.mark.parametrize("rest", ["", "/pay"])
def test_reading_and_paying_answer_as_described(document: dict[str, Any], shop: Shop, node: Node, rest: str) -> None:
    path = "/v2/secure-payments/{token}" + rest
    fee = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
    native = item(amount="0.5", invoiceCurrency="ETH-sepolia-sepolia", paymentCurrency="ETH-sepolia-sepolia")
    for token in (shop.link(item(), **fee), shop.link(native, **fee)):
        for query in ("", f"?wallet={WALLET}"):
            check_answer(document, "GET", path, shop.get(f"/v2/secure-payments/{token}{rest}{query}"))
    expired, completed, pending = shop.link(), shop.link(), shop.link()
    expire(expired)
    complete(completed)
    node.status = 500
    replies = [
        shop.get(f"/v2/secure-payments/{expired}{rest}"),
        shop.get(f"/v2/secure-payments/{completed}{rest}"),
        shop.get(f"/v2/secure-payments/{pending}{rest}?wallet={WALLET}"),
        shop.get(f"/v2/secure-payments/{pending}{rest}?wallet=x"),
        shop.get(f"/v2/secure-payments/x{rest}"),
    ]
    assert [reply.status for reply in replies] == [403, 409, 503, 400, 404]
    for reply in replies:
        check_answer(document, "GET", path, reply)


def test_payouts_batches_and_previews_answer_as_described(document: dict[str, Any], shop: Shop) -> None:
    def ask(status: int, path: str, body: dict[str, Any]) -> Any:
        reply = shop.send("POST", path, body)
        assert reply.status == status, reply.json
        check_answer(document, "POST", path, reply)
        return reply.json

    fee = {"feePercentage": "1.2345", "feeAddress": FEE_ADDRESS}
    tokens = [ask(201, PAYOUTS, payout(**fee))["token"] for _ in range(2)]
    ask(201, PAYOUTS, payout(currency="ETH-sepolia-sepolia"))
    ask(400, PAYOUTS, payout(amount="0"))
    ask(201, BATCH, {"tokens": tokens})
    ask(400, BATCH, {"tokens": tokens})
    preview = "/v2/secure-payments/fees/preview"
    ask(200, preview, {"amount": "100", "currency": "USDC", "flow": "pay"})
    ask(400, preview, {"amount": "100", "currency": "ETH-mainnet", "flow": "pay"})


def test_looking_up_answers_as_described(document: dict[str, Any], api: Api, shop: Shop) -> None:
    dashboard = by_email(api)
    made = dashboard.send("POST", "/v2/secure-payments", {"requests": [item(), item()]}).json
    for request_id, status in ((made["requestIds"][1], 200), ("x", 404)):
        reply = dashboard.get(f"/v2/secure-payments?requestId={request_id}")
        assert reply.status == status
        check_answer(document, "GET", "/v2/secure-payments", reply)


def test_announcing_a_multisig_transaction_answers_as_described(
    document: dict[str, Any], shop: Shop, node: Node
) -> None:
    path, body = "/v2/secure-payments/{token}/intent", {"safeTxHash": "0x" + "ab" * 32, "chain": "SEPOLIA", "token": "USDC"}
    full = {**body, "safePaymentDeadline": 4_000_000_000, "payerAddress": WALLET}
    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    check(document, schema, full)
    token, completed, expired = shop.link(), shop.link(), shop.link()
    complete(completed)
    expire(expired)
    unread = shop.send("POST", path.format(token=token), body)
    running().store.write(Cursor("sepolia", 100, (), 2000))
    node.contracts.add(WALLET.lower())
    node.safes.add(WALLET.lower())
    for number in range(MAX_PENDING - 1):
        other = {**body, "safeTxHash": f"0x{number:064x}"}
        assert shop.api.request("POST", path.format(token=token), other, shop.by_key).status == 200
    by_hash = {"txHash": "0x" + "ef" * 32, "chain": "SEPOLIA", "token": "USDC"}
    replies = [unread] + [
        shop.send("POST", path.format(token=link), sent)
        for link, sent in ((token, full), (token, {**body, "safeTxHash": "0x" + "cd" * 32}), (completed, body), (expired, body), ("x", body), (token, {}), (shop.link(), by_hash))
    ]
    assert [reply.status for reply in replies] == [503, 200, 423, 409, 403, 404, 400, 200]
    for reply in replies:
        check_answer(document, "POST", path, reply)
    locked = shop.get(f"/v2/secure-payments/{token}")
    check_answer(document, "GET", "/v2/secure-payments/{token}", locked)
    listed = shop.get(f"/v2/secure-payments/{token}/transfers")
    check_answer(document, "GET", "/v2/secure-payments/{token}/transfers", listed)
    withdrawn = [shop.api.request("DELETE", path.format(token=token), None, shop.by_key) for _ in range(2)]
    assert [reply.status for reply in (locked, listed, *withdrawn)] == [423, 200, 200, 404]
    for reply in withdrawn:
        check_answer(document, "DELETE", path, reply)


def test_transfers_answer_as_described(document: dict[str, Any], shop: Shop, node: Node) -> None:
    path, token = "/v2/secure-payments/{token}/transfers", shop.link()
    check_answer(document, "GET", path, shop.get(path.format(token=token)))
    store_payment(token, 20_000_000)
    store_unmatched(token, FUSDT)
    paid_by(node, WALLET, 20_000_000)
    for asked, status in ((token, 200), ("x", 404)):
        reply = shop.get(path.format(token=asked))
        assert reply.status == status
        check_answer(document, "GET", path, reply)
    path, alone = "/v2/request/{request_id}/transfers", store_request(running(), shop.account_id)
    store_payment_of(alone, 20_000_000)
    for asked, status in ((alone.request_id, 200), (alone.payment_reference, 200), ("x", 404)):
        reply = shop.get(path.format(request_id=asked))
        assert reply.status == status
        check_answer(document, "GET", path, reply)


def test_webhooks_answer_as_described(document: dict[str, Any], new_shop: Shop) -> None:
    def ask(method: str, path: str, body: Any = None, id: str = "") -> Reply:
        reply = new_shop.send(method, path.replace("{webhook_id}", id), body)
        check_answer(document, method, path, reply)
        return reply

    test = {"eventType": "payment.confirmed"}
    assert ask("POST", "/v1/webhook/test", test).status == 404
    id = ask("POST", "/v1/webhook", {"url": "https://93.184.215.14/"}).json["id"]
    assert ask("POST", "/v1/webhook", {"url": "https://93.184.215.14/"}).status == 400
    assert ask("GET", "/v1/webhook").status == 200
    assert ask("POST", "/v1/webhook/test", test).status == 201
    assert ask("POST", "/v1/webhook/test", {"eventType": "x"}).status == 400
    listed = ask("GET", "/v1/webhook/{webhook_id}/deliveries", id=id)
    (delivery,) = listed.json["deliveries"]
    assert ask("GET", "/v1/webhook/{webhook_id}/deliveries", id="x").status == 404
    path = "/v1/webhook/{webhook_id}/deliveries/{delivery_id}/redeliver"
    for delivery_id, status in ((delivery["id"], 409), ("x", 404)):
        reply = new_shop.send("POST", path.format(webhook_id=id, delivery_id=delivery_id))
        assert reply.status == status
        check_answer(document, "POST", path, reply)
    failed = "/v1/webhook/{webhook_id}/redeliver"
    assert ask("POST", failed, {"since": "2026-03-15T10:00:00+01:00"}, id).json == {"queued": 0, "nextCursor": None}
    assert ask("POST", failed, {"since": "2026-03-15"}, id).status == 400
    for method in ("PUT", "DELETE"):
        assert ask(method, "/v1/webhook/{webhook_id}", id=id).status == 200
        assert ask(method, "/v1/webhook/{webhook_id}", id="x").status == 404
