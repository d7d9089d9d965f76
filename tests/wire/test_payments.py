"""Payments and conversion routes as existing clients find them: every documented query, in the published shapes."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.base.timestamps import iso
from tests.fakes.world import WALLET
from tests.wire.conftest import Client
from tests.wire.published import assert_fits, query
from tests.wire.test_requests import CUSTOMER, IN_ETHER, created, pay

SEARCH, ROUTES = "GET /v2/payments", "GET /v2/currencies/{currencyId}/conversion-routes"


@pytest.fixture
def tx_hash(client: Client) -> str:
    """The hash of a payment of 50 dollars in fUSDC, to a request with a customer. One in ether was made before."""
    pay(client, created(client, IN_ETHER))
    request_id = created(client, CUSTOMER)
    client.get(f"/v2/request/{request_id}/pay")
    return client.paid(request_id, 50_000_000, fee=500_000)


def search(client: Client, filters: str) -> Any:
    answer = client.get(f"/v2/payments?{filters}")
    assert_fits(SEARCH, answer)
    return answer


def test_by_transaction(client: Client, tx_hash: str) -> None:
    """A direct payment's rate is absent and not null, as clients that check the answer do not take null."""
    answer = search(client, f"txHash={tx_hash}")
    (found,) = answer["payments"]
    assert (found["sourceTxHash"], found["type"], found["currency"], found["paymentCurrency"]) == (
        tx_hash,
        "conversion",
        "USD",
        "fUSDC",
    )
    assert found["rateProvider"] in ("chainlink", "coingecko")
    assert (found["request"]["hasBeenPaid"], found["request"]["customerInfo"]) == (True, CUSTOMER["customerInfo"])
    assert found["request"]["reference"] == CUSTOMER["reference"]
    assert answer["pagination"].items() >= {"total": 1, "limit": 20, "offset": 0, "hasMore": False}.items()
    (fee,) = found["fees"]
    assert (fee["type"], fee["amount"], fee["currency"]) == ("platform", "0.5", "fUSDC")


def test_by_wallet_and_dates(client: Client, tx_hash: str) -> None:
    first, last = (iso(client.world.now + timedelta(days=days)) for days in (-1, 1))
    answer = search(client, f"walletAddress={IN_ETHER['payee']}&fromDate={first}&toDate={last}")
    assert [each["paymentCurrency"] for each in answer["payments"]] == ["fUSDC", "ETH-sepolia"]
    assert search(client, f"walletAddress={WALLET}&fromDate={first}&toDate={first}")["payments"] == []


def test_by_reference(client: Client, tx_hash: str) -> None:
    for filters in (
        f"reference={CUSTOMER['reference']}",
        "type=conversion&paymentCurrency=fUSDC",
        "invoiceCurrency=USD&limit=1",
    ):
        (found,) = search(client, filters)["payments"]
        assert found["sourceTxHash"] == tx_hash
    assert search(client, "invoiceCurrency=USD&limit=1")["pagination"]["hasMore"] is True


@pytest.mark.parametrize("name", query(SEARCH))
def test_every_documented_parameter_is_taken(client: Client, name: str) -> None:
    assert search(client, urlencode({"type": "recurring", name: query(SEARCH)[name]}))["payments"] == []


def test_all_documented_filters_are_taken_together(client: Client) -> None:
    assert (
        search(client, urlencode(query(SEARCH)))["pagination"].items() >= {"total": 0, "limit": 20, "offset": 0}.items()
    )


def test_dates_in_the_wrong_order(client: Client) -> None:
    dates = "fromDate=2024-02-01T00:00:00.000Z&toDate=2024-01-31T23:59:59.999Z"
    answer = client.get(f"/v2/payments?type=direct&{dates}", 400)
    assert_fits("validation error", answer)
    assert (answer["statusCode"], answer["message"]) == (400, "Validation failed")
    assert answer["errors"] == [{"field": "toDate", "message": "toDate must be after or equal to fromDate"}]


def test_without_a_credential(client: Client) -> None:
    reply = client.shop.api.get("/v2/payments?type=direct")
    assert_fits("error", reply.json)
    assert reply.json == {"statusCode": 401, "message": "Unauthorized", "error": "Unauthorized"}


@pytest.mark.parametrize(
    ("networks", "outer", "some"),
    [
        ("?network=mainnet", {"currencyId": "USD", "network": "mainnet"}, {"USDT-mainnet", "ETH-mainnet"}),
        ("", {"currencyId": "USD", "network": None}, {"USDT-mainnet", "FAU-sepolia"}),
        ("?networks=mainnet,polygon", {"currencyId": "USD", "networks": ["mainnet", "polygon"]}, {"USDT-mainnet"}),
    ],
)
def test_documented_conversion_routes(client: Client, networks: str, outer: dict[str, Any], some: set[str]) -> None:
    """Ours have the way, too."""
    answer = client.get(f"/v2/currencies/USD/conversion-routes{networks}")
    assert_fits(ROUTES, answer)
    routes = answer.pop("conversionRoutes")
    assert answer == outer
    assert some <= {each["id"] for each in routes}
    for route in routes:
        way = route.pop("way")
        assert way in ("direct", "on_chain", "quoted")
        listed = client.get(f"/v2/currencies?id={route['id']}")
        assert route == listed
        assert ("hash" in route) != (route["type"] == "TRC20"), "which is absent for Tron's tokens"


def test_every_documented_body_is_paid_in_a_listed_currency(client: Client) -> None:
    listed = {each["id"] for each in client.get("/v2/currencies/USD/conversion-routes")["conversionRoutes"]}
    assert {"ETH-sepolia-sepolia", "FAU-sepolia", "fUSDC-sepolia"} <= listed


def test_an_unknown_currency_is_not_found(client: Client) -> None:
    answer = client.get("/v2/currencies/NOPE/conversion-routes", 404)
    assert_fits("error", answer)
    assert answer == {"statusCode": 404, "message": "Token not found", "error": "Not Found"}
