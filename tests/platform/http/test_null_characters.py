"""U+0000 in each text of each operation, by the document: 400 with the field's name, and nothing is written."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.platform.http.test_matrix import named
from tests.platform.http.test_own_accounts import fields_of, with_value
from tests.support.client import Api, Reply, item, stored
from tests.support.examples import Prepared, accepted_ways, headers_for, is_barred, prepared
from tests.support.tenants import Tenant

DOCUMENT: dict[str, Any] = json.loads(document(OPENAPI, "http://api.test"))
DOCUMENTED = {each["operationId"]: each for methods in DOCUMENT["paths"].values() for each in methods.values()}
ZERO = "a\0b"
IN_OTHER_WORDS = {"receive_event"}
"""Which the provider's servers call: every event that is not in its form is refused in the same words."""


def places(known: Operation) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Where a text of the operation stands: in its body, query or path."""
    documented = DOCUMENTED[known.name]
    schema = documented.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    yield from dict.fromkeys(("body", path) for path, _ in fields_of(schema) if path)
    yield from (("query", (each["name"],)) for each in documented.get("parameters", ()) if each["in"] == "query")
    yield from (("path", (each["name"],)) for each in documented.get("parameters", ()) if each["in"] == "path")


def sent(api: Api, known: Operation, own: Prepared, headers: Any, place: str, path: tuple[str | int, ...]) -> Reply:
    if place == "body":
        return replace(own, body=with_value(own.body, path, ZERO)).send(api, headers)
    return replace(own, **{place: {**getattr(own, place), path[0]: ZERO}}).send(api, headers)


@pytest.mark.parametrize("known", OPERATIONS, ids=named)
def test_the_character_zero_is_refused_in_each_text(api: Api, known: Operation) -> None:
    clear_tables()
    tenant = Tenant()
    way = next(each for each in accepted_ways(known) if not is_barred(known, each))
    headers = headers_for(known, tenant, way)
    own = prepared(known, tenant, way)
    before = stored()
    for place, path in places(known):
        reply = sent(api, known, own, headers, place, path)
        field = ".".join(map(str, path))
        if known.name in IN_OTHER_WORDS:
            assert reply.status in (400, 403) and stored() == before
            continue
        assert reply.status == 400 and "must not contain the character U+0000" in str(reply.json), reply.body
        assert f"'{field}'" in str(reply.json) or f"{field} must" in str(reply.json), reply.body
        assert stored() == before, (place, path)


@pytest.mark.parametrize("name", ["origin", "user-agent", "x-api-key", "idempotency-key"])
def test_the_character_zero_is_refused_in_each_header(api: Api, name: str) -> None:
    """Of a client id without domains the Origin is kept, whatever it is, and told of in events."""
    tenant = Tenant()
    headers = {**tenant.by_key(), name: ZERO}
    before = stored()
    for method, body in (("POST", {"requests": [item()]}), ("GET", None)):
        reply = api.request(method, "/v2/secure-payments", body, headers)
        assert (reply.status, reply.message) == (400, f"The header {name} must not contain the character U+0000")
    assert stored() == before


def test_other_control_characters_are_kept_as_they_were_sent(api: Api) -> None:
    tenant = Tenant()
    text = "".join(map(chr, (*range(1, 32), *range(127, 160), 0x2028, 0x202E, 0xFEFF)))
    made = api.request("POST", "/v2/secure-payments", {"requests": [item()], "reference": text}, tenant.by_key())
    assert made.status == 201, made.body
    listed = api.get(f"/v2/secure-payments?{urlencode({'reference': text})}", tenant.by_key())
    assert listed.json["securePayments"][0]["reference"] == text
