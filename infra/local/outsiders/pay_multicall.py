"""Three payouts under one parent, paid together."""

from decimal import Decimal

import pay_payout
from demo import Demo, Expected, Failed, fresh_address

AMOUNTS = ("10", "20.5", "0.75")


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, currency = demo.payer(pay_payout.NETWORK), demo.currency(pay_payout.CURRENCY, pay_payout.NETWORK)
    recipients = {fresh_address(): amount for amount in AMOUNTS}
    expected = [Expected("recipient", holder, currency, Decimal(amount)) for holder, amount in recipients.items()]
    with demo.must_receive(payer.balance, expected):
        payouts = [pay_payout.create(demo, payer, currency, *each) for each in recipients.items()]
        tokens = [payout["token"] for payout in payouts]
        parent = demo.create("combine them", "/multicall-payouts", {"childTokens": tokens})
        with demo.steps.step("read the parent") as result:
            link = demo.shop.link(parent["token"], payer.address)
            blocked = [child["blockReason"] for child in link["children"] if not child["executable"]]
            if blocked or [child["securePaymentToken"] for child in link["children"]] != tokens:
                raise Failed(f"children are missing or blocked: {blocked}")
            result.append(f"200, {link['status']}, {len(link['children'])} children can be paid")
        demo.send(payer, demo.take_calldata(parent["token"], payer.address))
        demo.await_deliveries([payout["requestIds"][0] for payout in payouts])
        demo.read_settled(parent["token"], payer.address)
