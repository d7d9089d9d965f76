"""Payouts: one, which only its creator's wallet may pay, and two that are merged into a batch."""

from decimal import Decimal
from typing import Any

from demo import Currency, Demo, Expected, Failed, fresh_address
from payer import Payer

NETWORK, CURRENCY = "base", "USDC-base"


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, currency = demo.payer(NETWORK), demo.currency(CURRENCY, NETWORK)
    recipient = fresh_address()
    with demo.must_receive(payer.balance, [Expected("recipient", recipient, currency, Decimal("40"))]):
        payout = create(demo, payer, currency, recipient, "40")
        with demo.steps.step("another wallet wants to pay it") as result:
            result.append(f"403, {demo.shop.calldata(payout['token'], fresh_address(), status=403)['message']}")
        finish(demo, payer, payout)
    merge(demo, payer, currency)


def merge(demo: Demo, payer: Payer, currency: Currency) -> None:
    amounts = {fresh_address(): "1.5", fresh_address(): "2.5"}
    expected = [Expected("recipient", holder, currency, Decimal(amount)) for holder, amount in amounts.items()]
    with demo.must_receive(payer.balance, expected):
        payouts = [create(demo, payer, currency, recipient, amount) for recipient, amount in amounts.items()]
        batch = demo.create(
            "merge both into a batch", "/batch-payouts", {"tokens": [each["token"] for each in payouts]}
        )
        with demo.steps.step("read one of the two") as result:
            if sorted(batch["requestIds"]) != sorted(each["requestIds"][0] for each in payouts):
                raise Failed("the batch has other requests than its payouts")
            result.append(f"403, {demo.shop.link(payouts[0]['token'], payer.address, status=403)['message']}")
        finish(demo, payer, batch)


def create(demo: Demo, payer: Payer, currency: Currency, recipient: str, amount: str) -> dict[str, Any]:
    body = {"recipient": recipient, "creatorWalletAddress": payer.address, "network": currency.network}
    body |= {"currency": currency.id, "amount": amount, "reference": "demo"}
    return demo.create(f"create a payout of {amount} {currency.symbol}", "/payouts", body)


def finish(demo: Demo, payer: Payer, link: dict[str, Any]) -> None:
    demo.read(link["token"], payer.address)
    demo.send(payer, demo.take_calldata(link["token"], payer.address))
    demo.await_deliveries(link["requestIds"])
    demo.read_completed(link["token"], payer.address)
