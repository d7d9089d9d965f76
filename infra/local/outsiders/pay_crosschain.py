"""Payments from another chain: one that fails behind the bridge, a link, and payouts on two chains."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from typing import Any

import pay_payout
import requests
from demo import FEE_PERCENT, Currency, Demo, Expected, Failed, fee, fresh_address
from payer import Payer

SOURCE, QUERY = "base", "&chain=BASE&token=USDC"
LINK = ("USDC-arbitrum-one", "arbitrum-one")
PAYOUTS = {LINK: "20", ("USDC-mainnet", "mainnet"): "30.5"}


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer = demo.payer(SOURCE)
    currency = demo.currency(*LINK)
    failed = fail(demo, payer, currency)
    pay_link(demo, payer, currency)
    pay_several(demo, payer)
    failure = demo.await_event("payment.failed", requestId=failed)
    with demo.steps.step("read why") as result:
        result.append(f"{failure['subStatus']}: {failure['failureReason']}")


def fail(demo: Demo, payer: Payer, currency: Currency) -> str:
    """Pays a link whose payment reverts behind the bridge: the payer has the tokens there. Returns the request's id."""
    amount, fee_address = "7", fresh_address()
    due = Decimal(amount) + fee(amount)
    there = demo.payer(currency.network)
    with demo.must_receive(there.balance, [Expected("payer", payer.address, currency, due)]):
        link = create(demo, currency, demo.stack["payee"], amount, fee_address)
        with pause_relayer(demo):
            *_, sent = pay(demo, payer, link["token"])
            with demo.steps.step("the payment fails there") as result:
                command(demo, "fill", {"txHash": sent, "fails": True})
                result.append("the tokens go to the payer")
    return str(link["requestIds"][0])


def pay_link(demo: Demo, payer: Payer, currency: Currency) -> None:
    payee, fee_address, amount = demo.stack["payee"], fresh_address(), "12.50"
    expected = [
        Expected("payee", payee, currency, Decimal(amount)),
        Expected("fee address", fee_address, currency, fee(amount)),
    ]
    with demo.must_receive(demo.payer(currency.network).balance, expected):
        link = create(demo, currency, payee, amount, fee_address)
        demo.read(link["token"], payer.address)
        pay(demo, payer, link["token"])
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(link["token"], payer.address)


def pay_several(demo: Demo, payer: Payer) -> None:
    with ExitStack() as receipts:
        payouts = []
        for (id, network), amount in PAYOUTS.items():
            currency, recipient = demo.currency(id, network), fresh_address()
            expected = [Expected("recipient", recipient, currency, Decimal(amount))]
            receipts.enter_context(demo.must_receive(demo.payer(network).balance, expected))
            payouts.append(pay_payout.create(demo, payer, currency, recipient, amount))
        parent = demo.create(
            "combine them", "/multicall-payouts", {"childTokens": [payout["token"] for payout in payouts]}
        )
        pay(demo, payer, parent["token"])
        demo.await_deliveries([payout["requestIds"][0] for payout in payouts])
        demo.read_settled(parent["token"], payer.address)


def create(demo: Demo, currency: Currency, payee: str, amount: str, fee_address: str) -> dict[str, Any]:
    item = {"amount": amount, "payee": payee, "invoiceCurrency": currency.id, "paymentCurrency": currency.id}
    body = {"requests": [item], "feePercentage": FEE_PERCENT, "feeAddress": fee_address, "reference": "demo"}
    return demo.create(f"create a link for {amount} {currency.symbol} there", "", body)


def pay(demo: Demo, payer: Payer, token: str) -> list[str]:
    """Pays from the source chain, and announces each payment; returns their hashes."""
    body = demo.take_calldata(token, payer.address, QUERY)
    hashes = demo.send(payer, body)
    for hash_ in hashes:
        with demo.steps.step("announce it") as result:
            announced = {"txHash": hash_, "chain": "BASE", "token": "USDC", "payerAddress": payer.address}
            answer = demo.shop.announce(token, announced)
            if answer["isListening"] is not True:
                raise Failed(f"nobody listens: {answer}")
            result.append(f"200, intent {answer['intentId']}")
    return hashes


@contextmanager
def pause_relayer(demo: Demo) -> Iterator[None]:
    command(demo, "relayer", {"isPaused": True})
    try:
        yield
    finally:
        command(demo, "relayer", {"isPaused": False})


def command(demo: Demo, name: str, body: dict[str, Any]) -> None:
    """Gives a command to the local bridge (infra/local/router.py)."""
    answer = requests.post(f"{demo.stack['lifi_url']}/control/{name}", json=body, timeout=60)
    if answer.status_code != 200:
        raise Failed(f"the bridge gave {answer.status_code}: {answer.text}")
