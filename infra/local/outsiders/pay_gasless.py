"""A request and a link whose payers have tokens and no coin: each signs a transfer, and the service pays."""

import json
import secrets
import time
from decimal import Decimal
from typing import Any

from demo import EVENTS, EVENTS_OF_LINKS, FEE_PERCENT, Currency, Demo, Expected, Failed, fee, fresh_address
from pay_request import create, read_paid
from payer import Payer

NETWORK, CURRENCY, AMOUNT, HAS = "base", "USDC-base", "12.50", Decimal(20)
LONGEST_SECONDS = 180
"""A schedule looks every minute: the account delegates first, then it makes the payments."""


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payee, fee_address = demo.stack["payee"], fresh_address()
    currency = demo.currency(CURRENCY, NETWORK)
    payer, other = (payer_without_coins(demo, currency) for _ in range(2))
    expected = [
        Expected("payee", payee, currency, 2 * Decimal(AMOUNT)),
        Expected("fee address", fee_address, currency, 2 * fee(AMOUNT)),
    ]
    item = {"payee": payee, "amount": AMOUNT, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
    fees = {"feePercentage": FEE_PERCENT, "feeAddress": fee_address}
    with demo.must_receive(payer.balance, expected):
        request_id = create(demo, f"create a request for {AMOUNT} {currency.symbol}", {**item, "reference": "demo"})
        offer = sign(demo, payer, request_id, fee_address)
        body = {"requests": [item], "reference": "demo", **fees}
        link = demo.create(f"create a link for {AMOUNT} {currency.symbol}", "", body)
        of_link = sign_link(demo, other, link["token"])
        await_sending(demo, f"/v2/gasless-payments/{offer['gaslessPaymentId']}")
        await_sending(demo, f"/v2/secure-payments/{link['token']}/gasless/{of_link['gaslessPaymentId']}")
        demo.await_deliveries([request_id], EVENTS)
        demo.await_deliveries(link["requestIds"], EVENTS_OF_LINKS)
    read_paid(demo, request_id)
    demo.read_completed(link["token"], other.address)
    for each, signed in ((payer, offer), (other, of_link)):
        read_rest(demo, each, currency, Decimal(signed["total"]))


def payer_without_coins(demo: Demo, currency: Currency) -> Payer:
    """A new wallet, which gets tokens and nothing else, as a step."""
    payer = Payer(demo.stack["rpc"][NETWORK], "0x" + secrets.token_hex(32))
    with demo.steps.step(f"give a new wallet {HAS} {currency.symbol} and no coin") as result:
        units = int(HAS * Decimal(10) ** currency.decimals)
        data = "0xa9059cbb" + payer.address[2:].lower().rjust(64, "0") + f"{units:064x}"  # transfer(address,uint256)
        demo.payer(NETWORK).pay({"to": currency.token, "data": data, "value": 0})
        result.append(payer.address)
    return payer


def sign(demo: Demo, payer: Payer, request_id: str, fee_address: str) -> dict[str, Any]:
    """Takes what is to be signed, signs it and sends the signature, in two steps; returns the offer."""
    fees = f"&feePercentage={FEE_PERCENT}&feeAddress={fee_address}"
    with demo.steps.step("take what is to be signed") as result:
        offer: dict[str, Any] = demo.shop.get(f"/v2/request/{request_id}/pay?wallet={payer.address}&gasless=true{fees}")
        result.append(price_of(offer))
    with demo.steps.step("sign it, and send the signature") as result:
        body = {"signature": payer.sign_permit(json.loads(offer["typedData"]))}
        made = demo.shop.post_done(f"/v2/gasless-payments/{offer['gaslessPaymentId']}", body)
        result.append(f"200, {made['status']}")
    return offer


def sign_link(demo: Demo, payer: Payer, token: str) -> dict[str, Any]:
    """As `sign`, of a link, with the client id of the shop's page; what the link answers then is a step more."""
    with demo.steps.step("take what is to be signed of it") as result:
        if demo.shop.link(token, payer.address)["gasless"] is not True:
            raise Failed("the link says nothing of it")
        offer = demo.shop.calldata(token, payer.address, "&gasless=true")
        result.append(price_of(offer))
    with demo.steps.step("sign it, and send the signature") as result:
        signature = payer.sign_permit(json.loads(offer["typedData"]))
        result.append(f"200, {demo.shop.sign(token, offer['gaslessPaymentId'], signature)['status']}")
    with demo.steps.step("nobody else is offered the link") as result:
        refused = demo.shop.calldata(token, payer.address, status=423)
        result.append(f"423, {refused['message']}")
    return offer


def price_of(offer: dict[str, Any]) -> str:
    return f"200, {offer['total']} in all, of which {offer['networkFee']} for the network"


def await_sending(demo: Demo, path: str) -> None:
    """Waits until the service makes a payment, as a step."""
    deadline = time.monotonic() + LONGEST_SECONDS
    with demo.steps.step("the service makes the payment") as result:
        while (made := demo.shop.get(path))["status"] == "signed":
            if time.monotonic() > deadline:
                raise Failed(f"it waits: {made['reason']}")
            time.sleep(1)
        if made["status"] == "failed":
            raise Failed(str(made["reason"]))
        result.append(made["status"])


def read_rest(demo: Demo, payer: Payer, currency: Currency, paid: Decimal) -> None:
    with demo.steps.step("look what the payer has") as result:
        left = Decimal(payer.balance(currency.token, payer.address)) / Decimal(10) ** currency.decimals
        if left != HAS - paid or payer.balance(None, payer.address):
            raise Failed(f"{left} {currency.symbol}, of {HAS}")
        result.append(f"{left.normalize():f} {currency.symbol}, and no coin as before")
