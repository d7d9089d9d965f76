"""Simulates a deployment on eight networks whose nodes fail at random times, with the real jobs and a virtual clock.

A plan says which links are made and paid when; outages say which node fails how and when. The tables are in memory and
the nodes are fakes below the real clients; everything between them is the product.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chalicelib.payments.links import flows as links
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.expiry import expire_due
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.links.rules import status_at
from chalicelib.payments.recording.jobs import sweep_transfers
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.scanning.jobs import start_scans
from chalicelib.platform.services import Services
from chalicelib.webhooks.jobs import sweep_outbox
from tests.fakes.chain import FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.node import FakeNode, Outage, TimedChain, chain_of
from tests.fakes.world import START, World, draft

CURRENCIES = {
    "mainnet": "USDC-mainnet",
    "arbitrum-one": "USDC-arbitrum-one",
    "optimism": "USDC-optimism",
    "base": "USDC-base",
    "matic": "USDC-matic",
    "bsc": "USDC-bsc",
    "tron": "USDT-tron",
    "sepolia": "fUSDC-sepolia",
}
TRON_PAYEE = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
STEP = timedelta(minutes=1)
BUSY_STEPS = 12
"""Nodes fail in these steps only."""
QUIET = (STEP, STEP, STEP, timedelta(minutes=10), STEP, timedelta(minutes=10), STEP, timedelta(hours=6), STEP, STEP)
"""The lengths of the steps after them, in which every block is read again."""
CONFIRMATIONS = 3


@dataclass(frozen=True)
class PlannedLink:
    """A link that is created at a step with a lifetime in steps, and paid at `paid_at`, None for never."""

    network: str
    created_at: int
    lifetime: int
    paid_at: int | None


@dataclass(frozen=True)
class Fork:
    """Blocks of a network that are replaced at a step; fewer than the confirmations. Payments in them are made again."""

    network: str
    at: int
    depth: int


@dataclass(frozen=True)
class Failure:
    """A node that fails from one step to before another."""

    network: str
    first: int
    end: int
    outage: Outage


@dataclass(frozen=True)
class Plan:
    links: tuple[PlannedLink, ...]
    forks: tuple[Fork, ...]


@dataclass
class Outcome:
    """The links with their planned ones, the status of each after each step, and what the merchant received."""

    world: World
    links: list[tuple[PlannedLink, PayableLink]]
    statuses: list[list[LinkStatus]]
    paid_in_time: list[bool]
    paid: list[bool]

    @property
    def final(self) -> list[LinkStatus]:
        return [history[-1] for history in self.statuses]


def random_plan(seed: int) -> Plan:
    rng = random.Random(seed)
    links = []
    for network in CURRENCIES:
        for _ in range(2):
            created, lifetime = rng.randrange(0, 4), rng.randrange(2, 8)
            paid = rng.choice([None, created, created + lifetime - 1, rng.randrange(created, BUSY_STEPS)])
            links.append(PlannedLink(network, created, lifetime, paid))
    forks = tuple(
        Fork(network, rng.randrange(1, BUSY_STEPS), rng.randrange(1, CONFIRMATIONS))
        for network in rng.sample([name for name in CURRENCIES if name != "tron"], 3)
    )
    return Plan(tuple(links), forks)


def random_failures(seed: int) -> tuple[Failure, ...]:
    """Failures of some networks; at least one network has none."""
    rng = random.Random(seed)
    failing = rng.sample(list(CURRENCIES), rng.randrange(1, len(CURRENCIES)))
    failures = []
    for network in failing:
        for _ in range(rng.randrange(1, 3)):
            first = rng.randrange(0, BUSY_STEPS)
            outage = rng.choice([each for each in Outage if each is not Outage.NONE])
            failures.append(Failure(network, first, min(first + rng.randrange(1, 9), BUSY_STEPS), outage))
    return tuple(failures)


def simulate(plan: Plan, failures: Iterable[Failure]) -> Outcome:
    """Runs the plan with the failures, and then until everything is settled."""
    run = _Run(plan, tuple(failures))
    for number, length in enumerate((*[STEP] * BUSY_STEPS, *QUIET)):
        run.step(number, length)
    run.conclude()
    return run.outcome


class _Run:
    world: World | None = None

    def __init__(self, plan: Plan, failures: tuple[Failure, ...]) -> None:
        self._plan, self._failures = plan, failures
        self._chains = {name: TimedChain(name, self._clock) for name in CURRENCIES}
        self._nodes = {name: FakeNode(chain) for name, chain in self._chains.items()}
        clients = FakeChains(*(chain_of(node) for node in self._nodes.values()))  # type: ignore[arg-type]
        confirmations = dict.fromkeys(CURRENCIES, CONFIRMATIONS)
        self.world = World(
            object(), clients, confirmations=confirmations, scan_interval_seconds=30, safe_service_urls={}
        )
        self.world.services = self._services = _with_memory(self.world.services)
        self.world.register_webhook()
        self.outcome = Outcome(self.world, [], [], [], [])
        self._links: dict[PlannedLink, PayableLink] = {}

    def _clock(self) -> datetime:
        return self.world.now if self.world is not None else START

    def step(self, number: int, length: timedelta) -> None:
        self._let_time_pass(number, length)
        for planned in self._plan.links:
            if planned.created_at == number:
                self._create(planned)
            if planned.paid_at == number:
                self._chains[planned.network].pay(self._links[planned].requests[0])
        for name, node in self._nodes.items():
            current = [each.outage for each in self._failures if each.network == name and each.first <= number < each.end]
            wanted = current[-1] if current else Outage.NONE
            if node.outage is not wanted:
                node.outage = wanted
        self._run_jobs()
        self._observe()

    def _let_time_pass(self, number: int, length: timedelta) -> None:
        self.world.now += length
        for name, chain in self._chains.items():
            chain.mine(3)
            for fork in self._plan.forks:
                if (fork.network, fork.at) == (name, number):
                    self._fork(chain, fork.depth)

    def _fork(self, chain: TimedChain, depth: int) -> None:
        removed = {log["topics"][1] for block in chain.fork(depth) for log in block.logs}
        for payment in self._links.values():
            if payment.requests[0].network == chain.network and _topic(payment) in removed:
                chain.pay(payment.requests[0])

    def _create(self, planned: PlannedLink) -> None:
        settings = replace(self._services.settings, link_lifetime_seconds=planned.lifetime * int(STEP.total_seconds()))
        changes = {"payee": TRON_PAYEE} if planned.network == "tron" else {}
        wanted = draft(currency=CURRENCIES[planned.network], fee_percentage=None, fee_address=None, **changes)
        payment = links.create(replace(self._services, settings=settings), self.world.owner, wanted)
        self._links[planned] = payment
        self.outcome.links.append((planned, payment))
        self.outcome.statuses.append([])

    def _run_jobs(self) -> None:
        """One minute: the schedules, and the messages that are due in it."""
        start_scans(self._services)
        for schedule in (sweep_transfers, sweep_outbox, expire_due):
            schedule(self._services)
        queue, end = self.world.queue, self.world.now + timedelta(seconds=30)
        while due := [message for message in queue.messages if message.due <= end]:
            message = min(due, key=lambda each: each.due)
            queue.messages.remove(message)
            self.world.consume(message, self._services)

    def _observe(self) -> None:
        for (_, payment), history in zip(self.outcome.links, self.outcome.statuses, strict=True):
            link = link_store.find_link(self._services.store, payment.link.token)
            assert link is not None
            history.append(status_at(link, self.world.now))

    def conclude(self) -> None:
        for planned, payment in self.outcome.links:
            chain = self._chains[planned.network]
            times = [
                chain.times[block.number]
                for block in chain.blocks
                for log in block.logs
                if log["topics"][1] == _topic(payment)
            ]
            self.outcome.paid.append(bool(times))
            self.outcome.paid_in_time.append(any(time < payment.link.expires_at for time in times))


def _with_memory(services: Services) -> Services:
    return replace(services, store=MemoryStore())


def _topic(payable: PayableLink) -> str:
    return reference_topic(bytes.fromhex(payable.requests[0].payment_reference[2:]))
