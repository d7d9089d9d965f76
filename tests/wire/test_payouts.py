"""Payouts as existing clients send them, alone and in batches: every documented body, in the published shapes."""

from typing import Any

import pytest

from chalicelib.chains.catalogue.contracts import BATCH, address_of
from tests.checkout.payouts.test_batch import amounts
from tests.fakes.world import WALLET
from tests.wire.conftest import Client
from tests.wire.published import READ_REQUEST, assert_fits, bodies

PAYOUTS, (BATCH_BODY,) = bodies("POST /v2/payouts"), bodies("POST /v2/payouts/batch").values()
SELECTORS = {
    "oneTimePayment": ["0xb868980b"],
    "tronUsdtPayment": ["0x095ea7b3", "0xc219a14d"],
    "erc20Payment": ["0x095ea7b3", "0xc219a14d"],
    "checkoutWidgetPayment": ["0x095ea7b3", "0xc219a14d"],
}


def test_every_documented_body_is_tried() -> None:
    assert {*SELECTORS, "recurringPayment"} == PAYOUTS.keys()


@pytest.mark.parametrize("path", ["/v2/payouts", "/v2/pay"])
@pytest.mark.parametrize("name", SELECTORS)
def test_documented_payouts_are_made(client: Client, name: str, path: str) -> None:
    answer = client.post(path, PAYOUTS[name])
    assert_fits("POST /v2/payouts", answer)
    assert [each["data"][:10] for each in answer["transactions"]] == SELECTORS[name]
    metadata, count = answer["metadata"], len(SELECTORS[name])
    assert (metadata["stepsRequired"], metadata["paymentTransactionIndex"]) == (count, count - 1)
    read = client.get(f"/v2/request/{answer['requestId']}")
    assert_fits(READ_REQUEST, read)
    assert (read["isListening"], read["paymentReference"]) == (True, answer["paymentReference"])


@pytest.mark.parametrize("name", ["oneTimePayment", "erc20Payment"])
def test_with_a_wallet_it_says_what_the_wallet_has(client: Client, name: str) -> None:
    """Without one these facts are absent, as in the published sample of that case, though its schema requires them."""
    facts = {"approvalTransactionIndex", "hasEnoughBalance", "hasEnoughGas"}
    with_wallet = client.post("/v2/payouts", {**PAYOUTS[name], "payerWallet": WALLET})
    assert_fits("POST /v2/payouts", with_wallet)
    assert facts <= with_wallet["metadata"].keys()
    assert with_wallet["metadata"]["approvalTransactionIndex"] == (0 if name == "erc20Payment" else None)


def test_the_published_example_of_a_recurring_payout_is_refused_as_no_contract_can_pay_a_native_coin_by_permit(
    client: Client,
) -> None:
    answer = client.post("/v2/payouts", PAYOUTS["recurringPayment"], status=400)
    assert_fits("validation error", answer)
    assert answer["message"].startswith("paymentCurrency: ETH-sepolia-sepolia cannot be paid by recurring payouts")


def test_the_documented_batch_pays_five_items_in_one_transaction(client: Client) -> None:
    """Declared are `ERC20BatchPaymentTransaction` and `ETHBatchPaymentTransaction`; the published examples differ."""
    answer = client.post("/v2/payouts/batch", BATCH_BODY)
    assert_fits("POST /v2/payouts/batch", answer)
    approvals, payment = answer["ERC20ApprovalTransactions"], answer["batchPaymentTransaction"]
    assert [(each["data"][:10], each["value"]) for each in approvals] == [("0x095ea7b3", 0)] * 2
    assert payment["to"] == address_of(BATCH, "sepolia")
    assert int(payment["value"]["hex"], 16) == 10**13 + 4 * 10**15
    assert sorted(amount for group in amounts(payment) for amount in group) == sorted(
        [2 * 10**18, 2 * 10**6, 10 * 10**18, 10**13, 4 * 10**15]
    )
    assert [
        (each["payee"], each["amount"], each["invoiceCurrency"], each["paymentCurrency"]) for each in answer["requests"]
    ] == [
        (each["payee"], each["amount"], each["invoiceCurrency"], each["paymentCurrency"])
        for each in BATCH_BODY["requests"]
    ]


def test_a_batch_of_request_ids_needs_no_payer(client: Client) -> None:
    ids = [client.post("/v2/request", each)["requestId"] for each in BATCH_BODY["requests"]]
    answer = client.post("/v2/payouts/batch", {"requestIds": ids})
    assert_fits("POST /v2/payouts/batch", answer)
    assert [each["requestId"] for each in answer["requests"]] == ids
    assert "metadata" not in answer


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("USDC-mainnet", "All requests must be on the same network"),
        ("USDT-tron", "Batch payments are not supported for TRON networks"),
    ],
)
def test_batches_are_on_one_network_and_not_on_tron(client: Client, other: str, message: str) -> None:
    payee = PAYOUTS["tronUsdtPayment" if "tron" in other else "erc20Payment"]["payee"]
    item: dict[str, Any] = {"payee": payee, "amount": "1", "invoiceCurrency": other, "paymentCurrency": other}
    answer = client.post("/v2/payouts/batch", {"requests": [BATCH_BODY["requests"][0], item]}, status=400)
    assert_fits("error", answer)
    assert answer["message"] == message


@pytest.mark.parametrize("form", ["published", "mixed"])
def test_values_have_a_form_that_clients_of_the_original_read(client: Client, form: Any) -> None:
    client.set_value_form(form)
    transactions = client.post("/v2/payouts", PAYOUTS["erc20Payment"])["transactions"]
    zero = {"mixed": 0, "published": {"type": "BigNumber", "hex": "0x00"}}[form]
    assert [each["value"] for each in transactions] == [zero, zero]
    (payment,) = client.post("/v2/payouts", PAYOUTS["oneTimePayment"])["transactions"]
    assert (payment["value"]["type"], int(payment["value"]["hex"], 16)) == ("BigNumber", 40_008 * 10**11), (
        "10 dollars and 0.02 %"
    )
