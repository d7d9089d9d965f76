"""What pages of other origins may ask and read: preflights on every path, echoed origins, cookies, refusals too."""

import re

import pytest

from chalicelib.platform.http.operation import OPERATIONS
from tests.support.api import Configured, stop_time
from tests.support.client import ORIGIN, Api, Reply, Shop, stored
from tests.support.operations import models
from tests.support.tenants import Tenant

DASHBOARD = "https://dashboard.example"
PATHS = sorted({known.path for known in OPERATIONS})
EXPOSED = {
    "date",
    "x-request-id",
    "retry-after",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "idempotent-replayed",
    "link",
}


def listed(reply: Reply, name: str) -> set[str]:
    return {each.strip().lower() for each in reply.headers[name].split(",")}


def preflight(api: Api, path: str, origin: str = ORIGIN, method: str = "POST") -> Reply:
    headers = {
        "origin": origin,
        "access-control-request-method": method,
        "access-control-request-headers": "content-type,x-client-id",
    }
    return api.request("OPTIONS", re.sub(r"\{\w+\}", "x", path), None, headers)


@pytest.mark.parametrize("path", PATHS)
def test_every_path_answers_a_preflight(api: Api, path: str) -> None:
    reply = preflight(api, path)
    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert reply.headers["vary"] == "Origin"
    methods = {known.method for known in OPERATIONS if known.path == path}
    assert listed(reply, "access-control-allow-methods") == {each.lower() for each in (*methods, "OPTIONS")}
    assert listed(reply, "access-control-allow-headers") >= {
        "content-type",
        "x-client-id",
        "x-api-key",
        "x-orchestrator-key",
        "authorization",
        "idempotency-key",
        "x-signed-in-as",
    }
    assert int(reply.headers["access-control-max-age"]) > 0
    assert "access-control-allow-credentials" not in reply.headers


def test_a_preflight_reads_and_writes_nothing(api: Api, shop: Shop, configured: Configured) -> None:
    before = stored()
    with configured(RESOURCE_PREFIX="not-there"):
        assert preflight(api, "/v2/secure-payments").status == 204
    assert stored() == before


def test_a_preflight_without_origin_is_answered_without_names(api: Api) -> None:
    reply = api.request("OPTIONS", "/v2/secure-payments")
    assert reply.status == 204
    assert "access-control-allow-origin" not in reply.headers


def test_the_callers_origin_may_read_the_answer_and_its_headers(shop: Shop) -> None:
    reply = shop.create()
    assert reply.status == 201
    assert (reply.headers["access-control-allow-origin"], reply.headers["vary"]) == (ORIGIN, "Origin")
    assert listed(reply, "access-control-expose-headers") == EXPOSED


def test_no_answer_is_for_every_origin(api: Api, shop: Shop) -> None:
    for reply in (shop.create(), api.get("/v2/currencies"), api.get("/v2/health")):
        assert reply.headers.get("access-control-allow-origin") != "*"
        assert reply.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("POST", "/v2/secure-payments", {}, {"requests": []}, 400),
        ("POST", "/v2/secure-payments", {"x-client-id": "cli_unknown"}, {}, 401),
        ("GET", "/v2/secure-payments/x", {}, None, 404),
        ("PATCH", "/v2/secure-payments", {}, None, 405),
        ("POST", "/v2/secure-payments", {}, b"x" * 300_000, 413),
        ("POST", "/v2/secure-payments", {"content-type": "text/plain"}, b"{}", 415),
        ("POST", "/v2/secure-payments", {"idempotency-key": ""}, {}, 400),
    ],
)
def test_refusals_may_be_read_too(
    shop: Shop, method: str, path: str, headers: dict[str, str], body: object, status: int
) -> None:
    sent = {**shop.by_client, "content-type": "application/json", **headers}
    reply = shop.api.request(method, path, body, sent)
    assert reply.status == status
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert reply.headers["vary"] == "Origin"


def test_a_429_and_a_500_may_be_read_too(shop: Shop, configured: Configured) -> None:
    with configured(RESOURCE_PREFIX="not-there"):
        reply = shop.create()
    assert (reply.status, reply.headers["access-control-allow-origin"]) == (500, ORIGIN)
    with configured(RATE_LIMIT_SCALE="1"):
        stop_time()
        replies = [shop.get("/v2/currencies") for _ in range(12)]
    refused = [reply for reply in replies if reply.status == 429]
    assert refused and all(reply.headers["access-control-allow-origin"] == ORIGIN for reply in refused)


@pytest.mark.parametrize("origin", ["https://evil.example", "https://shop.example.evil.example", "null"])
def test_a_page_that_the_client_id_does_not_admit_reads_its_refusal_without_cookies(
    shop: Shop, configured: Configured, origin: str
) -> None:
    """Also where the origin belongs to a dashboard, which may send cookies otherwise."""
    headers = {**shop.by_client, "origin": origin}
    with configured(SESSION_ORIGINS=f'["{origin}"]'):
        refused = shop.api.request("POST", "/v2/secure-payments", {}, headers)
    with configured(RATE_LIMIT_SCALE="1", SESSION_ORIGINS=f'["{origin}"]'):
        stop_time()
        replies = [shop.api.request("POST", "/v2/secure-payments", {}, headers) for _ in range(12)]
    assert (refused.status, replies[-1].status) == (403, 429)
    for reply in (refused, *replies):
        assert (reply.headers["access-control-allow-origin"], reply.headers["vary"]) == (origin, "Origin")
        assert "access-control-allow-credentials" not in reply.headers


def test_an_empty_origin_is_not_echoed(api: Api) -> None:
    assert "access-control-allow-origin" not in api.get("/v2/currencies", {"origin": ""}).headers


def test_cookies_are_for_session_operations_and_the_dashboards_that_are_configured(
    api: Api, configured: Configured
) -> None:
    with configured(SESSION_ORIGINS=f'["{DASHBOARD}"]'):
        for known in OPERATIONS:
            path, body = re.sub(r"\{\w+\}", "x", known.path), {} if models(known).body else None
            for origin, may in ((DASHBOARD, known.with_session), (ORIGIN, False), (DASHBOARD + ":8443", False)):
                headers = api.request(known.method, path, body, {"origin": origin}).headers
                allowed = headers["access-control-allow-origin"], headers.get("access-control-allow-credentials")
                assert allowed == (origin, "true" if may else None), (known.method, path)


def test_a_preflight_of_a_session_operation_admits_cookies_of_a_dashboard(api: Api, configured: Configured) -> None:
    with configured(SESSION_ORIGINS=f'["{DASHBOARD}"]'):
        for path in ("/v1/auth/me", "/v1/auth/login", "/v1/api-keys", "/v2/secure-payments"):
            assert preflight(api, path, DASHBOARD).headers["access-control-allow-credentials"] == "true"
            assert "access-control-allow-credentials" not in preflight(api, path).headers
        for path in ("/v2/currencies", "/v2/client-ids"):
            assert "access-control-allow-credentials" not in preflight(api, path, DASHBOARD).headers


def test_a_dashboard_uses_its_session_from_the_browser(api: Api, configured: Configured) -> None:
    with configured(SESSION_ORIGINS=f'["{DASHBOARD}"]', RATE_LIMIT_SCALE="1000"):
        reply = api.get("/v1/auth/me", {**Tenant().by_wallet(), "origin": DASHBOARD})
    assert (reply.status, reply.headers["access-control-allow-credentials"]) == (200, "true")


@pytest.mark.parametrize("origin", [ORIGIN, "https://blog.test", "null", ""])
def test_a_page_that_is_not_ours_changes_nothing_by_a_cookie(api: Api, configured: Configured, origin: str) -> None:
    with configured(SESSION_ORIGINS=f'["{DASHBOARD}"]', RATE_LIMIT_SCALE="1000"):
        session = Tenant().by_wallet()
        body = {"label": "server"}
        refused = api.request("POST", "/v1/api-keys", body, {**session, "origin": origin})
        assert (refused.status, refused.headers.get("access-control-allow-origin")) == (403, origin or None)
        assert "access-control-allow-credentials" not in refused.headers
        assert refused.json["message"].startswith("Origin may not use session cookies")
        for ours in (DASHBOARD, "http://auth.test", None):
            headers = {**session, **({"origin": ours} if ours else {})}
            assert api.request("POST", "/v1/api-keys", body, headers).status == 201
        token = session["cookie"].removeprefix("session_token=")
        by_bearer = {"authorization": f"Bearer {token}", "origin": origin}
        assert api.request("POST", "/v1/api-keys", body, by_bearer).status == 201
