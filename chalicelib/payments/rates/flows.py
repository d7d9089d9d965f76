"""Exchange rates, now and in the past: read from two sources, and believed where both are fresh and agree."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.prices import FeedPath, feed_path, price_currency, price_id
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.agreement import agree, read_alike
from chalicelib.payments.currencies.flows import conversion_facts
from chalicelib.payments.currencies.rules import is_priced
from chalicelib.payments.rates import rules
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import RateUnavailable, Trust
from chalicelib.platform.outbound.prices import Price, PricesUnavailable
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

T = TypeVar("T")
RECENT = timedelta(minutes=5)
"""For an instant that is no longer ago, the rate of now is taken."""
SHOWN_FOR = timedelta(seconds=20)
_DOLLAR = "usd"


def current(services: Services, invoice: Token, payment: Token) -> Rate:
    """What one unit of the invoice currency is in the payment currency now, by Chainlink's feeds.

    Raises RateUnavailable unless the feeds and the HTTP price source are both fresh and agree. That is logged, and has
    an alarm, unless this deployment never has a rate of these currencies.
    """
    _require_priced(services, invoice, payment)
    try:
        return _current(services, invoice, payment)
    except RateUnavailable as error:
        raise _log_error(services, error, invoice, payment) from None


def current_or_none(services: Services, invoice: Token, payment: Token) -> Rate | None:
    """What one unit of the invoice currency is in the payment currency now, for what is only shown; None if no rate can
    be had, which is logged as by `show_rate_at`.

    What was found is shown for 20 seconds, a rate or none. So those who poll a request do not wait for a node that
    stalls, which may be that of another network than theirs, nor ask it at each read.
    """
    pair, now = (invoice.id, payment.id), services.clock()
    read_at, rate = services.shown_rates.get(pair, (None, None))
    if read_at is None or now - read_at >= SHOWN_FOR:
        rate = show_rate_at(services, invoice, payment, now) if _is_priced(services, invoice, payment) else None
        services.shown_rates[pair] = services.clock(), rate
    return rate


def show_rate_at(services: Services, invoice: Token, payment: Token, instant: datetime) -> Rate | None:
    """What one unit of the invoice currency was in the payment currency at an instant, for what is only shown; None if
    no rate can be had.

    That is logged as a warning. It has an alarm of its own, which is raised after hours: nobody waits for this rate.
    """
    try:
        return _at(services, invoice, payment, instant)
    except RateUnavailable as error:
        facts = {"invoice": invoice.id, "payment": payment.id, "reason": error.message}
        services.log.warning("no exchange rate to show", extra=facts)
        return None


def rate_at(services: Services, invoice: Token, payment: Token, instant: datetime) -> Rate:
    """What one unit of the invoice currency was in the payment currency at a past instant, by Chainlink's feeds.

    Raises RateUnavailable, which is logged and has the alarm of `current`, unless the feeds were fresh at that time and
    agree with the prices of the HTTP source around it. Currencies that the contracts convert, and the HTTP source does
    not price, have the rate of the feeds alone: /pay offers no other for them.
    """
    try:
        return _at(services, invoice, payment, instant)
    except RateUnavailable as error:
        raise _log_error(services, error, invoice, payment) from None


def at_or_lowest(services: Services, invoice: Token, payment: Token, instant: datetime) -> Rate:
    """The rate at an instant in the past; where `rate_at` gives none, the known rate by which a payment is worth the
    least.

    Known are what fresh feeds and the HTTP price source gave at that time, whether they agree or not, and the rate of
    now by `current`. So nothing is worth more than any of them says. Logged as a warning with all of them. Raises
    RateUnavailable if there is none.
    """
    with suppress(RateUnavailable):
        return rate_at(services, invoice, payment, instant)
    feed, prices, now = None, None, None
    with suppress(RateUnavailable):
        feed = _fresh_feed_rate(services, invoice, payment, instant)
    if _is_priced(services, invoice, payment):
        prices = _read(services, lambda: _past_price_rates(services, invoice, payment, instant))
    with suppress(RateUnavailable):
        now = _at(services, invoice, payment, services.clock())
    _, dearest = prices or (None, None)
    lowest = rules.lowest_rate((feed, dearest, now))
    known = {"feeds": feed, "prices": dearest, "now": now}
    rates = {name: rules.rate_text(rate) if rate else None for name, rate in known.items()}
    facts = {"invoice": invoice.id, "payment": payment.id, "time": instant.isoformat(), "rates": rates}
    services.log.warning("payment valued by the rate by which it is worth the least", extra=facts)
    return lowest


def _current(services: Services, invoice: Token, payment: Token) -> Rate:
    feed = _read(services, lambda: _feed_rate(services, invoice, payment))
    price = feed and _read(services, lambda: _price_rate(services, invoice, payment))
    return rules.agree_on_rate((feed, price), services.clock(), trust_of(services))


def _at(services: Services, invoice: Token, payment: Token, instant: datetime) -> Rate:
    if not _is_priced(services, invoice, payment) and conversion_path(invoice, payment) is not None:
        return _fresh_feed_rate(services, invoice, payment, instant)
    _require_priced(services, invoice, payment)
    if abs(services.clock() - instant) <= RECENT:
        return _current(services, invoice, payment)
    feed = _read(services, lambda: _past_feed_rate(services, invoice, payment, instant))
    prices = _read(services, lambda: _past_price_rates(services, invoice, payment, instant)) if feed else None
    return rules.agree_on_past_rate(feed, prices, instant, trust_of(services))


def _fresh_feed_rate(services: Services, invoice: Token, payment: Token, instant: datetime) -> Rate:
    """The rate of a past instant by the feeds, as the nodes agree, because no other source confirms it. Raises
    RateUnavailable if they were not fresh, or do not answer."""

    def read() -> Rate | None:
        chain, by = _feeds(services, invoice, payment)
        found = agree(chain, lambda node: node.read_past_conversion_rate(by.path, instant))
        return _rate_by(by, invoice, payment, found.value)

    feed = _read(services, read)
    return rules.fresh_in_past(feed, instant, trust_of(services))


def trust_of(services: Services) -> Trust:
    """The deployment's settings of when rates are believed."""
    settings = services.settings
    ages = {RateSource.CHAINLINK: settings.feed_max_age_seconds, RateSource.COINGECKO: settings.price_max_age_seconds}
    return Trust(settings.rate_tolerance_bps, {source: timedelta(seconds=age) for source, age in ages.items()})


def _require_priced(services: Services, invoice: Token, payment: Token) -> None:
    """Raises RateUnavailable if this deployment has no feed or no price of the currencies."""
    if not _is_priced(services, invoice, payment):
        raise RateUnavailable(f"This deployment has no exchange rate of {invoice.id} in {payment.id}")


def _is_priced(services: Services, invoice: Token, payment: Token) -> bool:
    return is_priced(invoice, payment, conversion_facts(services))


def _feed_rate(services: Services, invoice: Token, payment: Token) -> Rate | None:
    chain, by = _feeds(services, invoice, payment)
    (found,) = read_alike(chain, lambda node: node.read_conversion_rates([by.path]))
    return _rate_by(by, invoice, payment, found)


def _past_feed_rate(services: Services, invoice: Token, payment: Token, instant: datetime) -> Rate | None:
    chain, by = _feeds(services, invoice, payment)
    found = read_alike(chain, lambda node: node.read_past_conversion_rate(by.path, instant))
    return _rate_by(by, invoice, payment, found)


def _feeds(services: Services, invoice: Token, payment: Token) -> "tuple[EvmChain, FeedPath]":
    """The chain and the path that price `invoice` in `payment`. Raises RateUnavailable if no such chain is served."""
    by = feed_path(invoice, payment, services.chains.networks)
    if by is None:
        raise RateUnavailable(f"This deployment has no price feeds of {invoice.id} in {payment.id}")
    return services.chains.evm(by.network), by


def _rate_by(by: FeedPath, invoice: Token, payment: Token, found: PathRate | None) -> Rate | None:
    """The rate of a path, read for other tokens of the same assets. None without one."""
    if found is None:
        return None
    at = datetime.fromtimestamp(found.updated_at, UTC)
    rate = rules.rate_of_path(by.invoice, by.payment, found, RateSource.CHAINLINK, at)
    return replace(rate, base=invoice.id, quote=payment.id)


def _price_rate(services: Services, invoice: Token, payment: Token) -> Rate | None:
    prices, currency = services.prices, price_currency(invoice)
    paid = prices.now(_id(payment), currency or _DOLLAR)
    owed = Price(Decimal(1), paid.at) if currency and paid else prices.now(_id(invoice), _DOLLAR)
    return None if paid is None or owed is None else _cross_rate(invoice, payment, owed, paid)


def _past_price_rates(
    services: Services, invoice: Token, payment: Token, instant: datetime
) -> tuple[Rate, Rate] | None:
    """The lowest and the highest rate around an instant; None if the source has no prices of that time."""
    prices, currency = services.prices, price_currency(invoice)
    paid = prices.around(_id(payment), currency or _DOLLAR, instant)
    owed = (Price(Decimal(1), instant),) if currency else prices.around(_id(invoice), _DOLLAR, instant)
    if not paid or not owed:
        return None
    cheapest, dearest = _extremes(owed)
    low_paid, high_paid = _extremes(paid)
    return _cross_rate(invoice, payment, cheapest, high_paid), _cross_rate(invoice, payment, dearest, low_paid)


def _extremes(prices: tuple[Price, ...]) -> tuple[Price, Price]:
    return min(prices, key=lambda each: each.value), max(prices, key=lambda each: each.value)


def _cross_rate(invoice: Token, payment: Token, owed: Price, paid: Price) -> Rate:
    """The rate of two prices in one currency: as many of the one as it costs of the other."""
    one = rules.rate_of_price(invoice, payment, owed.value, RateSource.COINGECKO, min(owed.at, paid.at))
    other = rules.rate_of_price(invoice, payment, paid.value, RateSource.COINGECKO, paid.at)
    return rules.divide_rates(one, other)


def _id(token: Token) -> str:
    found = price_id(token)
    assert found is not None, "currencies that are priced have ids"
    return found


def _read(services: Services, read: Callable[[], T | None]) -> T | None:
    """What a source gives; None if it does not answer, which is logged."""
    try:
        return read()
    except (ChainUnavailable, PricesUnavailable) as error:
        services.log.warning("a source of exchange rates gives none", reason=str(error), cause=repr(error.__cause__))
        return None


def _log_error(services: Services, error: RateUnavailable, invoice: Token, payment: Token) -> RateUnavailable:
    services.log.error("no exchange rate", invoice=invoice.id, payment=payment.id, reason=error.message)
    return error
