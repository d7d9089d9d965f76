"""What can be paid from another chain: the networks that the bridge connects, in USDC and USDT on both sides."""

from collections.abc import Sequence
from functools import cache

from chalicelib.base.money import BaseUnits, parse_amount
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network, find_network
from chalicelib.chains.catalogue.tokens import Token, find_tokens

SOURCE_SYMBOLS = ("USDC", "USDT")
MINIMUM = "1"
"""What is paid from another chain is worth at least so many dollars, with its fee (supplement, 3.4); USDC and USDT are
taken for a dollar each."""
_RESET = ("USDT-mainnet",)


@cache
def source_networks() -> tuple[Network, ...]:
    """The networks from which, and to which, is paid; in the order of the interface."""
    bridged = [each for each in ALL_NETWORKS if each.bridge_place is not None]
    return tuple(sorted(bridged, key=lambda each: each.bridge_place or 0))


@cache
def source_token(chain_label: str, symbol: str) -> Token | None:
    """The token that pays from a chain (`BASE`), by its symbol; None if nothing can be paid in it from there."""
    found = next((each for each in source_networks() if each.label == chain_label), None)
    if found is None or symbol not in SOURCE_SYMBOLS:
        return None
    return next(iter(find_tokens(found.name, symbol)), None)


def is_bridgeable(token: Token) -> bool:
    """Whether what is due in a token can be paid from another chain."""
    known = find_network(token.network)
    return known is not None and source_token(known.label, token.symbol) == token


def is_enough(token: Token, debit: BaseUnits) -> bool:
    """Whether an amount with its fee is worth the minimum of a payment from another chain."""
    return debit >= parse_amount(MINIMUM, token.decimals)


def has_source(dues: Sequence[tuple[Token, BaseUnits]]) -> bool:
    """Whether there is one source from which all of these are paid: each in the source's own token, or, if it is worth
    the minimum, on another network than the source's. Nothing is exchanged for another token of the same network."""
    sources = (source_token(chain.label, symbol) for chain in source_networks() for symbol in SOURCE_SYMBOLS)
    return any(
        all(
            token == source or (is_bridgeable(token) and token.network != source.network and is_enough(token, debit))
            for token, debit in dues
        )
        for source in sources
        if source is not None
    )


def needs_reset(token: Token) -> bool:
    """Whether an allowance of the token can be changed through zero only, as the contract of Tether on Ethereum has it.

    Of what is bridged no other one does so. Before a wallet's own approval the token itself is asked; of calls that
    are made on another chain later nobody can know what the allowance will be.
    """
    return token.id in _RESET
