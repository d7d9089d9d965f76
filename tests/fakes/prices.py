"""A market in memory: the HTTP price source with the methods of `Prices`, and what the feeds of a `FakeChain` answer.

    world.prices.set("USD", "USDC", "1.0003")     one dollar is 1.0003 USDC, for both sources, from now on
    world.prices.api.is_down = True               the HTTP source is silent
    world.prices.feeds.age = timedelta(days=2)    the feeds are stale
    world.prices.api.off_by = Decimal("1.02")     the HTTP source's rates are 2 % higher than the feeds'

Currencies are named by their symbols. A rate between two tokens goes through USD unless it is set itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.conversions import currency_with_hash, on_chain_decimals
from chalicelib.chains.catalogue.prices import price_id
from chalicelib.chains.catalogue.tokens import find_tokens
from chalicelib.platform.outbound.prices import Price, PricesUnavailable


@dataclass
class Source:
    """What a test can make worse: silent, stale, or off by a factor. Of an update in the future the age is negative."""

    is_down: bool = False
    age: timedelta = timedelta()
    off_by: Decimal = Decimal(1)


class FakePrices:
    def __init__(self, clock: Callable[[], datetime], when_set: Callable[[], None] = lambda: None) -> None:
        self.api, self.feeds = Source(), Source()
        self._clock, self._when_set = clock, when_set
        self._rates: dict[tuple[str, str], list[tuple[datetime, Fraction]]] = {}

    def set(self, base: str, quote: str, rate: str) -> None:
        """From now on, one unit of `base` is `rate` units of `quote`."""
        self._rates.setdefault((base, quote), []).append((self._clock(), Fraction(rate)))
        self._when_set()

    def rate(self, base: str, quote: str, instant: datetime) -> Fraction | None:
        """One unit of `base` in `quote` at an instant; None if no test has set it."""
        through_dollars = () if "USD" in (base, quote) else ("USD",)
        if base == quote:
            return Fraction(1)
        for known, invert in (((base, quote), False), ((quote, base), True)):
            before = [rate for since, rate in self._rates.get(known, ()) if since <= instant]
            if before:
                return 1 / before[-1] if invert else before[-1]
        for middle in through_dollars:
            one, other = self.rate(base, middle, instant), self.rate(middle, quote, instant)
            if one is not None and other is not None:
                return one * other
        return None

    # the methods of Prices

    @property
    def is_configured(self) -> bool:
        return bool(self._rates)

    def now(self, id: str, currency: str) -> Price | None:
        return self._price(id, currency, self._clock())

    def around(self, id: str, currency: str, instant: datetime) -> tuple[Price, ...]:
        found = self._price(id, currency, instant)
        return () if found is None else (found,)

    def _price(self, id: str, currency: str, instant: datetime) -> Price | None:
        if self.api.is_down:
            raise PricesUnavailable("The price source does not answer")
        symbols = {token.symbol for token in find_tokens() if price_id(token) == id}
        rates = (self.rate(currency.upper(), symbol, instant) for symbol in sorted(symbols))
        found = next((rate for rate in rates if rate is not None), None)
        if found is None:
            return None
        value = Decimal(found.denominator) / Decimal(found.numerator) / self.api.off_by
        return Price(value, instant - self.api.age)

    # what the feeds of a chain answer

    def path_rate(self, network: str, path: Sequence[str], instant: datetime | None = None) -> PathRate | None:
        """What the conversion contracts of a network return for a path; exact, whatever the decimals of feeds."""
        if self.feeds.is_down:
            raise ChainUnavailable(f"The {network} node does not answer")
        instant = instant or self._clock()
        invoice, payment = (currency_with_hash(network, hash) for hash in (path[0], path[-1]))
        assert invoice is not None and payment is not None
        found = self.rate(invoice.symbol, payment.symbol, instant)
        if found is None:
            return None
        found *= Fraction(self.feeds.off_by) * Fraction(10**payment.decimals, 10 ** on_chain_decimals(invoice))
        updated_at = int((instant - self.feeds.age).astimezone(UTC).timestamp())
        return PathRate(found.numerator, updated_at, found.denominator)
