"""The address of a caller: of the connection, or behind a proxy as its header names it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import ApiKey
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.http.request import address_of
from infra.local.gateway import LambdaContext
from tests.platform.http.test_rate_limits import LISTING, key_of
from tests.support.api import Configured, stop_time
from tests.support.client import Shop
from tests.support.running import app, running

HEADER = "CloudFront-Viewer-Address"
CONNECTION = "198.51.100.1"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:46532", "203.0.113.7"),
        (" 203.0.113.7 ", "203.0.113.7"),
        ("2001:db8::7", "2001:db8::7"),
        ("2001:0DB8:0:0:0:0:0:7", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:db8::7]:46532", "2001:db8::7"),
        ("2001:db8:0:0:0:0:0:7:443", "2001:db8::7"),
        ("2001:db8::7:46532", "2001:db8::7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("[::ffff:203.0.113.7]:443", "203.0.113.7"),
        ("", None),
        ("unknown", None),
        ("_hidden", None),
        ("203.0.113", None),
        ("203.0.113.256", None),
        ("203.0.113.7/24", None),
        ("fe80::1%eth0", None),
        (":443", None),
        ("[]:443", None),
        ("localhost:443", None),
    ],
)
def test_an_address_is_read_with_and_without_its_port(text: str, address: str | None) -> None:
    assert address_of(text) == address


@given(address=st.ip_addresses(), port=st.integers(10_000, 65_535))
def test_every_address_is_read_in_every_form(address: Any, port: int) -> None:
    plain = address_of(str(address))
    forms = [f"{address}:{port}", f"[{address}]:{port}", f"[{address}]"]
    assert plain is not None and [address_of(form) for form in forms] == [plain] * 3


@given(text=st.text())
def test_no_text_breaks_the_reading_of_an_address(text: str) -> None:
    address = address_of(text)
    assert address is None or address_of(address) == address


def sent(path: str, named: dict[str, list[str]], **headers: str) -> dict[str, Any]:
    """A GET from CONNECTION as API Gateway passes it on; `named` are headers with all of their values."""
    single = {**headers, **{name: values[-1] for name, values in named.items()}}
    context = {"resourcePath": path, "httpMethod": "GET", "path": path, "identity": {"sourceIp": CONNECTION}}
    return {
        "resource": path,
        "path": path,
        "httpMethod": "GET",
        "headers": single,
        "multiValueHeaders": {**{name: [value] for name, value in headers.items()}, **named},
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {**context, "requestId": "-"},
        "body": None,
        "isBase64Encoded": False,
    }


def status(path: str, named: dict[str, list[str]], **headers: str) -> int:
    return int(app(sent(path, named, **headers), LambdaContext("api_handler", 1024))["statusCode"])


@contextmanager
def behind_proxy(configured: Configured) -> Iterator[None]:
    with configured(TRUSTED_PROXY_HEADER=HEADER, RATE_LIMIT_SCALE="1"):
        stop_time()
        yield


@pytest.mark.usefixtures("api")
def test_callers_behind_a_proxy_are_counted_apart(configured: Configured) -> None:
    with behind_proxy(configured):
        for address in ("203.0.113.7:1", "[2001:db8::7]:1", "203.0.113.8"):
            assert [status(LISTING, {HEADER: [address]}) for _ in range(6)] == [200] * 5 + [429]
        assert status(LISTING, {HEADER.lower(): ["203.0.113.7:2"]}) == 429, "the same address from another port"


@pytest.mark.usefixtures("api")
def test_of_several_addresses_the_last_counts_which_the_proxy_added(configured: Configured) -> None:
    """Whatever a caller sends before it, in the same header or in another one, evades no limit."""
    with behind_proxy(configured):
        tried = [
            {HEADER: ["203.0.113.9"]},
            {HEADER: ["198.51.100.66, 203.0.113.9:1"]},
            {HEADER: ["198.51.100.67", "203.0.113.9"]},
            {HEADER: ["198.51.100.68, 198.51.100.69", "198.51.100.70,203.0.113.9"]},
            {HEADER: ["203.0.113.9"], "X-Forwarded-For": ["198.51.100.71"]},
            {HEADER: ["203.0.113.9"]},
        ]
        assert [status(LISTING, named) for named in tried] == [200] * 5 + [429]


@pytest.mark.usefixtures("api")
def test_without_a_readable_header_the_address_of_the_connection_counts(configured: Configured) -> None:
    with behind_proxy(configured):
        tried = [{}, {HEADER: ["unknown"]}, {HEADER: [""]}, {HEADER: ["203.0.113.7, "]}, {"X-Real-IP": ["203.0.113.7"]}]
        assert [status(LISTING, named) for named in (*tried, {})] == [200] * 5 + [429]


@pytest.mark.usefixtures("api")
def test_without_the_setting_no_header_is_believed(configured: Configured) -> None:
    with configured(RATE_LIMIT_SCALE="1"):
        stop_time()
        tried = [status(LISTING, {HEADER: [f"203.0.113.{number}"]}) for number in range(6)]
        assert tried == [200] * 5 + [429]


def test_ranges_of_api_keys_and_the_audit_log_hold_for_the_named_address(
    new_shop: Shop, configured: Configured
) -> None:
    with behind_proxy(configured):
        services, key = running(), key_of(new_shop)
        record = services.store.get(ApiKey, ApiKey.KEY.of(credential_hash=credential_hash(key["x-api-key"])))
        assert record is not None
        services.store.write(replace(record, allowed_ips=("203.0.113.0/24",)))
        assert status("/v2/client-ids", {HEADER: ["203.0.113.7:443"]}, **key) == 200
        assert status("/v2/client-ids", {HEADER: ["198.51.100.7:443"]}, **key) == 403
        assert status("/v2/client-ids", {HEADER: ["203.0.113.7, 198.51.100.7"]}, **key) == 403
        assert status("/v2/client-ids", {}, **key) == 403
        created = sent("/v2/client-ids", {HEADER: ["203.0.113.7"]}, **key, **{"content-type": "application/json"})
        created |= {"httpMethod": "POST", "body": '{"label": "shop", "allowedDomains": ["https://shop.example"]}'}
        created["requestContext"]["httpMethod"] = "POST"
        assert app(created, LambdaContext("api_handler", 1024))["statusCode"] == 201
        entries = services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=new_shop.account_id))
        assert "203.0.113.7" in {each.ip_address for each in entries if each.action == "client_id.created"}


def test_visitors_of_the_payment_page_are_counted_by_the_named_address(new_shop: Shop, configured: Configured) -> None:
    with behind_proxy(configured):
        event = {**sent("/pages/qr.svg", {HEADER: ["203.0.113.7"]}), "multiValueQueryStringParameters": {"step": ["page"]}}
        other = {**event, "multiValueHeaders": {HEADER: ["203.0.113.8"]}}
        context = LambdaContext("api_handler", 1024)
        answers = [app(event, context)["statusCode"] for _ in range(21)]
        assert (answers[:20], answers[20]) == ([404] * 20, 429)
        assert app(other, context)["statusCode"] == 404
