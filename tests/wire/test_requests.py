"""Requests as existing clients send and read them: every documented body and state, in the published shapes."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.wire.conftest import Client
from tests.wire.published import READ_REQUEST, assert_fits, bodies, query

PAY, ROUTES = (f"GET /v2/request/{{requestId}}{rest}" for rest in ("/pay", "/routes"))
CREATED = bodies("POST /v2/request")
IN_ETHER, CUSTOMER = CREATED["regularRequest"], CREATED["requestWithCustomerInfo"]
IN_TOKENS = {"payee": PAYEE, "amount": "12.50", "invoiceCurrency": "FAU-sepolia", "paymentCurrency": "FAU-sepolia"}
UNKNOWN = "01" + "f" * 64


def created(client: Client, body: Any) -> str:
    return str(client.post("/v2/request", body)["requestId"])


def read(client: Client, request_id: str) -> Any:
    answer = client.get(f"/v2/request/{request_id}")
    assert_fits(READ_REQUEST, answer)
    return answer


def pay(client: Client, request_id: str, rest: str = "") -> int:
    """Pays what `/pay` asks for, with its fee, in ether; returns how much that is, without the fee."""
    answer = client.get(f"/v2/request/{request_id}/pay?wallet={WALLET}{rest}")
    assert_fits(PAY, answer)
    data = answer["transactions"][-1]["data"]
    amount, fee = int(answer["transactions"][-1]["value"]["hex"], 16), int(data[10 + 64 * 2 : 10 + 64 * 3], 16)
    client.paid(request_id, amount - fee, fee)
    return amount - fee


@pytest.mark.parametrize("name", ["regularRequest", "requestWithCustomerInfo", "recurringInvoice"])
def test_documented_requests_are_created(client: Client, name: str) -> None:
    answer = client.post("/v2/request", CREATED[name])
    assert_fits("POST /v2/request", answer)
    assert re.fullmatch("01[0-9a-f]{64}", answer["requestId"])
    assert re.fullmatch("0x[0-9a-f]{16}", answer["paymentReference"])
    assert read(client, answer["requestId"]).get("recurrence") == CREATED[name].get("recurrence")


# --- the documented states ---


def test_not_paid(client: Client) -> None:
    answer = read(client, created(client, IN_TOKENS))
    assert (answer["hasBeenPaid"], answer["isListening"], answer["txHash"]) == (False, False, None)


def test_with_customer_info(client: Client) -> None:
    request_id = created(client, CUSTOMER)
    client.get(f"/v2/request/{request_id}/pay")
    answer = read(client, request_id)
    assert (answer["hasBeenPaid"], answer["isListening"], answer["txHash"]) == (False, True, None)
    assert (answer["customerInfo"], answer["reference"]) == (CUSTOMER["customerInfo"], CUSTOMER["reference"])


def test_paid(client: Client) -> None:
    request_id = created(client, IN_TOKENS)
    tx_hash = client.paid(request_id, 125 * 10**17)
    answer = read(client, request_id)
    assert (answer["hasBeenPaid"], answer["isListening"], answer["txHash"]) == (True, False, tx_hash)
    (payment,) = answer["payments"]
    assert (payment["type"], payment["sourceTxHash"]) == ("direct", tx_hash)


def test_unpaid_in_dollars(client: Client) -> None:
    answer = read(client, created(client, IN_ETHER))
    assert (answer["amountInUsd"], answer["conversionRate"], answer["fees"]) == ("10", "2500", [])
    assert answer["rateSource"] in ("chainlink", "coingecko")


def test_paid_in_dollars(client: Client) -> None:
    """The published example lists the gas, too. The payer's gas is not part of a payment, so ours has the fee alone."""
    request_id = created(client, IN_ETHER)
    pay(client, request_id, f"&feePercentage=2&feeAddress={FEE_ADDRESS}")
    answer = read(client, request_id)
    assert (answer["hasBeenPaid"], answer["amountInUsd"], answer["conversionRate"]) == (True, "10", "2500")
    assert answer["rateSource"] in ("chainlink", "coingecko")
    assert answer["fees"] == [
        {"type": "platform", "provider": "service-network", "amount": "0.00008", "currency": "ETH-sepolia"}
    ]


def test_partially_paid_with_breakdown(client: Client) -> None:
    request_id = created(client, IN_ETHER)
    pay(client, request_id, "&amount=7.5")
    client.world.prices.set("ETH", "USD", "2000")
    answer = read(client, request_id)
    assert (answer["hasBeenPaid"], answer["conversionRate"], answer["amountInUsd"]) == (False, None, "10")
    breakdown = answer["conversionBreakdown"]
    assert (breakdown["paidAmount"], breakdown["paidAmountInUsd"]) == ("7.5", "7.5")
    assert (breakdown["remainingAmount"], breakdown["remainingAmountInUsd"]) == ("2.5", "2.5")
    assert (breakdown["currentMarketRate"], breakdown["currentMarketRateSource"]) == ("2000", answer["rateSource"])
    (payment,) = breakdown["payments"]
    assert set(payment) == {"amount", "amountInUsd", "conversionRate", "rateSource", "timestamp"}
    assert (payment["amount"], payment["conversionRate"]) == ("7.5", "2500")


def test_multiple_payments(client: Client) -> None:
    """The published source is "mixed", which it is of payments whose rates are of several sources."""
    request_id = created(client, IN_ETHER)
    first = pay(client, request_id, "&amount=5")
    client.world.advance(600)
    client.world.prices.set("ETH", "USD", "2480.30")
    second = pay(client, request_id)
    assert second > first
    answer = read(client, request_id)
    assert (answer["hasBeenPaid"], answer["conversionRate"], answer["amountInUsd"]) == (True, None, "10")
    breakdown = answer["conversionBreakdown"]
    assert (breakdown["paidAmount"], breakdown["remainingAmount"], breakdown["remainingAmountInUsd"]) == (
        "10",
        "0",
        "0",
    )
    assert not breakdown.keys() & {"currentMarketRate", "currentMarketRateSource"}, "keys that are not known are left out"
    assert [each["amount"] for each in breakdown["payments"]] == ["5", "5"]


# --- changing, paying, routes and lists ---


@pytest.mark.parametrize("name", bodies("PATCH /v2/request/{requestId}"))
def test_documented_changes_are_made(client: Client, name: str) -> None:
    body = bodies("PATCH /v2/request/{requestId}")[name]
    request_id = created(client, CREATED["recurringInvoice"])
    client.call("PATCH", f"/v2/request/{request_id}", body)
    assert read(client, request_id)["isRecurrenceStopped"] == body["isRecurrenceStopped"]


def test_ether_is_paid_in_one_transaction(client: Client) -> None:
    answer = client.get(f"/v2/request/{created(client, IN_ETHER)}/pay?wallet={WALLET}")
    assert_fits(PAY, answer)
    (payment,) = answer["transactions"]
    assert (list(payment), payment["data"][:10]) == (["data", "to", "value"], "0xb868980b")
    assert int(payment["value"]["hex"], 16) == 4 * 10**15
    assert answer["metadata"]["approvalTransactionIndex"] is None
    assert answer["metadata"]["hasEnoughBalance"] is answer["metadata"]["hasEnoughGas"] is True


def test_a_token_is_approved_and_paid(client: Client) -> None:
    answer = client.get(f"/v2/request/{created(client, IN_TOKENS)}/pay?wallet={WALLET}")
    assert_fits(PAY, answer)
    assert [each["data"][:10] for each in answer["transactions"]] == ["0x095ea7b3", "0xc219a14d"]
    assert [each["value"] for each in answer["transactions"]] == [{"type": "BigNumber", "hex": "0x00"}] * 2
    metadata = answer["metadata"]
    assert (metadata["stepsRequired"], metadata["needsApproval"], metadata["approvalTransactionIndex"]) == (2, True, 0)
    assert isinstance(metadata["hasEnoughBalance"], bool) and isinstance(metadata["hasEnoughGas"], bool)


def test_the_documented_query_is_taken(client: Client) -> None:
    request_id = created(client, IN_TOKENS)
    for operation in (PAY, ROUTES):
        path = operation.removeprefix("GET ").format(requestId=request_id)
        assert_fits(operation, client.get(f"{path}?{urlencode(query(operation))}"))


def test_a_wrong_query_names_every_field(client: Client) -> None:
    request_id = created(client, IN_TOKENS)
    answer = client.get(f"/v2/request/{request_id}/pay?wallet=0x12&chain=MOON&token=CASH", 400)
    assert_fits("validation error", answer)
    assert answer["message"] == "Validation failed"
    assert {each["field"] for each in answer["errors"]} == {"wallet", "chain", "token"}


def test_tokens_of_other_networks_are_refused_for_now(client: Client) -> None:
    answer = client.get(f"/v2/request/{created(client, IN_TOKENS)}/pay?chain=BASE&token=USDC", 400)
    assert_fits("error", answer)
    assert answer["message"] == "FAU is not supported in crosschain payment."


def test_the_route_is_the_direct_one(client: Client) -> None:
    payer = f"wallet={WALLET}&feePercentage=2&feeAddress={FEE_ADDRESS}"
    answer = client.get(f"/v2/request/{created(client, IN_TOKENS)}/routes?{payer}")
    assert_fits(ROUTES, answer)
    (route,) = answer["routes"]
    assert (route["id"], route["chain"], route["token"]) == ("REQUEST_NETWORK_PAYMENT", "SEPOLIA", "FAU")
    assert (route["fee"], route["speed"], route["price_impact"]) == (0.02, "FAST", 0)
    assert [each["type"] for each in route["feeBreakdown"]] == ["gas", "platform"]
    assert type(route["feeInUSD"]) is float and route["feeInUSD"] > 0


def test_a_paid_request_has_no_routes(client: Client) -> None:
    request_id = created(client, IN_TOKENS)
    client.paid(request_id, 125 * 10**17)
    answer = client.get(f"/v2/request/{request_id}/routes?wallet={WALLET}")
    assert_fits(ROUTES, answer)
    assert answer["routes"] == []


def test_requests_are_listed(client: Client) -> None:
    made = []
    for body in (IN_ETHER, CUSTOMER):
        made.append(created(client, body))
        client.world.advance(1)
    (linked,) = client.shop.create().json["requestIds"]
    client.paid(made[0], 1)
    answer = client.get("/v2/request?limit=2")
    assert_fits("GET /v2/request", answer)
    assert [each["requestId"] for each in answer["requests"]] == [linked, made[1]]
    assert (answer["pagination"]["total"], answer["pagination"]["limit"], answer["pagination"]["offset"]) == (3, 2, 0)
    by_wallet = client.get(f"/v2/request?walletAddress={IN_ETHER['payee']}&securePaymentFlow=incoming")
    assert_fits("GET /v2/request", by_wallet)
    assert [each["requestId"] for each in by_wallet["requests"]] == made[::-1]


@pytest.mark.parametrize(
    ("method", "rest", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"isRecurrenceStopped": True}),
        ("GET", "/pay", None),
        ("GET", f"/routes?wallet={WALLET}", None),
    ],
)
def test_an_unknown_request_is_not_found(client: Client, method: str, rest: str, body: Any) -> None:
    answer = client.call(method, f"/v2/request/{UNKNOWN}{rest}", body, 404)
    assert_fits("error", answer)
    assert answer["message"] == "Request not found"
