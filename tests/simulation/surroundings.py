"""What changes around everybody: prices, nodes that fail or lie for a while, forks, receivers that are closed."""

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from chalicelib.platform.outbound.lifi import RouterUnavailable
from tests.fakes.world import START
from tests.simulation.chain import CONFIRMATIONS, FaultyNode, SimulatedChain

if TYPE_CHECKING:
    from tests.simulation.scene import Scene

FORKING = ("arbitrum-one", "mainnet")
"""The chains that fork: contracts in memory do not follow a fork."""


class Surroundings:
    """Each kind of trouble is enabled in some of the runs."""

    def __init__(self, run: "Scene") -> None:
        self._run, self._chance, self._deployment = run, run.chance, run.deployment
        self._hours = 4 + (run.settled - START) / timedelta(hours=1)

    def add(self, with_faults: bool) -> None:
        """Plans all of it."""
        for name, at in self._times("market", 20):
            rate = f"{self._chance.stream(name).uniform(0.9, 1.1):.4f}"
            self._run.at(at, name, partial(self._deployment.prices.set, "USD", "USDC", rate))
        if with_faults:
            self._add_outages()
            self._add_forks()
            self._add_closed()
            self._add_silence()

    def _times(self, name: str, every: float) -> list[tuple[str, datetime]]:
        """Moments about `every` so many minutes, until some hours after the last order has begun."""
        found = []
        for number in range(int(self._hours * 60 / every)):
            at = START + timedelta(seconds=int((number + self._chance.share(name, number)) * every * 60) + 300)
            found.append((f"{name}-{number}", at))
        return found

    def _is_enabled(self, kind: str, share: float = 0.4) -> bool:
        return self._chance.share("enabled", kind) < share

    def _add_outages(self) -> None:
        enabled = [each for each in FaultyNode.TROUBLES if self._is_enabled(each)]
        for name, at in self._times("outage", 15) if enabled else ():
            draw = self._chance.stream(name)
            network, trouble = draw.choice(list(self._deployment.nodes)), draw.choice(enabled)
            node = self._deployment.nodes[network][draw.randrange(2)]
            self._run.at(at, name, partial(self._trouble, node, trouble))
            seconds = draw.randrange(60, 1800) * (4 if trouble == "pruned" else 1)
            self._run.at(at + timedelta(seconds=seconds), f"{name}+", partial(setattr, node, "trouble", ""))

    def _trouble(self, node: FaultyNode, trouble: str) -> None:
        """One node of a network at a time lies; any number may be silent."""
        others = [each for each in self._deployment.nodes[node.network] if each is not node]
        if trouble == "down" or not any(each.trouble for each in others):
            node.trouble = trouble
            self._run.reach(f"node {trouble}")

    def _add_forks(self) -> None:
        are_deep = self._is_enabled("deep forks")
        for name, at in self._times("fork", 15) if self._is_enabled("forks", 0.5) else ():
            draw = self._chance.stream(name)
            is_deep = are_deep and draw.random() < 0.3
            depth = draw.randrange(CONFIRMATIONS + 1, 12) if is_deep else draw.randrange(1, CONFIRMATIONS)
            self._run.at(at, name, partial(self._fork, self._deployment.chains[draw.choice(FORKING)], depth))

    def _fork(self, chain: SimulatedChain, depth: int) -> None:
        work = self._chance.work
        chain.reorganise(depth, lambda tx_hash: self._chance.share(work, tx_hash) < 0.2)
        self._run.reach("deep fork" if depth > CONFIRMATIONS else "fork")

    def _add_closed(self) -> None:
        closed = self._deployment.receivers.closed
        for name, at in self._times("closed", 30) if self._is_enabled("closed") else ():
            draw = self._chance.stream(name)
            url = draw.choice(self._run.merchants).urls[draw.randrange(2)]
            self._run.at(at, name, partial(closed.add, url))
            self._run.at(at + timedelta(minutes=draw.randrange(5, 300)), f"{name}+", partial(closed.discard, url))

    def _add_silence(self) -> None:
        """The router, or a source of prices, answers nothing for a while."""
        prices, router = self._deployment.prices, self._deployment.world.router
        for name, at in self._times("silence", 40) if self._is_enabled("silence") else ():
            draw = self._chance.stream(name)
            end = at + timedelta(minutes=draw.randrange(2, 40))
            which = draw.choice(("api", "feeds", "router"))
            if which == "router":
                self._run.at(at, name, partial(setattr, router, "trouble", RouterUnavailable("The router does not answer")))
                self._run.at(end, f"{name}+", partial(setattr, router, "trouble", None))
            else:
                source = getattr(prices, which)
                self._run.at(at, name, partial(setattr, source, "is_down", True))
                self._run.at(end, f"{name}+", partial(setattr, source, "is_down", False))
