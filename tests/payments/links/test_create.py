"""POST /v2/secure-payments: both forms of an item, every field up to its limit, native coins and contracts."""

import json
import re
from typing import Any

import pytest

from chalicelib.base.addresses import tron_address_of
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.payments.links import reading
from chalicelib.payments.links.records import PaymentType
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.support.client import Shop, item, stored
from tests.support.items import DESTINATION, ETH_SEPOLIA_HASH, FEE, TRON_PAYEE, by_destination, native, refused, tron
from tests.support.node import Node
from tests.support.running import running

ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
REQUEST_ID = re.compile(r"01[0-9a-f]{64}")


def test_the_answer_has_the_documented_formats(shop: Shop) -> None:
    reply = shop.create()
    assert reply.status == 201
    body = reply.json
    assert set(body) == {"requestIds", "securePaymentUrl", "token", "feePlan"}
    (request_id,) = body["requestIds"]
    assert REQUEST_ID.fullmatch(request_id)
    assert ULID.fullmatch(body["token"])
    assert body["securePaymentUrl"] == f"http://pay.test/?token={body['token']}"
    assert body["feePlan"]["grossAmountUsd"] == "12.5"


def test_creating_writes_a_link_a_request_and_what_leads_to_it_and_sends_nothing(shop: Shop) -> None:
    """By its reference leads one record, by its id another."""
    before = stored()
    shop.link()
    assert stored() == {**before, "payments": before["payments"] + 4}


def test_a_link_says_when_it_ends_and_a_time_that_is_over_is_refused(shop: Shop) -> None:
    body = {"requests": [item()], "expiresAt": "2099-12-31T12:00:00Z"}
    token = shop.api.request("POST", "/v2/secure-payments", body, shop.by_key).json["token"]
    assert shop.get(f"/v2/secure-payments/{token}").json["expiresAt"] == "2099-12-31T12:00:00.000Z"
    before = stored()
    refusals = {
        "2020-01-01T00:00:00Z": "must be in the future",
        "tomorrow": "must be an instant",
        "2099-12-31T12:00:00Z": "with a client ID alone",
    }
    for expires_at, sentence in refusals.items():
        reply = shop.create(expiresAt=expires_at)
        assert (reply.status, sentence in reply.message) == (400, True)
    assert stored() == before


def test_no_two_links_share_an_id(shop: Shop) -> None:
    bodies = [shop.create().json for _ in range(5)]
    assert len({body["token"] for body in bodies}) == 5
    assert len({body["requestIds"][0] for body in bodies}) == 5


def test_both_forms_of_an_item_name_the_same_payment(shop: Shop) -> None:
    links = [
        shop.get(f"/v2/secure-payments/{shop.link(form)}").json for form in (item(), by_destination())
    ]
    varying = {"requestIds", "paymentReference", "createdAt", "expiresAt"}
    assert links[0].keys() == links[1].keys()
    assert all(links[0][name] == links[1][name] for name in links[0].keys() - varying)
    assert links[0]["destination"]["destinationId"] == DESTINATION


@pytest.mark.parametrize(
    "id",
    [
        DESTINATION.lower(),
        re.sub(r"#[0-9A-F]{8}", "", DESTINATION),
    ],
    ids=["lower-case", "without checksum"],
)
def test_other_spellings_of_a_destination_are_normalised(shop: Shop, id: str) -> None:
    token = shop.link(by_destination(id))
    assert shop.get(f"/v2/secure-payments/{token}").json["destination"]["destinationId"] == DESTINATION


def test_a_native_coin_is_named_by_its_id_or_by_its_hash(shop: Shop) -> None:
    id = destination_id(Destination(PAYEE, 11155111, ETH_SEPOLIA_HASH))
    for form in (native(), by_destination(id, "0.5")):
        body = shop.get(f"/v2/secure-payments/{shop.link(form)}").json
        assert (body["paymentCurrency"], body["isNativeCurrency"], body["amount"]) == (
            "ETH-sepolia-sepolia",
            True,
            "0.5",
        )
        assert body["destination"]["tokenAddress"] == ETH_SEPOLIA_HASH


@pytest.mark.parametrize("currency", ["USDC-sepolia", "fUSDC-sepolia"])
def test_currencies_may_be_named_by_their_aliases(shop: Shop, currency: str) -> None:
    token = shop.link(item(invoiceCurrency=currency, paymentCurrency="fUSDC-sepolia"))
    assert shop.get(f"/v2/secure-payments/{token}").json["paymentCurrency"] == "fUSDC-sepolia"


def test_a_payee_may_come_in_lower_case(shop: Shop) -> None:
    token = shop.link(item(payee=PAYEE.lower()))
    assert shop.get(f"/v2/secure-payments/{token}").json["payee"] == PAYEE


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("10", "10"),
        ("25.50", "25.5"),
        ("0.000001", "0.000001"),
        ("12.500000", "12.5"),
        ("99999999999999999999999", "99999999999999999999999"),
    ],
)
def test_amounts_are_decimal_text_up_to_the_tokens_decimals(shop: Shop, amount: str, shown: str) -> None:
    token = shop.link(item(amount=amount))
    assert shop.get(f"/v2/secure-payments/{token}").json["amount"] == shown


@pytest.mark.parametrize("percentage", ["0", "0.0", "1", "2.5", "99.999999999999999999", "100", "100.0"])
def test_fees_go_from_nothing_to_everything(shop: Shop, percentage: str) -> None:
    assert shop.create(feePercentage=percentage, feeAddress=FEE_ADDRESS).status == 201


def test_a_fee_address_alone_costs_nothing(shop: Shop) -> None:
    assert shop.create(feeAddress=FEE_ADDRESS).status == 201


@pytest.mark.parametrize("field", ["reference", "payerIdentifier"])
@pytest.mark.parametrize("text", ["x", "x" * 255, "\U0001f4b8" * 255, "<b>\"'&\n"])
def test_texts_of_up_to_255_characters_are_kept(shop: Shop, field: str, text: str) -> None:
    token = shop.link(**{field: text})
    if field == "reference":
        assert shop.get(f"/v2/secure-payments/{token}").json["reference"] == text


def test_an_empty_reference_or_name_of_the_payer_is_none(shop: Shop) -> None:
    token = shop.link(item(), reference="", payerIdentifier="")
    found = reading.load(running(), token)
    assert found is not None
    assert (found.link.reference, found.link.payer_identifier) == (None, None)


def test_optional_fields_may_be_null(shop: Shop) -> None:
    empty = dict.fromkeys(
        ("feePercentage", "feeAddress", "reference", "payerIdentifier", "redirectUrl", "redirectLabel")
    )
    token = shop.link({**item(), "destinationId": None}, **empty)
    body = shop.get(f"/v2/secure-payments/{token}").json
    assert (body["reference"], body["redirectUrl"], body["redirectLabel"]) == (None, None, None)


@pytest.mark.parametrize(
    "url",
    ["https://shop.example", "http://shop.example/thanks?a=1&b=%20#x", "HTTPS://shop.example:8443/"],
)
def test_a_redirect_goes_to_http_or_https_with_a_default_label(shop: Shop, url: str) -> None:
    body = shop.get(f"/v2/secure-payments/{shop.link(redirectUrl=url)}").json
    assert (body["redirectUrl"], body["redirectLabel"]) == (url, "Go Back and Close")


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://b\u00fccher.example/stra\u00dfe", "https://xn--bcher-kva.example/stra%C3%9Fe"),
        ("https://[2001:DB8:0::1]:8443/a", "https://[2001:db8::1]:8443/a"),
        ("http://shop.example/\u65e5\u672c?a=\u00fc#\u00e9", "http://shop.example/%E6%97%A5%E6%9C%AC?a=%C3%BC#%C3%A9"),
    ],
    ids=["an international name", "an IPv6 address", "a path in another script"],
)
def test_a_redirect_in_any_script_is_kept_in_ascii(shop: Shop, url: str, kept: str) -> None:
    token = shop.link(redirectUrl=url)
    assert shop.get(f"/v2/secure-payments/{token}").json["redirectUrl"] == kept


@pytest.mark.parametrize("label", ["x", "Zurück zum Shop!", "x" * 255, "日本" * 127 + "語"])
def test_a_redirect_label_is_shown_as_given(shop: Shop, label: str) -> None:
    token = shop.link(redirectUrl="https://shop.example", redirectLabel=label)
    assert shop.get(f"/v2/secure-payments/{token}").json["redirectLabel"] == label


def test_unknown_keys_are_ignored_at_every_level(shop: Shop) -> None:
    reply = shop.create({**item(), "colour": {"deep": [1]}}, colour="blue")
    assert reply.status == 201


@pytest.mark.parametrize("policy", [{}, {"mode": "off"}, {"mode": "inherit", "hideUntilApproved": False}], ids=str)
def test_an_access_policy_that_restricts_nobody_is_taken(shop: Shop, policy: dict[str, Any]) -> None:
    assert shop.create(accessPolicy=policy).status == 201


def test_a_link_made_with_an_api_key_belongs_to_the_account(shop: Shop) -> None:
    reply = shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, shop.by_key)
    assert shop.get(f"/v2/secure-payments/{reply.json['token']}").status == 200


# --- batches and Tron ---


def test_several_items_are_one_batch_of_as_many_requests(shop: Shop) -> None:
    before = stored()
    reply = shop.create(item(), native(), by_destination(amount="7"), **FEE)
    assert reply.status == 201, reply.json
    assert len(set(reply.json["requestIds"])) == 3
    assert stored() == {**before, "payments": before["payments"] + 1 + 3 * 3}
    payment = reading.load(running(), reply.json["token"])
    assert payment is not None and payment.link.payment_type is PaymentType.BATCH
    assert [(r.currency, r.amount, r.position) for r in payment.requests] == [
        ("fUSDC-sepolia", 12_500_000, 0),
        ("ETH-sepolia-sepolia", 5 * 10**17, 1),
        ("fUSDC-sepolia", 7_000_000, 2),
    ]
    assert [r.request_id for r in payment.requests] == reply.json["requestIds"]
    assert len({r.payment_reference for r in payment.requests}) == 3


def test_a_batch_that_takes_several_transactions_has_its_items_in_their_order(shop: Shop) -> None:
    reply = shop.create(*(item(amount=str(number)) for number in range(1, 41)))
    assert reply.status == 201, reply.json
    payment = reading.load(running(), reply.json["token"])
    assert payment is not None
    assert [r.amount for r in payment.requests] == [number * 10**6 for number in range(1, 41)]
    assert [r.request_id for r in payment.requests] == reply.json["requestIds"]


def test_one_item_is_single_on_tron_too_with_a_fee_to_a_tron_address(shop: Shop) -> None:
    fee_address = tron_address_of(b"\x11" * 20)
    reply = shop.create(tron(), feePercentage="1", feeAddress=fee_address)
    assert reply.status == 201, reply.json
    payment = reading.load(running(), reply.json["token"])
    assert payment is not None and payment.link.payment_type is PaymentType.SINGLE
    assert (payment.requests[0].payee, payment.requests[0].network) == (TRON_PAYEE, "tron")
    assert payment.link.fee_address == fee_address
    assert reply.json["feePlan"]["fees"][0]["destinationRef"] == {"tronAddress": fee_address}


# --- native coins and contracts ---


@pytest.mark.usefixtures("nothing_written")
def test_a_native_fee_to_a_contract_is_refused_as_every_payment_would_revert(shop: Shop, node: Node) -> None:
    node.contracts = {FEE_ADDRESS.lower()}
    refused(shop.create(native(), **FEE), "feeAddress", "contract")


def test_a_contract_may_take_a_fee_in_a_token_or_no_fee_at_all(shop: Shop, node: Node) -> None:
    node.contracts = {FEE_ADDRESS.lower()}
    assert shop.create(item(), **FEE).status == 201
    assert shop.create(native(), feePercentage="0", feeAddress=FEE_ADDRESS).status == 201


def test_a_native_fee_to_a_wallet_is_accepted(shop: Shop, node: Node) -> None:
    assert shop.create(native(), **FEE).status == 201
    assert node.asked == ["eth_getCode"]


@pytest.mark.usefixtures("nothing_written")
def test_a_native_fee_is_not_accepted_unseen_when_the_node_is_down(shop: Shop, node: Node) -> None:
    node.status = 500
    reply = shop.create(native(), **FEE)
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")


def test_the_fee_address_of_a_batch_is_looked_at_once(shop: Shop, node: Node) -> None:
    assert shop.create(*[native()] * 5, item(), **FEE).status == 201
    assert node.asked == ["eth_getCode"]


def test_no_node_is_asked_where_none_has_to_be(shop: Shop, node: Node) -> None:
    shop.link(item(), **FEE)
    shop.link(native())
    assert node.asked == []


def test_the_errors_are_one_json_object_a_line_in_the_log(shop: Shop) -> None:
    shop.create(item(amount="0"))
    shop.create(item(invoiceCurrency="x" * 5000))
    lines = shop.api.log_lines()
    assert [line["status"] for line in lines] == [400, 400]
    assert all(len(json.dumps(line)) < 2000 for line in lines)
