"""What a wallet has on the chains that it could pay from, read from all of them at the same time."""

from collections.abc import Mapping
from functools import partial

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.parallel import run_within
from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, source_networks, source_token
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, address_of
from chalicelib.chains.catalogue.networks import Network
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.platform.services import Services

READ_SECONDS = 4
"""How long all nodes together are waited for: a payer looks at a page meanwhile."""


@frozen
class Sources:
    """What a wallet has by network, and the labels of the networks whose nodes gave no answer in time."""

    holdings: Mapping[str, WalletReading]
    unavailable: tuple[str, ...]


def tokens_of(chain: Network) -> list[Token]:
    """The tokens that are paid from a network."""
    found = (source_token(chain.label, symbol) for symbol in SOURCE_SYMBOLS)
    return [token for token in found if token is not None]


def read_sources(services: Services, wallet: str) -> Sources:
    """The wallet's balances of those tokens, and of the native coin, on every source network that has a node here.

    One call to each node. A node that does not answer within READ_SECONDS leaves its network out, and no other one.
    """
    chains = [each for each in source_networks() if each.name in services.chains.networks]
    reads = [partial(_read, services, wallet, each) for each in chains]
    holdings: dict[str, WalletReading] = {}
    for each, read in zip(chains, run_within(READ_SECONDS, reads, len(chains)), strict=True):
        if isinstance(read, WalletReading):
            holdings[each.name] = read
        else:
            reason = "no answer in time" if read is None else read.reason or read.message
            services.log.warning("source not read", extra={"network": each.name, "reason": reason})
    return Sources(holdings, tuple(each.label for each in chains if each.name not in holdings))


def _read(services: Services, wallet: str, chain: Network) -> WalletReading | ChainUnavailable:
    tokens, spender = [token.address for token in tokens_of(chain)], address_of(ACROSS_SPOKE_POOL, chain.name)
    try:
        return services.chains.evm(chain.name).read_wallet(wallet, tokens, spender)
    except ChainUnavailable as error:
        return error
