"""On-chain conversion: the paths of price feeds from an invoice currency to a payment currency, and its decimals.

A path is what the conversion contracts take: the hashes of the currencies, from that of the invoice to that of the
payment, such as EUR, USD, USDC. There is a Chainlink feed between neighbours, in one direction or the other.

The contracts know the decimals of three kinds of currencies: 8 for fiat (an address without code), those that a token
returns, and 18 for a native coin. ChainlinkConversionPath 0.1.0 has ether built in as the only native coin and would
take any other for fiat, so that an invoice in MATIC could not be converted; it is the rate source of ERC-20 payments.
"""

from collections.abc import Iterator
from functools import cache

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY, address_of
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.networks import canonical_name
from chalicelib.chains.catalogue.tokens import FIAT, Token, find_tokens, token_with_id

FIAT_DECIMALS_ON_CHAIN = 8
"""ChainlinkConversionPath.getDecimals; npm payment-detection's padAmountForChainlink, which builds the same amounts."""
_ETHER = "ETH-mainnet"


def conversion_networks() -> tuple[str, ...]:
    """The networks on which payments can be converted by the contracts."""
    return tuple(load("conversions")["feeds"])


def conversion_path(invoice: Token, payment: Token) -> tuple[str, ...] | None:
    """The shortest path of hashes (lower-case hex) by which an amount in `invoice` is paid in `payment`; None if none.

    An invoice currency is fiat, or belongs to the network of the payment currency.
    """
    if invoice.is_native and invoice.id != _ETHER:
        return None
    return _paths(payment.network).get((invoice.id, payment.id)) if not payment.is_fiat else None


def payment_currencies(invoice: Token) -> tuple[Token, ...]:
    """The tokens and native coins in which the contracts convert an amount in `invoice`, on all networks."""
    return tuple(
        token
        for network in conversion_networks()
        for token in find_tokens(network=network)
        if conversion_path(invoice, token) is not None
    )


def conversion_proxy(payment: Token) -> str:
    """The contract that converts and pays in a token or native coin. Raises LookupError if its network has none."""
    return address_of(NATIVE_CONVERSION_PROXY if payment.is_native else ERC20_CONVERSION_PROXY, payment.network)


def currency_with_hash(network: str, hash: str) -> Token | None:
    """The currency that a hash in a path stands for: fiat, a token or the native coin of the network; or None."""
    return _by_hash(canonical_name(network)).get(hash.lower())


def on_chain_units(currency: Token, units: int) -> BaseUnits:
    """An amount in an invoice currency as the contracts count it: $12.50 is 1250 units, and 1_250_000_000 on chain."""
    scale: int = 10 ** (on_chain_decimals(currency) - currency.decimals)
    return BaseUnits(units * scale)


def on_chain_decimals(currency: Token) -> int:
    """The decimals in which the contracts count an amount in an invoice currency."""
    return FIAT_DECIMALS_ON_CHAIN if currency.is_fiat else currency.decimals


def feeds_of(network: str) -> Iterator[tuple[Token, Token]]:
    """The feeds of a network: each gives the price of the first currency in the second one."""
    for other, priced in load("conversions")["feeds"][network].items():
        for each in priced:
            yield _token(each), _token(other)


@cache
def _paths(network: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """The hashes of the shortest path between any two currencies of a network, by their ids."""
    neighbours = _neighbours(network)
    return {
        (start, ids[-1]): tuple(map(_hash_of, ids)) for start in neighbours for ids in _shortest_from(start, neighbours)
    }


def _shortest_from(start: str, neighbours: dict[str, list[str]]) -> Iterator[tuple[str, ...]]:
    """The shortest path from one currency to each other that can be reached. Of equal ones the first that is listed."""
    reached = {start}
    paths: list[tuple[str, ...]] = [(start,)]
    for path in paths:  # grows as it is read
        for following in neighbours[path[-1]]:
            if following not in reached:
                reached.add(following)
                paths.append((*path, following))
    yield from paths[1:]


@cache
def _neighbours(network: str) -> dict[str, list[str]]:
    """The currencies between which there is a feed, in both directions."""
    found: dict[str, list[str]] = {}
    for one, others in load("conversions")["feeds"].get(network, {}).items():
        for other in others:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


@cache
def _by_hash(network: str) -> dict[str, Token]:
    return {token.hash.lower(): token for part in (FIAT, network) for token in find_tokens(network=part)}


def _hash_of(id: str) -> str:
    return _token(id).hash.lower()


def _token(id: str) -> Token:
    token = token_with_id(id)
    assert token is not None, f"{id} of conversions.json is not a token"
    return token
