"""What can be paid from another chain: the six networks that the bridge connects, in USDC and USDT on both sides."""

from functools import cache

from chalicelib.catalogue.networks import ALL_NETWORKS, Network, network
from chalicelib.catalogue.tokens import Token, find_tokens

SOURCE_SYMBOLS = ("USDC", "USDT")
_RESET = ("USDT-mainnet",)
_LABELS = ("BASE", "OPTIMISM", "ARBITRUM", "ETHEREUM", "POLYGON", "BNB")


@cache
def source_networks() -> tuple[Network, ...]:
    """The networks from which, and to which, is paid; in the order of the interface."""
    labelled = {each.label: each for each in ALL_NETWORKS}
    return tuple(labelled[label] for label in _LABELS)


@cache
def source_token(chain_label: str, symbol: str) -> Token | None:
    """The token that pays from a chain (`BASE`), by its symbol; None if nothing can be paid in it from there."""
    found = next((each for each in source_networks() if each.label == chain_label), None)
    if found is None or symbol not in SOURCE_SYMBOLS:
        return None
    return next(iter(find_tokens(found.name, symbol)), None)


def is_bridgeable(token: Token) -> bool:
    """Whether what is due in a token can be paid from another chain."""
    known = network(token.network)
    return known is not None and source_token(known.label, token.symbol) == token


def needs_reset(token: Token) -> bool:
    """Whether an allowance of the token can be changed through zero only, as the contract of Tether on Ethereum has it.

    Of what is bridged no other one does so. Before a wallet's own approval the token itself is asked; of calls that
    are made on another chain later nobody can know what the allowance will be.
    """
    return token.id in _RESET
