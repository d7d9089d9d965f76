"""A link whose payee is a name of ENS: resolved when it is created, paid on another network, shown to the payer."""

from decimal import Decimal
from typing import Any

from demo import Demo, Expected, Failed
from ens import ENS
from web3 import HTTPProvider, Web3

NAME, WRITTEN_OTHERWISE = "shop.eth", "Shop.eth"
NETWORK, CURRENCY, AMOUNT = "base", "USDC-base", "12.50"


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, currency = demo.payer(NETWORK), demo.currency(CURRENCY, NETWORK)
    payee = ask_ens(demo)
    with demo.must_receive(payer.balance, [Expected(NAME, payee, currency, Decimal(AMOUNT))]):
        refuse(demo)
        link = create(demo, payee)
        demo.read(link["token"], payer.address)
        with demo.steps.step("look whom the payer is shown") as result:
            shown = demo.shop.link(link["token"], payer.address)
            if (shown["payee"], shown.get("payeeName")) != (payee, NAME):
                raise Failed(f"it is {shown['payee']}, {shown.get('payeeName')}")
            result.append(f"200, {shown['payeeName']}, {payee}")
        demo.send(payer, demo.take_calldata(link["token"], payer.address))
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(link["token"], payer.address)


def ask_ens(demo: Demo) -> str:
    """The address of the name, as web3 finds it on the local mainnet chain."""
    with demo.steps.step(f"ask ENS for {NAME} with web3") as result:
        found = ENS.from_web3(Web3(HTTPProvider(demo.stack["rpc"]["mainnet"]))).address(NAME)
        if found is None:
            raise Failed("it has no address")
        result.append(str(found))
    return str(found)


def refuse(demo: Demo) -> None:
    with demo.steps.step(f"create a link for {WRITTEN_OTHERWISE}") as result:
        result.append(f"400, {demo.shop.post_refused('', body_of(WRITTEN_OTHERWISE))}")


def create(demo: Demo, payee: str) -> dict[str, Any]:
    link = demo.create(f"create a link for {AMOUNT} to {NAME}", "", body_of(NAME))
    (name,) = link["payeeNames"]
    if (name["name"], name["address"], name["isPrimary"]) != (NAME, payee, True):
        raise Failed(f"the name was resolved to {name}")
    return link


def body_of(name: str) -> dict[str, Any]:
    item = {"amount": AMOUNT, "payee": name, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
    return {"requests": [item], "reference": "demo"}
