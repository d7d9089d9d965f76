"""A request that is paid in tokens and received in a bank account: the person, the account, the payment, the fiat.

The local provider checks the person and the bank account by itself, as their names say; its order is moved by commands.
"""

from decimal import Decimal
from typing import Any
from urllib.parse import quote

import requests
from demo import Demo, Expected, Failed
from pay_request import calldata, create, read_paid

NETWORK, CURRENCY, AMOUNT = "sepolia", "fUSDC-sepolia", "12.50"
PERSON = {
    "email": "ann+approved@example.com",
    "firstName": "Ann",
    "lastName": "Doe",
    "beneficiaryType": "individual",
    "dateOfBirth": "1985-12-12",
    "addressLine1": "123 Main Street",
    "city": "New York",
    "state": "NY",
    "postcode": "10001",
    "country": "US",
    "nationality": "US",
    "phone": "+12125551234",
    "ssn": "123-45-6789",
}
BANK = {
    "bankName": "Chase",
    "accountName": "Ann Doe approved",
    "accountNumber": "253009233489",
    "routingNumber": "026013356",
    "beneficiaryType": "individual",
    "currency": "usd",
    "addressLine1": "24 Theatre St.",
    "city": "Paramount",
    "state": "CA",
    "postalCode": "90723",
    "country": "US",
    "dateOfBirth": "1985-12-12",
    "accountType": "checking",
}
STEPS = ("pending_internal_assessment", "ongoing_checks", "sending_fiat", "fiat_sent")


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    payer, currency = demo.payer(NETWORK), demo.currency(CURRENCY, NETWORK)
    person = f"ann-{payer.address[:10]}@example.com"
    details_id = register(demo, person)
    request_id = create(
        demo,
        f"create a request for {AMOUNT} {currency.symbol}",
        {
            "amount": AMOUNT,
            "invoiceCurrency": CURRENCY,
            "paymentCurrency": CURRENCY,
            "isCryptoToFiatAvailable": True,
        },
    )
    with demo.steps.step("choose the bank account") as result:
        account = f"&clientUserId={quote(person, safe='')}&paymentDetailsId={details_id}"
        quoted = calldata(demo, request_id, payer, account)
        deposit = demo.shop.get(f"/v2/request/{request_id}")["payee"]
        result.append(f"200, pay {deposit}")
    with demo.must_receive(payer.balance, [Expected("provider", deposit, currency, Decimal(AMOUNT))]):
        demo.send(payer, quoted)
        began = demo.await_event("payment.processing", requestId=request_id, subStatus="initiated")
    for step in STEPS:
        move(demo, began["offrampId"], step)
        demo.await_event("payment.processing", requestId=request_id, subStatus=step)
    demo.await_event("payment.confirmed", requestId=request_id, isCryptoToFiat=True)
    read_paid(demo, request_id)


def register(demo: Demo, person: str) -> str:
    """Registers a person with a bank account, and waits until both are approved; returns the id of the account."""
    with demo.steps.step("register the person who is paid") as result:
        made = demo.shop.put_payer({**PERSON, "clientUserId": person})
        result.append(f"200, {made['kycUrl']}")
        is_new = made["status"]["agreementStatus"] != "completed"
    if is_new:
        demo.await_event("compliance.updated", clientUserId=person, isCompliant=True)
    with demo.steps.step("add a bank account") as result:
        path = f"/v2/payer/{quote(person, safe='')}/payment-details"
        account: dict[str, Any] = demo.shop.new(path, BANK)["payment_detail"]
        result.append(f"201, {account['id']}, {account['status']}")
    if account["status"] != "approved":
        demo.await_event("payment_detail.updated", paymentDetailsId=account["id"], status="approved")
    return str(account["id"])


def move(demo: Demo, order_id: str, status: str) -> None:
    """Has the provider take a step as a step."""
    with demo.steps.step(f"the provider: {status}") as result:
        url = f"{demo.stack['provider_url']}/control/orders/{order_id}"
        response = requests.post(url, json={"status": status}, timeout=10)
        if response.status_code != 200:
            raise Failed(f"the provider gave {response.status_code}")
        result.append(f"event {response.json()['sequence']} of the order")
