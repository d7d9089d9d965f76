"""Rules of rates: exact fractions of integers from prices and feeds, the amounts they give, and when they hold.

No currency is taken for another: a stablecoin has a rate as any other token, whatever it is meant to be worth.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from chalicelib.base.errors import ServiceError
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.rates.records import Rate, RateSource

if TYPE_CHECKING:
    from chalicelib.chains.calldata.conversions.rates import PathRate

_BASIS = 10_000


class RateUnavailable(ServiceError):
    """There is no rate that holds: a source is silent or stale, or the sources disagree. Nothing was changed."""

    status = 503


@frozen
class Trust:
    """When rates are believed: how far two sources may differ in basis points, and how old a rate of each may be."""

    tolerance_bps: int
    max_age: Mapping[RateSource, timedelta]


def rate_of_price(base: Token, quote: Token, price: Decimal, source: RateSource, at: datetime) -> Rate:
    """The rate that a source gives as the price of one `base` in `quote`. Raises ValueError unless it is above 0."""
    if not price.is_finite():
        raise ValueError(f"the rate of {base.id} in {quote.id} is not a number")
    numerator, denominator = (BaseUnits(part) for part in price.as_integer_ratio())
    return Rate(base.id, quote.id, numerator, denominator, source, at)


def rate_of_path(base: Token, quote: Token, found: "PathRate", source: RateSource, at: datetime) -> Rate:
    """The rate at which the conversion contracts would convert an invoice in `base` to `quote`."""
    numerator = BaseUnits(found.rate * 10 ** on_chain_decimals(base))
    return Rate(base.id, quote.id, numerator, BaseUnits(found.divisor * 10**quote.decimals), source, at)


def invert_rate(rate: Rate) -> Rate:
    """The same rate in the other direction, exactly: what one `quote` is in `base`."""
    return replace(rate, base=rate.quote, quote=rate.base, numerator=rate.denominator, denominator=rate.numerator)


def divide_rates(one: Rate, other: Rate) -> Rate:
    """The rate of two prices in one currency: what the invoice currency costs, by what the payment currency costs."""
    return replace(
        one,
        numerator=BaseUnits(one.numerator * other.denominator),
        denominator=BaseUnits(one.denominator * other.numerator),
    )


def rate_text(rate: Rate) -> str:
    """The rate as a decimal of at most 18 significant digits, without exponent and trailing zeros."""
    rounded = Context(prec=18).divide(Decimal(rate.numerator), Decimal(rate.denominator))
    text = format(rounded, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def to_pay(units: int, rate: Rate, invoice: Token, payment: Token) -> BaseUnits:
    """What an amount costs in base units of the payment currency, rounded up in the payee's favour.

    `units` are those that the conversion contracts count in: 8 decimals for fiat, those of the token for a token.
    """
    numerator, denominator = _in_base_units(rate, invoice, payment)
    return BaseUnits(-(-units * numerator // denominator))


def value_of(units: int, rate: Rate, invoice: Token, payment: Token) -> BaseUnits:
    """What a paid amount is worth in the invoice currency, in the units that `to_pay` takes, rounded down.

    It never says more than was paid, and what `to_pay` asks for is worth at least the amount that it was asked for.
    """
    numerator, denominator = _in_base_units(rate, invoice, payment)
    return BaseUnits(units * denominator // numerator)


def part_asked(units: int, rate: Rate, invoice: Token, payment: Token) -> BaseUnits | None:
    """The amount for which `to_pay` asks just so many units of the payment currency, in the units that it takes.

    Of several, the one with the fewest decimals, which is what a payer has most likely named, and of these the highest.
    None if no amount with the decimals of an invoice costs as much.
    """
    lowest = value_of(max(units - 1, 0), rate, invoice, payment) + 1
    highest = value_of(units, rate, invoice, payment)
    found, step = None, 10 ** (on_chain_decimals(invoice) - invoice.decimals)
    while (rounded := highest // step * step) >= lowest:
        found, step = BaseUnits(rounded), step * 10
    return found


def most_to_spend(on_chain_units: int, found: "PathRate", slippage_bps: int) -> BaseUnits:
    """The limit of a conversion by the contracts, in base units of the payment currency, rounded up.

    `on_chain_units` are amount and fee together, as the contracts count them. The limit is what both cost at the rate
    that was read, and `slippage_bps` more.
    """
    numerator = on_chain_units * found.rate * (_BASIS + slippage_bps)
    return BaseUnits(-(-numerator // (found.divisor * _BASIS)))


def agree(one: Rate, other: Rate, tolerance_bps: int) -> bool:
    """Whether two rates of the same currencies differ by at most `tolerance_bps` of the lower one.

    Raises ValueError for rates of different currencies.
    """
    if (one.base, one.quote) != (other.base, other.quote):
        raise ValueError("rates of different currencies are not compared")
    return abs(one.fraction - other.fraction) * _BASIS <= tolerance_bps * min(one.fraction, other.fraction)


def is_fresh(rate: Rate, now: datetime, max_age: timedelta) -> bool:
    """Whether a rate is at most so old. One from the future, by more than that, is not fresh either."""
    return abs(now - rate.at) <= max_age


def agree_on_rate(rates: Sequence[Rate | None], now: datetime, trust: Trust) -> Rate:
    """The first of the rates that the sources give, where each gives one that is fresh, and all agree with each other.

    Raises RateUnavailable with the reason otherwise, ValueError for fewer than two sources.
    """
    if len(rates) < 2:
        raise ValueError("one source cannot agree with another")
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        raise RateUnavailable("There is no exchange rate from every source now; please try again in a minute")
    first = known[0]
    pair = f"{first.base} in {first.quote}"
    if not all(is_fresh(rate, now, trust.max_age[rate.source]) for rate in known):
        raise RateUnavailable(f"The exchange rate of {pair} is out of date; please try again in a minute")
    lowest, *_, highest = sorted(known, key=lambda rate: rate.fraction)
    if not agree(lowest, highest, trust.tolerance_bps):
        raise RateUnavailable(f"The sources of the exchange rate of {pair} do not agree; please try again in a minute")
    return first


def agree_on_past_rate(feed: Rate | None, prices: tuple[Rate, Rate] | None, instant: datetime, trust: Trust) -> Rate:
    """The rate of a past instant by a feed, if it was fresh then and agrees with the prices around that time.

    `prices` are the lowest and the highest rate around the instant: the feed's has to be between them, or differ from
    the nearer one by no more than the tolerance. Raises RateUnavailable otherwise.
    """
    if feed is None or prices is None:
        raise RateUnavailable("There is no exchange rate of that time from every source; please try again in a minute")
    feed = fresh_in_past(feed, instant, trust)
    low, high = prices
    _, nearest, _ = sorted((low, feed, high), key=lambda rate: rate.fraction)
    if not agree(feed, nearest, trust.tolerance_bps):
        pair = f"{feed.base} in {feed.quote}"
        raise RateUnavailable(f"The sources of the exchange rate of {pair} did not agree at that time")
    return feed


def fresh_in_past(feed: Rate | None, instant: datetime, trust: Trust) -> Rate:
    """The rate of a past instant by a feed, if it was fresh then. Raises RateUnavailable otherwise."""
    if feed is None:
        raise RateUnavailable("The price feeds give no exchange rate of that time; please try again in a minute")
    if not is_fresh(feed, instant, trust.max_age[feed.source]):
        raise RateUnavailable(f"The exchange rate of {feed.base} in {feed.quote} was out of date at that time")
    return feed


def lowest_rate(rates: Iterable[Rate | None]) -> Rate:
    """The rate by which a payment is worth the least. Raises RateUnavailable if there is none."""
    known = [rate for rate in rates if rate is not None]
    if not known:
        raise RateUnavailable("No source gives an exchange rate; please try again in a minute")
    return max(known, key=lambda rate: rate.fraction)


def _in_base_units(rate: Rate, invoice: Token, payment: Token) -> tuple[int, int]:
    """What one unit of an amount in the invoice currency is in base units of the payment currency, as a fraction.

    Raises ValueError for a rate of other currencies.
    """
    if (rate.base, rate.quote) != (invoice.id, payment.id):
        raise ValueError(f"a rate of {rate.base} in {rate.quote} is not one of {invoice.id} in {payment.id}")
    return rate.numerator * 10**payment.decimals, rate.denominator * 10 ** on_chain_decimals(invoice)
