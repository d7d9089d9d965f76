"""The local market: prices that the price feeds of a local chain and a local price source both tell.

The price source speaks the protocol of CoinGecko's API (chalicelib/platform/outbound/prices.py). Prices stand still
until somebody changes them, and past ones are the same:

    curl <price_url>/prices -d '{"USDC": 0.95}'     dollars by symbol, for the source and the feeds
    curl <price_url>/prices                                all of them
"""

import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from chalicelib.chains.catalogue.conversions import feeds_of
from chalicelib.chains.catalogue.prices import price_id
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from infra.local.chain import Chain
from infra.local.feeds import DECIMALS, set_feed
from infra.local.process import Stoppable
from infra.local.serving import JsonRequest, JsonResponse, JsonServer

_DOLLARS = {
    "USD": "1", "EUR": "1.08", "GBP": "1.27", "JPY": "0.0066", "CAD": "0.73", "AUD": "0.66", "BRL": "0.18",
    "CHF": "1.13", "CNY": "0.14", "HKD": "0.128", "IDR": "0.0000614", "ILS": "0.27", "INR": "0.012",
    "KRW": "0.00073", "NZD": "0.6", "SGD": "0.74", "THB": "0.029", "TRY": "0.029",
    "USDC": "0.9998", "USDT": "1.0002", "DAI": "0.9999", "BUSD": "0.9997", "FRAX": "0.9975", "GUSD": "0.9989",
    "TUSD": "0.9991", "USDP": "0.9996",
    "ETH": "2500", "MATIC": "0.52", "AAVE": "152", "BAT": "0.21", "GRT": "0.17", "MANA": "0.41", "MKR": "1480",
    "SNX": "1.9",
}  # fmt: skip
_HOUR = 3600


class Market(Stoppable):
    """A running price source, and the feeds of one chain."""

    def __init__(self, chain: Chain, port: int | None = None) -> None:
        self._chain = chain
        self._dollars = {symbol: Decimal(dollars) for symbol, dollars in _DOLLARS.items()}
        self._symbols = {price_id(token): _symbol_of_price(token) for token in find_tokens() if price_id(token)}
        self._set_feeds(self._dollars)
        self._server = JsonServer("the price source", self._respond, port)
        self.url = self._server.url

    def set(self, dollars: Mapping[str, str]) -> None:
        """Sets what one unit costs in dollars, by symbol. Raises KeyError for a symbol without a price."""
        changed = {symbol: Decimal(str(price)) for symbol, price in dollars.items()}
        if not changed.keys() <= self._dollars.keys() or not all(0 < each < 10**9 for each in changed.values()):
            raise KeyError(f"prices above 0 of some of {', '.join(self._dollars)}")
        self._dollars |= changed
        self._set_feeds(changed)

    def stop(self) -> None:
        self._server.close()

    def _set_feeds(self, changed: Mapping[str, Decimal]) -> None:
        for priced, other in feeds_of(self._chain.network):
            if priced.symbol in changed or other.symbol in changed:
                price = self._dollars[priced.symbol] / self._dollars[other.symbol]
                set_feed(self._chain, priced, other, round(price * 10**DECIMALS))

    def _respond(self, request: JsonRequest) -> JsonResponse:
        if request.path == "/prices":
            if request.method == "POST":
                try:
                    self.set(request.body)
                except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
                    return JsonResponse({"error": str(error)}, 400)
            return JsonResponse({symbol: float(dollars) for symbol, dollars in self._dollars.items()})
        if request.path == "/simple/price":
            return self._now(request.query)
        folder, _, rest = request.path.removeprefix("/coins/").partition("/")
        if request.path.startswith("/coins/") and rest == "market_chart/range" and folder in self._symbols:
            return self._past(folder, request.query)
        return JsonResponse({"error": "coin not found"}, 404)

    def _now(self, query: Mapping[str, str]) -> JsonResponse:
        ids = [id for id in query.get("ids", "").split(",") if id in self._symbols]
        currencies = [code for code in query.get("vs_currencies", "").split(",") if code.upper() in self._dollars]
        updated = {"last_updated_at": int(time.time())}
        return JsonResponse({id: {code: self._price(id, code) for code in currencies} | updated for id in ids})

    def _past(self, id: str, query: Mapping[str, str]) -> JsonResponse:
        """One price an hour, as CoinGecko has of times more than a day ago."""
        first, last = int(query["from"]), min(int(query["to"]), int(time.time()))
        hours = range(-(-first // _HOUR) * _HOUR, last + 1, _HOUR)
        prices: list[Any] = [[second * 1000, self._price(id, query["vs_currency"])] for second in hours]
        return JsonResponse({"prices": prices, "market_caps": [], "total_volumes": []})

    def _price(self, id: str, code: str) -> float:
        return float(self._dollars[self._symbols[id]] / self._dollars[code.upper()])


def _symbol_of_price(token: Token) -> str:
    """The symbol by which the price of a token is listed above: that of the token of mainnet with the same price."""
    symbols = (each.symbol for each in find_tokens(network="mainnet") if price_id(each) == price_id(token))
    return next(symbols, token.symbol)
