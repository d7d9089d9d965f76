"""The numbers of a status: its sums are those of the payments, whatever is paid in which order."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.records import Payable
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests.payments.records import Payment, PaymentKind, PaymentStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.search.requests.responses import request_answer
from chalicelib.payments.search.requests.rules import FoundRequest, Market, counting
from chalicelib.payments.search.requests.schemas import OfframpAnswer
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, WALLET
from tests.platform.storage.kept_records import OFFRAMP
from tests.wire.published import READ_REQUEST, assert_fits

SOURCES = (RateSource.CHAINLINK, RateSource.COINGECKO)
VALUES = st.lists(st.integers(1, 10**12), max_size=6)


def rate(base: str, token: str, numerator: int, source: RateSource) -> Rate:
    return Rate(base, token, BaseUnits(numerator), BaseUnits(10**6), source, START)


def request(amount: int, paid: int, invoice: str | None, token: str) -> Request:
    status = RequestStatus.PAID if paid >= amount else RequestStatus.PARTIALLY_PAID if paid else RequestStatus.CREATED
    return Request(
        payable_id="01R",
        position=0,
        request_id="01R",
        account_id="acct",
        created_at=START,
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


def payment(number: int, value: int, of: Request, by: Rate | None, dollar: Rate | None = None) -> Payment:
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
        event_key="",
        account_id="acct",
        payee=PAYEE,
        payment_reference=of.payment_reference,
        dollar_rate=dollar,
        currency=of.currency,
        invoice_currency=of.invoice_currency or of.currency,
    )


def dollar_of(token: str, numerator: int) -> Rate:
    return rate("USD", token, numerator, RateSource.CHAINLINK)


@st.composite
def found(draw: Any) -> FoundRequest:
    """A request with payments that were valued by rates of one or two sources, or paid in the invoice's own token."""
    invoice, token = draw(st.sampled_from(((None, "USDC-mainnet"), ("USD", "USDC-mainnet"), ("EUR", "ETH-mainnet"))))
    values, amount = draw(VALUES), draw(st.integers(1, 10**12))
    of = request(amount, sum(values), invoice, token)
    by = [rate(invoice, token, draw(st.integers(1, 10**9)), draw(st.sampled_from(SOURCES))) if invoice else None for _ in values]
    dollars = [draw(st.none() | st.builds(dollar_of, st.just(token), st.integers(1, 10**9))) for _ in values]
    known_by = zip(values, by, dollars, strict=True)
    payments = [payment(number, *each[:1], of, *each[1:]) for number, each in enumerate(known_by)]
    known = draw(st.booleans())
    market = Market(
        rate(invoice, token, draw(st.integers(1, 10**9)), RateSource.CHAINLINK) if invoice and known else None,
        rate("USD", token, draw(st.integers(1, 10**9)), RateSource.CHAINLINK) if known else None,
    )
    return FoundRequest(of, counting(draw(st.permutations(payments))), Payable((of,)), market)


def decimal(text: str | None) -> Decimal:
    return Decimal(text or "0")


def test_the_bank_account_that_is_paid_out_to_is_shown_to_secret_credentials_alone() -> None:
    assert OfframpAnswer.of(OFFRAMP, shows_customer=True).paymentDetailsId == OFFRAMP.details_id
    assert OFFRAMP.details_id not in OfframpAnswer.of(OFFRAMP, shows_customer=False).model_dump_json()


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
def test_dollars_are_those_of_the_invoice_or_of_each_payments_time_and_of_the_market(each: FoundRequest) -> None:
    if each.request.invoice_currency == "USD":
        assert each.amount_dollars == max(each.request.amount, each.request.paid)
        return
    assert (each.paid_dollars is None) == any(payment.dollar_rate is None for payment in each.payments)
    if each.paid_dollars is not None:
        exact = sum(_exact_dollars(payment) for payment in each.payments)
        assert 0 <= exact - each.paid_dollars <= len(each.payments), "each is rounded down to 8 decimals"
    assert (each.remaining_dollars is None) == (each.market.dollar is None and not each.is_paid)
    if each.paid_dollars is None or each.remaining_dollars is None:
        assert each.amount_dollars is None
    else:
        assert each.amount_dollars == each.paid_dollars + each.remaining_dollars


def _exact_dollars(payment: Payment) -> Fraction:
    token = token_with_id(payment.currency)
    assert token is not None and payment.dollar_rate is not None
    return Fraction(payment.amount, 10**token.decimals) / payment.dollar_rate.fraction * 10**8


def test_dollars_of_an_invoice_in_dollars_are_what_is_paid_of_it_also_what_was_only_summed_up() -> None:
    of = replace(request(10**9, 7 * 10**8, "USD", "USDC-mainnet"), dust_amount=BaseUnits(5))
    assert FoundRequest(of, (), Payable((of,))).paid_dollars == 7 * 10**8


def test_what_was_only_summed_up_has_reached_the_payee_too() -> None:
    of = replace(request(10**7, 10**7, None, "USDC-mainnet"), dust_amount=BaseUnits(5))
    assert FoundRequest(of, (payment(1, 10**7 - 5, of, None, None),), Payable((of,))).received == 10**7


def test_dollars_of_what_was_only_summed_up_are_not_known() -> None:
    of = replace(request(10**7, 10**7, None, "USDC-mainnet"), dust_count=1)
    kept = payment(1, 10**7, of, None, dollar_of("USDC-mainnet", 10**6))
    assert FoundRequest(of, (kept,), Payable((of,))).amount_dollars == 10 * 10**8, "what is worth nothing adds nothing"
    assert FoundRequest(replace(of, dust_amount=BaseUnits(1)), (kept,), Payable((of,))).amount_dollars is None


@given(found())
def test_one_rate_is_told_only_where_one_says_it_all(each: FoundRequest) -> None:
    rates = (payment.rate or payment.dollar_rate for payment in each.payments)
    sources = {each.source for each in rates if each}
    if each.has_several_rates:
        assert each.rate is None
    elif each.payments:
        assert each.rate == each.payments[0].rate or each.rate == each.payments[0].dollar_rate
    else:
        assert each.rate == each.market.shown
    if each.is_paid:
        assert each.rate_source == (RateSource.MIXED if len(sources) > 1 else next(iter(sources), None))


def test_what_does_not_count_is_left_out_and_the_rest_is_in_the_order_of_its_times() -> None:
    of = request(10, 3, None, "USDC-mainnet")
    late, early = payment(2, 1, of, None), payment(1, 2, of, None)
    assert counting([late, replace(early, status=PaymentStatus.REVERSED)]) == (late,)
    assert counting([late, early]) == (early, late)
