"""Whatever arrives: one error shape, a request id, the right status, and logs that are JSON without secrets."""

import json
import sys
from base64 import b64encode
from typing import Any

import boto3
import pytest

from chalicelib.platform.http.parsing import MAX_BODY_BYTES
from chalicelib.platform.http.request import request_of
from infra.local.gateway import LambdaContext
from tests.docs.documents import DOCS
from tests.fakes.world import PREFIX
from tests.support.api import Configured
from tests.support.client import Api, Reply, Shop, item, stored
from tests.support.running import app, restart, running

CREATE = "/v2/secure-payments"
POSTS = [CREATE, "/v1/webhook", "/v1/webhook/test"]
LINK = f"{CREATE}/01M7VQFVRZV5BJJSN4QTFB4MP3"
BODY = {"requests": [item()]}
NOT_JSON = "The body is not valid JSON in UTF-8, or nested too deeply"


def post(shop: Shop, body: bytes, path: str = CREATE, content_type: str | None = "application/json") -> Reply:
    headers = {**shop.by_client, **({"content-type": content_type} if content_type is not None else {})}
    return shop.api.request("POST", path, body, headers)


# --- bodies ---


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    [
        b" ",
        b"{",
        b"{'requests': []}",
        b'{"requests": [],}',
        b"{requests: []}",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": 01}',
        b'{"a": 1} x',
        b"\xff\xfe\x00",
        b'{"a": "\xc3\x28"}',
        b'{"a": "\xed\xa0\x80"}',
        '{"a": 1}'.encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b'{"a": "\n"}',
        b"\x00",
        b"a=1&b=2",
        b"<xml/>",
        b"]" * 100_000,
        b'"' * 100_001,
        b'"' + b'\\"' * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_not_json_is_refused(shop: Shop, path: str, body: bytes) -> None:
    before = stored()
    reply = post(shop, body, path)
    assert (reply.status, reply.message) == (400, NOT_JSON)
    assert stored() == before


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", [b"null", b"true", b"5", b'"text"', b"[]", b"[{}]", json.dumps([BODY]).encode()])
def test_json_that_is_no_object_is_refused(shop: Shop, path: str, body: bytes) -> None:
    reply = post(shop, body, path)
    assert (reply.status, reply.message) == (400, "The body must be a JSON object")


def test_a_missing_body_is_refused(shop: Shop) -> None:
    reply = shop.send("POST", CREATE)
    assert (reply.status, reply.message) == (400, "The body is missing: send a JSON object with requests")


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("PATCH", "/v2/request/0x" + "ab" * 32, "one or more of isRecurrenceStopped, note"),
        ("PATCH", "/v2/payer/ann", "agreementCompleted"),
        ("PUT", "/v2/client-ids/cli_1", "one or more of feePercentage, feeAddress, "),
    ],
)
def test_a_change_without_a_body_says_what_is_missing(shop: Shop, method: str, path: str, fields: str) -> None:
    reply = shop.api.request(method, path, None, shop.by_key)
    assert reply.status == 400
    assert reply.message.startswith(f"The body is missing: send a JSON object with {fields}")


@pytest.mark.parametrize("escape", [r"\ud800", r"x\uDFFF", r"\udc00\ud800", r"\uD83D \uDCB8"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        *((CREATE, {"requests": [{**item(), field: "HERE"}]}) for field in (*item(), "destinationId")),
        *((CREATE, {**BODY, field: "HERE"}) for field in ("reference", "redirectUrl", "feeAddress", "feePercentage")),
        (CREATE, {**BODY, "ignored": {"HERE": 1}}),
        (CREATE, {**BODY, "ignored": ["HERE"]}),
        ("/v1/webhook", {"url": "https://93.184.215.14/HERE"}),
        ("/v1/webhook/test", {"eventType": "HERE"}),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(
    shop: Shop, path: str, body: dict[str, Any], escape: str
) -> None:
    before = stored()
    reply = post(shop, json.dumps(body).replace("HERE", escape).encode(), path)
    assert (reply.status, reply.message) == (400, NOT_JSON)
    assert stored() == before


def test_a_whole_surrogate_pair_is_one_character(shop: Shop) -> None:
    text = json.dumps({**BODY, "reference": "HERE"}).replace("HERE", r"\ud83d\udcb8")
    token = post(shop, text.encode()).json["token"]
    assert shop.get(f"{CREATE}/{token}").json["reference"] == "\U0001f4b8"


def test_control_characters_in_a_text_are_kept_and_given_back(shop: Shop) -> None:
    token = shop.link(reference="a\x01\x1f\x7fb")
    assert shop.get(f"{CREATE}/{token}").json["reference"] == "a\x01\x1f\x7fb"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("reference", {"reference": "a\x00b"}),
        ("payerIdentifier", {"payerIdentifier": "\x00"}),
        ("requests.0.payee", {"requests": [{**BODY["requests"][0], "payee": "\x00"}]}),
        ("redirectUrl", {"redirectUrl": "https://shop.example/\x00"}),
    ],
)
def test_the_character_zero_is_refused_in_every_text_of_a_body(shop: Shop, field: str, changes: Any) -> None:
    before = stored()
    reply = post(shop, json.dumps({**BODY, **changes}).encode())
    assert (reply.status, reply.message) == (400, f"{field} must not contain the character U+0000")
    assert reply.json["errors"][0]["field"] == field and stored() == before


def test_the_character_zero_is_refused_in_every_text_of_a_query(shop: Shop) -> None:
    reply = shop.api.get("/v2/request?reference=a%00b", shop.by_key)
    assert (reply.status, reply.message) == (400, "reference must not contain the character U+0000")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 301,
        b"[" * 100_000,
        b'{"a":' * 40_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"requests":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"requests": [], "ignored": ' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"]": "]]", "ignored": ' + b"[" * 300 + b"]" * 300 + b"}",
    ],
    ids=lambda body: repr(body[:24]) + str(len(body)),
)
def test_a_body_nested_too_deeply_is_refused_before_a_parser_follows_it(shop: Shop, path: str, body: bytes) -> None:
    """Importing web3 lifts Python's recursion limit, so a parser would follow until it overflows the C stack."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        reply = post(shop, body, path)
    finally:
        sys.setrecursionlimit(limit)
    assert (reply.status, reply.message) == (400, NOT_JSON)


def test_deep_and_wide_unknown_keys_are_ignored(shop: Shop) -> None:
    deep: Any = "[[{{" * 100
    for _ in range(49):
        deep = {"a": [deep]}
    wide = {f"key{number}": number for number in range(5_000)}
    assert shop.send("POST", CREATE, {**BODY, "deep": deep, **wide}).status == 201


def test_of_a_key_given_twice_the_last_one_counts(shop: Shop) -> None:
    twice = b'{"requests": 5, "requests": ' + json.dumps([item()]).encode() + b"}"
    assert post(shop, twice).status == 201


def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_413(shop: Shop) -> None:
    def padded(size: int) -> bytes:
        text = json.dumps({**BODY, "padding": ""}).encode()
        return text.replace(b'"padding": ""', b'"padding": "' + b"x" * (size - len(text)) + b'"')

    assert len(padded(MAX_BODY_BYTES)) == MAX_BODY_BYTES == 256 * 1024
    assert post(shop, padded(MAX_BODY_BYTES)).status == 201
    before = stored()
    reply = post(shop, padded(MAX_BODY_BYTES + 1))
    assert reply.status == 413
    assert "256 kB" in reply.message
    assert stored() == before


@pytest.mark.parametrize("path", POSTS)
def test_a_body_of_many_megabytes_is_413(shop: Shop, path: str) -> None:
    assert post(shop, b"x" * 2_000_000, path).status == 413
    assert post(shop, b"x" * (10 * 1024 * 1024 + 1), path).status == 413


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "content_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"]
    + ["text/json", "application/xml", "json", "*/*", ";", "", "application/problem+json", "\xe9"],
)
def test_another_content_type_or_none_is_415(shop: Shop, path: str, content_type: str | None) -> None:
    before = stored()
    reply = post(shop, json.dumps(BODY).encode(), path, content_type)
    assert reply.status == 415
    assert "application/json" in reply.message
    assert stored() == before


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;x",
        " application/json ",
    ],
)
def test_json_is_accepted_however_it_is_announced(shop: Shop, content_type: str) -> None:
    assert post(shop, json.dumps(BODY).encode(), content_type=content_type).status == 201


def test_a_get_with_a_body_ignores_it(shop: Shop) -> None:
    token = shop.link()
    headers = {**shop.by_client, "content-type": "application/json"}
    assert shop.api.request("GET", f"{CREATE}/{token}", b"\xff{", headers).status == 200


# --- queries and headers ---


@pytest.mark.parametrize("query", ["wallet=1&wallet=2", "x=1&x=1", "wallet&wallet", "wallet=&x=1&wallet="])
def test_a_parameter_given_twice_has_no_one_meaning(shop: Shop, query: str) -> None:
    reply = shop.get(f"{LINK}?{query}")
    assert reply.status == 400
    assert reply.message.endswith("is given more than once")


@pytest.mark.parametrize("query", ["", "&", "&&=", "=", "x", "x=", "%", "%zz=%zz", "%FF=%FE", "x=%00", "a[b]=1", "?"])
def test_a_strange_query_is_ignored_where_it_means_nothing(shop: Shop, query: str) -> None:
    assert shop.get(f"{CREATE}/{shop.link()}?{query}").status == 200


def test_header_values_may_be_anything(shop: Shop) -> None:
    strange = {"x-anything": "\xff\xfe", "accept": "nonsense", "cookie": "a=b; ;;", "authorization": "\xe9"}
    token = shop.link()
    assert shop.api.get(f"{CREATE}/{token}", {**shop.by_client, **strange}).status == 200


@pytest.mark.parametrize("accept", ["text/html", "image/png", "application/octet-stream", "", "*/*;q=0"])
def test_the_answer_is_json_whatever_is_accepted(shop: Shop, accept: str) -> None:
    assert shop.api.get("/v2/health", {"accept": accept}).json == {"status": "ok"}


# --- paths and methods ---


@pytest.mark.parametrize("path", ["/v2", "/v2/", "/v3/currencies", "/v2/currencies/x/y", "/nothing", "/V2/health"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_404(api: Api, method: str, path: str) -> None:
    assert api.request(method, path).status == 404


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v2/currencies", ["GET"]),
        ("/v2/currencies/USD/conversion-routes", ["GET"]),
        (CREATE, ["GET", "POST"]),
        (LINK, ["GET", "PATCH"]),
        (f"{LINK}/pay", ["GET"]),
        ("/v1/webhook", ["GET", "POST"]),
        ("/v1/webhook/test", ["POST"]),
        ("/v2/health", ["GET"]),
        ("/openapi.json", ["GET"]),
    ],
)
def test_another_method_is_405_and_names_those_allowed(api: Api, path: str, allowed: list[str]) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"):
        if method not in allowed:
            reply = api.request(method, path)
            assert (method, reply.status) == (method, 405)
            assert reply.headers["allow"].split(", ") == sorted([*allowed, "OPTIONS"])


def test_the_test_operation_is_no_webhook_called_test(shop: Shop) -> None:
    """`/v1/webhook/test` and `/v1/webhook/{id}` share their form; the literal path wins, with every method."""
    for method in ("PUT", "DELETE"):
        assert shop.send(method, "/v1/webhook/test").status == 405
    assert shop.send("POST", "/v1/webhook/other").status == 405


# --- request ids ---


def test_every_request_has_an_id_of_its_own_that_the_log_repeats(shop: Shop) -> None:
    replies = [shop.create(), shop.create(item(amount="0")), shop.get(LINK), shop.api.get("/v1/webhook/test")]
    ids = [reply.headers["x-request-id"] for reply in replies]
    assert len(set(ids)) == 4
    assert [line["request_id"] for line in shop.api.log_lines()] == ids[:3]


def test_a_callers_request_id_is_not_taken_over(shop: Shop) -> None:
    reply = shop.api.get("/v2/health", {"x-request-id": "mine"})
    assert reply.headers["x-request-id"] != "mine"


# --- when something breaks ---


def test_what_nobody_expected_is_a_500_that_tells_nothing_and_a_log_line_that_tells_all(
    shop: Shop, configured: Configured
) -> None:
    shop.api.listen()
    with configured(RESOURCE_PREFIX="not-there"):
        for method, path, body in (
            ("POST", CREATE, BODY),
            ("GET", LINK, None),
            ("GET", f"{LINK}/pay", None),
            ("POST", "/v1/webhook", {"url": "https://93.184.215.14/"}),
            ("GET", "/v1/webhook", None),
        ):
            reply = shop.send(method, path, body)
            assert (reply.status, reply.json) == (
                500,
                {"statusCode": 500, "message": "Internal server error", "error": "Internal Server Error"},
            )
            (line,) = shop.api.log_lines()
            assert (line["level"], line["request_id"]) == ("ERROR", reply.headers["x-request-id"])
            assert "ResourceNotFoundException" in line["exception"]
            shop.api.listen()
        assert shop.api.get("/v2/health").status == 200


def test_a_missing_queue_breaks_no_link_and_leaves_a_test_delivery_to_the_sweep(new_shop: Shop) -> None:
    new_shop.send("POST", "/v1/webhook", {"url": "https://93.184.215.14/"})
    before = stored()
    restart()
    new_shop.api.listen()
    queue = boto3.client("sqs")
    queue.delete_queue(QueueUrl=queue.get_queue_url(QueueName=f"{PREFIX}-webhook-retries")["QueueUrl"])
    try:
        assert new_shop.create().status == 201
        assert new_shop.send("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"}).status == 201
    finally:
        queue.create_queue(QueueName=f"{PREFIX}-webhook-retries")
    assert stored()["webhooks"] == before["webhooks"] + 2, "the delivery and its entry in the list of its webhook"
    assert "messages were not sent" in new_shop.api.log.getvalue()


# --- logs ---


def test_the_log_is_json_lines_and_holds_no_secret(new_shop: Shop, capfd: pytest.CaptureFixture[str]) -> None:
    new_shop.link(payerIdentifier="jane@doe.example")
    secret = new_shop.send("POST", "/v1/webhook", {"url": "https://93.184.215.14/?t=hidden"}).json["secret"]
    new_shop.send("POST", "/v1/webhook", {"url": "https://10.0.0.1/?t=hidden"})
    new_shop.api.request("POST", CREATE, BODY, new_shop.by_key)
    new_shop.api.get("/v1/webhook", new_shop.by_key)
    new_shop.api.request("POST", CREATE, b"{", new_shop.by_key)
    lines = new_shop.api.log_lines()
    assert len(lines) == 6
    assert {"level", "message", "timestamp", "service", "request_id", "operation", "status"} <= set(lines[0])
    text = new_shop.api.log.getvalue()
    for hidden in (new_shop.key, secret, "jane@doe.example", "hidden"):
        assert hidden not in text
    assert capfd.readouterr().out == ""


# --- events as Lambda gets them ---


def event(method: str, resource: str, **changes: Any) -> dict[str, Any]:
    """An event of Lambda; a body is declared as JSON."""
    if changes.get("body"):
        changes["headers"] = {"content-type": "application/json", **(changes.get("headers") or {})}
    context = {"resourcePath": resource, "httpMethod": method, "path": resource, "requestId": "gateway-id"}
    return {
        "resource": resource,
        "path": resource,
        "httpMethod": method,
        "headers": {},
        "multiValueHeaders": {},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": context,
        "body": None,
        "isBase64Encoded": False,
        **changes,
    }


def handled(method: str, resource: str, **changes: Any) -> dict[str, Any]:
    answer = app(event(method, resource, **changes), LambdaContext("api_handler", 1024))
    return {**answer, "body": json.loads(answer["body"])}


def test_several_headers_accept_are_one_list() -> None:
    class Gateway:
        method, path, raw_body, query_params = "GET", "/v2/payments", b"", None
        headers, context = {"accept": "text/csv"}, dict[str, Any]()

        def to_original_event(self) -> dict[str, Any]:
            return event("GET", "/v2/payments", multiValueHeaders={"Accept": ["text/html", "text/csv"]})

    assert request_of(running().settings, Gateway(), {}).headers["accept"] == "text/html, text/csv"


@pytest.mark.usefixtures("api")
def test_the_gateways_request_id_is_ours() -> None:
    assert handled("GET", "/v2/health")["headers"]["x-request-id"] == "gateway-id"


def test_a_body_in_base64_is_the_same_body(shop: Shop) -> None:
    sent = {"headers": shop.by_client, "isBase64Encoded": True}
    answer = handled("POST", CREATE, body=b64encode(json.dumps(BODY).encode()).decode(), **sent)
    assert answer["statusCode"] == 201
    answer = handled("POST", CREATE, body=b64encode(b'{"a": "\xff"}').decode(), **sent)
    assert answer["statusCode"] == 400


def test_a_request_without_any_header_is_understood(shop: Shop) -> None:
    assert handled("GET", "/v2/health", headers=None)["statusCode"] == 200
    assert handled("POST", CREATE, headers=None, body="{}")["statusCode"] == 401


@pytest.mark.parametrize("path", ["request", "currencies", "payer", "pay"])
def test_version_1_of_the_api_is_not_served(shop: Shop, path: str) -> None:
    assert f"`/v1/{path}`" in DOCS["limits"].text
    for method in ("GET", "POST"):
        assert shop.api.request(method, f"/v1/{path}", {} if method == "POST" else None, shop.by_key).status == 404
