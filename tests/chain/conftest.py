"""A real local chain (anvil, the real bytecode at the production addresses), and a deployment that reads it."""

from collections.abc import Iterator

import pytest

from chalicelib.net.evm import EvmChain
from infra.local.chain import Chain
from tests.chain.payer import Payer
from tests.fakes.chain import FakeChains
from tests.fakes.world import World, in_process_aws


@pytest.fixture(scope="session")
def running_chain() -> Iterator[Chain]:
    with Chain.start("sepolia") as chain:
        yield chain


@pytest.fixture
def chain(running_chain: Chain) -> Iterator[Chain]:
    """The chain as it was made, whatever earlier tests did to it."""
    snapshot = running_chain.snapshot()
    yield running_chain
    running_chain.revert(snapshot)


@pytest.fixture
def world(chain: Chain) -> Iterator[World]:
    """A deployment whose sepolia node is the real local chain."""
    with in_process_aws() as client:
        yield World(client, chains=FakeChains(EvmChain("sepolia", chain.url)))  # type: ignore[arg-type]


@pytest.fixture
def payer(chain: Chain) -> Payer:
    return Payer(chain)
