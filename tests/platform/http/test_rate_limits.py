"""How often who may call, and what they hear of it: tiers, headers, blocks, guessing, and what counts nothing."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from chalicelib.platform.access.credentials.records import ApiKey
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.access.rate_limits.rules import REQUESTS_PER_SECOND
from infra import admin
from infra.local.gateway import LambdaContext
from tests.fakes.world import PREFIX
from tests.support.api import Clock, Configured, stop_time
from tests.support.client import ORIGIN, Api, Reply, Shop, stored
from tests.support.rehearsed import rehearsed
from tests.support.running import app, running

LISTING = "/v2/currencies"
UNKNOWN_LINK = "/v2/secure-payments/01M7VQFVRZV5BJJSN4QTFB4MP3"
TOO_MANY = {"statusCode": 429, "message": "ThrottlerException: Too Many Requests", "error": "Too Many Requests"}


def key_of(shop: Shop, tier: Tier = Tier.DEFAULT) -> dict[str, str]:
    """A new API key of a tier."""
    services = running()
    key = admin.create_api_key(services, shop.account_id, "another")
    record = services.store.get(ApiKey, ApiKey.KEY.of(credential_hash=credential_hash(key)))
    assert record is not None
    services.store.write(replace(record, tier=tier))
    return {"x-api-key": key}


def limits(reply: Reply) -> tuple[int, int, int]:
    limit, remaining, reset = (int(reply.headers[f"ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))
    return limit, remaining, reset


def counters() -> int:
    """How many counters there are."""
    found = running().store.client.scan(
        TableName=f"{PREFIX}-ops",
        Select="COUNT",
        FilterExpression="begins_with(pk, :rate)",
        ExpressionAttributeValues={":rate": {"S": "RATE#"}},
    )
    return int(found["Count"])


def statuses(ask: Callable[[], Reply], times: int) -> list[int]:
    return [ask().status for _ in range(times)]


# --- tiers ---


@pytest.mark.parametrize("tier", Tier)
def test_a_tier_admits_exactly_its_requests_a_second(clock: Clock, new_shop: Shop, tier: Tier) -> None:
    headers, allowed = key_of(new_shop, tier), REQUESTS_PER_SECOND[tier]
    for _ in range(2):
        replies = [new_shop.api.get(LISTING, headers) for _ in range(allowed)]
        assert [limits(reply) for reply in replies] == [(allowed, left, 1) for left in reversed(range(allowed))]
        assert new_shop.api.get(LISTING, headers).status == 429
        clock.advance(1)


def test_one_too_many_is_told_when_to_come_back(clock: Clock, new_shop: Shop) -> None:
    clock.advance(0.4)
    headers, before = key_of(new_shop), stored()
    statuses(lambda: new_shop.api.get(LISTING, headers), 5)
    reply = new_shop.api.request("POST", "/v2/secure-payments", {"requests": []}, headers)
    assert (reply.status, reply.json) == (429, TOO_MANY)
    assert (limits(reply), reply.headers["retry-after"]) == ((5, 0, 1), "1")
    assert stored() == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", UNKNOWN_LINK, None, 404),
        ("GET", f"{UNKNOWN_LINK}?wallet=x", None, 400),
        ("POST", "/v2/secure-payments", {}, 400),
        ("POST", "/v2/secure-payments", b"x" * 300_000, 413),
        ("GET", "/v1/auth/me", None, 403),
    ],
)
def test_every_answer_says_what_is_left_also_a_refusal(
    clock: Clock, new_shop: Shop, method: str, path: str, body: Any, status: int
) -> None:
    reply = new_shop.api.request(method, path, body, {**key_of(new_shop), "content-type": "application/json"})
    assert (reply.status, limits(reply)) == (status, (5, 4, 1))


def test_credentials_are_counted_apart_also_of_one_account(clock: Clock, new_shop: Shop) -> None:
    first, second = key_of(new_shop), key_of(new_shop)
    assert statuses(lambda: new_shop.api.get(LISTING, first), 6) == [200] * 5 + [429]
    assert new_shop.api.get(LISTING, second).status == 200
    assert new_shop.get(LISTING).status == 200


def test_the_scale_multiplies_the_limits(configured: Configured, new_shop: Shop) -> None:
    with configured(RATE_LIMIT_SCALE="3"):
        stop_time()
        headers = key_of(new_shop)
        assert statuses(lambda: new_shop.api.get(LISTING, headers), 16) == [200] * 15 + [429]


# --- addresses ---


def handled(path: str, headers: dict[str, str], address: str) -> int:
    """The status of a GET as API Gateway hands it over, from an address."""
    context = {"resourcePath": path, "httpMethod": "GET", "path": path, "identity": {"sourceIp": address}}
    event = {
        "resource": path,
        "path": path,
        "httpMethod": "GET",
        "headers": headers,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {**context, "requestId": "-"},
        "body": None,
        "isBase64Encoded": False,
    }
    return int(app(event, LambdaContext("api_handler", 1024))["statusCode"])


def test_a_credential_is_counted_for_each_address_apart(clock: Clock, new_shop: Shop) -> None:
    headers = key_of(new_shop)
    assert [handled(LISTING, headers, "203.0.113.7") for _ in range(6)] == [200] * 5 + [429]
    assert handled(LISTING, headers, "203.0.113.8") == 200


def test_who_sends_no_credential_is_counted_by_address(clock: Clock, api: Api) -> None:
    assert statuses(lambda: api.get(LISTING), 6) == [200] * 5 + [429]
    assert handled(LISTING, {}, "203.0.113.9") == 200


@pytest.mark.parametrize(
    "header", ["x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip", "client-ip", "via"]
)
def test_no_header_changes_the_address_that_is_counted(clock: Clock, api: Api, header: str) -> None:
    tried = [api.get(LISTING, {header: f"198.51.100.{number}"}).status for number in range(6)]
    assert tried == [200] * 5 + [429]


def test_a_neighbour_on_the_same_ipv6_line_shares_the_limit_of_those_without_credential(clock: Clock, api: Api) -> None:
    assert [handled(LISTING, {}, f"2001:db8:5:5::{number}") for number in range(1, 7)] == [200] * 5 + [429]
    assert handled(LISTING, {}, "2001:db8:5:6::1") == 200


# --- guessing ---


def test_guessing_credentials_is_limited_by_address_and_hinders_nobody_else(clock: Clock, new_shop: Shop) -> None:
    path = "/v2/secure-payments"
    tried = [new_shop.api.request("POST", path, {}, {"x-api-key": f"key_{number}"}) for number in range(7)]
    assert [reply.status for reply in tried] == [401] * 5 + [429] * 2
    assert [limits(reply)[1] for reply in tried] == [4, 3, 2, 1, 0, 0, 0]
    assert new_shop.api.get(LISTING, key_of(new_shop)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"x-client-id": "cli_x", "origin": ORIGIN},
        {"x-orchestrator-key": "x"},
        {"cookie": "session_token=x"},
        {"authorization": "Bearer x"},
        {},
    ],
    ids=str,
)
def test_every_kind_of_wrong_credential_is_counted(clock: Clock, api: Api, headers: dict[str, str]) -> None:
    assert statuses(lambda: api.request("POST", "/v2/secure-payments", {}, headers), 6) == [401] * 5 + [429]


def test_who_guesses_tokens_of_links_is_shut_out_before_luck_helps(clock: Clock, new_shop: Shop) -> None:
    """To refuse the unknown ones alone would not do: the known one would still answer."""
    token = new_shop.link()
    clock.advance(1)
    for _ in range(6):
        assert statuses(lambda: new_shop.get(UNKNOWN_LINK), 5) == [404] * 5
        clock.advance(1)
    reply = new_shop.get(UNKNOWN_LINK + "/pay")
    assert (reply.status, reply.headers["retry-after"]) == (429, "300")
    clock.advance(60)
    assert new_shop.get(f"/v2/secure-payments/{token}").status == 429
    assert new_shop.api.get(f"/v2/secure-payments/{token}", new_shop.by_key).status == 200
    clock.advance(240)
    assert new_shop.get(f"/v2/secure-payments/{token}").status == 200


def test_links_that_exist_are_looked_up_as_often_as_the_tier_allows(clock: Clock, new_shop: Shop) -> None:
    token = new_shop.link()
    for _ in range(10):
        clock.advance(1)
        assert statuses(lambda: new_shop.get(f"/v2/secure-payments/{token}"), 5) == [200] * 5


# --- signing in ---


def test_signing_in_is_tried_ten_times_a_minute_from_one_address(clock: Clock, api: Api) -> None:
    tries = [
        ("/v1/auth/login", {"email": "a@shop.example", "password": "wrong horse"}),
        ("/v1/auth/login", {"email": "b@shop.example", "password": "wrong horse"}),
        ("/v1/auth/wallet/challenge", {"address": "nonsense"}),
        ("/v1/auth/wallet/verify", {}),
        ("/v1/auth/register", {"email": "c@shop.example"}),
    ]
    replies = [api.request("POST", *each) for each in tries * 2]
    assert [limits(reply)[:2] for reply in replies] == [(10, left) for left in reversed(range(10))]
    assert {reply.status for reply in replies} <= {400, 401}
    reply = api.request("POST", *tries[0])
    assert (reply.status, reply.headers["retry-after"]) == (429, "60")
    assert api.get(LISTING).status == 200
    clock.advance(60)
    assert api.request("POST", *tries[0]).status == 401


# --- blocks ---


@pytest.fixture
def breached(clock: Clock, new_shop: Shop) -> dict[str, str]:
    """A key of the smallest tier that was refused, within a minute, as often as 120 calls were allowed in it."""
    headers = key_of(new_shop, Tier.BASIC)
    asked = statuses(lambda: new_shop.api.get(LISTING, headers), 122)
    assert asked == [200] * 2 + [429] * 120
    clock.advance(1)
    assert new_shop.api.get(LISTING, headers).status == 200
    clock.advance(1)
    assert statuses(lambda: new_shop.api.get(LISTING, headers), 2) == [200] * 2
    reply = new_shop.api.get(LISTING, headers)
    assert (reply.status, reply.headers["retry-after"]) == (429, "300")
    return headers


def test_a_sustained_breach_shuts_the_pair_out_for_five_minutes(
    clock: Clock, new_shop: Shop, breached: dict[str, str]
) -> None:
    for passed, left in ((1, "299"), (298, "1"), (0.9, "1")):
        clock.advance(passed)
        reply = new_shop.api.get(LISTING, breached)
        assert (reply.status, reply.json, reply.headers["retry-after"]) == (429, TOO_MANY, left)
        assert limits(reply)[:2] == (2, 0)
    clock.advance(0.1)
    assert new_shop.api.get(LISTING, breached).status == 200


def test_a_block_is_of_the_credential_at_its_address_and_of_no_one_else(
    clock: Clock, new_shop: Shop, breached: dict[str, str]
) -> None:
    assert handled(LISTING, breached, "127.0.0.1") == 429
    assert handled(LISTING, breached, "203.0.113.10") == 200
    assert new_shop.api.get(LISTING, key_of(new_shop)).status == 200
    assert new_shop.get(LISTING).status == 200
    assert new_shop.api.get(LISTING).status == 200


def test_while_shut_out_nothing_is_counted_and_afterwards_it_may_happen_again(
    clock: Clock, new_shop: Shop, breached: dict[str, str]
) -> None:
    before = counters()
    statuses(lambda: new_shop.api.get(LISTING, breached), 20)
    assert counters() == before
    clock.advance(301)
    again = statuses(lambda: new_shop.api.get(LISTING, breached), 123)
    assert again == [200] * 2 + [429] * 121
    assert new_shop.api.get(LISTING, breached).headers["retry-after"] == "300"


@rehearsed
def test_refusals_now_and_then_are_no_sustained_breach(clock: Clock, new_shop: Shop) -> None:
    headers = key_of(new_shop, Tier.BASIC)
    for _ in range(3):
        assert statuses(lambda: new_shop.api.get(LISTING, headers), 102) == [200] * 2 + [429] * 100
        clock.advance(60)
    assert new_shop.api.get(LISTING, headers).status == 200


def test_guessing_on_and_on_shuts_out_the_guesser_and_no_neighbour_at_the_address(clock: Clock, new_shop: Shop) -> None:
    wrong, login = {"x-api-key": "key_wrong"}, {"email": "a@shop.example", "password": "wrong horse"}
    statuses(lambda: new_shop.api.request("POST", "/v2/secure-payments", {}, wrong), 306)
    clock.advance(100)
    for headers in (wrong, {}):
        reply = new_shop.api.request("POST", "/v2/secure-payments", {}, headers)
        assert (reply.status, reply.headers["retry-after"]) == (429, "200")
    assert new_shop.api.get(LISTING).status == 200
    assert new_shop.api.request("POST", "/v1/auth/login", login).status == 401
    assert new_shop.api.get(LISTING, key_of(new_shop)).status == 200


def test_wrong_credentials_take_nothing_from_those_who_send_none(clock: Clock, new_shop: Shop) -> None:
    assert statuses(lambda: new_shop.api.request("POST", "/v2/secure-payments", {}), 6) == [401] * 5 + [429]
    assert statuses(lambda: new_shop.api.get(LISTING), 6) == [200] * 5 + [429]


@rehearsed
def test_no_block_closes_signing_in_beyond_its_own_window(clock: Clock, new_shop: Shop) -> None:
    def challenge() -> Reply:
        return new_shop.api.request("POST", "/v1/auth/wallet/challenge", {"address": "nonsense"})

    statuses(lambda: new_shop.api.get(LISTING), 306)
    assert new_shop.api.get(LISTING).headers["retry-after"] == "300"
    assert statuses(challenge, 60) == [400] * 10 + [429] * 50
    clock.advance(60)
    assert challenge().status == 400
    assert new_shop.api.get(LISTING).headers["retry-after"] == "240"


def test_a_session_may_call_twenty_times_a_second(clock: Clock, new_shop: Shop) -> None:
    user = {"email": "dashboard@shop.example", "password": "correct horse"}
    new_shop.api.request("POST", "/v1/auth/register", user)
    cookie = new_shop.api.request("POST", "/v1/auth/login", user).headers["set-cookie"].split(";")[0]
    asked = statuses(lambda: new_shop.api.get("/v1/auth/me", {"cookie": cookie}), 21)
    assert asked == [200] * 20 + [429]


# --- what counts nothing ---


@pytest.mark.parametrize("path", ["/v2/health", "/v1/health", "/openapi.json"])
def test_health_and_the_document_are_not_limited_and_read_no_table(clock: Clock, api: Api, path: str) -> None:
    before = counters()
    replies = [api.get(path, {"x-api-key": "key_wrong"}) for _ in range(30)]
    assert {reply.status for reply in replies} == {200}
    assert not any(name.startswith("ratelimit") for name in replies[0].headers)
    assert counters() == before


def test_preflights_and_wrong_methods_are_not_counted(clock: Clock, api: Api) -> None:
    before = counters()
    assert statuses(lambda: api.request("OPTIONS", LISTING), 10) == [204] * 10
    assert statuses(lambda: api.request("DELETE", LISTING), 10) == [405] * 10
    assert counters() == before


# --- a counter that fails ---


@contextmanager
def failing_counter(code: str) -> Iterator[None]:
    """DynamoDB refuses to count, in the words of its API."""

    def refuse(**_: Any) -> tuple[AWSResponse, dict[str, Any]]:
        status = 500 if code == "InternalServerError" else 400
        parsed = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        return AWSResponse("http://dynamodb", status, {}, None), parsed

    events = running().store.client.meta.events
    events.register("before-call.dynamodb.UpdateItem", refuse)
    try:
        yield
    finally:
        events.unregister("before-call.dynamodb.UpdateItem", refuse)


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
)
def test_a_throttled_counter_refuses_the_call_and_blocks_nobody(clock: Clock, new_shop: Shop, code: str) -> None:
    """A limit that gives way under load is not one; 429 is an answer that clients come back from."""
    headers, before = key_of(new_shop), stored()
    with failing_counter(code):
        reply = new_shop.api.request("POST", "/v2/secure-payments", {}, headers)
        assert (reply.status, reply.json, reply.headers["retry-after"]) == (429, TOO_MANY, "1")
        assert new_shop.api.get(LISTING, {"x-api-key": "wrong"}).status == 429
    assert stored() == before
    assert new_shop.api.get(LISTING, headers).status == 200


def test_a_counter_that_fails_otherwise_is_a_failure_of_ours(clock: Clock, new_shop: Shop) -> None:
    headers = key_of(new_shop)
    with failing_counter("InternalServerError"):
        reply = new_shop.api.get(LISTING, headers)
    assert (reply.status, reply.message) == (500, "Internal server error")
    assert "InternalServerError" in json.dumps(new_shop.api.log_lines())
