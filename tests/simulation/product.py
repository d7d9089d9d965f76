"""A product of the service in small: what honest people do with it, what runs by itself, and what came of it.

An act that is refused, or whose time has not come, is tried again in the next minute; those after it wait.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from chalicelib.base.errors import ServiceError
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import World

Fact = tuple[Any, ...]
Step = Callable[[], object]


class NotYet(Exception):
    """It is too early for an act."""


class Product:
    """`acts` are what people do, `jobs` what happens in a minute; `chains` are the networks that nodes may lie about."""

    world: World
    acts: list[Step]
    jobs: tuple[Step, ...]
    needs_every_node = False
    """Whether it goes on only by what every configured node confirms, as the outcome of the service's own calls."""

    @property
    def services(self) -> Any:
        return self.world.services

    @property
    def chains(self) -> tuple[Any, ...]:
        return (self.world.chain,)

    def facts(self) -> Iterable[Fact]:
        """What cannot be undone: it stays in what is returned."""
        raise NotImplementedError

    def minute(self) -> set[Fact]:
        """What is so after a minute in which somebody acts, and everything runs that can."""
        with suppress(ServiceError, NotYet):
            if self.acts:
                self.acts[0]()
                del self.acts[0]
        for job in (*self.jobs, *(partial(self.compare, chain.network) for chain in self.chains)):
            with suppress(ServiceError, SweepIncomplete):
                job()
        return set(self.facts())

    def compare(self, network: str) -> None:
        """Reads a network as once in a minute, when its nodes are compared."""
        scan_chain(self.services, json.dumps({"network": network, "compareNodes": True}))
        self.world.record()

    def mine_and_scan(self) -> None:
        self.world.advance(60)
        self.world.scan()


def counted(name: str, number: int) -> set[Fact]:
    return {(name, each) for each in range(1, number + 1)}


def is_locked(world: World, payable: PayableLink) -> bool:
    try:
        check_payable(world.load(payable), world.now)
    except ServiceError:
        return True
    return False


def in_memory(network: str = "sepolia") -> World:
    """A world in memory whose chain is that of the network, of which two blocks are enough."""
    chain = FakeChain(network)
    world = World(object(), FakeChains(chain), confirmations={network: 2})
    world.services, world.chain = replace(world.services, store=MemoryStore()), chain
    world.chain.clock = world.clock
    world.chain.genesis = world.now - timedelta(seconds=len(world.chain.blocks))
    world.scan()
    return world
