"""GET /v2/request/{requestId}: who reads which request, by which name, over HTTP."""

from typing import Any

import pytest

from tests.support.client import Reply, Shop, item
from tests.wire.published import READ_REQUEST, assert_fits

JOHN = {"firstName": "John", "email": "john@shop.example"}


def created(shop: Shop, headers: dict[str, str], **changes: Any) -> Any:
    reply = shop.api.request("POST", "/v2/request", item(**changes), headers)
    assert reply.status == 201, reply.json
    return reply.json


def read(shop: Shop, name: str, headers: dict[str, str]) -> Reply:
    return shop.api.get(f"/v2/request/{name}", headers)


def names_of(made: Any) -> list[str]:
    request_id, reference = made["requestId"], made["paymentReference"]
    return [request_id, reference, request_id.upper(), f"0x{reference[2:].upper()}"]


@pytest.mark.parametrize("by", ["by_key", "by_client"])
def test_a_request_is_read_by_its_id_and_by_its_reference(shop: Shop, by: str) -> None:
    headers = getattr(shop, by)
    made = created(shop, headers, reference="ORDER-1")
    for name in names_of(made):
        for path in (name, f"{name}/status"):
            reply = read(shop, path, headers)
            assert reply.status == 200, reply.json
            assert_fits(READ_REQUEST, reply.json)
            assert (reply.json["requestId"], reply.json["paymentReference"]) == (made["requestId"], made["paymentReference"])
            assert (reply.json["status"], reply.json["reference"]) == ("created", "ORDER-1")


def test_a_request_of_a_link_is_read_too(shop: Shop) -> None:
    (request_id,) = shop.create(reference="INV-1").json["requestIds"]
    answer = read(shop, request_id, shop.by_client).json
    assert_fits(READ_REQUEST, answer)
    assert (answer["requestId"], answer["reference"], answer["isListening"]) == (request_id, "INV-1", True)


def test_customers_are_shown_to_secret_credentials_alone(shop: Shop) -> None:
    made = created(shop, shop.by_client, customerInfo=JOHN)
    assert read(shop, made["requestId"], shop.by_key).json["customerInfo"] == JOHN
    both = {**shop.by_key, **shop.by_client}
    assert read(shop, made["requestId"], both).json["customerInfo"] == JOHN
    for name in names_of(made):
        assert read(shop, name, shop.by_client).json["customerInfo"] is None


def test_a_client_id_reads_its_own_requests_and_those_made_without_one(shop: Shop, new_shop: Shop) -> None:
    mine, without, theirs = (
        created(shop, headers) for headers in (shop.by_client, shop.by_key, new_shop.by_client)
    )
    for made in (mine, without):
        for name in names_of(made):
            assert read(shop, name, shop.by_client).status == 200
    for headers in (shop.by_client, shop.by_key):
        for name in names_of(theirs):
            reply = read(shop, name, headers)
            assert (reply.status, reply.message) == (404, "Request not found")


@pytest.mark.parametrize(
    "name", ["unknown", "0", "01" + "f" * 64, "0x" + "f" * 16, "0x", "%20", "..%2F..", "0x" + "f" * 64, "%F0%9F%98%80"]
)
def test_what_is_no_request_is_not_found(shop: Shop, name: str) -> None:
    for path in (name, f"{name}/status"):
        reply = read(shop, path, shop.by_key)
        assert (reply.status, reply.message) == (404, "Request not found")
    reply = shop.api.request("PATCH", f"/v2/request/{name}", {"isRecurrenceStopped": True}, shop.by_key)
    assert (reply.status, reply.message) == (404, "Request not found")


def test_a_link_is_no_request(shop: Shop) -> None:
    token = shop.link()
    assert read(shop, token, shop.by_key).status == 404


def test_a_request_is_no_link(shop: Shop) -> None:
    made = created(shop, shop.by_key)
    for path in ("", "/pay", "/transfers"):
        assert shop.api.get(f"/v2/secure-payments/{made['requestId']}{path}", shop.by_key).status == 404


def test_nobody_reads_without_a_credential(shop: Shop) -> None:
    made = created(shop, shop.by_key)
    reply = read(shop, made["requestId"], {})
    assert (reply.status, reply.message) == (401, "Unauthorized")
