"""Requests in US dollars and euros that are paid in tokens: by a rate that is locked, and by a contract that converts.

The rates come from the price feeds of the local chain `mainnet` and from the local price source, which have to agree.
"""

import time
from decimal import Decimal
from typing import Any

from demo import EVENTS, Demo, Expected, Failed, describe_body, fresh_address
from pay_request import calldata, create, export, find, read_paid
from payer import Payer

WAYS = (("quoted", "USD", "25.50", "USDC-base", "base"), ("on_chain", "EUR", "10", "USDC-mainnet", "mainnet"))


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    for way, invoice, amount, token, network in WAYS:
        with demo.steps.step(f"ask how {invoice} is paid on {network}") as result:
            found = demo.shop.get(f"/v2/currencies/{invoice}/conversion-routes?network={network}")["conversionRoutes"]
            ways = {each["id"]: each["way"] for each in found}
            if ways.get(token) != way:
                raise Failed(f"{token} is paid {ways.get(token)}, not {way}")
            result.append(f"200, {len(ways)} tokens, {token} {way}")
        pay(demo, invoice, amount, token, network)


def pay(demo: Demo, invoice: str, amount: str, token: str, network: str) -> None:
    payer, payee, currency = demo.payer(network), fresh_address(), demo.currency(token, network)
    body = {"payee": payee, "amount": amount, "invoiceCurrency": invoice, "paymentCurrency": token}
    request_id = create(demo, f"create a request for {amount} {invoice}", body)
    quote = take_calldata(demo, request_id, payer)
    conversion = quote["metadata"]["conversion"]
    costs = Decimal(conversion["paymentAmount"])
    if conversion["way"] == "on_chain":
        costs -= Decimal(1).scaleb(-currency.decimals)  # the contract rounds down what /pay rounds up
    with demo.must_receive(payer.balance, [Expected("payee", payee, currency, costs)]):
        demo.send(payer, quote)
        demo.await_deliveries([request_id], EVENTS)
    read_paid(demo, request_id)
    with demo.steps.step("compare the rate of the payment") as result:
        payment = demo.shop.get(f"/v2/payments?requestId={request_id}")["payments"][0]
        if payment["type"] != "conversion":
            raise Failed(f"the payment is {payment['type']}")
        counted = f"{payment['convertedAmountDestination']} {payment['currency']}"
        rate, source = payment["conversionRateSource"], payment["rateProvider"]
        result.append(f"{payment['amount']} {payment['paymentCurrency']} count as {counted}")
        result.append(f"rate {rate or 'of the contract'} by {source}")
    find(demo, request_id)
    export(demo, request_id)


def take_calldata(demo: Demo, request_id: str, payer: Payer) -> dict[str, Any]:
    """Takes the calldata as a step, with the numbers of the conversion."""
    with demo.steps.step("take the calldata") as result:
        body = calldata(demo, request_id, payer)
        conversion = body["metadata"]["conversion"]
        text = f"{conversion['invoiceAmount']} {conversion['invoiceCurrency']} = {conversion['paymentAmount']}"
        result.append(f"200, {describe_body(body)}")
        result.append(f"{text} {conversion['paymentCurrency']}")
        result.append(f"rate {conversion['rate']} by {conversion['rateSource']}")
        if conversion["way"] == "quoted":
            result.append(f"held for {conversion['quoteExpiresAt'] - int(time.time())} s")
        else:
            result.append(f"at most {conversion['maxToSpend']}, by a rate of at most {conversion['maxRateAge']} s")
    return body
