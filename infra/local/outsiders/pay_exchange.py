"""A link that is paid in two parts from an exchange, which keeps a fee and only transfers tokens to an address."""

from decimal import Decimal
from typing import Any

from demo import FEE_PERCENT, Currency, Demo, Expected, Failed, fee, fresh_address
from payer import Payer

NETWORK, CURRENCY, AMOUNT, KEPT_BY_EXCHANGE = "sepolia", "fUSDC-sepolia", "12.50", Decimal(1)


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    exchange, payee, fee_address = demo.payer(NETWORK), demo.stack["payee"], fresh_address()
    currency = demo.currency(CURRENCY, NETWORK)
    expected = [
        Expected("payee", payee, currency, Decimal(AMOUNT)),
        Expected("fee address, of two payments", fee_address, currency, 2 * fee(AMOUNT)),
    ]
    with demo.must_receive(exchange.balance, expected):
        item = {"amount": AMOUNT, "payee": payee, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
        body = {"requests": [item], "feePercentage": FEE_PERCENT, "feeAddress": fee_address, "plainTransfer": True}
        link = demo.create(f"create a link for {AMOUNT} {currency.symbol}, to be paid from an exchange", "", body)
        request_id, own = link["requestIds"][0], link["plainTransfer"]
        transfer(demo, exchange, currency, own["address"], Decimal(own["amount"]) - KEPT_BY_EXCHANGE)
        pay_out(demo, exchange, request_id)
        demo.await_event("payment.partial", requestId=request_id)
        rest = demo.shop.get(f"/v2/request/{request_id}")["plainTransfer"]["amount"]
        transfer(demo, exchange, currency, own["address"], Decimal(rest))
        pay_out(demo, exchange, request_id)
        demo.await_deliveries([request_id])
        demo.read_completed(link["token"], exchange.address)


def transfer(demo: Demo, exchange: Payer, currency: Currency, address: str, amount: Decimal) -> None:
    """Transfers tokens as a step, as an exchange does on a withdrawal."""
    with demo.steps.step(f"withdraw to {address[:10]}...: {amount.normalize():f} {currency.symbol} arrive") as result:
        units = int(amount * Decimal(10) ** currency.decimals)
        data = "0xa9059cbb" + address[2:].lower().rjust(64, "0") + f"{units:064x}"  # transfer(address,uint256)
        receipt = exchange.pay({"to": currency.token, "data": data, "value": 0})
        result.append(f"{receipt['transactionHash'][:18]}...")


def pay_out(demo: Demo, anybody: Payer, request_id: str) -> None:
    """Sends the transaction that pays out what is at the address, as a step."""
    with demo.steps.step("have the address pay out") as result:
        found: dict[str, Any] = demo.shop.get(f"/v2/request/{request_id}/plain-transfer")
        if found["unavailable"] is not None:
            raise Failed(found["unavailable"])
        (transaction,) = found["transactions"]
        receipt = anybody.pay(transaction)
        deployed = "" if found["isDeployed"] else "deployed and "
        result.append(f"{deployed}{found['purpose']}, {int(receipt['gasUsed'], 16)} gas")
