"""A request that a payer pays who has tokens and no coin: a transfer is signed, and the service makes the payment."""

import json
import secrets
import time
from decimal import Decimal
from typing import Any

from demo import EVENTS, FEE_PERCENT, Currency, Demo, Expected, Failed, fee, fresh_address
from pay_request import create, read_paid
from payer import Payer

NETWORK, CURRENCY, AMOUNT, HAS = "base", "USDC-base", "12.50", Decimal(20)
LONGEST_SECONDS = 180
"""A schedule looks every minute: the account delegates first, then it makes the payment."""


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payee, fee_address = demo.stack["payee"], fresh_address()
    currency = demo.currency(CURRENCY, NETWORK)
    payer = payer_without_coins(demo, currency)
    expected = [
        Expected("payee", payee, currency, Decimal(AMOUNT)),
        Expected("fee address", fee_address, currency, fee(AMOUNT)),
    ]
    with demo.must_receive(payer.balance, expected):
        body = {"payee": payee, "amount": AMOUNT, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
        request_id = create(demo, f"create a request for {AMOUNT} {currency.symbol}", {**body, "reference": "demo"})
        offer = sign(demo, payer, request_id, fee_address)
        await_sending(demo, offer["gaslessPaymentId"])
        demo.await_deliveries([request_id], EVENTS)
    read_paid(demo, request_id)
    with demo.steps.step("look what the payer has") as result:
        left = Decimal(payer.balance(currency.token, payer.address)) / Decimal(10) ** currency.decimals
        if left != HAS - Decimal(offer["total"]) or payer.balance(None, payer.address):
            raise Failed(f"{left} {currency.symbol}, of {HAS}")
        result.append(f"{left.normalize():f} {currency.symbol}, and no coin as before")


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
        result.append(f"200, {offer['total']} in all, of which {offer['networkFee']} for the network")
    with demo.steps.step("sign it, and send the signature") as result:
        body = {"signature": payer.sign_permit(json.loads(offer["typedData"]))}
        made = demo.shop.post_done(f"/v2/gasless-payments/{offer['gaslessPaymentId']}", body)
        result.append(f"200, {made['status']}")
    return offer


def await_sending(demo: Demo, payment_id: str) -> None:
    """Waits until the service makes the payment, as a step."""
    deadline = time.monotonic() + LONGEST_SECONDS
    with demo.steps.step("the service makes the payment") as result:
        while (made := demo.shop.get(f"/v2/gasless-payments/{payment_id}"))["status"] == "signed":
            if time.monotonic() > deadline:
                raise Failed(f"it waits: {made['reason']}")
            time.sleep(1)
        if made["status"] == "failed":
            raise Failed(str(made["reason"]))
        result.append(made["status"])
