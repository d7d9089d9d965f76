"""Requests that fit an operation's schema in the OpenAPI document or do not, generated: no answer contradicts it.

`make rehearsal` sends a few to each operation, `make fuzz` many more, with each kind of credential.
"""

import json
import os
from typing import Any

import pytest

from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.platform.http.generated import run
from tests.platform.http.refusals import REFUSALS
from tests.support.client import Api
from tests.support.examples import accepted_ways, is_barred
from tests.support.tenants import Way

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
"""Random requests for each operation and kind of credential; 0 for a few with one kind of credential."""
OTHER_PATHS = ("_by_session", "_by_former_path", "_status")
"""The ends of the names of operations that are others by another path or credential."""
DOCUMENT: dict[str, Any] = json.loads(document(OPENAPI, "http://api.test"))
BY_NAME = {known.name: known for known in OPERATIONS}


def ways_of(known: Operation) -> list[Way]:
    """The kinds of credentials that are sent: all of them, or for a short run one, another for each operation.

    The short run leaves out operations of the auth host that have the schemas of one on the API host.
    """
    ways = [way for way in accepted_ways(known) if not is_barred(known, way)]
    if EXAMPLES:
        return ways
    return [] if known.name.endswith(OTHER_PATHS) else [ways[len(known.name) % len(ways)]]


@pytest.fixture(autouse=True)
def new_tables(api: Api) -> None:
    clear_tables()


@pytest.mark.parametrize(
    ("name", "way"),
    [(known.name, way) for known in OPERATIONS for way in ways_of(known)],
    ids=lambda value: getattr(value, "name", value),
)
def test_generated_requests_find_nothing(api: Api, name: str, way: Way) -> None:
    result = run(api, DOCUMENT, BY_NAME[name], way, EXAMPLES or 4)
    assert not result.findings, "\n\n".join(result.findings[:10])


def test_every_listed_refusal_belongs_to_an_operation() -> None:
    assert REFUSALS.keys() <= BY_NAME.keys()
