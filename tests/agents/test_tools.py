"""The tools are operations that an agent may be given, and say all that these take, in valid JSON Schema."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from chalicelib.agents.confirmations import VALID_FOR, confirmation_of, is_confirmed
from chalicelib.agents.tools import CONFIRMATION, KEY, NAMES, Tool, tools
from chalicelib.platform.access.modes import Mode
from tests.fakes.world import START
from tests.support.running import app

ROOT = Path(__file__).parents[2]
DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text())
TOOLS = tools("https://api.example.com")
assert app, "whose routes are registered"
MOST_BYTES = 150_000
"""Of the list of tools, which a model reads whole."""


@pytest.mark.parametrize("name", NAMES)
def test_no_tool_shows_a_secret_redirects_money_or_sends_a_transaction(name: str) -> None:
    operation = TOOLS[name].operation
    assert (Mode.API_KEY in operation.modes and operation.scope) or operation.path.startswith("/v2/currencies")
    assert not (operation.shows_secret or operation.redirects or operation.executes or operation.needs_presence)
    assert TOOLS[name].is_write == (operation.method != "GET")


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_of_a_tool_are_those_of_its_operation(name: str) -> None:
    tool = TOOLS[name]
    own = (KEY, CONFIRMATION) if tool.is_write else ()
    names = (*tool.path, *tool.query, *tool.body, *own)
    assert len(set(names)) == len(names), "no two have the same name"
    assert set(tool.schema["properties"]) == set(names) and set(tool.schema["required"]) <= set(names)
    assert set(tool.path) <= set(tool.schema["required"])
    Draft202012Validator.check_schema(tool.schema)
    assert "#/components" not in json.dumps(tool.schema)
    assert tool.title and tool.described["description"].startswith(f"{tool.title}.")


def example_of(tool: Tool) -> Any:
    entry = DOCUMENT["paths"][tool.operation.path][tool.operation.method.lower()]
    return entry.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example", {})


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if tool.is_write])
def test_the_example_of_the_operation_fits_the_schema_and_needs_an_idempotency_key(name: str) -> None:
    tool = TOOLS[name]
    example = {**dict.fromkeys(tool.path, "x"), **example_of(tool)}
    validator = Draft202012Validator(tool.schema)
    assert [each.message for each in validator.iter_errors(example)] == [f"{KEY!r} is a required property"]
    assert not list(validator.iter_errors({**example, KEY: "order-1"}))


def test_the_list_of_tools_is_short_enough_to_be_read_whole_and_documented() -> None:
    assert len(json.dumps([each.described for each in TOOLS.values()])) < MOST_BYTES
    table = (ROOT / "docs" / "agents.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in table] == []


def test_a_confirmation_is_of_these_arguments_this_key_and_ten_minutes() -> None:
    given: dict[str, Any] = {"amount": "1", "payee": "é", "list": [1, {"b": 1, "a": 2}]}
    text = confirmation_of("create_request", given, "key", START)
    assert is_confirmed(text, "create_request", given, "key", START + VALID_FOR)
    reordered = dict(reversed(given.items()))
    assert is_confirmed(text, "create_request", reordered, "key", START)
    for tool, arguments, key, now in (
        ("create_link", given, "key", START),
        ("create_request", {**given, "amount": "2"}, "key", START),
        ("create_request", {**given, "amount": 1}, "key", START),
        ("create_request", {**given, "more": None}, "key", START),
        ("create_request", given, "other", START),
        ("create_request", given, "key", START + VALID_FOR + timedelta(seconds=2)),
        ("create_request", given, "key", START - timedelta(minutes=1)),
    ):
        assert not is_confirmed(text, tool, arguments, key, now), (tool, arguments, key, now)
    second, _, digest = text.partition(".")
    for wrong in ("", ".", second, digest, f"{int(second) + 1}.{digest}", f"{second}.{digest}0", "²." + digest, "9" * 99, "é"):
        assert not is_confirmed(wrong, "create_request", given, "key", START), wrong
