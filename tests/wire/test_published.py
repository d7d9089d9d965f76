"""The published shapes refuse what existing clients refuse."""

from typing import Any

import pytest

from tests.wire.published import READ_REQUEST, assert_fits

STATUS = {
    "hasBeenPaid": False,
    "paymentReference": "0xb3581f0b0f74cc61",
    "requestId": "01",
    "isListening": False,
    "txHash": None,
}
PAYMENT = {
    "id": "01", "amount": "1", "sourceNetwork": "base", "destinationNetwork": "base", "timestamp": "2026-01-01T00:00:00.000Z",
    "type": "direct", "currency": "USD", "paymentCurrency": "USDC",
}  # fmt: skip


def page(**wrong: Any) -> dict[str, Any]:
    pagination = {"total": 1, "limit": 20, "offset": 0, "hasMore": False}
    return {"payments": [{**PAYMENT, **wrong}], "pagination": pagination}


@pytest.mark.parametrize(
    "wrong",
    [
        {"hasBeenPaid": "no"},
        {"recurrence": None},
        {"rateSource": None},
        {"fees": [{"type": "tip"}]},
        {"payments": [{}]},
    ],
)
def test_a_status(wrong: dict[str, Any]) -> None:
    assert_fits(READ_REQUEST, STATUS)
    with pytest.raises(AssertionError):
        assert_fits(READ_REQUEST, {**STATUS, **wrong})


@pytest.mark.parametrize(
    "wrong", [{"amount": 1}, {"rateProvider": None}, {"type": "swap"}, {"request": {"requestId": 1}}]
)
def test_a_payment(wrong: dict[str, Any]) -> None:
    assert_fits("GET /v2/payments", page())
    with pytest.raises(AssertionError):
        assert_fits("GET /v2/payments", page(**wrong))


@pytest.mark.parametrize("value", ["0x0", 1, {"hex": "0x00"}, None])
def test_a_value(value: Any) -> None:
    body = {"ERC20ApprovalTransactions": [], "batchPaymentTransaction": {"data": "0x", "to": "0x", "value": 0}}
    assert_fits("POST /v2/payouts/batch", body)
    with pytest.raises(AssertionError):
        assert_fits(
            "POST /v2/payouts/batch", {**body, "batchPaymentTransaction": {"data": "0x", "to": "0x", "value": value}}
        )
