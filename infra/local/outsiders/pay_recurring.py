"""A recurring payout: its payer approves and signs once, the service makes the first payment, and it is cancelled."""

import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from demo import DETECTION_SECONDS, EVENTS, Demo, Expected, Failed, fresh_address
from payer import Payer

NETWORK, CURRENCY, AMOUNT, TOTAL = "base", "USDC-base", "15", 12


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, currency, payee = demo.payer(NETWORK), demo.currency(CURRENCY, NETWORK), fresh_address()
    with demo.must_receive(payer.balance, [Expected("payee", payee, currency, Decimal(AMOUNT))]):
        created = create(demo, payer, payee)
        approve(demo, payer, created)
        activate(demo, payer, created)
        found = read(demo, created["id"])
        request_id = found["requests"][0]["requestId"]
        demo.await_deliveries([request_id], EVENTS | {"request.recurring"})
    await_first(demo, created["id"])
    cancel(demo, payer, created["id"])


def create(demo: Demo, payer: Payer, payee: str) -> dict[str, Any]:
    """Creates twelve monthly payments from today on, as a step."""
    plan = {"startDate": f"{datetime.now(UTC):%Y-%m-%d}", "frequency": "MONTHLY", "totalPayments": TOTAL}
    with demo.steps.step(f"create {TOTAL} monthly payouts of {AMOUNT} USDC") as result:
        body = {"payee": payee, "amount": AMOUNT, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
        created = demo.shop.new("/v2/payouts", {**body, "recurrence": {**plan, "payer": payer.address}})
        needed = Decimal(created["metadata"]["totalNeededAllowance"]) / 10**6
        result.append(f"201, {created['id']}, {needed:f} USDC to allow")
    return created


def approve(demo: Demo, payer: Payer, created: dict[str, Any]) -> None:
    for transaction in created["transactions"]:
        with demo.steps.step("sign and broadcast: approval") as result:
            receipt = payer.pay(transaction)
            result.append(f"{receipt['transactionHash'][:18]}... in block {int(receipt['blockNumber'], 16)}")


def activate(demo: Demo, payer: Payer, created: dict[str, Any]) -> None:
    with demo.steps.step("sign the permit, and activate it") as result:
        signature = payer.sign_permit(created["recurringPaymentPermit"])
        activated = demo.shop.new(f"/v2/payouts/recurring/{created['id']}", {"permitSignature": signature})
        result.append(f"201, {activated['status']}")


def read(demo: Demo, recurring_id: str) -> dict[str, Any]:
    found: dict[str, Any] = demo.shop.get(f"/v2/payouts/recurring/{recurring_id}")
    return found


def await_first(demo: Demo, recurring_id: str) -> None:
    """Waits until the first payment is counted, as a step."""
    with demo.steps.step("read how far it is") as result:
        deadline = time.monotonic() + DETECTION_SECONDS
        while (found := read(demo, recurring_id))["processedPayments"] == 0:
            if time.monotonic() > deadline:
                raise Failed(f"it is not counted within {DETECTION_SECONDS} s")
            time.sleep(1)
        done = f"{found['processedPayments']} of {found['totalPayments']}"
        result.append(f"200, {found['status']}, {done} paid, the next one on {found['nextPaymentDate'][:10]}")


def cancel(demo: Demo, payer: Payer, recurring_id: str) -> None:
    with demo.steps.step("cancel it, and lower the allowance") as result:
        cancelled = demo.shop.change(f"/v2/payouts/recurring/{recurring_id}", {"action": "cancel"})
        for transaction in cancelled["transactions"]:
            payer.pay(transaction)
        result.append(f"200, {cancelled['status']}, {cancelled['metadata']['remainingPayments']} will not be made")
