"""`/mcp` over HTTP: who may call it, what it refuses, and both eras of the protocol, by hand-written messages."""

import http.client
import json
from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.agents.messages import HANDSHAKE_VERSIONS, VERSIONS
from tests.fakes.world import PAYEE
from tests.support.api import Configured, stop_time
from tests.support.client import Reply, Shop, item
from tests.support.patience import patience
from tests.support.tenants import Tenant

(MODERN,) = VERSIONS
LAST = HANDSHAKE_VERSIONS[-1]
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def post(shop: Shop, message: Any, headers: Mapping[str, str] | None = None, method: str = "POST") -> Reply:
    """The response to a message, or to bytes; with the shop's API key unless `headers` has other credentials."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    own = {} if headers and ("x-client-id" in headers or "none" in headers) else shop.by_key
    sent = {"content-type": "application/json", **own, **{n: v for n, v in (headers or {}).items() if n != "none"}}
    connection = http.client.HTTPConnection("127.0.0.1", shop.api.port, timeout=patience(2))
    try:
        connection.request(method, "/mcp", body, sent)
        response = connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def modern(method: str, header: str | None = None, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A message that names its version, and its headers."""
    named = {"mcp-name": header} if header else {}
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method, **named}
    return {"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": META, **params}}, headers


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_client_of_an_earlier_version_is_answered_in_its_own(shop: Shop, version: str) -> None:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    begun = post(shop, {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params})
    assert (begun.status, begun.json["id"], begun.json["result"]["protocolVersion"]) == (200, 7, version)
    assert "mcp-session-id" not in begun.headers and "resultType" not in begun.json["result"]
    noted = post(shop, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"mcp-protocol-version": version})
    assert (noted.status, noted.body) == (202, b"")
    listed = post(shop, LIST, {"mcp-protocol-version": version})
    assert len(listed.json["result"]["tools"]) == 24
    assert post(shop, {"jsonrpc": "2.0", "id": 1, "method": "ping"}).json["result"] == {}
    assert post(shop, {"jsonrpc": "2.0", "id": 1, "result": {}}).status == 202, "a response, which nobody has asked for"


def test_a_client_of_an_unknown_version_is_offered_the_newest_that_begins_with_initialize(shop: Shop) -> None:
    begun = post(shop, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2031-01-01"}})
    assert begun.json["result"]["protocolVersion"] == LAST


def test_a_message_that_names_its_version_needs_nothing_before(shop: Shop) -> None:
    found = post(shop, *modern("server/discover")).json["result"]
    assert found["supportedVersions"] == [MODERN, *HANDSHAKE_VERSIONS]
    assert (found["resultType"], found["cacheScope"]) == ("complete", "private")
    listed = post(shop, *modern("tools/list")).json["result"]
    assert listed["resultType"] == "complete" and listed["ttlMs"] > 0
    called = post(shop, *modern("tools/call", "list_requests", name="list_requests", arguments={"limit": 1}))
    assert (called.status, called.json["result"]["isError"]) == (200, False)


WRONG = {
    "no JSON": (b"{", {}, 400, -32700),
    "nested": (b"[" * 100_000, {}, 400, -32700),
    "a batch": ([LIST, LIST], {}, 400, -32600),
    "an empty batch": ([], {}, 400, -32600),
    "a text": ("x", {}, 400, -32600),
    "no version of JSON-RPC": ({"id": 1, "method": "ping"}, {}, 400, -32600),
    "no method": ({"jsonrpc": "2.0", "id": 1}, {}, 400, -32600),
    "an id that is null": ({**LIST, "id": None}, {}, 400, -32600),
    "an id that is true": ({**LIST, "id": True}, {}, 400, -32600),
    "params in a list": ({**LIST, "params": []}, {}, 400, -32602),
    "an unknown version": (LIST, {"mcp-protocol-version": "1999-01-01"}, 400, -32022),
    "an unknown method": ({**LIST, "method": "prompts/list"}, {}, 200, -32601),
    "an unknown tool": ({**LIST, "method": "tools/call", "params": {"name": "rm"}}, {}, 200, -32602),
    "no name of a tool": ({**LIST, "method": "tools/call", "params": {"name": 1}}, {}, 200, -32602),
    "arguments in a list": (
        {**LIST, "method": "tools/call", "params": {"name": "list_requests", "arguments": [1]}}, {}, 200, -32602
    ),
    "no _meta": (LIST, {"mcp-protocol-version": MODERN}, 400, -32602),
    "no capabilities": (
        {**LIST, "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}}, modern("tools/list")[1], 400, -32602
    ),
    "no header": (modern("tools/list")[0], {}, 400, -32020),
    "another method in the header": (modern("tools/list")[0], modern("server/discover")[1], 400, -32020),
    "another name in the header": (
        modern("tools/call", name="list_requests")[0], modern("tools/call", "create_request")[1], 400, -32020
    ),
    "a name in the header that is no base64": (
        modern("tools/call", name="list_requests")[0], modern("tools/call", "=?base64?%%?=")[1], 400, -32020
    ),
    "a newer version": (
        {**LIST, "params": {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}}},
        {**modern("tools/list")[1], "mcp-protocol-version": "2031-01-01"}, 400, -32022,
    ),
    "an unknown method of the newer version": (*modern("prompts/list"), 404, -32601),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_message_is_refused_by_its_code(shop: Shop, name: str) -> None:
    message, headers, status, code = WRONG[name]
    found = post(shop, message, headers)
    assert (found.status, found.json["error"]["code"]) == (status, code), found.json
    assert found.json["jsonrpc"] == "2.0" and found.json["error"]["message"]
    if code == -32022:
        assert MODERN in found.json["error"]["data"]["supported"]


def test_a_tool_whose_name_is_sent_in_base64_is_called(shop: Shop) -> None:
    message, headers = modern("tools/call", "=?base64?bGlzdF9yZXF1ZXN0cw==?=", name="list_requests")
    assert post(shop, message, headers).json["result"]["isError"] is False


def test_a_client_id_alone_a_wrong_key_and_no_credential_are_refused_in_words(shop: Shop) -> None:
    alone = post(shop, LIST, {"x-client-id": shop.client_id})
    assert (alone.status, alone.message) == (403, "A client id is public, so it calls no tools: send an API key as x-api-key")
    assert post(shop, LIST, {"x-api-key": "key_wrong"}).status == 401
    assert post(shop, LIST, {"none": ""}).status == 401
    assert post(shop, LIST, {"none": "", "authorization": "Bearer x"}).status == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1", "http://localhost:6274"])
def test_a_page_of_another_site_calls_nothing_even_with_a_key(shop: Shop, origin: str) -> None:
    refused = post(shop, LIST, {"origin": origin})
    assert (refused.status, refused.message) == (403, "Pages of other sites call no tools: agents send no Origin")
    assert "access-control-allow-origin" not in refused.headers


def test_a_body_that_is_too_large_or_no_json_by_its_type_is_refused(shop: Shop) -> None:
    large = post(shop, json.dumps({**LIST, "params": {"x": "x" * 2**20}}).encode())
    assert (large.status, large.json["error"]) == (413, "Request Entity Too Large")
    assert post(shop, LIST, {"content-type": "text/plain"}).status == 415


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_and_no_session(shop: Shop, method: str) -> None:
    refused = post(shop, LIST, method=method)
    assert (refused.status, refused.headers["allow"]) == (405, "OPTIONS, POST")


def test_calls_of_tools_are_counted_as_those_of_the_operation(new_shop: Shop, configured: Configured) -> None:
    def left() -> int:
        return int(new_shop.api.get("/v2/currencies", new_shop.by_key).headers["ratelimit-remaining"])

    with configured(RATE_LIMIT_SCALE="1000"):
        stop_time()  # so that all calls are in one window
        before = left()
        arguments = {**item(), "idempotencyKey": "one"}

        def call(**more: str) -> Any:
            params = {"name": "create_request", "arguments": {**arguments, **more}}
            return post(new_shop, {**LIST, "method": "tools/call", "params": params}).json["result"]

        confirmation = call()["structuredContent"]["confirmation"]
        first, again = call(confirmation=confirmation), call(confirmation=confirmation)
        assert first["structuredContent"] == again["structuredContent"], "once for each idempotency key"
        assert before - left() == 4, "a message each, and the question itself"
    listed = new_shop.api.get("/v2/request", new_shop.by_key).json["requests"]
    assert len(listed) == 1


def test_the_tools_of_a_test_key_act_in_its_sandbox(shop: Shop) -> None:
    tenant = Tenant()
    key, live = tenant.by_test_key(), tenant.by_key()

    def call(tool: str, **arguments: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = post(shop, message, key)
        assert answer.status == 200, answer.body
        return answer.json["result"]

    currencies = {"invoiceCurrency": "USDC-base", "paymentCurrency": "USDC-base"}
    owed = {"payee": PAYEE, "amount": "5", **currencies, "idempotencyKey": "a"}
    confirmation = call("create_request", **owed)["structuredContent"]["confirmation"]
    made = call("create_request", **owed, confirmation=confirmation)["structuredContent"]
    path = f"/v2/request/{made['requestId']}/status"
    assert (shop.api.get(path, key).status, shop.api.get(path, live).status) == (200, 404)
    refused = call("list_recurring_payouts")
    assert refused["isError"] and "not available in test mode" in refused["content"][0]["text"]
