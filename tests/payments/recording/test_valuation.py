"""What a payment counts for: by what the contracts converted, by a quote, or by the rate of its time."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id
from chalicelib.chains.nodes.history.logs import LoggedConversion
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import to_pay, value_of
from chalicelib.payments.recording.valuation import (
    Accepted,
    Valuation,
    ValuationRate,
    needs_valuation_rate,
    value_transfer,
)
from chalicelib.payments.requests.payments.records import PaymentKind
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning.records import LoggedTransfer
from tests.fakes.world import PAYEE, START

ACCEPTED = Accepted(tolerance_bps=100, max_rate_age=3600)
EXACT = Accepted(tolerance_bps=0, max_rate_age=3600)
INVOICES = [*find_tokens("fiat"), *find_tokens("mainnet", "DAI"), *find_tokens("mainnet", "USDC")]
PAYMENTS = [*find_tokens("mainnet", "USDT"), *find_tokens("mainnet", "ETH"), *find_tokens("tron", "USDT")]


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


USD, EUR, USDC = token("USD"), token("EUR"), token("USDC-mainnet")


def request_of(invoice: Token = USD, payment: Token = USDC, amount: int = 1_250_000_000, paid: int = 0) -> Request:
    """A request of 12.50 in an invoice currency, of which something was paid."""
    return Request(
        payable_id="01R",
        position=0,
        request_id="01R",
        account_id="acct",
        created_at=START,
        salt="salt",
        payment_reference="0x86dfbccad783599a",
        payee=PAYEE,
        network=payment.network,
        currency=payment.id,
        amount=BaseUnits(amount),
        status=RequestStatus.CREATED,
        paid=BaseUnits(paid),
        tx_hash=None,
        invoice_currency=None if invoice == payment else invoice.id,
    )


def transfer(request: Request, amount: int, **changes: object) -> LoggedTransfer:
    paid = token(request.currency)
    known = LoggedTransfer(
        network=request.network,
        block_number=7,
        block_hash="0x07",
        tx_hash="0x01",
        event_key="e-0",
        log_index=1,
        reference_topic="0x00",
        payable_id="01R",
        token_address=None if paid.is_native else paid.address.lower(),
        payee=PAYEE.lower(),
        amount=BaseUnits(amount),
        fee_amount=BaseUnits(0),
        fee_address=PAYEE.lower(),
        paid_at=START,
        detected_at=START,
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def rate(request: Request, one: Fraction) -> Rate:
    """One whole unit of the invoice currency is `one` whole units of the payment currency."""
    invoice = request.invoice_currency or request.currency
    numerator, denominator = (BaseUnits(part) for part in one.as_integer_ratio())
    return Rate(invoice, request.currency, numerator, denominator, RateSource.CHAINLINK, START)


def converted(request: Request, moved: int, by_path: int | None, **said: object) -> LoggedTransfer:
    """A transfer by a conversion proxy of what was asked for, in a request's invoice currency."""
    names = {"currency": token(request.invoice_currency or "").hash.lower(), "max_rate_age": 3600}
    conversion = LoggedConversion(**{"amount": request.amount, "fee_amount": 0, **names, **said})  # type: ignore[arg-type]
    return transfer(request, moved, conversion=conversion, path_amount=by_path)


requests = st.builds(
    lambda invoice, payment, amount, part: request_of(invoice, payment, amount, amount * part // 100),
    st.sampled_from(INVOICES),
    st.sampled_from(PAYMENTS),
    st.integers(1, 10**26),
    st.integers(0, 120),
)
one_costs = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6).filter(lambda each: each > 0)


def test_in_one_currency_a_payment_is_worth_its_amount() -> None:
    request = request_of(USDC, USDC, 12_500_000)
    paid = transfer(request, 7)
    assert not needs_valuation_rate(request, paid, ACCEPTED)
    assert value_transfer(request, paid, None, ACCEPTED) == Valuation(BaseUnits(7), None, PaymentKind.DIRECT)


def test_in_one_currency_what_a_conversion_says_does_not_count() -> None:
    request = request_of(USDC, USDC, 12_500_000)
    said = LoggedConversion(USDC.hash.lower(), BaseUnits(10**18), BaseUnits(0), 3600)
    paid = transfer(request, 7, conversion=said, path_amount=BaseUnits(7))
    assert value_transfer(request, paid, None, ACCEPTED).value == 7


@given(requests, one_costs)
def test_what_a_quote_asks_for_pays_the_rest_to_the_last_unit(request: Request, one: Fraction) -> None:
    quoted = rate(request, one)
    rest = max(request.amount - request.paid, 0)
    due = to_pay(rest, quoted, token(request.invoice_currency or ""), token(request.currency))
    found = value_transfer(request, transfer(request, due), ValuationRate(quoted, is_quoted=True), ACCEPTED)
    assert (found.value, found.rate, found.type) == (rest, quoted, PaymentKind.CONVERSION)


@given(requests, one_costs, st.integers(1, 10**30), st.booleans())
def test_a_payment_is_worth_no_more_than_by_its_rate_except_for_the_tolerance(
    request: Request, one: Fraction, amount: int, is_quoted: bool
) -> None:
    valuation_rate = ValuationRate(rate(request, one), is_quoted)
    invoice, payment = token(request.invoice_currency or ""), token(request.currency)
    exact = value_of(amount, valuation_rate.rate, invoice, payment)
    rest = max(request.amount - request.paid, 0)
    found = value_transfer(request, transfer(request, amount), valuation_rate, ACCEPTED).value
    assert value_transfer(request, transfer(request, amount), valuation_rate, EXACT).value <= exact
    if is_quoted or exact >= rest or exact * 10_000 < rest * 9_900:
        assert found <= exact
    else:
        assert found == rest
    is_part = is_quoted and to_pay(found, valuation_rate.rate, invoice, payment) == amount
    assert is_part or found >= min(exact, rest), "rounding takes at most what is more than the rest, or than a part"


@given(requests, one_costs, st.integers(1, 10**30), st.integers(0, 10**20))
def test_more_is_worth_no_less(request: Request, one: Fraction, amount: int, more: int) -> None:
    for is_quoted in (True, False):
        valuation_rate = ValuationRate(rate(request, one), is_quoted)
        less, greater = (value_transfer(request, transfer(request, each), valuation_rate, ACCEPTED).value for each in (amount, amount + more))
        assert less <= greater


@given(requests, one_costs, st.integers(1, 10**12))
def test_a_quoted_part_counts_exactly_the_part_that_was_asked_for(request: Request, one: Fraction, part: int) -> None:
    """`part` is in cents, or in whatever the smallest unit is in which an invoice can be written."""
    invoice, payment = token(request.invoice_currency or ""), token(request.currency)
    quoted, smallest = rate(request, one), 10 ** (on_chain_decimals(invoice) - invoice.decimals)
    asked = [to_pay(each * smallest, quoted, invoice, payment) for each in (part - 1, part, part + 1)]
    assume(asked[0] < asked[1] < asked[2])  # or the tokens do not tell which part was asked for
    rest = max(request.amount - request.paid, 0)
    assume(asked[1] != to_pay(rest, quoted, invoice, payment))
    found = value_transfer(request, transfer(request, asked[1]), ValuationRate(quoted, is_quoted=True), ACCEPTED)
    assert found.value == part * smallest


@given(requests, one_costs, st.integers(1, 10**6), st.integers(0, 24))
def test_where_tokens_do_not_tell_the_part_apart_it_is_one_that_costs_as_many_and_has_as_few_decimals(
    request: Request, one: Fraction, part: int, zeros: int
) -> None:
    """Such as 0.5 ETH in USDC, whose smallest unit is worth many of ETH's."""
    invoice, payment = token(request.invoice_currency or ""), token(request.currency)
    quoted, smallest = rate(request, one), 10 ** (on_chain_decimals(invoice) - invoice.decimals)
    units = part * 10**zeros * smallest
    asked = to_pay(units, quoted, invoice, payment)
    rest = max(request.amount - request.paid, 0)
    assume(asked != to_pay(rest, quoted, invoice, payment))
    found = value_transfer(request, transfer(request, asked), ValuationRate(quoted, is_quoted=True), ACCEPTED).value
    assert to_pay(found, quoted, invoice, payment) == asked
    assert decimals_left(found) >= decimals_left(units)


def decimals_left(units: int) -> int:
    """How many zeros the number ends with."""
    return len(str(units)) - len(str(units).rstrip("0"))


@pytest.mark.parametrize("cents", [1, 333, 998])
def test_a_third_of_an_invoice_in_dollars_counts_no_millionth_of_a_cent_more(cents: int) -> None:
    request = request_of()
    quoted = rate(request, Fraction("1.000371"))
    asked = to_pay(cents * 10**6, quoted, USD, USDC)
    assert value_of(asked, quoted, USD, USDC) > cents * 10**6, "as many tokens are worth a little more"
    assert value_transfer(request, transfer(request, asked), ValuationRate(quoted, is_quoted=True), ACCEPTED).value == cents * 10**6


@pytest.mark.parametrize(("amount", "value"), [(12_375_000, 1_250_000_000), (12_374_999, 1_237_499_900)])
def test_one_percent_less_than_the_rest_counts_as_the_rest_only_without_a_quote(amount: int, value: int) -> None:
    request = request_of()
    of_par = rate(request, Fraction(1))
    assert value_transfer(request, transfer(request, amount), ValuationRate(of_par, is_quoted=False), ACCEPTED).value == value
    assert value_transfer(request, transfer(request, amount), ValuationRate(of_par, is_quoted=True), ACCEPTED).value == amount * 100


@pytest.mark.parametrize(
    ("asked", "amount", "value"),
    [
        (Fraction(1), 12_375_000, 1_237_500_000),
        (Fraction(1), 12_499_999, 1_249_999_900),
        (Fraction(99, 100), 12_375_000, 1_250_000_000),
        (Fraction(99, 100), 12_374_999, 1_237_499_900),
        (Fraction(98, 100), 12_374_999, 1_237_499_900),
    ],
)
def test_once_a_quote_was_given_only_what_it_asked_for_counts_as_the_rest(
    asked: Fraction, amount: int, value: int
) -> None:
    """The rate of the block is 1: what an ended quote asked for is tolerated, within the tolerance, and no less."""
    request = request_of()
    valuation_rate = ValuationRate(rate(request, Fraction(1)), is_quoted=False, asked=rate(request, asked))
    assert value_transfer(request, transfer(request, amount), valuation_rate, ACCEPTED).value == value


def test_a_conversion_as_it_was_asked_for_is_worth_what_it_says_at_the_rate_of_the_contracts() -> None:
    request = request_of(EUR)
    paid = converted(request, 13_500_000, 13_500_000)
    assert not needs_valuation_rate(request, paid, ACCEPTED)
    found = value_transfer(request, paid, None, ACCEPTED)
    assert (found.value, found.type) == (request.amount, PaymentKind.CONVERSION)
    assert found.rate == Rate("EUR", "USDC-mainnet", BaseUnits(108), BaseUnits(100), RateSource.CHAINLINK, START)


AS_TOKENS: dict[str, Callable[[Request], LoggedTransfer]] = {
    "another currency": lambda r: converted(r, 13_500_000, 13_500_000, currency=USD.hash.lower()),
    "any age": lambda r: converted(r, 13_500_000, 13_500_000, max_rate_age=0),
    "too old": lambda r: converted(r, 13_500_000, 13_500_000, max_rate_age=3601),
    "nothing moved": lambda r: converted(r, 0, 0),
    "nothing asked for": lambda r: converted(r, 13_500_000, 0, amount=0),
    "a path of the payer's": lambda r: converted(r, 6_000_000, 13_500_000),
    "1.01 % less than by the path": lambda r: converted(r, 13_364_999, 13_500_000),
    "a path that is not known": lambda r: converted(r, 13_500_000, None),
    "no conversion": lambda r: transfer(r, 13_500_000),
}


@pytest.mark.parametrize("name", AS_TOKENS)
def test_every_other_conversion_is_worth_the_tokens_that_were_moved(name: str) -> None:
    request = request_of(EUR)
    paid = AS_TOKENS[name](request)
    assert needs_valuation_rate(request, paid, ACCEPTED)
    valuation_rate = ValuationRate(rate(request, Fraction(108, 100)), is_quoted=True)
    assert value_transfer(request, paid, valuation_rate, ACCEPTED) == value_transfer(request, transfer(request, paid.amount), valuation_rate, ACCEPTED)


@given(
    requests,
    one_costs,
    st.integers(0, 10**24),
    st.integers(0, 10**26),
    st.one_of(st.none(), st.integers(0, 10**24)),
    st.integers(0, 4000),
    st.sampled_from(["", USD.hash.lower()]),
)
def test_whatever_a_conversion_says_it_is_worth_no_more_than_its_tokens_by_the_path_or_by_the_rate(
    request: Request, one: Fraction, amount: int, said: int, by_path: int | None, age: int, currency: str
) -> None:
    """`by_path` is what `said` costs by the path of the catalogue; the payer's own path moved `amount`."""
    names = {"currency": currency} if currency else {}
    paid = converted(request, amount, by_path, amount=said, max_rate_age=age, **names)
    valuation_rate = ValuationRate(rate(request, one), is_quoted=True)
    found = value_transfer(request, paid, valuation_rate, ACCEPTED).value
    by_rate = value_transfer(request, transfer(request, amount), valuation_rate, ACCEPTED).value
    if found > by_rate:
        assert found == said
        assert by_path is not None
        assert amount * 100 >= by_path * 99
        assert amount > 0


def test_a_conversion_of_which_less_arrived_is_worth_that_part_of_what_it_says() -> None:
    request = request_of()
    paid = converted(request, moved=12_500_000, by_path=12_500_000)
    short = replace(paid, amount=BaseUnits(12_375_000), stated_amount=BaseUnits(12_500_000))
    found = value_transfer(request, short, None, ACCEPTED)
    assert (found.value, found.type) == (request.amount * 99 // 100, PaymentKind.CONVERSION)
    assert found.rate == value_transfer(request, paid, None, ACCEPTED).rate, "the contracts converted at the same rate"


def test_what_a_token_keeps_is_not_tolerated_as_a_change_of_the_rate_is() -> None:
    request = request_of()
    one = ValuationRate(rate(request, Fraction(1)), is_quoted=False)
    arrived = transfer(request, 12_375_000)
    assert value_transfer(request, arrived, one, ACCEPTED).value == request.amount
    short = replace(arrived, stated_amount=BaseUnits(12_500_000))
    assert value_transfer(request, short, one, ACCEPTED).value == request.amount * 99 // 100


def test_dust_is_worth_nothing_and_nothing_is_made_of_it() -> None:
    request = request_of(token("GUSD-mainnet"), token("DAI-mainnet"), 1250)
    for is_quoted in (True, False):
        valuation_rate = ValuationRate(rate(request, Fraction(1)), is_quoted)
        assert value_transfer(request, transfer(request, 10**16 - 1), valuation_rate, ACCEPTED).value == 0


@given(requests)
def test_the_rate_of_a_conversion_gives_back_what_it_converted(request: Request) -> None:
    paid = converted(request, 10**12, 10**12)
    found = value_transfer(request, paid, None, ACCEPTED).rate
    assert found is not None
    invoice, payment = token(request.invoice_currency or ""), token(request.currency)
    whole = Fraction(10**12, 10**payment.decimals) / Fraction(request.amount, 10 ** on_chain_decimals(invoice))
    assert found.fraction == whole
