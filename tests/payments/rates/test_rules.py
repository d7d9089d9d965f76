"""Rates: exact, never a float; rounding in the payee's favour; sources that must be fresh and agree."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.conversions import on_chain_decimals, on_chain_units
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import (
    RateUnavailable,
    Trust,
    agree,
    agree_on_past_rate,
    agree_on_rate,
    divide_rates,
    invert_rate,
    is_fresh,
    most_to_spend,
    rate_of_path,
    rate_of_price,
    rate_text,
    to_pay,
    value_of,
)

NOW = datetime(2026, 3, 15, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TRUST = Trust(tolerance_bps=50, max_age={RateSource.CHAINLINK: 10 * MINUTE, RateSource.COINGECKO: 5 * MINUTE})
FIAT, TOKENS = find_tokens(network="fiat"), [token for token in find_tokens() if not token.is_fiat]

fractions = st.tuples(st.integers(1, 10**40), st.integers(1, 10**40))
units = st.integers(0, 10**40)


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


USD, EUR, JPY, USDC, DAI = (token(id) for id in ("USD", "EUR", "JPY", "USDC-base", "DAI-mainnet"))


def rate(numerator: int, denominator: int = 1, base: Token = USD, quote: Token = USDC, at: datetime = NOW) -> Rate:
    return Rate(base.id, quote.id, numerator, denominator, RateSource.CHAINLINK, at)


# --- amounts ---


def test_a_fiat_amount_is_paid_in_tokens_at_the_rate() -> None:
    assert to_pay(12_50000000, rate(1), USD, USDC) == 12_500_000
    assert to_pay(12_50000000, rate(10_003, 10_000), USD, USDC) == 12_503_750
    assert to_pay(150_000_00000000, rate(67, 10_000, JPY, DAI), JPY, DAI) == 1005 * 10**18
    assert to_pay(1000000, rate(1, 3), USD, USDC) == 3_334, "rounded up to a base unit"


def test_a_stablecoin_off_its_peg_is_worth_what_its_rate_says() -> None:
    """88 cents a dollar: more tokens are asked for, and one token for each dollar is not the whole amount."""
    off = invert_rate(rate_of_price(USDC, USD, Decimal("0.88"), RateSource.CHAINLINK, NOW))
    assert to_pay(88_00000000, off, USD, USDC) == 100_000_000
    assert value_of(88_000_000, off, USD, USDC) == 77_44000000


@given(st.sampled_from(FIAT), st.sampled_from(TOKENS), fractions, units)
def test_what_is_asked_for_is_the_least_that_is_worth_the_amount(
    invoice: Token, payment: Token, fraction: tuple[int, int], amount: int
) -> None:
    known = rate(*fraction, invoice, payment)
    exact = Fraction(*fraction) * amount * 10**payment.decimals / 10**on_chain_decimals(invoice)
    asked = to_pay(amount, known, invoice, payment)
    assert exact <= asked < exact + 1
    assert value_of(asked, known, invoice, payment) >= amount
    if asked:
        assert value_of(asked - 1, known, invoice, payment) < amount


@given(st.sampled_from(FIAT), st.sampled_from(TOKENS), fractions, units)
def test_a_value_never_says_more_than_was_paid(
    invoice: Token, payment: Token, fraction: tuple[int, int], paid: int
) -> None:
    known = rate(*fraction, invoice, payment)
    exact = paid * Fraction(10**on_chain_decimals(invoice), 10**payment.decimals) / Fraction(*fraction)
    assert exact - 1 < value_of(paid, known, invoice, payment) <= exact


@given(fractions, st.lists(units, min_size=2, max_size=6))
def test_payments_in_parts_are_together_worth_no_more_than_one(fraction: tuple[int, int], parts: list[int]) -> None:
    known = rate(*fraction)
    whole = value_of(sum(parts), known, USD, USDC)
    assert 0 <= whole - sum(value_of(part, known, USD, USDC) for part in parts) < len(parts)


def test_a_rate_of_other_currencies_gives_no_amount() -> None:
    for invoice, payment in ((EUR, USDC), (USD, DAI), (USDC, USD)):
        for amount_of in (to_pay, value_of):
            with pytest.raises(ValueError, match="a rate of USD in USDC-base is not one of"):
                amount_of(1, rate(1), invoice, payment)


# --- where rates come from ---


@given(st.decimals(min_value=Decimal("1e-30"), max_value=Decimal("1e30"), allow_nan=False))
def test_a_price_is_kept_exactly(price: Decimal) -> None:
    found = rate_of_price(EUR, USDC, price, RateSource.COINGECKO, NOW)
    assert Fraction(found.numerator, found.denominator) == Fraction(price)
    assert (found.base, found.quote, found.source, found.at) == ("EUR", "USDC-base", "coingecko", NOW)
    assert invert_rate(invert_rate(found)) == found
    assert Fraction(invert_rate(found).numerator, invert_rate(found).denominator) == 1 / Fraction(price)


@pytest.mark.parametrize("price", ["0", "-1", "-0.0001", "0.000"])
def test_a_price_that_is_not_above_zero_is_refused(price: str) -> None:
    with pytest.raises(ValueError, match="the rate of USD in USDC-base is not above 0"):
        rate_of_price(USD, USDC, Decimal(price), RateSource.COINGECKO, NOW)


@pytest.mark.parametrize("price", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_a_price_that_is_no_number_is_refused(price: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        rate_of_price(USD, USDC, Decimal(price), RateSource.COINGECKO, NOW)


def test_equal_rates_are_one_record_however_they_are_written() -> None:
    assert rate(2, 4) == rate(1, 2) == rate(50, 100)
    for numerator, denominator in ((0, 1), (1, 0), (-1, 1), (1, -1)):
        with pytest.raises(ValueError, match="is not above 0"):
            rate(numerator, denominator)


def test_the_rate_of_a_path_is_in_whole_units() -> None:
    """As mainnet's contract answers for USD to USDC at 0.9997 USD a USDC: from 8 decimals to 6."""
    usdc = token("USDC-mainnet")
    found = PathRate(10_003_000_900_270_081, 1_795_350_063, 10**18)
    known = rate_of_path(USD, usdc, found, RateSource.CHAINLINK, NOW)
    assert Fraction(known.numerator, known.denominator) == Fraction(10_003_000_900_270_081, 10**16)
    assert to_pay(12_50000000, known, USD, usdc) == 12_503_752


@given(
    st.sampled_from([USD, EUR, JPY]),
    st.integers(0, 10**15),
    st.integers(0, 10**12),
    st.integers(1, 10**30),
    st.integers(0, 1_000),
)
def test_the_most_to_spend_covers_what_the_contract_takes_at_rates_up_to_the_slippage(
    invoice: Token, amount: int, fee: int, found: int, slippage_bps: int
) -> None:
    read = PathRate(found, 0, 10**18)
    counted = [on_chain_units(invoice, each) for each in (amount, fee)]
    most = most_to_spend(sum(counted), read, slippage_bps)
    worst = found * (10_000 + slippage_bps) // 10_000
    assert sum(each * worst // 10**18 for each in counted) <= most
    assert most < Fraction(sum(counted) * found * (10_000 + slippage_bps), 10**22) + 1


def test_a_rate_is_shown_with_18_digits_at_most() -> None:
    for shown, exact in (
        ("1", rate(1)),
        ("10", rate(10)),
        ("1.0003", rate(10_003, 10_000)),
        ("1", rate(10**18 + 1, 10**18)),
        ("0.333333333333333333", rate(1, 3)),
        ("0.0004", rate(1, 2500)),
        ("123456789.123456789", rate(123_456_789_123_456_789, 10**9)),
        ("123456789.123456789", rate(1_234_567_891_234_567_891, 10**10)),
    ):
        assert rate_text(exact) == shown


@given(st.integers(1, 10**40), st.integers(1, 10**40))
def test_a_rate_is_shown_without_exponent_and_trailing_zeros(numerator: int, denominator: int) -> None:
    text, exact = rate_text(rate(numerator, denominator)), Fraction(numerator, denominator)
    assert abs(Fraction(text) - exact) * 10**17 <= exact
    assert "e" not in text.lower() and not (("." in text) and text.endswith(("0", ".")))
    assert len(text.replace(".", "").strip("0")) <= 18


# --- when rates hold ---


@given(fractions, fractions, st.integers(0, 10_000))
def test_sources_agree_or_not_whichever_comes_first(one: tuple[int, int], other: tuple[int, int], bps: int) -> None:
    assert agree(rate(*one), rate(*other), bps) == agree(rate(*other), rate(*one), bps)
    assert agree(invert_rate(rate(*one)), invert_rate(rate(*other)), bps) == agree(rate(*one), rate(*other), bps)
    assert agree(rate(*one), rate(*one), 0)


def test_the_tolerance_is_a_part_of_the_lower_rate() -> None:
    assert agree(rate(10_000), rate(10_050), 50)
    assert not agree(rate(10_000), rate(10_051), 50)
    assert not agree(rate(10_000_000), rate(10_000_001), 0)
    with pytest.raises(ValueError, match="different currencies"):
        agree(rate(1), rate(1, base=EUR), 50)


def test_a_rate_is_fresh_up_to_its_age_and_not_from_the_future() -> None:
    for minutes, fresh in ((0, True), (10, True), (11, False), (-10, True), (-11, False)):
        assert is_fresh(rate(1, at=NOW - minutes * MINUTE), NOW, 10 * MINUTE) is fresh


def test_the_first_of_sources_that_agree_gives_the_rate() -> None:
    first, second = rate(10_000, 10_000), replace(rate(10_049, 10_000), source=RateSource.COINGECKO)
    assert agree_on_rate([first, second], NOW, TRUST) == first
    assert agree_on_rate([second, first], NOW, TRUST) == second


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([rate(1), None], "no exchange rate from every source"),
        ([None, None], "no exchange rate from every source"),
        ([rate(1), rate(1, at=NOW - 11 * MINUTE)], "USD in USDC-base is out of date"),
        ([rate(100), rate(101)], "USD in USDC-base do not agree"),
        ([rate(1_000), rate(1_004), rate(996)], "USD in USDC-base do not agree"),  # the second and third differ
    ],
)
def test_without_two_fresh_sources_that_agree_there_is_no_rate(rates: list[Rate | None], message: str) -> None:
    with pytest.raises(RateUnavailable, match=message) as refused:
        agree_on_rate(rates, NOW, TRUST)
    assert refused.value.status == 503
    assert refused.value.message.endswith("please try again in a minute")


def test_each_source_has_its_own_age() -> None:
    """A feed that stands still is updated once a day; a price of the same age is of no use."""
    feed, price = rate(1, at=NOW - 10 * MINUTE), replace(rate(1), source=RateSource.COINGECKO)
    assert agree_on_rate([feed, replace(price, at=NOW - 5 * MINUTE)], NOW, TRUST) == feed
    for late in (replace(price, at=NOW - 6 * MINUTE), replace(price, at=NOW + 6 * MINUTE)):
        with pytest.raises(RateUnavailable, match="out of date"):
            agree_on_rate([feed, late], NOW, TRUST)


@given(fractions, fractions)
def test_two_prices_in_one_currency_are_a_rate(one: tuple[int, int], other: tuple[int, int]) -> None:
    found = divide_rates(rate(*one), rate(*other))
    assert found.fraction == Fraction(*one) / Fraction(*other)
    assert divide_rates(rate(*other), rate(*one)).fraction == 1 / found.fraction


@given(fractions, fractions, fractions, st.integers(0, 1_000))
def test_a_past_rate_is_between_the_prices_around_it_or_near_one(
    one: tuple[int, int], two: tuple[int, int], three: tuple[int, int], bps: int
) -> None:
    low, feed, high = sorted((rate(*each) for each in (one, two, three)), key=lambda each: each.fraction)
    trust = replace(TRUST, tolerance_bps=bps)
    assert agree_on_past_rate(feed, (low, high), NOW, trust) == feed
    for outside, prices in ((low, (feed, high)), (high, (low, feed))):
        near = feed
        if agree(outside, near, bps):
            assert agree_on_past_rate(outside, prices, NOW, trust) == outside
        else:
            with pytest.raises(RateUnavailable, match="did not agree at that time"):
                agree_on_past_rate(outside, prices, NOW, trust)


def test_a_past_rate_needs_both_sources_and_a_feed_that_was_fresh_then() -> None:
    around = (rate(1), rate(2))
    for feed, prices in ((None, around), (rate(1), None), (None, None)):
        with pytest.raises(RateUnavailable, match="no exchange rate of that time from every source"):
            agree_on_past_rate(feed, prices, NOW, TRUST)
    with pytest.raises(RateUnavailable, match="out of date at that time"):
        agree_on_past_rate(rate(1, at=NOW - 11 * MINUTE), around, NOW, TRUST)
    assert agree_on_past_rate(rate(1, at=NOW - 10 * MINUTE), around, NOW, TRUST)


@pytest.mark.parametrize("rates", [[], [rate(1)]])
def test_one_source_is_not_enough(rates: list[Rate | None]) -> None:
    with pytest.raises(ValueError, match="one source cannot agree"):
        agree_on_rate(rates, NOW, TRUST)
