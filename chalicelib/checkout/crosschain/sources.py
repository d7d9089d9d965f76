"""What a wallet has on the chains that it could pay from, read from all of them at the same time."""

from collections.abc import Mapping

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.catalogue.bridges import SOURCE_SYMBOLS, source_networks, source_token
from chalicelib.catalogue.contracts import ACROSS_SPOKE_POOL, address_of
from chalicelib.catalogue.networks import Network
from chalicelib.catalogue.tokens import Token
from chalicelib.chain.wallets import WalletReading
from chalicelib.services import Services

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
    from concurrent.futures import ThreadPoolExecutor, wait  # most requests read one chain or none

    chains = [each for each in source_networks() if each.name in services.chains.networks]
    if not chains:
        return Sources({}, ())
    pool = ThreadPoolExecutor(len(chains))
    reads = []
    for each in chains:
        tokens = [token.address for token in tokens_of(each)]
        spender = address_of(ACROSS_SPOKE_POOL, each.name)
        reads.append(pool.submit(services.chains.evm(each.name).read_wallet, wallet, tokens, spender))
    done, _ = wait(reads, timeout=READ_SECONDS)
    pool.shutdown(wait=False, cancel_futures=True)
    holdings: dict[str, WalletReading] = {}
    for each, read in zip(chains, reads, strict=True):
        error = read.exception() if read in done else ChainUnavailable("no answer in time")
        if error is None:
            holdings[each.name] = read.result()
        elif isinstance(error, ChainUnavailable):
            reason = error.reason or error.message
            services.log.warning("source not read", extra={"network": each.name, "reason": reason})
        else:
            raise error
    return Sources(holdings, tuple(each.label for each in chains if each.name not in holdings))
