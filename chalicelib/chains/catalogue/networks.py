"""The eight networks on which payments are made: chain ids, labels, confirmations and log ranges.

Confirmations are the number of blocks, the payment's own block included, that must exist before a payment is reported.
They depend on how deep each chain's reorganisations reach; the settings may override them per network:

    mainnet       12   about 2.5 minutes; since proof of stake, reorganisations reach one or two blocks
    arbitrum-one  40   about 10 seconds; one sequencer orders the blocks; covers its restarts, not those of mainnet
    optimism      10   about 20 seconds; one sequencer; unsafe heads are replaced within a few blocks
    base          10   as optimism, which runs the same software
    matic         32   about a minute; deep reorganisations happened before milestone finality
    bsc           15   about 12 seconds; fast finality takes 2 blocks; covers times when it stalls
    tron           1   only solidified blocks are read, which are final: 19 of 27 representatives built on them
    sepolia        2   a test network; 2 so that waiting for a confirmation is exercised

The log range is how many blocks one eth_getLogs call may span. Hosted nodes commonly accept 2,000; it is larger on
Arbitrum, which has four blocks a second, and smaller on Tron, whose JSON-RPC is the slowest.
"""


from functools import cache
from typing import Literal

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.data import load


@frozen
class Coin:
    """The native coin of a network, as wallets name it."""

    name: str
    symbol: str
    decimals: int


@frozen
class Network:
    """One network. `label` is its name in `chain` queries and in `paymentOptions`, `title` its name for people.

    `block_milliseconds` is about how long it takes until the next block. A transaction's page is `explorer_url`
    followed by its hash. `public_rpc_urls` are for wallets that add the network; the service itself does not use them.
    """

    name: str
    chain_id: int
    label: str
    family: Literal["evm", "tron"]
    confirmations: int
    log_range: int
    block_milliseconds: int
    native_currency_id: str | None
    aliases: tuple[str, ...]
    title: str
    coin: Coin
    explorer_url: str
    public_rpc_urls: tuple[str, ...]
    has_p256: bool = False
    """Whether it checks signatures of passkeys by a precompile (RIP-7212, EIP-7951)."""
    recurring_fee: str = "0"
    """What a payer of a recurring payout pays for each payment unless the operator sets it, in US dollars as text."""


ALL_NETWORKS: tuple[Network, ...] = tuple(
    Network(
        name=name,
        chain_id=entry["chainId"],
        label=entry["label"],
        family=entry["family"],
        confirmations=entry["confirmations"],
        log_range=entry["logRange"],
        block_milliseconds=entry["blockMilliseconds"],
        native_currency_id=entry.get("native"),
        aliases=tuple(entry.get("aliases", ())),
        title=entry["title"],
        coin=Coin(**entry["coin"]),
        explorer_url=entry["explorer"],
        public_rpc_urls=tuple(entry["rpcUrls"]),
        has_p256=entry.get("hasP256", False),
        recurring_fee=entry.get("recurringFee", "0"),
    )
    for name, entry in load("networks").items()
)


def network(name: str) -> Network | None:
    """The network with a name or an alias (`polygon` is matic, `ethereum` is mainnet), or None."""
    return _by_name().get(name)


def network_of_chain(chain_id: int) -> Network | None:
    """The network with a chain id, or None."""
    return _by_chain().get(chain_id)


def canonical_name(name: str) -> str:
    """The name of the network that has this alias; any other text is returned unchanged."""
    chain = network(name)
    return chain.name if chain else name


@cache
def _by_name() -> dict[str, Network]:
    return {name: entry for entry in ALL_NETWORKS for name in (entry.name, *entry.aliases)}


@cache
def _by_chain() -> dict[int, Network]:
    return {entry.chain_id: entry for entry in ALL_NETWORKS}
