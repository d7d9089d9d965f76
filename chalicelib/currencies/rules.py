"""Decides which currencies a filter selects, and what an invoice currency can be paid in."""

from collections.abc import Sequence
from functools import cache

from chalicelib.catalogue.networks import canonical_name
from chalicelib.catalogue.tokens import Token, find_tokens, token_with_id

# An invoice in one of these can be paid in the tokens below and in the native coin of a network.
_INVOICE_CURRENCIES = frozenset({"USD", "EUR", "CNY", "GBP", "JPY"})
_PAYMENT_SYMBOLS = frozenset({"USDC", "USDT", "DAI", "FAU"})


def filtered(network: str | None, symbol: str | None, id: str | None) -> tuple[Token, ...]:
    """The currencies that match every filter that is given; all of them without a filter."""
    selected = find_tokens(network, symbol)
    if id is None:
        return selected
    token = token_with_id(id)
    return (token,) if token is not None and token in selected else ()


def conversion_routes(token: Token, networks: Sequence[str] | None) -> tuple[Token, ...]:
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
