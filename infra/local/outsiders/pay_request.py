"""A request without a link: created, paid, found among the payments, and exported as CSV."""

from decimal import Decimal
from typing import Any

from demo import EVENTS, FEE_PERCENT, Demo, Expected, Failed, describe_body, fee, fresh_address
from payer import Payer

NETWORK, CURRENCY, AMOUNT = "sepolia", "fUSDC-sepolia", "12.50"


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, payee, fee_address = demo.payer(NETWORK), demo.stack["payee"], fresh_address()
    currency = demo.currency(CURRENCY, NETWORK)
    expected = [
        Expected("payee", payee, currency, Decimal(AMOUNT)),
        Expected("fee address", fee_address, currency, fee(AMOUNT)),
    ]
    with demo.must_receive(payer.balance, expected):
        body = {"payee": payee, "amount": AMOUNT, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
        request_id = create(demo, f"create a request for {AMOUNT} {currency.symbol}", {**body, "reference": "demo"})
        fees = f"&feePercentage={FEE_PERCENT}&feeAddress={fee_address}"
        with demo.steps.step("take the calldata") as result:
            quote = calldata(demo, request_id, payer, fees)
            result.append(f"200, {describe_body(quote)}")
        demo.send(payer, quote)
        demo.await_deliveries([request_id], EVENTS)
    read_paid(demo, request_id)
    find(demo, request_id)
    export(demo, request_id)


def create(demo: Demo, what: str, body: dict[str, Any]) -> str:
    """Creates a request as a step; returns its id."""
    with demo.steps.step(what) as result:
        request = demo.shop.new("/v2/request", body)
        result.append(f"201, {request['requestId'][:18]}..., payment reference {request['paymentReference']}")
    return str(request["requestId"])


def calldata(demo: Demo, request_id: str, payer: Payer, more: str = "") -> dict[str, Any]:
    body: dict[str, Any] = demo.shop.get(f"/v2/request/{request_id}/pay?wallet={payer.address}{more}")
    return body


def read_paid(demo: Demo, request_id: str) -> dict[str, Any]:
    """Reads the request as a step. Raises Failed unless it is paid."""
    with demo.steps.step("read the request") as result:
        request: dict[str, Any] = demo.shop.get(f"/v2/request/{request_id}")
        if request["hasBeenPaid"] is not True:
            raise Failed(f"it is {request['status']}")
        result.append(f"200, {request['status']}, hasBeenPaid, transaction {request['txHash'][:18]}...")
    return request


def find(demo: Demo, request_id: str) -> dict[str, Any]:
    """Finds the only payment of the request as a step."""
    with demo.steps.step("find its payment") as result:
        found = demo.shop.get(f"/v2/payments?requestId={request_id}")
        if found["pagination"]["total"] != 1:
            raise Failed(f"there are {found['pagination']['total']} payments")
        payment: dict[str, Any] = found["payments"][0]
        paid = f"{payment['amount']} {payment['paymentCurrency']}"
        result.append(f"200, {payment['type']}, {paid} at {payment['timestamp']}")
    return payment


def export(demo: Demo, request_id: str) -> None:
    """Exports the payments of the request as CSV as a step."""
    with demo.steps.step("export it as CSV") as result:
        [row] = demo.shop.table(f"/v2/payments?requestId={request_id}")
        if row["requestId"] != request_id:
            raise Failed("the table has the payment of another request")
        result.append(f"200, {len(row)} columns: {row['timestamp']}, {row['amount']} {row['paymentCurrency']}, ...")
