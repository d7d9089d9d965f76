"""Where the price of a currency is found: the feeds of a network that has some, and the ids of the HTTP price source.

Tokens of one asset on several networks are priced by the same feed, and each by its own id at the price source. A token
of a test network is priced as the token that it stands for.
"""

from collections.abc import Collection
from functools import cache
from typing import Literal

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.conversions import conversion_networks, conversion_path
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import Token, find_tokens


@frozen
class FeedPath:
    """The currencies of a network with feeds as which two currencies are priced, and the path of hashes between."""

    network: str
    invoice: Token
    payment: Token
    path: tuple[str, ...]


def feed_path(invoice: Token, payment: Token, networks: Collection[str]) -> FeedPath | None:
    """How feeds of one of these networks price `invoice` in `payment`; None if they do not.

    The network of the payment comes first, as its own feeds are those that its conversion contracts use.
    """
    for network in sorted(conversion_networks(), key=lambda name: name != payment.network):
        there = _as_priced_on(network, invoice), _as_priced_on(network, payment)
        if network not in networks or there[0] is None or there[1] is None:
            continue
        path = conversion_path(there[0], there[1])
        if path is not None:
            return FeedPath(network, there[0], there[1], path)
    return None


def price_id(token: Token) -> str | None:
    """The id of a token or native coin at the price source; None if it has no price there, or is fiat."""
    return _of_tokens("priceId").get(token.id)


def price_currency(token: Token) -> str | None:
    """The code of a fiat currency in which the price source gives prices, lower-case; None for any other."""
    return token.symbol.lower() if token.is_fiat and token.symbol in load("prices")["currencies"] else None


def has_prices(invoice: Token, payment: Token) -> bool:
    """Whether the price source prices `invoice` in `payment`."""
    return price_id(payment) is not None and (price_currency(invoice) or price_id(invoice)) is not None


def price_ids() -> tuple[str, ...]:
    """All ids of the price source that are used, each once, in alphabetical order."""
    return tuple(sorted(set(_of_tokens("priceId").values())))


def price_currencies() -> tuple[str, ...]:
    """The codes of all fiat currencies in which the price source gives prices, lower-case."""
    return tuple(code.lower() for code in load("prices")["currencies"])


@cache
def _as_priced_on(network: str, token: Token) -> Token | None:
    """The currency of a network that has the same price: fiat and its own tokens themselves; None if it has none."""
    if token.is_fiat or token.network == network:
        return token
    symbol = _of_tokens("feed").get(token.id, token.symbol)
    return next(iter(find_tokens(network=network, symbol=symbol)), None)


@cache
def _of_tokens(key: Literal["priceId", "feed"]) -> dict[str, str]:
    """What networks.json has of native coins and tokens.json of tokens under a key, by the id of the currency."""
    networks = load("networks")
    entries = {chain.native_currency_id or "": networks[chain.name].get("currency", {}) for chain in ALL_NETWORKS}
    for network, contracts in load("tokens")["contracts"].items():
        entries |= {f"{name}-{network}": entry for name, entry in contracts.items()}
    return {id: entry[key] for id, entry in entries.items() if key in entry}
