"""What docs/operations says of each operation, and how it is refused when something is missing there."""

import pytest

from chalicelib.platform.http.operation import OPERATIONS
from infra.documents.api import read_document
from infra.documents.openapi import build
from infra.documents.operations import Texts, answers_in, check_names, texts_in, texts_of
from tests.support.running import app

KEYS, FILE = "chalicelib.accounts.api_keys.api", "docs/operations/accounts.toml"
WHOLE = {"summary": "Make a key", "description": "The response\nhas the key.\n"}


def test_an_operation_has_the_texts_of_its_table() -> None:
    assert app.routes
    found = texts_of(KEYS, "revoke_api_key")
    assert found == Texts("Revoke an API key permanently", "Calls with it get 401 from now on.", (404,))


def test_the_lines_of_a_description_are_one_text() -> None:
    assert texts_in({"make": WHOLE}, "make", FILE) == Texts("Make a key", "The response has the key.")


def test_an_operation_can_have_what_another_one_has() -> None:
    tables = {"make": {**WHOLE, "errors": [404]}, "again": {"same_as": "make", "summary": "Make another"}}
    assert texts_in(tables, "again", FILE) == Texts("Make another", "The response has the key.", (404,))


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({}, f"{FILE} has no summary of make: write it below [make]"),
        ({"make": {"summary": "Make a key"}}, f"{FILE} has no description of make: write it below [make]"),
        ({"make": {"same_as": "another"}}, f"{FILE} has no summary of make: write it below [make]"),
        ({"make": {**WHOLE, "error": [404]}}, f"{FILE} says error of make, which nothing reads"),
    ],
    ids=["no table", "no description", "same as nothing", "unknown key"],
)  # fmt: skip
def test_a_text_that_is_missing_is_named_with_its_file(tables: dict[str, dict[str, object]], said: str) -> None:
    with pytest.raises(LookupError) as refused:
        texts_in(tables, "make", FILE)
    assert refused.value.args == (said,)


def test_a_response_that_is_missing_is_named() -> None:
    answers = {name: answer for name, answer in answers_in(read_document()).items() if name != "revoke_api_key"}
    with pytest.raises(LookupError, match=r"^docs/openapi\.json has no response of revoke_api_key: run `make docs`$"):
        build("https://api.example.com", answers)


def test_what_is_said_of_an_operation_that_does_not_exist_is_refused() -> None:
    check_names(OPERATIONS)
    fewer = {known: api for known, api in OPERATIONS.items() if known.name != "revoke_api_key"}
    wanted = r"^docs/operations/accounts\.json has revoke_api_key, which is in no routes\.py of accounts: remove it$"
    with pytest.raises(LookupError, match=wanted):
        check_names(fewer)
