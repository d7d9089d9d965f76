"""Tron: a link paid with tronpy, and two payouts paid together with tronweb by Tron's batch contract."""

from decimal import Decimal
from typing import Any

from demo import FEE_PERCENT, Currency, Demo, Expected, fee
from tron_payer import TronpyPayer, TronwebPayer, fresh_tron_address

NETWORK, CURRENCY = "tron", "USDT-tron"


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    url, key = demo.stack["tron_url"], demo.stack["tron_payer"]["private_key"]
    currency, payer = demo.currency(CURRENCY, NETWORK), TronpyPayer(url, key)
    pay_one(demo, payer, currency, "3.2")
    pay_together(demo, TronwebPayer(url, key), payer, currency, ("4", "6.5"))


def pay_one(demo: Demo, payer: TronpyPayer, currency: Currency, amount: str) -> None:
    payee, fee_address = fresh_tron_address(), fresh_tron_address()
    expected = [
        Expected("payee", payee, currency, Decimal(amount)),
        Expected("fee address", fee_address, currency, fee(amount)),
    ]
    with demo.must_receive(payer.balance, expected):
        item = {"amount": amount, "payee": payee, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
        body = {"requests": [item], "feePercentage": FEE_PERCENT, "feeAddress": fee_address, "reference": "demo"}
        link = demo.create(f"create a link for {amount} {currency.symbol}", "", body)
        demo.read(link["token"], payer.address)
        send(demo, "tronpy", payer, link["token"])
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(link["token"], payer.address)


def pay_together(
    demo: Demo, payer: TronwebPayer, reader: TronpyPayer, currency: Currency, amounts: tuple[str, ...]
) -> None:
    recipients = {fresh_tron_address(): amount for amount in amounts}
    expected = [Expected("recipient", holder, currency, Decimal(amount)) for holder, amount in recipients.items()]
    with demo.must_receive(reader.balance, expected):
        payouts = []
        for recipient, amount in recipients.items():
            body = {"recipient": recipient, "creatorWalletAddress": payer.address, "network": NETWORK}
            body |= {"currency": CURRENCY, "amount": amount, "reference": "demo"}
            payouts.append(demo.create(f"create a payout of {amount} {currency.symbol}", "/payouts", body))
        children = {"childTokens": [payout["token"] for payout in payouts]}
        parent = demo.create("combine them", "/multicall-payouts", children)
        send(demo, "tronweb", payer, parent["token"])
        demo.await_deliveries([payout["requestIds"][0] for payout in payouts])
        demo.read_settled(parent["token"], payer.address)


def send(demo: Demo, library: str, payer: Any, token: str) -> None:
    transactions = demo.take_calldata(token, payer.address)["transactions"]
    with demo.steps.step(f"sign and broadcast with {library}") as result:
        for info in payer.pay(transactions):
            result.append(f"{info['id'][:16]}... in block {info['blockNumber']}")
