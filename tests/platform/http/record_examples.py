"""Completes the examples of the OpenAPI document: what is missing or has other fields now is written as it was answered.

    make docs     # after a new operation, or new fields of a response

The body and query of an example are written by hand into docs/operations/<folder of chalicelib>.json.
"""

import json
from typing import Any

import pytest

from chalicelib.platform.http.operation import OPERATIONS
from infra.documents.operations import examples, examples_file
from tests.support.client import Api
from tests.support.examples import EXAMPLES, documented, headers_for, prepared
from tests.support.tenants import WAYS, Tenant

HOSTS = {
    "http://api.test": "https://api.example.com",
    "http://auth.test": "https://auth.example.com",
    "http://pay.test": "https://pay.example.com",
    "auth.test": "auth.example.com",
}


def shape(value: Any) -> Any:
    """The fields of a JSON value, and of the first entry of each list."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


@pytest.mark.parametrize("known", OPERATIONS, ids=lambda known: known.name)
def record(api: Api, known: Any) -> None:
    way = next(way for way in WAYS[1:] + WAYS[:1] if any(mode in known.modes for mode in way.serves))
    tenant = Tenant()
    headers = headers_for(known, tenant, way)
    sent = prepared(known, tenant, way)
    reply = sent.send(api, headers)
    assert reply.status == known.status, (EXAMPLES[known.method, known.path], reply.body)
    shown = documented(known)
    if not known.name.startswith("openapi") and ("answer" not in shown or shape(shown["answer"]) != shape(reply.json)):
        made = {"path": sent.path, "query": sent.query, "body": sent.body, **shown, "answer": public(reply.json)}
        kept = examples(OPERATIONS[known])
        kept[known.name] = {name: value for name, value in made.items() if value or name == "answer"}
        examples_file(OPERATIONS[known]).write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


def public(value: Any) -> Any:
    text = json.dumps(value)
    for host, shown in HOSTS.items():
        text = text.replace(host, shown)
    return json.loads(text)

