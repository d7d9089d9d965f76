"""What a payment was worth in dollars: what it counts for an invoice in dollars, else by the rate that was kept."""

from dataclasses import replace

from chalicelib.base.money import BaseUnits
from chalicelib.payments.rates.records import RateSource
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.search.rules import dollar_rate, dollars, dollars_of
from tests.payments.search.requests.test_rules import dollar_of, payment, rate, request

CENT = 10**6
"""In the 8 decimals of a dollar."""


def paid(**changes: object) -> Payment:
    """2 USDC for an invoice in USDC, when a dollar was half a USDC."""
    made = payment(1, 2_000_000, request(2_000_000, 0, None, "USDC-mainnet"), None, dollar_of("USDC-mainnet", 500_000))
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_payment_is_worth_its_tokens_at_the_rate_of_its_time_and_not_more_than_is_known() -> None:
    made = paid()
    assert dollars(made) == 400 * CENT and dollars_of(BaseUnits(1_000_000), made) == 200 * CENT
    assert dollars(paid(dollar_rate=None)) is None and dollar_rate(paid(dollar_rate=None)) is None


def test_for_an_invoice_in_dollars_a_payment_is_worth_what_it_counts_for() -> None:
    by = rate("USD", "USDC-mainnet", 500_000, RateSource.COINGECKO)
    made = paid(invoice_currency="USD", rate=by, value=BaseUnits(399 * CENT), dollar_rate=None)
    assert dollars(made) == 399 * CENT, "not 4 dollars, which its tokens are worth by the rate"
    assert dollar_rate(made) == by and dollars_of(BaseUnits(1_000_000), made) == 200 * CENT
