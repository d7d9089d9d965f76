"""Completes the examples of the OpenAPI document: responses that are missing or have other fields now are written to the
file that ANSWERS names, which infra/documents/api.py reads.

    make docs     # after a new operation, or new fields of a response

The body and query of an example are written by hand into docs/operations/<folder of chalicelib>.json.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.platform.http.operation import OPERATIONS
from infra.documents.api import read_document
from infra.documents.operations import answers_in, examples, examples_file
from tests.support.client import Api
from tests.support.examples import EXAMPLES, documented, headers_for, prepared
from tests.support.tenants import WAYS, Tenant

HOSTS = {
    "http://api.test": "https://payments.example.com",
    "http://auth.test": "https://auth.example.com",
    "http://pay.test": "https://pay.example.com",
    "auth.test": "auth.example.com",
}


KNOWN = answers_in(read_document())


def shape(value: Any) -> Any:
    """The fields of a JSON value, and of the first entry of each list."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, Any]]:
    """The responses to write, by the names of their operations."""
    found = dict[str, Any]()
    yield found
    Path(os.environ["ANSWERS"]).write_text(json.dumps(found))


@pytest.mark.parametrize("known", OPERATIONS, ids=lambda known: known.name)
def record(api: Api, known: Any, answers: dict[str, Any]) -> None:
    way = next(way for way in WAYS[1:] + WAYS[:1] if any(mode in known.modes for mode in way.serves))
    tenant = Tenant()
    headers = headers_for(known, tenant, way)
    sent = prepared(known, tenant, way)
    reply = sent.send(api, headers)
    assert reply.status == known.status, (EXAMPLES[known.method, known.path], reply.body)
    before = KNOWN.get(known.name)
    if before is None or (not known.name.startswith("openapi") and shape(before) != shape(reply.json)):
        answers[known.name] = public(reply.json)
        made = {"path": sent.path, "query": sent.query, "body": sent.body, **documented(known)}
        kept = examples(OPERATIONS[known])
        kept[known.name] = {name: value for name, value in made.items() if value}
        texts = {name: example for name, example in kept.items() if example}
        examples_file(OPERATIONS[known]).write_text(json.dumps(texts, indent=2, ensure_ascii=False) + "\n")


def public(value: Any) -> Any:
    text = json.dumps(value)
    for host, shown in HOSTS.items():
        text = text.replace(host, shown)
    return json.loads(text)

