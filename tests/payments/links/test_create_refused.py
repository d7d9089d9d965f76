"""POST /v2/secure-payments: what is refused, in which words, and that nothing of it is written."""

import re
from typing import Any

import pytest

from chalicelib.base.addresses import tron_address_of
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.chains.catalogue.interop import Destination, destination_id
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.support.api import Configured
from tests.support.client import ORIGIN, Shop, item, stored
from tests.support.items import DESTINATION, FEE, FUSDC, MISCASED, TRON_PAYEE, ZERO, by_destination, refused, tron
from tests.support.running import running


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    "amount",
    ["0", "0.0", "-1", "+1", "1e3", "1E3", "NaN", "Infinity", "", " ", "1 ", " 1", "1,000.50", "1_000", ".5", "5.", "05"]
    + ["0x10", "١٢", "1.2.3", "ten", "12.5000001", "1" * 80, "0." + "0" * 80 + "1", "1" * 78, "9" * 100_000],
    ids=lambda amount: repr(amount[:12]),
)
def test_an_amount_that_is_no_plain_sum_of_the_token_is_refused(shop: Shop, amount: str) -> None:
    refused(shop.create(item(amount=amount)), "requests.0.amount")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("amount", [12, 12.5, True, [], {}, ["1"]], ids=str)
def test_an_amount_that_is_no_text_is_refused(shop: Shop, amount: Any) -> None:
    refused(shop.create(item(amount=amount)), "requests.0.amount", "must be a string")


@pytest.mark.usefixtures("nothing_written")
def test_a_missing_amount_is_named(shop: Shop) -> None:
    refused(shop.create(item(amount=None)), "requests.0.amount", "is required")


@pytest.mark.usefixtures("nothing_written")
def test_an_amount_whose_fee_makes_it_overflow_is_refused(shop: Shop) -> None:
    largest = str(2**256 - 1)
    amount = f"{largest[:-6]}.{largest[-6:]}"
    refused(shop.create(item(amount=amount), **FEE), "requests.0.amount")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    "percentage", ["100.01", "101", "-1", "abc", "", "1%", "1e1", "NaN", "0.1234567890123456789", "1" * 5000]
)
def test_a_fee_outside_0_to_100_is_refused(shop: Shop, percentage: str) -> None:
    refused(shop.create(feePercentage=percentage, feeAddress=FEE_ADDRESS), "feePercentage", "0 to 100")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("percentage", [1, 2.5, True, [], {}], ids=str)
def test_a_fee_that_is_no_text_is_refused(shop: Shop, percentage: Any) -> None:
    refused(shop.create(feePercentage=percentage, feeAddress=FEE_ADDRESS), "feePercentage", "must be a string")


@pytest.mark.usefixtures("nothing_written")
def test_a_fee_needs_an_address(shop: Shop) -> None:
    refused(shop.create(feePercentage="1"), "feeAddress", "required")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("address", [ZERO, "", "0x", "0x1234", FEE_ADDRESS + "00", MISCASED, TRON_PAYEE, "shop"])
def test_a_fee_address_that_cannot_receive_is_refused(shop: Shop, address: str) -> None:
    refused(shop.create(feePercentage="1", feeAddress=address), "feeAddress")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    "payee", ["0x", "0x1234", PAYEE[2:], PAYEE + "0", PAYEE.replace("0x", "0X"), TRON_PAYEE, "shop", PAYEE + "\n"]
)
def test_a_payee_that_is_no_evm_address_is_refused(shop: Shop, payee: str) -> None:
    refused(shop.create(item(payee=payee)), "requests.0.payee", "Invalid EVM address")


@pytest.mark.usefixtures("nothing_written")
def test_a_payee_with_a_wrong_checksum_is_refused(shop: Shop) -> None:
    refused(shop.create(item(payee=MISCASED)), "requests.0.payee", "EIP-55")


@pytest.mark.usefixtures("nothing_written")
def test_the_zero_address_as_payee_is_refused_in_both_forms(shop: Shop) -> None:
    refused(shop.create(item(payee=ZERO)), "zero address")
    refused(shop.create(by_destination(DESTINATION.replace(PAYEE, ZERO).replace("#5AB3182D", ""))), "zero address")


@pytest.mark.usefixtures("nothing_written")
def test_contracts_that_keep_what_they_are_sent_are_refused_as_payee_and_for_fees(shop: Shop) -> None:
    proxy, batch = address_of(ERC20_FEE_PROXY, "sepolia"), address_of(TRON_BATCH, "tron")
    refused(shop.create(item(), item(payee=proxy)), "requests.1.payee", "is the contract of ERC20FeeProxy")
    refused(shop.create(by_destination(DESTINATION.replace(PAYEE, proxy).replace("#5AB3182D", ""))), "destinationId")
    refused(shop.create(item(), feePercentage="1", feeAddress=proxy), "feeAddress", "is the contract of ERC20FeeProxy")
    refused(shop.create(tron(payee=batch)), "payee", "is the contract of ERC20BatchPayments")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("field", ["invoiceCurrency", "paymentCurrency"])
@pytest.mark.parametrize("currency", ["NOPE-sepolia", "USDC", "sepolia", "-", "x" * 5000])
def test_an_unknown_currency_is_named(shop: Shop, field: str, currency: str) -> None:
    message = refused(shop.create(item(**{field: currency})), currency[:40], "/v2/currencies")
    assert len(message) < 300


@pytest.mark.usefixtures("nothing_written")
def test_fiat_cannot_be_paid_on_a_chain(shop: Shop) -> None:
    refused(shop.create(item(invoiceCurrency="USD", paymentCurrency="USD")), "USD")


@pytest.mark.usefixtures("nothing_written")
def test_two_different_tokens_need_a_conversion_that_is_not_offered(shop: Shop) -> None:
    message = refused(shop.create(item(paymentCurrency="FAU-sepolia")))
    assert message == (
        "requests.0.invoiceCurrency fUSDC-sepolia cannot be paid in FAU-sepolia here; "
        "GET /v2/currencies/fUSDC-sepolia/conversion-routes lists the currencies in which it can"
    )


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("missing", ["payee", "invoiceCurrency", "paymentCurrency"])
@pytest.mark.parametrize("how", [None, ""])
def test_an_incomplete_item_says_what_it_needs(shop: Shop, missing: str, how: str | None) -> None:
    refused(shop.create(item(**{missing: how})), "requests.0", "payee, invoiceCurrency and paymentCurrency")


@pytest.mark.usefixtures("nothing_written")
def test_an_amount_alone_needs_a_bound_destination(shop: Shop) -> None:
    refused(shop.create({"amount": "10"}), "requests.0", "destinationId")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("field", ["payee", "invoiceCurrency", "paymentCurrency"])
def test_both_forms_at_once_are_refused(shop: Shop, field: str) -> None:
    refused(shop.create({**by_destination(), field: item()[field]}), "not both")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    "id",
    [
        "",
        ":",
        "nonsense",
        PAYEE,
        f"{PAYEE}@eip155:11155111",
        f"{PAYEE}:{FUSDC}",
        f"{PAYEE}@eip155:0:{FUSDC}",
        f"{PAYEE}@eip155:11155111#xyz:{FUSDC}",
        f"{PAYEE}@eip155:11155111#5ab3182g:{FUSDC}",
        f"{PAYEE}@solana:101:{FUSDC}",
        f"{MISCASED}@eip155:11155111:{FUSDC}",
        f"{PAYEE}@eip155:11155111:0x1234",
        f"{PAYEE}@eip155:11155111:",
        f"{TRON_PAYEE}@eip155:11155111:{FUSDC}",
        f"{PAYEE}@eip155:{'9' * 5000}:{FUSDC}",
        DESTINATION + " ",
    ],
    ids=lambda id: repr(id[-30:]),
)
def test_a_malformed_destination_is_refused_in_the_documented_words(shop: Shop, id: str) -> None:
    assert refused(shop.create(by_destination(id))) == "Invalid destination ID format"


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("place", [f"eip155:43114:{FUSDC}", f"eip155:11155111:{PAYEE}", f"eip155:1:{FUSDC}"])
def test_a_destination_on_an_unknown_chain_or_token_is_refused(shop: Shop, place: str) -> None:
    refused(shop.create(by_destination(f"{PAYEE}@{place}")), "destinationId", "/v2/currencies")


WRONG_CHECKSUM = re.sub(r"#[0-9A-F]{8}", "#A1B2C3D4", DESTINATION)


def test_a_wrong_checksum_of_a_destination_is_accepted_by_default(shop: Shop) -> None:
    token = shop.link(by_destination(WRONG_CHECKSUM))
    assert shop.get(f"/v2/secure-payments/{token}").json["destination"]["destinationId"] == DESTINATION


def test_a_wrong_checksum_is_refused_where_the_setting_is_strict(shop: Shop, configured: Configured) -> None:
    with configured(INTEROP_CHECKSUM="strict"):
        before = stored()
        assert refused(shop.create(by_destination(WRONG_CHECKSUM))) == "Invalid destination ID format"
        assert stored() == before
        assert shop.create(by_destination()).status == 201


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("items", [[tron(), tron()], [tron(), item()], [item(), tron()]])
def test_a_batch_on_tron_is_refused_in_the_documented_words(shop: Shop, items: list[Any]) -> None:
    reply = shop.create(*items)
    assert refused(reply) == "Batch payments are not supported for TRON networks"
    assert reply.json["advice"] == "Make one link for each of them"


@pytest.mark.usefixtures("nothing_written")
def test_a_network_without_a_node_is_refused_as_nobody_would_see_the_payment(shop: Shop) -> None:
    refused(shop.create(item(invoiceCurrency="USDC-bsc", paymentCurrency="USDC-bsc")), "bsc")


@pytest.mark.usefixtures("nothing_written")
def test_a_batch_on_several_networks_is_refused_naming_them(shop: Shop) -> None:
    on_base = item(invoiceCurrency="USDC-base", paymentCurrency="USDC-base")
    refused(shop.create(item(), on_base, item()), "one network", "sepolia, base")


@pytest.mark.usefixtures("nothing_written")
def test_every_item_that_is_wrong_is_named(shop: Shop) -> None:
    reply = shop.create(item(amount="0"), item(), item(payee=ZERO), item(paymentCurrency="NOPE-sepolia"))
    refused(reply, "requests.0.amount")
    assert reply.json["errors"] == [
        {"field": "requests.0.amount", "message": "must be greater than 0"},
        {"field": "requests.2.payee", "message": "is the zero address: funds sent there are lost"},
        {
            "field": "requests.3.paymentCurrency",
            "message": "Currency NOPE-sepolia is not supported; GET /v2/currencies lists the ids",
        },
    ]


@pytest.mark.usefixtures("nothing_written")
def test_amounts_that_no_contract_could_add_up_are_refused(shop: Shop) -> None:
    large = item(amount=str(2**255 // 10**6))
    refused(shop.create(large, large), "add up")


@pytest.mark.usefixtures("nothing_written")
def test_addresses_of_the_other_family_are_refused_naming_them(shop: Shop) -> None:
    refused(shop.create(tron(payee=PAYEE)), "requests.0.payee", "Invalid Tron address")
    refused(shop.create(tron(), **FEE), "feeAddress", "Invalid Tron address")
    refused(shop.create(tron(payee=tron_address_of(bytes(20)))), "zero address")
    refused(shop.create(tron(), feePercentage="1", feeAddress=tron_address_of(bytes(20))), "feeAddress", "zero address")


def test_a_client_ids_fee_cannot_be_paid_on_a_network_that_its_address_is_not_of(new_shop: Shop) -> None:
    settings = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
    body = {"label": "web", "allowedDomains": [ORIGIN], **settings}
    made = new_shop.api.request("POST", "/v2/client-ids", body, new_shop.by_key).json
    new_shop.by_client["x-client-id"] = made["clientId"]
    before = stored()
    refused(new_shop.create(tron()), "fee of this client ID", FEE_ADDRESS, "tron")
    assert stored() == before
    new_shop.api.request("PUT", f"/v2/client-ids/{made['id']}", {"feePercentage": "0"}, new_shop.by_key)
    assert new_shop.create(tron()).status == 201


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    "policy",
    [{"mode": "kyt_all_wallets"}, {"mode": "on"}, {"hidePayeeAddress": True}, {"allowedPayerAddresses": [PAYEE]}],
    ids=str,
)
def test_an_access_policy_that_would_not_be_kept_is_refused(shop: Shop, policy: dict[str, Any]) -> None:
    refused(shop.create(accessPolicy=policy), "accessPolicy is not offered")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("fields", "hints"),
    [
        ({"requests": None}, ["requests", "must be an array"]),
        ({"requests": []}, ["requests", "at least 1"]),
        ({"requests": {}}, ["requests", "must be an array"]),
        ({"requests": "x"}, ["requests", "must be an array"]),
        ({"requests": [None]}, ["requests.0", "must be an object"]),
        ({"requests": ["x"]}, ["requests.0", "must be an object"]),
        ({"requests": [item()] * 201}, ["requests", "at most 200"]),
        ({"reference": "x" * 256}, ["reference", "at most 255 characters"]),
        ({"reference": 5}, ["reference", "must be a string"]),
        ({"payerIdentifier": "x" * 256}, ["payerIdentifier", "at most 255 characters"]),
        ({"payerIdentifier": {}}, ["payerIdentifier", "must be a string"]),
        ({"redirectUrl": 5}, ["redirectUrl", "must be a string"]),
        ({"feeAddress": 5}, ["feeAddress", "must be a string"]),
        ({"accessPolicy": "off"}, ["accessPolicy", "must be an object"]),
        ({"accessPolicy": {"mode": ["off"]}}, ["accessPolicy.mode", "must be a string"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_field_of_the_wrong_form_is_named(shop: Shop, fields: dict[str, Any], hints: list[str]) -> None:
    reply = shop.send("POST", "/v2/secure-payments", {"requests": [item()], **fields})
    refused(reply, *hints)
    assert reply.json["errors"][0]["field"] == hints[0]


@pytest.mark.usefixtures("nothing_written")
def test_every_wrong_field_is_listed(shop: Shop) -> None:
    reply = shop.create(item(amount=1, payee=2), reference=5, feePercentage=3)
    refused(reply)
    fields = {error["field"] for error in reply.json["errors"]}
    assert fields == {"requests.0.amount", "requests.0.payee", "reference", "feePercentage"}


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript://shop.example/%0aalert(1)",
        "data:text/html,hello",
        "ftp://shop.example",
        "http:shop.example",
        "http://",
        "https:///thanks",
        "https://shop.example ",
        "https://shop.example@evil.example/",
        "https://user:pass@shop.example/",
        "https://shop.example\\@evil.example/",
        "https://shop.example/\\a",
        "https://shop.example:99999/",
        "https://shop.example/\u202egpj.exe",
        "https://shop.example/a\u200bb",
        "https://999.1.1.1/",
        *(f"https://shop.example/{character}" for character in "<>\"'` \t\n\r\x0b\u00a0\u2028"),
    ],
    ids=repr,
)
def test_an_unsafe_redirect_is_refused_in_the_documented_words(shop: Shop, url: str) -> None:
    assert refused(shop.create(redirectUrl=url)) == (
        "redirectUrl must be a safe http(s) URL with no script/HTML payload"
    )


@pytest.mark.usefixtures("nothing_written")
def test_a_redirect_with_the_character_zero_is_refused_by_its_name(shop: Shop) -> None:
    assert refused(shop.create(redirectUrl="https://shop.example/\x00")).startswith("redirectUrl")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("url", ["not a url", "shop.example", "//shop.example", "/thanks", "", " https://shop.example"])
def test_a_redirect_that_is_no_url_is_refused_with_an_example_of_one(shop: Shop, url: str) -> None:
    reply = shop.create(redirectUrl=url)
    message = "must be a complete address that begins with https://, such as https://shop.example/thanks"
    assert refused(reply) == f"redirectUrl {message}"
    assert reply.json["errors"] == [{"field": "redirectUrl", "message": message}]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("label", ["", "x" * 256, *(f"a{character}b" for character in "<>&\"'`")], ids=lambda x: repr(x[:9]))
def test_an_unsafe_or_overlong_label_is_refused(shop: Shop, label: str) -> None:
    refused(shop.create(redirectUrl="https://shop.example", redirectLabel=label), "redirectLabel")


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("url", [{}, {"redirectUrl": None}])
def test_a_label_without_a_url_is_refused_in_the_documented_words(shop: Shop, url: dict[str, None]) -> None:
    reply = shop.create(redirectLabel="Back", **url)
    assert refused(reply) == "redirectLabel cannot be provided without redirectUrl"


@pytest.mark.usefixtures("nothing_written")
def test_an_escrow_that_only_the_setting_names_is_no_payee(shop: Shop) -> None:
    escrow = running().settings.escrow_contracts["sepolia"].escrow
    refused(shop.create(item(payee=escrow)), "requests.0.payee", "is the contract of AuthCaptureEscrow")
    by_id = destination_id(Destination(escrow, 11155111, FUSDC))
    refused(shop.create(by_destination(by_id)), "requests.0.destinationId", "is the contract of AuthCaptureEscrow")
    refused(shop.create(feePercentage="1", feeAddress=escrow), "feeAddress", "is the contract of AuthCaptureEscrow")
