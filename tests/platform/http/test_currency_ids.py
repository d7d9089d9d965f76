"""A currency's id in another case is the same one, wherever an operation takes it, by the document."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.platform.http.test_matrix import named
from tests.platform.http.test_own_accounts import fields_of
from tests.support.client import Api
from tests.support.examples import accepted_ways, headers_for, is_barred, prepared
from tests.support.tenants import Tenant

DOCUMENT: dict[str, Any] = json.loads(document(OPENAPI, "http://api.test"))
DOCUMENTED = {each["operationId"]: each for methods in DOCUMENT["paths"].values() for each in methods.values()}
Place = tuple[str, tuple[str | int, ...]]
OF_QUERIES = {("find_payments", "invoiceCurrency"), ("find_payments", "paymentCurrency"), ("list_currencies", "id")}
OF_BANKS = {"add_payment_details"}
"""Where a currency is that of a bank account, which the provider knows."""


def places(known: Operation) -> list[Place]:
    """Where an operation takes the id of a currency: in its body, query or path."""
    documented = DOCUMENTED[known.name]
    schema = documented.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    found: list[Place] = [
        ("body", path)
        for path, each in fields_of(schema)
        if each.get("format") == "currency-id" or ("urrency" in str(path[-1]) and known.name not in OF_BANKS)
    ]
    for each in documented.get("parameters", ()):
        if (known.name, each["name"]) in OF_QUERIES or each["name"] == "currency_id":
            found.append((each["in"], (each["name"],)))
    return found


TAKING = {known: found for known in OPERATIONS if (found := places(known))}


def changed(found: Any, path: tuple[str | int, ...], change: Callable[[str], str]) -> Any:
    """A copy with the text at a place changed, if there is one."""
    if not path:
        return change(found) if isinstance(found, str) else found
    if isinstance(path[0], int):
        return [changed(each, path[1:], change) for each in found]
    return {**found, path[0]: changed(found[path[0]], path[1:], change)} if found and path[0] in found else found


@pytest.mark.parametrize("change", [str.upper, str.lower, str.swapcase])
@pytest.mark.parametrize("known", TAKING, ids=named)
def test_a_currency_in_another_case_is_taken(api: Api, known: Operation, change: Callable[[str], str]) -> None:
    clear_tables()
    tenant = Tenant()
    way = next(each for each in accepted_ways(known) if not is_barred(known, each))
    headers = headers_for(known, tenant, way)
    own = prepared(known, tenant, way)
    for place, path in TAKING[known]:
        content = {path[0]: "fUSDC-sepolia"} if place == "query" else getattr(own, place)
        own = replace(own, **{place: changed(content, path, change)})
    reply = own.send(api, headers)
    assert reply.status == known.status, reply.body
