"""Receipts: what they say of payments, that anybody verifies them, and that nobody makes one up."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jwt
import pytest

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.base.money import BaseUnits
from chalicelib.books.receipts import flows
from chalicelib.books.receipts.schemas import Receipt
from chalicelib.pages.flows import MOST_RECEIPTS
from chalicelib.payments.links.reading import Viewer, load
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests.records import Request
from chalicelib.webhooks.signature_keys import flows as signature_keys
from tests.docs.documents import DOCS
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.world import START, WALLET, World
from tests.sandbox.test_api import link
from tests.support.browser import get
from tests.support.client import Api, Shop, item
from tests.support.items import payout
from tests.support.opened import by_session
from tests.support.running import running
from tests.support.stored_transfers import store_payment_of
from tests.support.tenants import Tenant

OTHER_KEY = base64.urlsafe_b64encode(bytes(32)).rstrip(b"=").decode()


def read_example() -> Callable[[str, Any], Any]:
    """The program of docs/requests.md."""
    example: dict[str, Any] = {}
    exec(DOCS["requests"].blocks("python")[0], example)
    program: Callable[[str, Any], Any] = example["read_receipt"]
    return program


def receipt_of(world: World, request: Request) -> Receipt:
    paid = flows.find_paid(world.services, request.request_id, Viewer(world.account_id, world.client_id))
    return Receipt.of(paid, "https://api.example", world.now, is_test=False)


def signed_in_test_mode(api: Api) -> tuple[Any, Any, str]:
    """A receipt of a request that is paid in test mode, the keys of the service, and the token of its link."""
    tenant = Tenant()
    key = tenant.by_test_key()
    token = link(api, key, amount="12.50")
    (request,) = api.get("/v2/request?limit=1", key).json["requests"]
    early = api.get(f"/v2/request/{request['requestId']}/receipt", key)
    assert (early.status, early.message.partition(" of ")[0]) == (409, "Nothing was paid")
    assert api.request("POST", "/v2/test/pay", {"token": token}, key).status == 201
    reply = api.get(f"/v2/request/{request['requestId']}/receipt", key)
    assert reply.status == 200, reply.json
    assert api.get(f"/v2/request/{request['requestId']}/receipt", Tenant().by_key()).status == 404
    return reply.json, api.get("/.well-known/jwks.json", {}).json, token


def test_a_receipt_names_each_payment_its_fee_and_what_was_returned(world: World) -> None:
    (request,) = world.create_link(reference="INV-7", fee_percentage="1", fee_address=WALLET).requests
    with pytest.raises(Conflict, match="Nothing was paid"):
        receipt_of(world, request)
    first = world.chain.pay(request, amount=5_000_000, fee=50_000)
    world.scan()
    world.advance(60)
    world.chain.pay(request, amount=7_500_000)
    world.scan()
    receipt = receipt_of(world, request)
    assert (receipt.reference, receipt.status, receipt.currency) == ("INV-7", "paid", "fUSDC-sepolia")
    assert (receipt.requestedAmount, receipt.paidAmount, receipt.refundedAmount) == ("12.5", "12.5", "0")
    assert [(each.amount, each.countedAmount) for each in receipt.payments] == [("5", "5"), ("7.5", "7.5")]
    one = receipt.payments[0].model_dump(exclude_unset=True)
    assert one["transactionUrl"] == f"https://sepolia.etherscan.io/tx/{first['transactionHash']}"
    assert "rate" not in one and one["network"] == "sepolia"
    assert (one["feeAmount"], one["feeAddress"]) == ("0.05", FEE_ADDRESS), "as its network writes addresses"


def test_a_receipt_of_a_converted_payment_has_the_rate_its_source_and_its_time(world: World) -> None:
    (request,) = world.create_link(amount="8").requests
    world.chain.pay(request)
    world.scan()
    paid = flows.find_paid(world.services, request.request_id, Viewer(world.account_id, world.client_id))
    rate = Rate("USD", "fUSDC-sepolia", BaseUnits(4), BaseUnits(5), RateSource.CHAINLINK, START)
    payments = (replace(paid.payments[0], value=BaseUnits(1_000_000_000), rate=rate),)
    converted = replace(paid, request=replace(paid.request, invoice_currency="USD"), payments=payments)
    (payment,) = Receipt.of(converted, "https://api.example", world.now, is_test=False).payments
    assert (payment.amount, payment.countedAmount, payment.currency) == ("8", "10", "fUSDC-sepolia")
    assert (payment.rate.rate, payment.rate.source, payment.rate.at) == ("0.8", "chainlink", "2026-03-15T10:00:00.000Z")


def test_what_a_fork_removed_is_no_payment_of_a_receipt(world: World) -> None:
    (request,) = world.create_link().requests
    world.chain.pay(request)
    world.scan()
    assert len(receipt_of(world, request).payments) == 1
    world.chain.fork(3)
    world.chain.mine(4)
    world.scan()
    with pytest.raises(Conflict, match="Nothing was paid"):
        receipt_of(world, request)


def test_others_find_no_receipt(world: World) -> None:
    (request,) = world.create_link().requests
    world.chain.pay(request)
    world.scan()
    for viewer in (Viewer("another", None), Viewer("another", world.client_id)):
        with pytest.raises(NotFound):
            flows.find_paid(world.services, request.request_id, viewer)


def test_an_unmodified_library_verifies_a_receipt_by_the_published_keys(api: Api) -> None:
    answer, keys, _ = signed_in_test_mode(api)
    header = jwt.get_unverified_header(answer["jws"])
    key = jwt.PyJWKSet.from_dict(keys)[header["kid"]]
    document = jwt.PyJWS(algorithms=["EdDSA"]).decode(answer["jws"], key, algorithms=["EdDSA"])
    assert json.loads(document) == answer["receipt"]
    assert (header["alg"], header["typ"], answer["receipt"]["isTest"]) == ("EdDSA", "receipt+json", True)
    with pytest.raises(jwt.InvalidTokenError, match="no receipt of a payment"):
        read_example()(answer["jws"], keys)


def test_a_receipt_names_the_merchant_as_its_account_says(api: Api) -> None:
    tenant = Tenant()
    settings = {"businessName": "Café <b>Müller</b>", "businessAddress": "Weg 1\n10115 Berlin", "taxId": "DE123"}
    session = by_session(tenant.account_id)
    changed = api.request("PUT", "/v1/account", settings, session)
    assert changed.status == 200 and settings.items() <= changed.json.items()
    key = tenant.by_test_key()
    token = link(api, key)
    api.request("POST", "/v2/test/pay", {"token": token}, key)
    shown = get(api, f"/pages/receipt.json?token={token}").json["receipts"][0]["receipt"]["merchant"]
    assert shown == {"name": "Café <b>Müller</b>", "address": "Weg 1\n10115 Berlin", "taxId": "DE123"}
    assert api.request("PUT", "/v1/account", {"taxId": None}, session).json["taxId"] is None
    for wrong in ("", "  ", "x" * 501, 7, "a\u0000b"):
        reply = api.request("PUT", "/v1/account", {"businessName": wrong}, session)
        assert reply.status == 400, (wrong, reply.json)


def test_the_payer_has_the_receipts_of_a_link_as_a_file(api: Api) -> None:
    answer, keys, token = signed_in_test_mode(api)
    reply = get(api, f"/pages/receipt.json?token={token}")
    (found,) = reply.json["receipts"]
    assert {**found["receipt"], "issuedAt": ""} == {**answer["receipt"], "issuedAt": ""}
    key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(found["jws"])["kid"]]
    document = jwt.PyJWS(algorithms=["EdDSA"]).decode(found["jws"], key, algorithms=["EdDSA"])
    assert json.loads(document) == found["receipt"]
    assert reply.headers["content-disposition"] == 'attachment; filename="receipt.json"'
    assert (reply.headers["cache-control"], reply.headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_the_file_of_a_multicall_has_the_receipts_of_its_children_that_were_paid(api: Api, shop: Shop) -> None:
    children = [shop.send("POST", "/v2/secure-payments/payouts", payout()).json["token"] for _ in range(3)]
    parent = shop.send("POST", "/v2/secure-payments/multicall-payouts", {"childTokens": children}).json["token"]
    loaded = [load(running(), each) for each in children[:2]]
    paid = [request for each in loaded if each for request in each.requests]
    for each in paid:
        store_payment_of(each, each.amount)
    found = get(api, f"/pages/receipt.json?token={parent}").json["receipts"]
    assert {each["receipt"]["requestId"] for each in found} == {each.request_id for each in paid} and len(paid) == 2


def test_without_a_link_or_a_payment_there_is_no_file(api: Api, shop: Shop) -> None:
    unpaid, many = shop.create().json["token"], shop.link(*[item()] * (MOST_RECEIPTS + 1))
    for token, status in (("", 404), ("nothing", 404), ("test_x", 404), (unpaid, 409), (many, 409)):
        assert get(api, f"/pages/receipt.json?token={token}").status == status, token


def test_the_program_of_the_documents_takes_nothing_but_what_was_signed(world: World) -> None:
    read = read_example()
    signed = signature_keys.sign_document(world.services, b'{"isTest":false,"paidAmount":"1"}', "receipt+json")
    (key,) = signature_keys.list_published(world.services)
    keys = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": key.public_key, "kid": key.key_id, "use": "sig"}]}
    assert read(signed, keys) == {"isTest": False, "paidAmount": "1"}
    header, document, signature = signed.split(".")
    more = base64.urlsafe_b64encode(b'{"isTest":false,"paidAmount":"9"}').rstrip(b"=").decode()
    unsigned = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": key.key_id, "typ": "receipt+json"}).encode())
    other = signature_keys.sign_document(world.services, base64.urlsafe_b64decode(document + "=="), "statement+json")
    hostile = [
        f"{header}.{more}.{signature}",
        f"{header}.{document}.{signature[:-4]}AAAA",
        f"{header}.{document}.",
        f"{unsigned.rstrip(b'=').decode()}.{document}.",
        other,
    ]
    for each in hostile:
        with pytest.raises(jwt.PyJWTError):
            read(each, keys)
    with pytest.raises(jwt.PyJWTError):
        read(signed, {"keys": [{**keys["keys"][0], "x": OTHER_KEY}]})
    with pytest.raises(KeyError):
        read(signed, {"keys": [{**keys["keys"][0], "kid": "another"}]})


def test_an_old_receipt_is_verified_after_the_key_was_replaced(world: World) -> None:
    old = signature_keys.sign_document(world.services, b'{"isTest":false}', "receipt+json")
    signature_keys.rotate(world.services, at_once=False)
    world.advance(400 * 86_400)
    new = signature_keys.sign_document(world.services, b'{"isTest":false}', "receipt+json")
    published = signature_keys.list_published(world.services)
    keys = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": each.public_key, "kid": each.key_id} for each in published]}
    assert jwt.get_unverified_header(old)["kid"] != jwt.get_unverified_header(new)["kid"]
    assert read_example()(old, keys) == read_example()(new, keys) == {"isTest": False}


def test_a_shop_reads_its_receipt_by_reference_too(shop: Shop) -> None:
    made = shop.create(reference="INV-1").json
    reply = shop.api.get(f"/v2/request/{made['requestIds'][0]}/receipt", shop.by_client)
    assert reply.status == 409
    assert shop.api.get("/v2/request/nothing/receipt", shop.by_key).status == 404
