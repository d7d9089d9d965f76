"""The client of the HTTP price source, which speaks the protocol of CoinGecko's API (docs/operations.md).

    GET /simple/price?ids=usd-coin,dai&vs_currencies=usd,eur&include_last_updated_at=true&precision=full
        {"usd-coin": {"usd": 0.9998, "eur": 0.9259, "last_updated_at": 1773568800}, ...}
    GET /coins/usd-coin/market_chart/range?vs_currency=usd&from=1773564300&to=1773576900&precision=full
        {"prices": [[1773565260000, 0.9998], ...]}, times in milliseconds

An operator sets its URL. What it answers is a claim all the same: numbers are read as decimals, and what is not in the
documented form is not a price.
"""

import math
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Any
from urllib.parse import urlencode

from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.rpc.http_client import HttpClient, HttpError, json_of

KEPT_SECONDS = 20
"""How long a container answers with the prices that it read last. Their age counts from the source's own time."""
SILENT_SECONDS = 5
"""How long a container does not ask again after a failure, so that it does not burden a source that fails."""
AROUND = timedelta(minutes=75)
"""How far from an instant past prices are taken: the source has one for each hour."""
_HOUR = 3600
_MOST_HOURS = 500
"""How many hours of past prices a container keeps, so that many payments of an hour cost one request of the quota."""
_MAX_RESPONSE_BYTES = 512 * 1024
_MOST_BRACKETS = 5_000  # in a body, for json_of
_LEAST, _MOST = Decimal("1e-18"), Decimal("1e18")
_MOST_DIGITS = 60
_LATEST_SECOND = 2**33


class PricesUnavailable(Exception):
    """The price source did not respond, or not in the documented form."""


@frozen
class Price:
    """What one unit of a currency costs, and when that was known (UTC)."""

    value: Decimal
    at: datetime


@frozen
class _Hour:
    """The prices around all instants of an hour, oldest first, and until when (monotonic, in seconds) they are kept.

    `prices` is None after a failure.
    """

    prices: tuple[Price, ...] | None
    until: float


class Prices:
    """The client of the price source. Without `base_url` there is none: `is_configured` is False."""

    def __init__(self, base_url: str, headers: Callable[[], Mapping[str, str]] = dict) -> None:
        """`headers` is called once, before the first request."""
        self._base_url, self._headers = base_url, headers
        self._read_again_at, self._prices = 0.0, dict[tuple[str, str], Price]()
        self._hours = dict[tuple[str, str, int], _Hour]()

    @property
    def is_configured(self) -> bool:
        return bool(self._base_url)

    def now(self, id: str, currency: str) -> Price | None:
        """The price of a currency by its id at the source, in fiat by its lower-case code; None if it has none.

        One request reads all prices that the catalogue knows. Raises PricesUnavailable.
        """
        if time.monotonic() >= self._read_again_at:
            self._read_again_at = time.monotonic() + SILENT_SECONDS
            try:
                self._prices = self._read_all()
            except PricesUnavailable:
                self._prices = {}
                raise
            self._read_again_at = time.monotonic() + KEPT_SECONDS
        if not self._prices:
            raise PricesUnavailable("The price source gave no prices a few seconds ago")
        return self._prices.get((id, currency))

    def around(self, id: str, currency: str, instant: datetime) -> tuple[Price, ...]:
        """The prices within `AROUND` of an instant, oldest first. One request an hour. Raises PricesUnavailable."""
        key = id, currency, int(instant.timestamp()) // _HOUR
        kept = self._hours.get(key)
        if kept is None or time.monotonic() >= kept.until:
            self._keep(key, _Hour(None, time.monotonic() + SILENT_SECONDS))
            kept = self._keep(key, self._read_hour(*key))
        if kept.prices is None:
            raise PricesUnavailable("The price source gave no prices of that hour a few seconds ago")
        return tuple(each for each in kept.prices if abs(each.at - instant) <= AROUND)

    def _keep(self, key: tuple[str, str, int], hour: "_Hour") -> "_Hour":
        self._hours.pop(key, None)
        if len(self._hours) >= _MOST_HOURS:
            del self._hours[next(iter(self._hours))]
        self._hours[key] = hour
        return hour

    def _read_hour(self, id: str, currency: str, hour: int) -> "_Hour":
        """The prices around all instants of an hour: kept for good if there are some, and there will be no more."""
        around = int(AROUND.total_seconds())
        first, last = hour * _HOUR - around, (hour + 1) * _HOUR + around
        query = {"vs_currency": currency, "from": first, "to": last, "precision": "full"}
        answer = self._get(f"/coins/{id}/market_chart/range?{urlencode(query)}")
        try:
            found = [Price(_value(value), _time(milliseconds, 1000)) for milliseconds, value in answer["prices"]]
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise _not_as_documented() from error
        prices = tuple(sorted(found, key=lambda each: each.at))
        return _Hour(prices, math.inf if prices and last < time.time() else time.monotonic() + KEPT_SECONDS)

    def _read_all(self) -> dict[tuple[str, str], Price]:
        from chalicelib.chains.catalogue.prices import price_currencies, price_ids

        query = {
            "ids": ",".join(price_ids()),
            "vs_currencies": ",".join(price_currencies()),
            "include_last_updated_at": "true",
            "precision": "full",
        }
        answer = self._get(f"/simple/price?{urlencode(query, safe=',')}")
        if not isinstance(answer, dict):
            raise _not_as_documented()
        return {
            (id, currency): price
            for id, currency in product(price_ids(), price_currencies())
            if (price := _price(answer.get(id), currency)) is not None
        }

    def _get(self, path: str) -> Any:
        try:
            response = self._client.get(path)
        except HttpError as error:
            raise PricesUnavailable("The price source does not answer") from error
        if response.status != 200:
            raise PricesUnavailable("The price source does not answer") from HttpError(f"status {response.status}")
        try:
            return json_of(response.body, _MOST_BRACKETS, parse_float=Decimal, parse_constant=_refuse)
        except (ValueError, ArithmeticError) as error:
            raise _not_as_documented() from error

    @cached_property
    def _client(self) -> HttpClient:
        return HttpClient(self._base_url, _MAX_RESPONSE_BYTES, self._headers())


def _price(fields: Any, currency: str) -> Price | None:
    """One price of an answer; None if it is missing or malformed, which says nothing about the others."""
    try:
        return Price(_value(fields[currency]), _time(fields["last_updated_at"], 1))
    except (ValueError, TypeError, LookupError, ArithmeticError):
        return None


def _value(number: Any) -> Decimal:
    """Raises TypeError or ValueError unless it is a JSON number that a price can be."""
    if type(number) not in (int, Decimal):
        raise TypeError("a price is not a number")
    value = Decimal(number)
    if not (_LEAST <= value <= _MOST and len(value.as_tuple().digits) <= _MOST_DIGITS):
        raise ValueError("a price is out of its range")
    return value


def _time(number: Any, per_second: int) -> datetime:
    """Raises TypeError or ValueError unless it is a Unix time."""
    if type(number) is not int:
        raise TypeError("a time is not a whole number")
    if not 0 <= number < _LATEST_SECOND * per_second:
        raise ValueError("a time is out of its range")
    return datetime.fromtimestamp(number / per_second, UTC)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a price")


def _not_as_documented() -> PricesUnavailable:
    return PricesUnavailable("The price source does not answer as it should")
