"""The numbers of a status: its sums are those of the payments, whatever is paid in which order."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.rates.records import Rate, RateSource
from chalicelib.requests.records import Payment, PaymentKind, PaymentStatus, Request, RequestStatus
from chalicelib.search.requests.rules import FoundRequest, Market, counting
from chalicelib.search.requests.schemas import request_answer
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, WALLET
from tests.wire.published import READ_REQUEST, assert_fits

SOURCES = (RateSource.CHAINLINK, RateSource.COINGECKO)
VALUES = st.lists(st.integers(1, 10**12), max_size=6)


def rate(base: str, token: str, numerator: int, source: RateSource) -> Rate:
    return Rate(base, token, BaseUnits(numerator), BaseUnits(10**6), source, START)


def request(amount: int, paid: int, invoice: str | None, token: str) -> Request:
    status = RequestStatus.PAID if paid >= amount else RequestStatus.PARTIALLY_PAID if paid else RequestStatus.CREATED
    return Request(
        bill_id="01R",
        position=0,
        request_id="01R",
        salt="salt",
        payment_reference="0x86dfbccad783599a",
        payee=PAYEE,
        network="mainnet",
        currency=token,
        amount=BaseUnits(amount),
        status=status,
        paid=BaseUnits(paid),
        tx_hash=None,
        invoice_currency=invoice,
    )


def payment(number: int, value: int, of: Request, by: Rate | None) -> Payment:
    return Payment(
        request_id="01R",
        network="mainnet",
        block_hash="0x" + "cd" * 32,
        log_index=number,
        block_number=number,
        tx_hash=f"0x{number:064x}",
        amount=BaseUnits(value if by is None else value * 2),
        fee_amount=BaseUnits(0),
        fee_address=FEE_ADDRESS,
        status=PaymentStatus.CONFIRMED,
        detected_at=START,
        paid_at=START + timedelta(seconds=number),
        payer=WALLET,
        type=PaymentKind.CONVERSION if by else PaymentKind.DIRECT,
        rate=by,
        value=BaseUnits(value),
        currency=of.currency,
        invoice_currency=of.invoice_currency or of.currency,
    )


@st.composite
def found(draw: Any) -> FoundRequest:
    """A request with payments that were valued by rates of one or two sources, or paid in the invoice's own token."""
    invoice, token = draw(st.sampled_from(((None, "USDC-mainnet"), ("USD", "USDC-mainnet"), ("EUR", "ETH-mainnet"))))
    values, amount = draw(VALUES), draw(st.integers(1, 10**12))
    of = request(amount, sum(values), invoice, token)
    by = [rate(invoice, token, draw(st.integers(1, 10**9)), draw(st.sampled_from(SOURCES))) if invoice else None for _ in values]
    payments = [payment(number, value, of, each) for number, (value, each) in enumerate(zip(values, by, strict=True))]
    known = draw(st.booleans())
    market = Market(
        rate(invoice, token, draw(st.integers(1, 10**9)), RateSource.CHAINLINK) if invoice and known else None,
        rate("USD", token, draw(st.integers(1, 10**9)), RateSource.CHAINLINK) if known else None,
    )
    return FoundRequest(of, counting(draw(st.permutations(payments))), market=market)


def decimal(text: str | None) -> Decimal:
    return Decimal(text or "0")


@given(found())
def test_the_sums_of_a_status_are_those_of_its_payments(each: FoundRequest) -> None:
    answer = request_answer(each, "service-network", shows_customer=True).model_dump(mode="json", exclude_unset=True)
    assert_fits(READ_REQUEST, answer)
    paid, excess, owed = (decimal(answer[name]) for name in ("paidAmount", "excessAmount", "requestAmount"))
    assert sum(decimal(item["amount"]) for item in answer["payments"]) == paid
    assert sum(decimal(item["receivedAmount"]) for item in answer["payments"]) == decimal(answer["receivedAmount"])
    assert [item["timestamp"] for item in answer["payments"]] == sorted(item["timestamp"] for item in answer["payments"])
    assert answer["hasBeenPaid"] == (paid >= owed) and excess == max(paid - owed, 0)
    breakdown = answer["conversionBreakdown"]
    assert (breakdown is not None) == (len(each.payments) > 1 or 0 < paid < owed)
    if breakdown is not None:
        assert decimal(breakdown["paidAmount"]) + decimal(breakdown["remainingAmount"]) == owed + excess
        assert sum(decimal(item["amount"]) for item in breakdown["payments"]) == paid


@given(found())
def test_dollars_are_those_of_the_invoice_or_of_the_market(each: FoundRequest) -> None:
    invoice = each.request.invoice_currency
    if invoice == "USD":
        assert each.amount_dollars == max(each.request.amount, each.request.paid)
    elif each.request.paid or each.market.dollar is None:
        assert each.amount_dollars is None
    else:
        assert each.amount_dollars is not None and each.amount_dollars == each.remaining_dollars


@given(found())
def test_one_rate_is_told_only_where_one_says_it_all(each: FoundRequest) -> None:
    sources = {payment.rate.source for payment in each.payments if payment.rate}
    if each.has_several_rates:
        assert each.rate is None
    elif each.payments:
        assert each.rate == each.payments[0].rate
    else:
        assert each.rate == each.market.shown
    if each.is_paid:
        assert each.rate_source == (RateSource.MIXED if len(sources) > 1 else next(iter(sources), None))


def test_what_does_not_count_is_left_out_and_the_rest_is_in_the_order_of_its_times() -> None:
    of = request(10, 3, None, "USDC-mainnet")
    late, early = payment(2, 1, of, None), payment(1, 2, of, None)
    assert counting([late, replace(early, status=PaymentStatus.REVERSED)]) == (late,)
    assert counting([late, early]) == (early, late)
