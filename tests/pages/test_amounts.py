"""What the page computes to be due at a rate is what the service asks for, for any rate, amount, fee and decimals."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chalicelib.base.money import BaseUnits, Fee, format_amount
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import most_to_spend, rate_of_path, to_pay
from tests.oracles.node import run

DRIVER = str(Path(__file__).parent / "amounts_driver.js")
AT = datetime(2026, 3, 15, 12, tzinfo=UTC)
NOW = 1_773_576_000_000
ANYWHERE = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
INVOICES, TOKENS = ("USD", "JPY", "BHD", "DAI-mainnet", "ETH-mainnet"), ("USDC-base", "DAI-base", "ETH-base-base", "GUSD-mainnet")
CASES = 400
Json = dict[str, Any]


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


def payment(invoice: Token, paid: Token, left: int, percentage: str | None = None) -> Json:
    """As link.js reads it."""
    fee = Fee(percentage, ANYWHERE).on(left)
    return {
        "invoice": invoice.id,
        "decimals": on_chain_decimals(invoice),
        "symbol": invoice.symbol,
        "digits": 0,
        "tokenDecimals": paid.decimals,
        "tokenSymbol": paid.symbol,
        "percentage": percentage,
        "left": str(left),
        "fee": str(fee),
    }


def conversion(rate: Rate, **limits: Any) -> Json:
    return {
        "way": "on_chain" if "maxToSpend" in limits else "quoted",
        "rateNumerator": str(rate.numerator),
        "rateDenominator": str(rate.denominator),
        "rateSource": rate.source.value,
        "rateAt": "2026-03-15T12:00:00.000Z",
        "invoiceCurrency": rate.base,
        **limits,
    }


def drawn(draw: random.Random) -> tuple[Token, Token, int, str | None]:
    invoice, paid = token(draw.choice(INVOICES)), token(draw.choice(TOKENS))
    percentage = draw.choice((None, "1", "0.5", "12.345", "100"))
    return invoice, paid, draw.randrange(1, 10 ** draw.randint(1, 24)), percentage


def test_a_quoted_amount_and_the_fee_on_it_are_those_of_the_service() -> None:
    draw, questions, wanted = random.Random(21), list[Json](), list[tuple[str, str]]()
    for _ in range(CASES):
        invoice, paid, left, percentage = drawn(draw)
        terms = (BaseUnits(draw.randrange(1, 10 ** draw.randint(1, 60))) for _ in range(2))
        rate = Rate(invoice.id, paid.id, *terms, RateSource.CHAINLINK, AT)  # type: ignore[call-arg]
        amount = to_pay(left, rate, invoice, paid)
        asked = payment(invoice, paid, left, percentage)
        questions.append({"payment": asked, "conversion": conversion(rate, quoteExpiresAt=NOW // 1000 + 300), "now": NOW})
        wanted.append((str(amount), str(Fee(percentage, ANYWHERE).on(amount))))
    assert [(each["left"], each["fee"]) for each in run(DRIVER, questions)] == wanted


def test_the_most_of_a_contract_is_refused_only_above_a_tenth_more_than_the_rate() -> None:
    draw, questions, wanted = random.Random(22), list[Json](), list[bool]()
    for number in range(CASES):
        invoice, paid, left, percentage = drawn(draw)
        found = PathRate(draw.randrange(1, 10**40), NOW // 1000, draw.randrange(1, 10**40))
        rate = rate_of_path(invoice, paid, found, RateSource.CHAINLINK, AT)
        asked = payment(invoice, paid, left, percentage)
        units = left + int(asked["fee"])
        most = most_to_spend(units, found, draw.randint(0, 1_000)) if number % 2 else most_to_spend(units, found, 1_000) + 1
        limits = {"maxToSpend": format_amount(most, paid.decimals), "maxRateAge": 3_600}
        questions.append({"payment": asked, "conversion": conversion(rate, **limits), "now": NOW})
        wanted.append(not number % 2)
    assert [each["isHigh"] for each in run(DRIVER, questions)] == wanted


def test_a_rate_is_held_until_twenty_seconds_before_its_end_or_a_tenth_of_what_is_left() -> None:
    rate = Rate("USD", "USDC-base", BaseUnits(1), BaseUnits(1), RateSource.COINGECKO, AT)
    asked = payment(token("USD"), token("USDC-base"), 100)
    left = {300: 280, 200: 180, 100: 90, 10: 9, 0: 0, -50: -45}
    questions = [
        {"payment": asked, "conversion": conversion(rate, quoteExpiresAt=NOW // 1000 + seconds), "now": NOW} for seconds in left
    ]
    assert [(each["endsAt"] - NOW) // 1000 for each in run(DRIVER, questions)] == [*left.values()]


def test_a_conversion_in_another_form_is_refused() -> None:
    rate = Rate("USD", "USDC-base", BaseUnits(1), BaseUnits(1), RateSource.COINGECKO, AT)
    asked, sound = payment(token("USD"), token("USDC-base"), 100), conversion(rate, quoteExpiresAt=NOW // 1000 + 300)
    other = replace(rate, base="EUR")
    odd = [
        None, [], "rate", sound | {"way": "direct"}, conversion(other, quoteExpiresAt=NOW), sound | {"quoteExpiresAt": None},
        sound | {"quoteExpiresAt": 1.5}, sound | {"quoteExpiresAt": "300"}, sound | {"rateNumerator": "0"},
        sound | {"rateNumerator": "1e3"}, sound | {"rateDenominator": "-1"}, sound | {"rateDenominator": "9" * 401},
        sound | {"rateSource": None}, sound | {"rateSource": "x" * 101},
        sound | {"way": "on_chain"}, sound | {"way": "on_chain", "maxToSpend": "1.0000001", "maxRateAge": 1},
        sound | {"way": "on_chain", "maxToSpend": "1", "maxRateAge": 0},
    ]  # fmt: skip
    answers = run(DRIVER, [{"payment": asked, "conversion": each, "now": NOW} for each in odd])
    assert answers == [{"refused": "odd"}] * len(odd)
