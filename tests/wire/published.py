"""The interface that existing clients were written against: example bodies and queries, and the shapes of answers.

`published.json` holds them by operation, the shapes as JSON schemas; answers may have more fields. Beyond what is
declared it requires the fields that all known clients read, and has those that were added later. Where the declared
schema is out of date it says what is really sent: the names of a batch's transactions, the number 0 for the value of
token transactions, and wallet facts that are absent where no wallet is given.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

_PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())

READ_REQUEST = "GET /v2/request/{requestId}"


def bodies(operation: str) -> dict[str, Any]:
    """The example bodies of an operation, such as `POST /v2/request`, by their names."""
    found: dict[str, Any] = _PUBLISHED[operation]["bodies"]
    return found


def query(operation: str) -> dict[str, str]:
    """The example values of an operation's query parameters, by their names."""
    found: dict[str, str] = _PUBLISHED[operation]["query"]
    return found


def assert_fits(operation: str, answer: Any) -> None:
    """Asserts that clients can read the answer; `operation` may be `error` or `validation error`."""
    found = _validator(operation).iter_errors(answer)
    problems = [f"{'.'.join(map(str, each.path))}: {each.message}" for each in found]
    assert not problems, problems


@cache
def _validator(operation: str) -> Draft202012Validator:
    return Draft202012Validator({**_PUBLISHED[operation]["answer"], "$defs": _PUBLISHED["$defs"]})
