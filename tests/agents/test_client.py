"""The unmodified `mcp` client calls the tools, in both eras of the protocol, over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from chalicelib.accounts.api_keys.flows import create_api_key
from chalicelib.agents.tools import NAMES
from chalicelib.platform.access.audit.records import Actor
from tests.support.client import Shop, item
from tests.support.patience import patience
from tests.support.running import running

MODES = ["auto", "legacy"]
WANTED = {**item(), "reference": "ORDER-1"}


def scoped_key(shop: Shop, *scopes: str) -> str:
    """A key of the shop with these scopes alone."""
    actor = Actor(shop.account_id, "test", "203.0.113.7", "request-1")
    return create_api_key(running(), actor, {"label": "scoped", "scopes": scopes})[1]


def run(shop: Shop, mode: Any, act: Callable[[Client], Awaitable[Any]], key: str = "") -> Any:
    """What an agent does with the tools of a shop."""

    async def connected() -> Any:
        async with httpx2.AsyncClient(headers={"x-api-key": key or shop.key}, timeout=patience(2)) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{shop.api.port}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                return await act(client)

    return asyncio.run(connected())


async def confirm(client: Client, tool: str, arguments: dict[str, Any]) -> Any:
    """Calls a tool that changes something: first it says what it would do."""
    explained = await client.call_tool(tool, arguments)
    assert not explained.is_error and "Nothing was done yet" in explained.content[0].text
    return await client.call_tool(tool, {**arguments, "confirmation": explained.structured_content["confirmation"]})


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_creates_a_request_and_reads_it(shop: Shop, mode: str) -> None:
    async def act(client: Client) -> None:
        listed = await client.list_tools()
        assert [each.name for each in listed.tools] == list(NAMES)
        key = str(uuid4())
        before = await client.call_tool("list_requests", {})
        explained = await client.call_tool("create_request", {**WANTED, "idempotencyKey": key})
        assert explained.structured_content["wouldDo"] == "POST /v2/request"
        assert (await client.call_tool("list_requests", {})).structured_content == before.structured_content
        created = await confirm(client, "create_request", {**WANTED, "idempotencyKey": key})
        assert not created.is_error, created
        request_id = created.structured_content["requestId"]
        again = await confirm(client, "create_request", {**WANTED, "idempotencyKey": key})
        assert again.structured_content["requestId"] == request_id, "once for each key"
        read = await client.call_tool("read_request", {"request_id": request_id})
        assert (read.structured_content["status"], read.structured_content["reference"]) == ("created", "ORDER-1")
        await confirm(client, "cancel_request", {"request_id": request_id, "idempotencyKey": str(uuid4())})
        read = await client.call_tool("read_request", {"request_id": request_id})
        assert read.structured_content["status"] == "cancelled"

    run(shop, mode, act)


@pytest.mark.parametrize("mode", MODES)
def test_what_the_service_refuses_is_the_result_of_a_tool_in_its_words(new_shop: Shop, mode: str) -> None:
    async def act(client: Client) -> list[Any]:
        unkeyed = await client.call_tool("create_request", WANTED)
        without = {name: value for name, value in WANTED.items() if name != "amount"}
        incomplete = await client.call_tool("create_request", {**without, "idempotencyKey": "a"})
        negative = await confirm(client, "create_request", {**WANTED, "amount": "-1", "idempotencyKey": "a"})
        unknown = await client.call_tool("read_request", {"request_id": "01" + "ab" * 32})
        explained = await client.call_tool("create_request", {**WANTED, "idempotencyKey": "b"})
        confirmation = explained.structured_content["confirmation"]
        other = {**WANTED, "amount": "99", "idempotencyKey": "b", "confirmation": confirmation}
        changed = await client.call_tool("create_request", other)
        misspelt = await client.call_tool("read_request", {"requestId": "01"})
        with pytest.raises(MCPError, match="There is no such tool"):
            await client.session.call_tool("delete_everything", {})
        return [unkeyed, incomplete, negative, unknown, changed, misspelt]

    found = run(new_shop, mode, act)
    assert all(each.is_error for each in found)
    texts = [each.content[0].text for each in found]
    for text, words in zip(
        texts,
        (
            "idempotencyKey is required", "amount is required", "amount", "not found",
            "This confirmation is not that of", "has no argument requestId",
        ),
        strict=True,
    ):
        assert words in text, text
    assert new_shop.api.get("/v2/request", new_shop.by_key).json["requests"] == []


def test_a_key_sees_and_calls_the_tools_of_its_scopes(shop: Shop) -> None:
    key = scoped_key(shop, "requests:read")

    async def act(client: Client) -> Any:
        listed = await client.list_tools()
        refused = await client.call_tool("create_request", {**WANTED, "idempotencyKey": "a"})
        return {each.name for each in listed.tools}, refused

    names, refused = run(shop, "auto", act, key)
    assert {"read_request", "list_requests"} <= names and not {"create_request", "list_webhooks"} & names
    assert refused.is_error and "requests:write" in refused.content[0].text
