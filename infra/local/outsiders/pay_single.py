"""Two links of one payment each: in a token and in native coin."""

from decimal import Decimal

from demo import FEE_PERCENT, Currency, Demo, Expected, fee, fresh_address

NETWORK = "sepolia"


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    for id, amount in (("fUSDC-sepolia", "12.50"), ("ETH-sepolia-sepolia", "0.02")):
        pay(demo, demo.currency(id, NETWORK), amount)


def pay(demo: Demo, currency: Currency, amount: str) -> None:
    payer, payee, fee_address = demo.payer(NETWORK), demo.stack["payee"], fresh_address()
    expected = [
        Expected("payee", payee, currency, Decimal(amount)),
        Expected("fee address", fee_address, currency, fee(amount)),
    ]
    with demo.must_receive(payer.balance, expected):
        item = {"amount": amount, "payee": payee, "invoiceCurrency": currency.id, "paymentCurrency": currency.id}
        body = {"requests": [item], "feePercentage": FEE_PERCENT, "feeAddress": fee_address, "reference": "demo"}
        link = demo.create(f"create a link for {amount} {currency.id.split('-')[0]}", "", body)
        demo.read(link["token"], payer.address)
        demo.send(payer, demo.take_calldata(link["token"], payer.address))
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(link["token"], payer.address)
