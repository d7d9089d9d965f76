"""Two chains with a bridge between them, for the tests of the bridge and of the router over it."""

from collections.abc import Iterator

import pytest

from infra.local.across import Bridge
from infra.local.across_relayer import Relayer
from infra.local.chain import Chain
from infra.local.router import Router
from tests.local.bridge_payer import BridgePayer


@pytest.fixture(scope="session")
def bridged_chains() -> Iterator[dict[str, Chain]]:
    with Chain.start("base") as base, Chain.start("arbitrum-one") as arbitrum:
        yield {"base": base, "arbitrum-one": arbitrum}


@pytest.fixture
def bridge(bridged_chains: dict[str, Chain]) -> Iterator[Bridge]:
    """The bridge as it was made, with no deposits."""
    before = {chain: chain.snapshot() for chain in bridged_chains.values()}
    yield Bridge(bridged_chains)
    for chain, snapshot in before.items():
        chain.revert(snapshot)


@pytest.fixture
def relayer(bridge: Bridge) -> Relayer:
    """A relayer that acts when told."""
    return Relayer(bridge)


@pytest.fixture
def router(relayer: Relayer) -> Iterator[Router]:
    with Router(relayer) as router:
        yield router


@pytest.fixture
def payer(bridge: Bridge, router: Router) -> BridgePayer:
    return BridgePayer(bridge, router.url)
