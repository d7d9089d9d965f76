"""The documents of the API: what is served is what the code makes for that URL, and the files are read, not made."""

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest

from chalicelib.platform.http.documents import FILES, OPENAPI, OPENAPI_3_0, REFERENCE, document
from infra.documents.api import ROOT, current
from infra.documents.derived import texts_of
from tests.support.browser import get
from tests.support.client import Api

PATHS = {OPENAPI: "/openapi.json", OPENAPI_3_0: "/openapi-3.0.json", REFERENCE: "/docs"}
ANOTHER_URL = "https://payments.example.org/prod"


@pytest.fixture(scope="module")
def made() -> Mapping[str, str]:
    return texts_of(current("http://api.test"))


@pytest.mark.parametrize("name", FILES)
def test_what_is_served_is_what_the_code_makes(api: Api, made: Mapping[str, str], name: str) -> None:
    reply = get(api, PATHS[name])
    assert reply.status == 200
    assert reply.body.decode() == made[name], f"docs/{name} is not what the code says: run `make docs`"


def test_the_url_of_the_stage_is_all_that_varies() -> None:
    assert {name: document(name, ANOTHER_URL) for name in FILES} == texts_of(current(ANOTHER_URL))


SERVED = """
import json, sys
from chalice.test import Client
import app
with Client(app.app) as client:
    for path in {paths}:
        assert client.http.get(path).status_code == 200
print(json.dumps(list(sys.modules)))
"""


def test_serving_them_loads_no_view_and_no_model_of_the_operations() -> None:
    script = SERVED.format(paths=list(PATHS.values()))
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name for name in json.loads(answer.stdout.splitlines()[-1]) if name.startswith("chalicelib.")}
    described = {name for name in loaded if name.endswith((".api", ".schemas"))}
    assert {name.rpartition(".")[0] for name in described} == {document.__module__.rpartition(".")[0]}
