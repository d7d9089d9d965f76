"""POST /v2/secure-payments/fees/preview: the plan that the link would have, made by the same rule."""

from typing import Any

import pytest

from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.support.client import ORIGIN, Shop, item
from tests.support.items import refused
from tests.support.node import Node

PREVIEW = "/v2/secure-payments/fees/preview"


def body(**changes: Any) -> dict[str, Any]:
    return {"amount": "100", "currency": "USDC", "flow": "get_paid", **changes}


@pytest.fixture
def charging(new_shop: Shop) -> Shop:
    """A merchant whose client id has a fee of its own."""
    settings = {"label": "web", "allowedDomains": [ORIGIN], "feePercentage": "2.5", "feeAddress": FEE_ADDRESS}
    made = new_shop.api.request("POST", "/v2/client-ids", settings, new_shop.by_key)
    new_shop.by_client["x-client-id"] = made.json["clientId"]
    return new_shop


def test_a_preview_is_the_plan_that_the_link_then_has(charging: Shop) -> None:
    asked = body(currency="fUSDC-sepolia", amount="12.50")
    preview = charging.send("POST", PREVIEW, asked)
    assert (preview.status, preview.json["payerBorneFeesUsd"]) == (200, "0.3125")
    created = charging.create(item(amount="12.50"), feePercentage="1", feeAddress=FEE_ADDRESS)
    assert created.json["feePlan"] == preview.json
    assert charging.create(item(), item()).json["feePlan"]["totalFeesUsd"] == "0.625"


def test_the_payer_bears_every_fee_whoever_is_asked_for(charging: Shop) -> None:
    plan = charging.send("POST", PREVIEW, body(flow="pay", defaultFeeBearer="payee")).json
    assert (plan["flow"], plan["defaultFeeBearer"], plan["payeeBorneFeesUsd"]) == ("pay", "payee", "0")
    assert (plan["netRecipientAmountUsd"], plan["payerTotalAmountUsd"]) == ("100", "102.5")
    assert [(fee["feeBearer"], fee["feeBearerSource"]) for fee in plan["fees"]] == [("payer", "forced_fee_policy")]


def test_without_a_fee_there_is_a_plan_without_fees(shop: Shop) -> None:
    plan = shop.send("POST", PREVIEW, body()).json
    assert (plan["grossAmountUsd"], plan["payerTotalAmountUsd"], plan["totalFeesUsd"], plan["fees"]) == ("100", "100", "0", [])


def test_what_is_no_dollar_has_no_plan_on_a_link(shop: Shop) -> None:
    currency = "ETH-sepolia-sepolia"
    native = item(amount="1", invoiceCurrency=currency, paymentCurrency=currency)
    assert shop.create(native).json["feePlan"] is None
    assert shop.create(item(), native).json["feePlan"] is None


def test_payees_that_are_contracts_which_send_no_tokens_are_named_and_nothing_is_refused(
    shop: Shop, node: Node
) -> None:
    node.contracts.add(PAYEE.lower())
    asked = body(currency="fUSDC-sepolia", payees=[PAYEE.lower(), FEE_ADDRESS])
    said = f"{PAYEE} is a contract on sepolia whose code sends no tokens on: what is paid to it may be lost"
    reply = shop.api.request("POST", PREVIEW, asked, shop.by_key)
    assert (reply.status, reply.json["warnings"]) == (200, [{"payee": PAYEE, "message": said}])
    node.status = 503
    assert shop.api.request("POST", PREVIEW, asked, shop.by_key).json["warnings"] == []
    assert shop.create(item(payee=PAYEE)).status == 201


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("changes", "hints"),
    [
        ({"payees": [PAYEE]}, ["currency must be an id, such as USDC-base, if there are payees"]),
        ({"payees": ["bob"], "currency": "USDC-base"}, ["payees.0"]),
        ({"payees": [PAYEE], "currency": "USDT-tron"}, ["payees.0"]),
    ],
    ids=["a symbol", "no address", "another network's"],
)
def test_payees_are_addresses_of_the_network_of_the_currency(
    shop: Shop, changes: dict[str, Any], hints: list[str]
) -> None:
    refused(shop.api.request("POST", PREVIEW, body(**changes), shop.by_key), *hints)


def test_a_client_id_alone_asks_nothing_of_payees(shop: Shop, node: Node) -> None:
    reply = shop.send("POST", PREVIEW, body(currency="fUSDC-sepolia", payees=[PAYEE]))
    assert (reply.status, node.asked) == (403, [])
    assert "A client id is public" in reply.json["message"]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("changes", "hints"),
    [
        ({"payees": [PAYEE] * 51, "currency": "USDC-base"}, ["payees"]),
        ({"amount": "0"}, ["amount must be greater than 0"]),
        ({"amount": 5}, ["amount", "must be a string"]),
        ({"amount": "9" * 100_000}, ["amount is too large"]),
        ({"currency": "NOPE"}, ["Currency NOPE", "/v2/currencies"]),
        ({"currency": "x" * 5000}, ["not supported"]),
        ({"currency": ""}, ["currency", "at least 1"]),
        ({"currency": "ETH-mainnet"}, ["ETH-mainnet is not a dollar token"]),
        ({"currency": "USD"}, ["USD is not a dollar token"]),
        ({"flow": "gift"}, ["flow", "get_paid"]),
        ({"defaultFeeBearer": "nobody"}, ["defaultFeeBearer", "payee"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_previewed_is_refused(shop: Shop, changes: dict[str, Any], hints: list[str]) -> None:
    assert len(refused(shop.send("POST", PREVIEW, body(**changes)), *hints)) < 300


def test_a_preview_of_a_network_that_the_client_ids_fee_cannot_reach_says_so(charging: Shop) -> None:
    refused(charging.send("POST", PREVIEW, body(currency="USDT-tron")), "fee of this client ID", "tron")
