"""The status of a request from its creation to its payments: amounts, rates, dollars, fees, and who may read it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import NotFound
from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.payments.records import Payment, PaymentKind, PaymentStatus
from chalicelib.payments.requests.records import (
    CustomerAddress,
    CustomerInfo,
    Frequency,
    Recurrence,
    Request,
    RequestStatus,
)
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.search.requests import flows
from chalicelib.payments.search.requests.responses import request_answer
from chalicelib.platform.access.modes import Mode
from tests.bench.calls import counted
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET, World
from tests.wire.published import READ_REQUEST, assert_fits

OWNER = Viewer("acct", None)


def shown(world: World, name: str, viewer: Viewer = OWNER) -> dict[str, Any]:
    found = flows.find(world.services, name, viewer)
    answer = request_answer(found, "service-network", not viewer.is_public).model_dump(mode="json", exclude_unset=True)
    assert_fits(READ_REQUEST, answer)
    return answer


def invoice(world: World, amount: str = "100", currency: str = "USD", token: str = "USDC-mainnet", **facts: Any) -> Request:
    """A request that is paid in another currency; the test has set a rate, so that mainnet is served."""
    return requests.create(world.services, world.owner, Draft(Item(amount, None, PAYEE, currency, token), **facts))


def paid(world: World, request: Request, amount: int, value: int, rate: Rate | None, **facts: Any) -> None:
    """Stores a payment as the recorder does: `value` counts."""
    stored = load_request(world.services, request)
    count = stored.payment_count
    made = Payment(
        request_id=request.request_id,
        network=request.network,
        block_hash="0x" + "cd" * 32,
        log_index=0,
        block_number=7 + count,
        tx_hash=f"0x{count:064x}",
        amount=BaseUnits(amount),
        fee_amount=BaseUnits(0),
        fee_address=FEE_ADDRESS,
        status=PaymentStatus.CONFIRMED,
        detected_at=world.now,
        paid_at=world.now + timedelta(seconds=count),
        payer=WALLET,
        type=PaymentKind.CONVERSION if rate else PaymentKind.DIRECT,
        rate=rate,
        value=BaseUnits(value),
        event_key="",
        payment_reference=request.payment_reference,
        account_id=request.account_id,
        payee=request.payee,
        currency=request.currency,
        invoice_currency=request.invoice_currency or request.currency,
    )
    made = replace(made, **facts)
    total = BaseUnits(stored.paid + value)
    status = RequestStatus.PAID if total >= stored.amount else RequestStatus.PARTIALLY_PAID
    tx_hash = made.tx_hash if status is RequestStatus.PAID else None
    world.services.store.write(
        made, replace(stored, paid=total, status=status, payment_count=count + 1, tx_hash=tx_hash)
    )


def dollars_in(token: str, numerator: int, denominator: int = 1, source: RateSource = RateSource.CHAINLINK) -> Callable[[World], Rate]:
    return lambda world: Rate("USD", token, BaseUnits(numerator), BaseUnits(denominator), source, world.now)


# --- a new request ---


def test_a_new_request_owes_everything_and_is_listened_for_once_its_calldata_was_asked_for(world: World) -> None:
    request = store_request(world.services)
    answer = shown(world, request.request_id)
    assert answer == {
        "requestId": request.request_id,
        "paymentReference": request.payment_reference,
        "hasBeenPaid": False,
        "createdAt": "2026-03-15T10:00:00.000Z",
        "isListening": False,
        "status": "created",
        "txHash": None,
        "payee": PAYEE,
        "requestAmount": "12.5",
        "invoiceCurrency": "fUSDC-sepolia",
        "paymentCurrency": "fUSDC-sepolia",
        "paidAmount": "0",
        "receivedAmount": "0",
        "refundedAmount": "0",
        "excessAmount": None,
        "payerAddress": None,
        "payments": [],
        "reference": None,
        "customerInfo": None,
        "isRecurrenceStopped": False,
        "isCryptoToFiatAvailable": False,
        "amountInUsd": None,
        "conversionRate": None,
        "conversionBreakdown": None,
        "fees": [],
        "detectionSource": None,
        "note": None,
    }
    asked_for = store_request(world.services, listening_since=world.now)
    assert shown(world, asked_for.request_id)["isListening"] is True


def test_what_the_merchant_said_of_it_is_shown_to_the_merchant(world: World) -> None:
    request = store_request(
        world.services,
        reference="ORDER-7",
        customer_info=CustomerInfo("John", None, "john@shop.example", CustomerAddress(country="US")),
        recurrence=Recurrence("2030-01-01", Frequency.YEARLY, is_stopped=True),
        original_request_id="01abc",
        original_payment_reference="0xb3581f0b0f74cc61",
    )
    answer = shown(world, request.request_id)
    assert answer["reference"] == "ORDER-7"
    assert answer["customerInfo"] == {"firstName": "John", "email": "john@shop.example", "address": {"country": "US"}}
    assert (answer["recurrence"], answer["isRecurrenceStopped"]) == ({"startDate": "2030-01-01", "frequency": "YEARLY"}, True)
    assert (answer["originalRequestId"], answer["originalRequestPaymentReference"]) == ("01abc", "0xb3581f0b0f74cc61")


def test_a_client_id_alone_is_not_shown_who_the_customer_is(world: World) -> None:
    """A client id is public, and anybody reads payment references on the chain."""
    request = store_request(world.services, customer_info=CustomerInfo("John"), reference="ORDER-7")
    answer = shown(world, request.payment_reference, Viewer("acct", "cli_shop", mode=Mode.CLIENT_ID))
    assert (answer["customerInfo"], answer["reference"]) == (None, "ORDER-7")


# --- payments in the token ---


def test_a_payment_of_a_request_is_shown_with_its_hash_and_its_fee(world: World) -> None:
    world.tick()
    request = store_request(world.services, fee_address=FEE_ADDRESS, fee_percentage="1")
    log = world.chain.pay(request, fee=125_000)
    world.scan()
    answer = shown(world, request.request_id)
    (payment,) = answer["payments"]
    assert (answer["hasBeenPaid"], answer["status"], answer["isListening"]) == (True, "paid", False)
    assert answer["txHash"] == payment["sourceTxHash"] == log["transactionHash"]
    assert (answer["paidAmount"], answer["receivedAmount"], answer["excessAmount"]) == ("12.5", "12.5", None)
    assert answer["fees"] == [{"type": "platform", "provider": "service-network", "amount": "0.125", "currency": "fUSDC"}]
    assert answer["detectionSource"] == payment["detectionSource"] == "service-network"
    assert (payment["type"], payment["amount"], payment["paidAmount"]) == ("direct", "12.5", "12.5")
    assert (payment["currency"], payment["paymentCurrency"], payment["sourceNetwork"]) == ("fUSDC", "fUSDC", "sepolia")
    assert "rateProvider" not in payment and "rateSource" not in answer
    assert answer["conversionBreakdown"] is None


def test_a_fee_to_another_address_is_not_the_merchants(world: World) -> None:
    world.tick()
    for request in (store_request(world.services), store_request(world.services, fee_address=PAYEE)):
        world.chain.pay(request, fee=125_000)
        world.scan()
        assert shown(world, request.request_id)["fees"] == []


def test_parts_and_what_is_too_much_are_shown(world: World) -> None:
    world.tick()
    request = store_request(world.services)
    for amount, paid_amount, left, excess in ((5_000_000, "5", "7.5", None), (10_000_000, "15", "0", "2.5")):
        world.chain.pay(request, amount=amount)
        world.scan()
        answer = shown(world, request.request_id)
        breakdown = answer["conversionBreakdown"]
        assert (answer["paidAmount"], answer["excessAmount"]) == (paid_amount, excess)
        assert (breakdown["paidAmount"], breakdown["remainingAmount"]) == (paid_amount, left)
    assert [each["amount"] for each in answer["payments"]] == ["5", "10"]
    assert [each["amount"] for each in breakdown["payments"]] == ["5", "10"]


def test_a_payment_that_a_fork_removed_is_not_shown(world: World) -> None:
    request = store_request(world.services)
    paid(world, request, 12_500_000, 0, None, status=PaymentStatus.REVERSED)
    assert shown(world, request.request_id)["payments"] == []


def test_a_request_of_a_link_is_read_as_well(world: World) -> None:
    payment = world.create_link()
    (request,) = payment.requests
    answer = shown(world, request.request_id)
    assert (answer["reference"], answer["isListening"], answer["requestAmount"]) == ("INV-1", True, "12.5")
    world.expire(payment)
    assert shown(world, request.payment_reference)["isListening"] is False


# --- conversions and dollars ---


def test_an_unpaid_invoice_has_the_rate_of_now(world: World) -> None:
    world.prices.set("USD", "ETH", "0.0004")
    world.prices.set("EUR", "USD", "1.1")
    world.prices.set("EUR", "ETH", "0.00044")
    dollars = shown(world, invoice(world, token="ETH-mainnet").request_id)
    assert (dollars["amountInUsd"], dollars["conversionRate"], dollars["rateSource"]) == ("100", "2500", "chainlink")
    euros = shown(world, invoice(world, currency="EUR", token="ETH-mainnet").request_id)
    assert euros["amountInUsd"] == "110"
    assert euros["conversionRate"] == "2272.72727272727273", "euros for one ETH"
    ether = shown(world, invoice(world, "2", "ETH-mainnet", "ETH-mainnet").request_id)
    assert (ether["amountInUsd"], ether["conversionRate"]) == ("5000", "2500")


@pytest.mark.parametrize("source", ["api", "feeds"])
def test_a_source_of_rates_that_is_silent_leaves_the_rest_of_the_status(world: World, source: str) -> None:
    world.prices.set("USD", "ETH", "0.0004")
    in_dollars = invoice(world, token="ETH-mainnet")
    in_ether = invoice(world, "2", "ETH-mainnet", "ETH-mainnet")
    getattr(world.prices, source).is_down = True
    for request, dollars in ((in_dollars, "100"), (in_ether, None)):
        answer = shown(world, request.request_id)
        assert (answer["amountInUsd"], answer["conversionRate"]) == (dollars, None)
        assert "rateSource" not in answer


def test_a_paid_invoice_has_the_rate_that_its_payment_was_valued_by(world: World) -> None:
    world.prices.set("USD", "USDC", "1.001")
    request = invoice(world)
    paid(world, request, 100_000_000, 10_000_000_000, dollars_in("USDC-mainnet", 1)(world))
    answer = shown(world, request.request_id)
    (payment,) = answer["payments"]
    assert (answer["amountInUsd"], answer["conversionRate"], answer["rateSource"]) == ("100", "1", "chainlink")
    assert (answer["paidAmount"], answer["receivedAmount"], answer["payerAddress"]) == ("100", "100", WALLET)
    assert (payment["type"], payment["currency"], payment["paymentCurrency"]) == ("conversion", "USD", "USDC")
    assert (payment["conversionRateSource"], payment["conversionRateDestination"]) == ("1", "1")
    assert (payment["convertedAmountSource"], payment["convertedAmountDestination"]) == ("100", "100")
    assert payment["rateProvider"] == "chainlink"


def test_a_partly_paid_invoice_has_a_breakdown_with_both_kinds_of_rates(world: World) -> None:
    world.prices.set("USD", "ETH", "0.0004")
    request = invoice(world, token="ETH-mainnet")
    paid(world, request, 3 * 10**16, 7_500_000_000, dollars_in("ETH-mainnet", 4, 10_000, RateSource.COINGECKO)(world))
    answer = shown(world, request.request_id)
    assert (answer["amountInUsd"], answer["conversionRate"], answer["rateSource"]) == ("100", None, "mixed")
    breakdown = answer["conversionBreakdown"]
    (part,) = breakdown.pop("payments")
    assert breakdown == {
        "paidAmount": "75",
        "paidAmountInUsd": "75",
        "remainingAmount": "25",
        "remainingAmountInUsd": "25",
        "currentMarketRate": "2500",
        "currentMarketRateSource": "chainlink",
    }
    assert part.pop("timestamp").endswith("Z")
    assert part == {"amount": "75", "amountInUsd": "75", "conversionRate": "2500", "rateSource": "coingecko"}


def test_what_was_paid_in_the_invoices_own_token_has_the_dollars_of_its_time(world: World) -> None:
    """A stablecoin is not a dollar, and what the rate has become since changes nothing."""
    world.prices.set("USDC", "USD", "0.9998")
    world.chain.clock = world.clock
    world.tick()
    request = store_request(world.services)
    for amount in (5_000_000, 7_500_000):
        world.chain.pay(request, amount=amount)
        world.advance(60)
        world.scan()
        world.prices.set("USDC", "USD", "0.9")
    answer = shown(world, request.request_id)
    assert answer["amountInUsd"] == "11.749", "5 at 0.9998 and 7.5 at 0.9"
    assert (answer["conversionRate"], answer["rateSource"]) == (None, "chainlink")
    breakdown = answer["conversionBreakdown"]
    assert breakdown["paidAmountInUsd"] == "11.749"
    parts = [(each["amountInUsd"], each["conversionRate"], each["rateSource"]) for each in breakdown["payments"]]
    assert parts == [("4.999", "0.9998", "chainlink"), ("6.75", "0.9", "chainlink")]


def test_a_request_paid_at_once_shows_the_rate_of_its_payment(world: World) -> None:
    world.prices.set("USDC", "USD", "0.9998")
    world.chain.clock = world.clock
    world.tick()
    request = store_request(world.services)
    world.chain.pay(request)
    world.scan()
    answer = shown(world, request.request_id)
    assert (answer["amountInUsd"], answer["conversionRate"], answer["rateSource"]) == ("12.4975", "0.9998", "chainlink")
    (payment,) = answer["payments"]
    assert (payment["type"], payment["conversionRateSource"]) == ("direct", None)
    assert "rateProvider" not in payment


def test_dollars_that_are_not_known_are_left_out(world: World) -> None:
    world.prices.set("EUR", "USDC", "1.1")
    request = invoice(world, currency="EUR")
    rate = Rate("EUR", "USDC-mainnet", BaseUnits(11), BaseUnits(10), RateSource.CHAINLINK, world.now)
    paid(world, request, 55_000_000, 5_000_000_000, rate)
    answer = shown(world, request.request_id)
    assert (answer["amountInUsd"], answer["receivedAmount"]) == (None, "55")
    assert "paidAmountInUsd" not in answer["conversionBreakdown"]
    assert "amountInUsd" not in answer["conversionBreakdown"]["payments"][0]


# --- what it costs ---


def test_a_status_costs_three_reads_of_the_database_and_no_call_without_a_price_source(world: World) -> None:
    request = store_request(world.services)
    world.chain.is_down = True
    with counted(world.client) as calls:
        shown(world, request.request_id)
    assert calls.total <= 4, str(calls)


@pytest.mark.parametrize(
    "viewer", [Viewer("other", None), Viewer("acct", "cli_other"), Viewer("", None, reads_any_link=True)]
)
def test_a_request_of_somebody_else_is_not_found(world: World, viewer: Viewer) -> None:
    request = requests.create(
        world.services, world.owner, Draft(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia"))
    )
    for name in (request.request_id, request.payment_reference):
        with pytest.raises(NotFound, match="Request not found"):
            flows.find(world.services, name, viewer)
