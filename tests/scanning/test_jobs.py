"""A minute of ticks is planned for every network that has a node."""

import json

from chalicelib.scanning.jobs import start_scans
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import World


def test_every_network_with_a_node_is_scanned_tron_too_and_nothing_else_that_has_a_url(world: World) -> None:
    chains = FakeChains(FakeChain("sepolia"), FakeChain("tron"), FakeChain("no-such-network"))
    planning = World(world.client, chains=chains, scan_interval_seconds=20)
    start_scans(planning.services)
    planned = [(json.loads(m.body)["network"], (m.due - planning.now).seconds) for m in planning.queue.messages]
    assert planned == [(name, delay) for name in ("sepolia", "tron") for delay in (0, 20, 40)]
