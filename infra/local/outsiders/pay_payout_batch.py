"""Four payouts in two tokens and the native coin, created and paid by one call and one transaction."""

from decimal import Decimal

from demo import EVENTS, Demo, Expected, describe_body, fresh_address
from pay_request import find, read_paid

NETWORK = "base"
ITEMS = (("USDC-base", "40"), ("USDC-base", "2.5"), ("DAI-base", "7.25"), ("ETH-base-base", "0.01"))


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer = demo.payer(NETWORK)
    currencies = {id: demo.currency(id, NETWORK) for id in dict.fromkeys(id for id, _ in ITEMS)}
    payees = [fresh_address() for _ in ITEMS]
    expected = [
        Expected(f"payee {number} in {currencies[id].symbol}", payee, currencies[id], Decimal(amount))
        for number, ((id, amount), payee) in enumerate(zip(ITEMS, payees, strict=True), start=1)
    ]
    items = [
        {"payee": payee, "amount": amount, "invoiceCurrency": id, "paymentCurrency": id}
        for (id, amount), payee in zip(ITEMS, payees, strict=True)
    ]
    with demo.must_receive(payer.balance, expected):
        with demo.steps.step(f"create and price {len(ITEMS)} payouts") as result:
            batch = demo.shop.new("/v2/payouts/batch", {"requests": items, "payer": payer.address})
            result.append(f"201, {describe_body(batch)}")
        request_ids = [each["requestId"] for each in batch["requests"]]
        demo.send(payer, batch)
        demo.await_deliveries(request_ids, EVENTS)
    for request_id in request_ids:
        read_paid(demo, request_id)
    find(demo, request_ids[0])
