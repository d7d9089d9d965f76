"""A batch link of three payments in three currencies, one of them the native coin, paid by one transaction."""

from decimal import Decimal

from demo import FEE_PERCENT, Demo, Expected, fee, fresh_address

NETWORK = "arbitrum-one"
ITEMS = (("USDC-arbitrum-one", "5.25"), ("USDT-arbitrum-one", "7.5"), ("AETH-arbitrum-one", "0.01"))


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, fee_address = demo.payer(NETWORK), fresh_address()
    requests, expected = [], []
    for id, amount in ITEMS:
        currency, payee = demo.currency(id, NETWORK), fresh_address()
        requests.append({"amount": amount, "payee": payee, "invoiceCurrency": id, "paymentCurrency": id})
        expected.append(Expected(f"payee in {currency.symbol}", payee, currency, Decimal(amount)))
        expected.append(Expected(f"fee in {currency.symbol}", fee_address, currency, fee(amount)))
    with demo.must_receive(payer.balance, expected):
        body = {"requests": requests, "feePercentage": FEE_PERCENT, "feeAddress": fee_address, "reference": "demo"}
        link = demo.create(f"create a batch link of {len(requests)}", "", body)
        demo.read(link["token"], payer.address)
        demo.send(payer, demo.take_calldata(link["token"], payer.address))
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(link["token"], payer.address)
