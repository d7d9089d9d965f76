"""A commerce payment: 100 are held, 60 captured with a fee, 10 of them refunded, and 40 given back."""

import secrets
import time
from decimal import Decimal
from typing import Any

from demo import DETECTION_SECONDS, Currency, Demo, Expected, Failed, fresh_address
from payer import Payer

NETWORK, CURRENCY, UNIT = "base", "USDC-base", 10**6
ROOT = "/v2/commerce-payments"


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, currency, fees = demo.payer(NETWORK), demo.currency(CURRENCY, NETWORK), fresh_address()
    merchant = Payer(demo.stack["rpc"][NETWORK], "0x" + secrets.token_hex(32))
    payer.pay({"to": merchant.address, "data": "0x", "value": hex(10**17)})
    before = payer.balance(currency.token, payer.address)
    expected = [
        Expected("merchant", merchant.address, currency, Decimal("48.5")),
        Expected("fee receiver", fees, currency, Decimal("1.5")),
    ]
    with demo.must_receive(payer.balance, expected):
        created = create(demo, payer, merchant.address)
        path, request_id = f"{ROOT}/{created['requestId']}", created["requestId"]
        for name, transaction in zip(("approval", "pre-approval"), created["transactions"], strict=True):
            with demo.steps.step(f"sign and broadcast: {name}") as result:
                result.append(f"{payer.pay(transaction)['transactionHash'][:18]}...")
        execute(demo, "authorize 100", f"{path}/authorize", {}, heldAmount=100 * UNIT)
        capture = {"captureAmount": str(60 * UNIT), "feeBps": 250, "feeReceiver": fees}
        execute(demo, "capture 60 with a fee of 2.5 %", f"{path}/capture", capture, capturedAmount=60 * UNIT)
        demo.await_event("payment.partial", requestId=request_id)
        allow(demo, merchant, currency, created["operator"], 10 * UNIT)
        execute(demo, "refund 10", f"{path}/refund", {"refundAmount": str(10 * UNIT)}, refundedAmount=10 * UNIT)
        demo.await_event("payment.refunded", requestId=request_id)
        execute(demo, "void 40", f"{path}/void", {"reason": "out of stock"}, voidedAmount=40 * UNIT)
        demo.await_event("payment.confirmed", requestId=request_id, totalAmountPaid="60")
    spent = before - payer.balance(currency.token, payer.address)
    if spent != 50 * UNIT:
        raise Failed(f"the payer has paid {spent} base units, not {50 * UNIT}")


def create(demo: Demo, payer: Payer, merchant: str) -> dict[str, Any]:
    with demo.steps.step("create a commerce payment of 100 USDC") as result:
        wanted = {"merchantId": "demo", "merchantAddress": merchant, "buyerAddress": payer.address}
        amounts = {"amount": str(100 * UNIT), "paymentCurrency": CURRENCY, "maxFeeBps": 250}
        created = demo.shop.new(f"{ROOT}/authorize/calldata", {**wanted, **amounts})
        result.append(f"201, {created['securePaymentUrl']}")
    return created


def allow(demo: Demo, merchant: Payer, currency: Currency, operator: str, amount: int) -> None:
    """The merchant lets the service take what is to be refunded."""
    with demo.steps.step("the merchant allows 10 for a refund") as result:
        data = "0x095ea7b3" + operator[2:].lower().rjust(64, "0") + f"{amount:064x}"  # approve(address,uint256)
        result.append(f"{merchant.pay({'to': currency.token, 'data': data, 'value': 0})['transactionHash'][:18]}...")


def execute(demo: Demo, what: str, path: str, body: dict[str, Any], **awaited: int) -> None:
    """Has the service execute an operation, and waits until the status has an amount, as a step."""
    ((name, amount),) = awaited.items()
    with demo.steps.step(what) as result:
        done = demo.shop.post_done(path, body)
        result.append(f"200, {done['status']}, {str(done['transactionHash'])[:18]}...")
        deadline = time.monotonic() + DETECTION_SECONDS
        while (found := demo.shop.get(f"{path.rpartition('/')[0]}/status"))[name] != str(amount):
            if time.monotonic() > deadline or found["failureReason"] is not None:
                raise Failed(f"{name} is {found[name]}, not {amount}: {found['failureReason']}")
            time.sleep(0.5)
        result.append(f"{found['status']}, {name} {Decimal(amount) / UNIT:f}")
