"""The eight networks payments settle on: chain ids, labels, and how deep a payment must be buried.

Confirmations are how many blocks, its own included, a payment's block must be deep before it is reported,
chosen from what each chain's blocks are worth (the settings may override them per network):

    mainnet       12   about 2.5 minutes; since proof of stake, reorganisations reach a block or two
    arbitrum-one  40   about 10 seconds; one sequencer orders blocks, this outlives its restarts, not L1's
    optimism      10   about 20 seconds; one sequencer, unsafe heads are replaced within a few blocks
    base          10   as optimism, the same software
    matic         32   about a minute; deep reorganisations happened here before milestone finality
    bsc           15   about 12 seconds; fast finality comes after 2 blocks, this covers a stall of it
    tron           1   read up to the newest solidified block, which 19 of 27 representatives built on: it is final
    sepolia        2   test money: what matters is that the wait is exercised at all

The log range is how many blocks one eth_getLogs call may span: 2,000 is what hosted nodes commonly accept,
more on Arbitrum for its quarter-second blocks, less on Tron whose JSON-RPC is the slowest.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from chalicelib.catalogue.data import load


@dataclass(frozen=True)
class Coin:
    """A network's own coin as wallets name it."""

    name: str
    symbol: str
    decimals: int


@dataclass(frozen=True)
class Network:
    """One chain. `label` is its name in `chain` queries and in `paymentOptions`, `title` what people call it.

    `explorer_url` shows the transaction whose hash is appended to it. `public_rpc_urls` are handed to wallets that do
    not know the network; the service itself asks none of them.
    """

    name: str
    chain_id: int
    label: str
    family: Literal["evm", "tron"]
    confirmations: int
    log_range: int
    native_currency_id: str | None
    aliases: tuple[str, ...]
    title: str
    coin: Coin
    explorer_url: str
    public_rpc_urls: tuple[str, ...]


ALL_NETWORKS: tuple[Network, ...] = tuple(
    Network(
        name=name,
        chain_id=entry["chainId"],
        label=entry["label"],
        family=entry["family"],
        confirmations=entry["confirmations"],
        log_range=entry["logRange"],
        native_currency_id=entry.get("native"),
        aliases=tuple(entry.get("aliases", ())),
        title=entry["title"],
        coin=Coin(**entry["coin"]),
        explorer_url=entry["explorer"],
        public_rpc_urls=tuple(entry["rpcUrls"]),
    )
    for name, entry in load("networks").items()
)


def network(name: str) -> Network | None:
    """The network of that name or alias (`polygon` is matic, `ethereum` is mainnet), or None."""
    return _by_name().get(name)


def network_of_chain(chain_id: int) -> Network | None:
    """The network with that chain id, or None."""
    return _by_chain().get(chain_id)


def canonical_name(name: str) -> str:
    """A network's own name for one of its aliases; any other text stays as it is."""
    chain = network(name)
    return chain.name if chain else name


@cache
def _by_name() -> dict[str, Network]:
    return {name: entry for entry in ALL_NETWORKS for name in (entry.name, *entry.aliases)}


@cache
def _by_chain() -> dict[int, Network]:
    return {entry.chain_id: entry for entry in ALL_NETWORKS}
