"""Decides what an invoice currency can be paid in."""

from functools import cache

from chalicelib.catalogue.networks import canonical_name
from chalicelib.catalogue.tokens import Token, find_tokens

# An invoice in one of these can be paid in the tokens below and in the native coin of a network.
_INVOICE_CURRENCIES = frozenset({"USD", "EUR", "CNY", "GBP", "JPY"})
_PAYMENT_SYMBOLS = frozenset({"USDC", "USDT", "DAI", "FAU"})


def conversion_routes(token: Token, networks: tuple[str, ...] | None) -> tuple[Token, ...]:
    """What an invoice in `token` can be paid in, on the given networks (names or aliases; None means all).

    A crypto token is paid in itself. USD, EUR, CNY, GBP and JPY are paid in USDC, USDT, DAI, FAU or a native
    coin; no other fiat currency has a route.
    """
    if not token.is_fiat:
        routes: tuple[Token, ...] = (token,)
    else:
        routes = _fiat_routes() if token.id in _INVOICE_CURRENCIES else ()
    if networks is None:
        return routes
    names = {canonical_name(name) for name in networks}
    return tuple(entry for entry in routes if entry.network in names)


@cache
def _fiat_routes() -> tuple[Token, ...]:
    return tuple(entry for entry in find_tokens() if entry.is_native or entry.symbol in _PAYMENT_SYMBOLS)
