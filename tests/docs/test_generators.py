"""The configurations of generated clients in docs/api.md are those with which the tests pay."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCENARIOS = {
    "`openapi-python-client`": "scenario.py",
    "`@hey-api/openapi-ts`": "scenario.ts",
    "`openapi-typescript`": "openapi_typescript.ts",
    "`orval`": "orval.ts",
    "`openapi-generator`, Python": "openapi_generator.py",
    "`openapi-generator`, `typescript-fetch`": "typescript_fetch.ts",
}
TABLE = (ROOT / "docs/api.md").read_text().split("| Client of | Configuration |")[1].split("\n\n")[0]
ROWS = dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", TABLE, re.MULTILINE))


def test_every_generator_that_is_tried_is_in_the_table() -> None:
    assert ROWS.keys() == SCENARIOS.keys()


@pytest.mark.parametrize("client", SCENARIOS)
def test_a_configuration_is_the_one_that_is_tried(client: str) -> None:
    assert ROWS[client] in (ROOT / "tests/local/clients" / SCENARIOS[client]).read_text()
