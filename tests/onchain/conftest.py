"""Real local chains (anvil, the real bytecode at the production addresses), and a deployment that reads them.

One chain a network runs for the whole session, started when it is first asked for; every test finds it as it was made.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from eth_account import Account

from chalicelib.chains.nodes.chains import Chains
from infra.local.across import Bridge
from infra.local.across_contracts import install_across
from infra.local.across_relayer import Relayer as BridgeRelayer
from infra.local.chain import Chain
from infra.local.outsiders.tron_payer import TronpyPayer, TronwebPayer
from infra.local.router import Router
from infra.local.safe import Safe
from infra.local.tron import TronNode
from tests.fakes.world import World, in_process_aws
from tests.onchain.payer import Payer

SAFE_OWNERS = tuple("0x" + byte * 32 for byte in ("a1", "b2", "c3"))
BRIDGED = ("base", "arbitrum-one")
TRON_PAYERS = {"tronpy": TronpyPayer, "tronweb": TronwebPayer}


@dataclass(frozen=True)
class Nodes:
    """Where the service finds its nodes, as its secret says it."""

    urls: dict[str, str]
    tron_api_key: str | None = None

    @property
    def rpc_urls(self) -> dict[str, tuple[str, ...]]:
        return {name: (url,) for name, url in self.urls.items()}


@pytest.fixture(scope="session")
def running_chain_of() -> Iterator[Callable[[str], Chain]]:
    """running_chain_of("base"): the chain of any EVM network, as the last test left it."""
    running = dict[str, Chain]()

    def of(network: str) -> Chain:
        if network not in running:
            running[network] = Chain.start(network)
        return running[network]

    yield of
    for chain in running.values():
        chain.stop()


@pytest.fixture(scope="session")
def running_chain(running_chain_of: Callable[[str], Chain]) -> Chain:
    return running_chain_of("sepolia")


@pytest.fixture
def chain_of(running_chain_of: Callable[[str], Chain]) -> Iterator[Callable[[str], Chain]]:
    """chain_of("base"): the chain of any EVM network as it was made, whatever earlier tests did to it."""
    before = dict[str, tuple[Chain, str]]()

    def of(network: str) -> Chain:
        chain = running_chain_of(network)
        if network not in before:
            before[network] = chain, chain.snapshot()
        return chain

    yield of
    for chain, snapshot in before.values():
        chain.revert(snapshot)


@pytest.fixture
def chain(chain_of: Callable[[str], Chain]) -> Chain:
    return chain_of("sepolia")


@pytest.fixture
def bridge(running_chain_of: Callable[[str], Chain], chain_of: Callable[[str], Chain]) -> Bridge:
    """The bridge between base and arbitrum-one, its real contracts and no deposits."""
    for network in BRIDGED:
        install_across(running_chain_of(network))  # for all tests
    return Bridge({network: chain_of(network) for network in BRIDGED})


@pytest.fixture
def bridge_relayer(bridge: Bridge) -> BridgeRelayer:
    """Fills deposits, and refunds those of which the time is over, at every `step()`."""
    return BridgeRelayer(bridge)


@pytest.fixture
def router(bridge_relayer: BridgeRelayer) -> Iterator[Router]:
    """A router over the bridge, at `router.url`; what it gives for a time can be changed: `router.cases`, `says`, `change`."""
    with Router(bridge_relayer) as router:
        yield router


@pytest.fixture(scope="session")
def running_tron() -> Iterator[TronNode]:
    with TronNode.start() as node:
        yield node


@pytest.fixture
def tron(running_tron: TronNode) -> Iterator[TronNode]:
    """A Tron node, its chain as it was made; `tron.chain.mine()` and the rest as with any chain."""
    before = running_tron.chain.snapshot()
    yield running_tron
    running_tron.chain.revert(before)


@pytest.fixture
def tron_payer_of(tron: TronNode) -> Callable[[str], TronpyPayer | TronwebPayer]:
    """tron_payer_of("tronweb") or ("tronpy"): somebody with TRX and every token there, who pays with that library."""

    def of(library: str) -> TronpyPayer | TronwebPayer:
        payer = TRON_PAYERS[library](tron.url, Account.create().key.hex())
        tron.chain.fund(payer.address, 10**6)
        return payer

    return of


@pytest.fixture
def world_on(request: pytest.FixtureRequest, chain_of: Callable[[str], Chain]) -> Iterator[Callable[..., World]]:
    """world_on("base", "tron"): a deployment whose nodes are the real local ones of these networks."""
    with in_process_aws() as client:

        def url_of(network: str) -> str:
            return str(request.getfixturevalue("tron").url if network == "tron" else chain_of(network).url)

        def on(*networks: str) -> World:
            return World(client, chains=Chains(Nodes({network: url_of(network) for network in networks})))

        yield on


@pytest.fixture
def world(world_on: Callable[..., World]) -> World:
    return world_on("sepolia")


@pytest.fixture
def payer(chain: Chain) -> Payer:
    return Payer(chain)


@pytest.fixture
def payer_on(chain_of: Callable[[str], Chain]) -> Callable[[str], Payer]:
    """payer_on("base"): somebody with coins and every token of that network."""
    return lambda network: Payer(chain_of(network))


@pytest.fixture
def safe_on(chain_of: Callable[[str], Chain]) -> Callable[[str], Safe]:
    """safe_on("base"): a Safe of two out of three owners, with coins and every token of that network."""

    def on(network: str) -> Safe:
        safe = Safe.deploy(chain_of(network), SAFE_OWNERS)
        safe.chain.fund(safe.address, 10**6)
        return safe

    return on
