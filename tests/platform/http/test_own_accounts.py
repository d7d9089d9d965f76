"""The service's own accounts are no recipients: each field of each operation that may name one, from the document."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.own_accounts.records import Sender, Senders
from tests.fakes.world import PlainSigningKeys
from tests.support.client import Api
from tests.support.examples import Prepared, accepted_ways, headers_for, is_barred, prepared
from tests.support.running import running
from tests.support.tenants import FUSDC_SEPOLIA, Tenant

DOCUMENT: dict[str, Any] = json.loads(document(OPENAPI, "http://api.test"))
BY_NAME = {known.name: known for known in OPERATIONS}
OWN = PlainSigningKeys.address
OWN_ID = destination_id(Destination(OWN, 11155111, FUSDC_SEPOLIA))
RECIPIENT = "^(?!0x0{40}$)"
"""How the pattern of an address begins to which tokens are sent."""
BESIDE = {"feeAddress": {"feePercentage": "1"}, "feeReceiver": {"feeBps": 100}}
"""What a field needs beside it."""
Path = tuple[str | int, ...]


def fields_of(schema: dict[str, Any], path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The texts of a body, with their places; the first entry stands for each of an array."""
    if (name := schema.get("$ref", "").removeprefix("#/components/schemas/")) != "":
        yield from fields_of(DOCUMENT["components"]["schemas"][name], path)
    for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from fields_of(each, path)
    for name, each in schema.get("properties", {}).items():
        yield from fields_of(each, (*path, name))
    if "items" in schema:
        yield from fields_of(schema["items"], (*path, 0))
    if schema.get("type") == "string":
        yield path, schema


def recipients() -> Iterator[tuple[str, str, Path]]:
    """Operations, where the field is, and its place there."""
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            name = operation["operationId"]
            content = operation.get("requestBody", {}).get("content", {})
            for path, schema in fields_of(content.get("application/json", {}).get("schema", {})):
                if schema.get("pattern", "").startswith(RECIPIENT) or path[:1] + path[-1:] == ("requests", "destinationId"):
                    yield name, "body", path
            for each in operation.get("parameters", ()):
                if each["in"] == "query" and each["name"] == "feeAddress":
                    yield name, "query", (each["name"],)


FURTHER = [("read_signing_data", "query", ("walletAddress",)), ("refund_request", "body", ("to",))]
"""Which have another pattern, as each of their values is of one network."""
PLACES = sorted({*recipients(), *FURTHER}, key=str)


def with_value(found: Any, path: Path, value: str) -> Any:
    """A copy in which a value stands at a place; entries of an array are objects, or the value itself."""
    if not path:
        return value
    if isinstance(path[0], int):
        return [with_value(each, path[1:], value) for each in found or [None]]
    changed = {**(found or {}), path[0]: with_value((found or {}).get(path[0]), path[1:], value)}
    return {**changed, **BESIDE.get(path[0], {})}


def asked(known: Operation, own: Prepared, place: str, path: Path) -> Prepared:
    value = OWN_ID if path[-1] == "destinationId" else OWN
    changed = with_value(getattr(own, place), path, value)
    if path[-1] == "destinationId":
        chosen = {"payee", "invoiceCurrency", "paymentCurrency"}
        changed["requests"] = [{k: v for k, v in each.items() if k not in chosen} for each in changed["requests"]]
    return replace(own, **{place: changed})


@pytest.fixture(autouse=True)
def own_account(api: Api) -> None:
    """The accounts as the relayer's first check after its key was set has written them."""
    services = running()
    services.own_accounts.clear()
    if services.store.get(Senders, Senders.KEY.of()) is None:
        services.store.write(Senders((Sender("sepolia", OWN),)))


@pytest.mark.parametrize(("name", "place", "path"), PLACES, ids=str)
def test_no_field_takes_the_services_own_account_as_a_recipient(api: Api, name: str, place: str, path: Path) -> None:
    known, tenant = BY_NAME[name], Tenant()
    way = next(each for each in accepted_ways(known) if not is_barred(known, each))
    headers = headers_for(known, tenant, way)
    own = prepared(known, tenant, way)
    reply = asked(known, own, place, path).send(api, headers)
    assert reply.status == 400 and "an account of this service, which sends nothing on" in str(reply.json), reply.body
    assert own.send(api, headers).status == known.status, "the example is accepted with another address"


def test_the_fields_are_those_of_all_products() -> None:
    names = {name for name, _, _ in PLACES}
    assert {
        "create_request", "create_secure_payment", "create_payout", "create_payouts", "pay_out", "pay_batch",
        "create_commerce_payment", "capture_commerce_payment", "charge_commerce_payment", "create_client_id",
        "read_signing_data", "pay_request",
    } <= names  # fmt: skip
