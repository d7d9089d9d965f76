"""What a merchant is notified of a payment: every field of the bodies, and what each kind adds."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.records import Link, Payable
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.recording.events import payment_event, refunded_event, removed_event
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, Refund
from chalicelib.payments.requests.records import CustomerAddress, CustomerInfo, Request, RequestStatus
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks.rules import EventContext
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, draft

NOW = START + timedelta(minutes=3)
CONTEXT = EventContext(NOW, lambda n: b"\7" * n, "https://explorer.example", "service-network")
MADE = create_link(draft(amount="10"), Owner("acct", None, None), TERMS, START, lambda n: b"\7" * n)
LINK = replace(MADE.link, payer_identifier="payer-7")
PAYMENT = Payment(
    request_id=MADE.requests[0].request_id,
    event_key="",
    value=BaseUnits(10_000_000),
    account_id="acct",
    payee=PAYEE,
    currency="fUSDC-sepolia",
    invoice_currency="fUSDC-sepolia",
    payment_reference=MADE.requests[0].payment_reference,
    network="sepolia",
    block_hash="0x" + "bb" * 32,
    log_index=3,
    block_number=77,
    tx_hash="0x" + "aa" * 32,
    amount=BaseUnits(10_000_000),
    fee_amount=BaseUnits(100_000),
    fee_address=FEE_ADDRESS.lower(),
    status=PaymentStatus.CONFIRMED,
    detected_at=NOW,
)

CONVERSION = {
    "conversionRate",
    "conversionRateSource",
    "conversionRateDestination",
    "convertedAmountSource",
    "convertedAmountDestination",
    "rateProvider",
}


def paid(amount: int = 10_000_000) -> Request:
    status = RequestStatus.PAID if amount >= 10_000_000 else RequestStatus.PARTIALLY_PAID
    return replace(MADE.requests[0], paid=BaseUnits(amount), status=status)


def notified(
    link: Link | None = LINK, request: Request | None = None, payment: Payment = PAYMENT
) -> list[dict[str, Any]]:
    request = request or paid()
    event = payment_event(Payable((request,), link), request, payment, CONTEXT)
    forms = [*event.bodies]
    bodies = [json.loads(body) for _, body in forms]
    assert [kind for kind, _ in forms] == [body["event"] for body in bodies]
    for body in bodies:
        assert_is_described(body)
    return bodies


def test_a_payment_is_told_with_every_field_of_the_interface() -> None:
    request = paid()
    assert notified()[0] == {
        "event": "payment.confirmed",
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"https://explorer.example/request/{request.request_id}",
        "amount": "10",
        "totalAmountPaid": "10",
        "expectedAmount": "10",
        "timestamp": "2026-03-15T10:03:00.000Z",
        "txHash": PAYMENT.tx_hash,
        "network": "sepolia",
        "currency": "fUSDC",
        "paymentCurrency": "fUSDC",
        "isCryptoToFiat": False,
        "paymentProcessor": "service-network",
        "subStatus": "",
        "fees": [{"type": "platform", "amount": "0.1", "currency": "fUSDC"}],
        "payee": PAYEE,
        "reference": "INV-1",
        "payerIdentifier": "payer-7",
        "payerAddress": None,
        "labels": [],
    }


def test_a_correction_is_told_with_the_same_facts_and_its_reason() -> None:
    event = removed_event(paid(4_000_000), PAYMENT, CONTEXT)
    assert_is_described(json.loads(event.body))
    body = json.loads(event.body)
    assert (body["event"], body["subStatus"], body["failureReason"]) == ("payment.failed", "failed", "chain_reorganization")
    assert (body["amount"], body["totalAmountPaid"], body["expectedAmount"]) == ("10", "4", "10")
    assert (event.kind, event.account_id, event.client_id) == ("payment.failed", "acct", None)
    assert (event.created_at, event.published, event.variants) == (NOW, False, ())


def test_a_reference_is_the_requests_own_where_it_was_merged_from_another_link() -> None:
    assert notified(request=replace(paid(), reference="PAY-9"))[0]["reference"] == "PAY-9"
    assert notified(replace(LINK, reference=None))[0]["reference"] is None


@pytest.mark.parametrize(("amount", "excess"), [(9_999_999, None), (10_000_000, None), (10_000_001, "0.000001")])
def test_only_what_is_above_the_amount_is_an_excess(amount: int, excess: str | None) -> None:
    body = notified(request=paid(amount))[0]
    assert body.get("excessAmount") == excess
    assert ("excessAmount" in body) is (excess is not None)
    assert body["event"] == ("payment.partial" if amount < 10_000_000 else "payment.confirmed")


@pytest.mark.parametrize(
    ("link", "payment"),
    [
        (LINK, replace(PAYMENT, fee_amount=BaseUnits(0))),
        (LINK, replace(PAYMENT, fee_address="0x" + "22" * 20)),
        (replace(LINK, fee_address=None), PAYMENT),
        (replace(LINK, fee_address=None), replace(PAYMENT, fee_amount=BaseUnits(0))),
    ],
    ids=["nothing", "to a stranger", "of a link without one", "nothing of a link without one"],
)
def test_what_did_not_reach_the_links_fee_address_is_no_fee(link: Link, payment: Payment) -> None:
    assert notified(link, payment=payment)[0]["fees"] == []


def test_the_variants_name_the_client_id_and_the_checkout() -> None:
    kinds = [body["event"] for body in notified()]
    assert kinds == ["payment.confirmed", "payment.confirmed.checkout"]
    bodies = notified(request=replace(paid(), client_id="cli_shop"))
    assert [body["event"] for body in bodies] == ["payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"]
    assert all((body["clientId"], body["origin"]) == ("cli_shop", "") for body in bodies)
    core, *variants = notified(request=replace(paid(), client_id="cli_shop", origin="https://shop.example"))
    assert core["origin"] == "https://shop.example"
    assert all({**variant, "event": core["event"]} == core for variant in variants), "they differ in the event alone"
    assert not any("clientId" in body or "origin" in body for body in notified())


def test_a_payment_in_another_currency_is_told_in_that_of_the_invoice_with_the_rate() -> None:
    """$10 of which $4.20 are paid in fUSDC, at 0.98 dollars for one."""
    rate = Rate("USD", "fUSDC-sepolia", BaseUnits(100), BaseUnits(98), "coingecko", NOW)
    request = replace(
        paid(), invoice_currency="USD", amount=BaseUnits(1_000_000_000), paid=BaseUnits(420_000_000), status=RequestStatus.PARTIALLY_PAID
    )
    payment = replace(PAYMENT, amount=BaseUnits(4_285_715), value=BaseUnits(420_000_000), rate=rate)
    failed = removed_event(request, payment, CONTEXT)
    assert_is_described(json.loads(failed.body))
    for body in (*notified(request=request, payment=payment), json.loads(failed.body)):
        assert (body["currency"], body["paymentCurrency"]) == ("USD", "fUSDC")
        assert (body["amount"], body["totalAmountPaid"], body["expectedAmount"]) == ("4.2", "4.2", "10")
        assert {name: body[name] for name in CONVERSION} == {
            "conversionRate": "0.98",
            "conversionRateSource": "1.02040816326530612",
            "conversionRateDestination": "0.98",
            "convertedAmountSource": "4.285715",
            "convertedAmountDestination": "4.2",
            "rateProvider": "coingecko",
        }
    assert notified(request=request, payment=payment)[0]["fees"] == [{"type": "platform", "amount": "0.1", "currency": "fUSDC"}]


def test_an_excess_is_told_in_the_invoice_currency() -> None:
    request = replace(paid(), invoice_currency="USD", amount=BaseUnits(1_000_000_000), paid=BaseUnits(1_050_000_001))
    assert notified(request=request)[0]["excessAmount"] == "0.50000001"


def test_a_payment_in_the_invoice_currency_tells_no_rate() -> None:
    assert not notified()[0].keys() & CONVERSION


def test_payer_and_customer_are_told_as_they_are_known() -> None:
    address = CustomerAddress(street="1 Main St", postal_code="10001", country="US")
    info = CustomerInfo(first_name="Ada", email="ada@example.com", address=address)
    body = notified(request=replace(paid(), customer_info=info), payment=replace(PAYMENT, payer=PAYEE))[0]
    assert body["payerAddress"] == PAYEE
    assert body["customerInfo"] == {
        "firstName": "Ada",
        "email": "ada@example.com",
        "address": {"street": "1 Main St", "postalCode": "10001", "country": "US"},
    }
    assert "customerInfo" not in notified()[0]
    assert notified(request=replace(paid(), customer_info=CustomerInfo(last_name="L")))[0]["customerInfo"] == {"lastName": "L"}


def test_a_request_without_a_link_is_told_with_the_same_fields_and_no_checkout() -> None:
    alone = replace(paid(), payable_id=paid().request_id, reference="INV-1", fee_address=FEE_ADDRESS)
    (body,) = notified(None, alone)
    assert body == notified(replace(LINK, payer_identifier=None))[0]
    kinds = [body["event"] for body in notified(None, replace(alone, client_id="cli_shop"))]
    assert kinds == ["payment.confirmed", "payment.confirmed.client_id"]


@pytest.mark.parametrize("mode", [Mode.API_KEY, Mode.CLIENT_ID, Mode.ORCHESTRATOR, Mode.SESSION, None])
def test_every_event_of_a_request_says_what_it_was_created_with(mode: Mode | None) -> None:
    request = create_link(draft(), Owner("acct", None, None, mode=mode), TERMS, START, lambda n: b"\7" * n).requests[0]
    refund = Refund("0x", "fUSDC-sepolia", request.request_id, "token", "sepolia", PAYEE, NOW)
    events = [
        payment_event(Payable((request,), LINK), request, PAYMENT, CONTEXT),
        removed_event(request, PAYMENT, CONTEXT),
        refunded_event(request, refund, BaseUnits(1), CONTEXT),
    ]
    bodies = [json.loads(body) for event in events for _, body in event.bodies]
    assert [body.get("createdWith") for body in bodies] == [mode and mode.value] * 4
