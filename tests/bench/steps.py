"""The steps that a deployment is paid for, with the calls that each makes: those of a payment, and those of idle time.

A step takes as long as its calls take that the functions wait for, at the times which tests/bench/load.py states.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from math import ceil
from typing import Any

from chalice.app import ScheduledEventConfig
from chalice.local import LambdaContext

from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning.rules import VERIFIED_AFTER
from chalicelib.platform.settings import Settings
from infra.configuration import functions_of, variables_of
from tests.bench.blooms import BLOOMS
from tests.bench.deployment import deployed
from tests.bench.load import NODE_SECONDS, QUEUE_SECONDS
from tests.bench.units import Units, metered
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.hashed import HashedChain
from tests.fakes.node import FakeNode, TimedChain, chain_of
from tests.fakes.world import PREFIX, WALLET, World, in_process_aws
from tests.support.node import Node

ENDPOINT_SECONDS = 0.3
"""How long a merchant's endpoint takes to answer."""
OVERHEAD_SECONDS = 0.01
"""Of an invocation, beside the calls that it waits for."""
POLLS, PAGE_FILES, PAGE_BYTES = 6, 4, 14_000
"""How often a page asks whether it is paid, until a payment on base counts; how many files it loads for that on a first
visit, itself among them, and how long they are on average, compressed. A second visit loads the page alone."""
FOUND = "find the payment in a block"
IDLE_MINUTES = 5
"""How long each network is read to count the calls of a tick."""


@dataclass(frozen=True)
class Step:
    """One invocation of a function, of which a payment takes so many `times`.

    `sent` is how many messages it sends, `node` how many HTTP requests to the node it waits for, `waits` how many
    seconds it waits for others, `methods` the JSON-RPC calls in them, `bytes` how much it sends to a caller.
    """

    name: str
    function: str
    units: Units
    sent: float = 0
    node: float = 0
    waits: float = 0
    methods: Mapping[str, float] = field(default_factory=dict)
    is_request: bool = False
    is_consumer: bool = False
    bytes: int = 0
    times: float = 1

    @property
    def memory(self) -> int:
        """In MB, as configured for stage prod."""
        memory: int = functions_of("prod")[self.function]["lambda_memory_size"]
        return memory

    @property
    def seconds(self) -> float:
        """How long one invocation takes."""
        queue = QUEUE_SECONDS * ceil(self.sent / 10)
        return OVERHEAD_SECONDS + self.units.seconds + queue + self.node * NODE_SECONDS + self.waits

    @property
    def queue_requests(self) -> float:
        """Requests to SQS: ten messages are sent by one; each is received and deleted by one of its own."""
        return ceil(self.sent / 10) + 2 * self.is_consumer


@dataclass(frozen=True)
class IdleNetwork:
    """A network that is read and on which nothing is paid: its interval, one of its ticks, and what that asks the node.

    `methods` are JSON-RPC calls, of which one HTTP request has several; those of all nodes, if it has several.
    """

    name: str
    interval: int
    tick: Step
    methods: Mapping[str, float]
    blocks: float
    """That are mined between two ticks."""

    @property
    def calls(self) -> float:
        return sum(self.methods.values())


class Shop(World):
    """A merchant whose account and client id are as long as real ones: the indexes have them many times."""

    account_id, client_id = "01KKRF0D80SZSNDCAYWMB1QDKX", "cli_aB3dE6gH9jaB3dE6gH9jaB3dE6gH9j"


@cache
def payment_steps() -> tuple[Step, ...]:
    """The steps of one payment to a link, which has one webhook; counted once for all who ask."""
    return *_requests(), *_background()


def found_by(nodes: int, steps: Sequence[Step]) -> list[Step]:
    """The steps with what so many nodes are asked for the payment."""
    methods = asked_for_a_payment(nodes).methods
    return [replace(each, methods=methods) if each.name == FOUND else each for each in steps]


def _requests() -> Iterator[Step]:
    node = Node()
    try:
        with deployed({"sepolia": node.url}) as deployment:
            client = deployment.services.store.client

            def step(name: str, event: Any, waits_for: int = 0, times: int = 1) -> tuple[Step, Any]:
                node.reset()
                with metered(client) as units:
                    body = deployment.call(event)
                size, asked = len(json.dumps(body)), Counter(node.asked)
                made = Step(name, "api_handler", units, node=waits_for, methods=asked, is_request=True, bytes=size)
                return replace(made, times=times), body

            links = [step("create the link", deployment.create_link()) for _ in range(_PAYMENTS)]
            created, body = links[0]
            created = replace(created, units=sum((each.units for each, _ in links), Units()) / len(links))
            token, wallet, of_page = body["token"], {"wallet": WALLET}, deployment.from_page
            yield created
            yield replace(
                created, name="send the page and its files", units=Units(), bytes=PAGE_BYTES, times=PAGE_FILES
            )
            yield step("show the link to a wallet", of_page(deployment.read_link(token, wallet)), 1)[0]
            yield step("say what to sign", of_page(deployment.pay_link(token, wallet)), 1)[0]
            yield step("ask whether it is paid", of_page(deployment.read_link(token)), times=POLLS)[0]
    finally:
        node.close()


def _background() -> Iterator[Step]:
    """Averages of some payments to one account, as its records are spread over partitions."""
    steps: dict[str, list[Step]] = {}
    with in_process_aws() as client:
        world = Shop(client)
        world.register_webhook()
        world.scan()
        idle = _tick(world, client)
        for _ in range(_PAYMENTS):
            for step in _payment(world, client, idle):
                steps.setdefault(step.name, []).append(step)
    for alike in steps.values():
        units = sum((step.units for step in alike), Units()) / len(alike)
        sent = sum(step.sent for step in alike) / len(alike)
        yield replace(alike[0], units=units, sent=sent, times=len(alike) / _PAYMENTS)


def _tick(world: World, client: Any) -> Units:
    world.chain.mine()
    with metered(client) as units:
        scanning.scan(world.services, world.chain.network)
    return units


def payments_made(world: World, client: Any, count: int) -> None:
    """Makes payments, each to a link of its own, and has all that follows done."""
    for _ in range(count):
        for _step in _payment(world, client, Units()):
            pass


def _payment(world: World, client: Any, idle: Units) -> Iterator[Step]:
    """The steps of one payment, the messages that the recorder sends, and those that follow from them."""
    world.chain.pay(world.create_link().requests[0])
    asked = asked_for_a_payment()
    units = _tick(world, client) - idle
    yield Step(FOUND, "scan_chain", units, sent=1, node=asked.requests, methods=asked.methods)
    with metered(client) as units:
        world.record()
    yield Step("record it", "record_transfers", units, sent=len(world.queue.messages), is_consumer=True)
    while world.queue.messages:
        message, before = world.queue.messages.pop(0), len(world.queue.messages)
        name, function, waits = _CONSUMERS[message.queue.removeprefix(f"{PREFIX}-")]
        with metered(client) as units:
            world.consume(message, world.services)
        yield Step(name, function, units, sent=len(world.queue.messages) - before, waits=waits, is_consumer=True)


_CONSUMERS = {
    "announcements": ("announce its events", "announce_events", 0.0),
    "webhooks": ("deliver a webhook", "deliver_webhook", ENDPOINT_SECONDS),
}
_PAYMENTS = 16


@cache
def idle_networks() -> tuple[IdleNetwork, ...]:
    """Every network, read at the interval of stage prod, with blocks at the network's own pace; counted once, too."""
    return tuple(map(idle_network, ALL_NETWORKS))


def idle_network(facts: Network, nodes: int = 1, **settings: Any) -> IdleNetwork:
    """A network that is read by so many nodes, with these settings."""
    name = facts.name
    with in_process_aws() as client:
        node = FakeNode(HashedChain(name, World(client).clock, BLOOMS.get(name, 0)))
        world, asked = _read_by(client, node, nodes, **settings)
        interval, pace = prod_settings().scan_interval(name), facts.block_milliseconds / 1000
        begin, blocks, ticks = world.now, 0, 60 * IDLE_MINUTES // interval
        asked.clear()
        with metered(client) as units:
            for tick in range(1, ticks + 1):
                world.now = begin + timedelta(seconds=tick * interval)
                due = int(tick * interval / pace)
                node.chain.mine(due - blocks)
                blocks = due
                scanning.scan(world.services, name)
        step = Step(f"read {name}", "scan_chain", units / ticks, node=asked.requests / ticks, is_consumer=True)
        methods = {each: count / ticks for each, count in asked.methods.items()}
        return IdleNetwork(name, interval, step, methods, blocks / ticks)


@cache
def asked_for_a_payment(nodes: int = 1) -> "_Asked":
    """What so many nodes are asked more if a payment is alone in its block, until that was read for the last time."""
    paid, unpaid = (_asked_while_read(nodes, is_paid) for is_paid in (True, False))
    paid.requests -= unpaid.requests
    paid.methods -= unpaid.methods
    return paid


def _asked_while_read(nodes: int, is_paid: bool) -> "_Asked":
    with in_process_aws() as client:
        node = FakeNode(TimedChain("sepolia", World(client).clock))
        world, asked = _read_by(client, node, nodes)
        if is_paid:
            node.chain.pay(world.create_link().requests[0])
        else:
            node.chain.mine()
        for _ in range(int(sum(VERIFIED_AFTER, timedelta()) / timedelta(minutes=1)) + 10):
            node.chain.mine(5)
            world.advance(60)
            scanning.scan(world.services, node.chain.network)
        return asked


def _read_by(client: Any, node: FakeNode, nodes: int, **settings: Any) -> tuple[World, "_Asked"]:
    """A world that has begun to read the chain of a node, by so many nodes alike, and what these are asked from then
    on."""
    asked, chain = _Asked(node), node.chain
    clock = World(client).clock
    alike = [(f"node-{number}", chain_of(node)) for number in range(nodes)]
    read: Any = alike[0][1] if nodes == 1 else Nodes(alike, clock)
    world = World(client, chains=FakeChains(read), **settings)
    chain._clock = world.clock
    chain.mine(300)
    for _ in range(3):
        scanning.scan(world.services, chain.network)
        chain.mine(1)
    asked.clear()
    return world, asked


class _Asked:
    """Counts the HTTP requests to a fake node, and the JSON-RPC calls in them."""

    def __init__(self, node: FakeNode) -> None:
        self._post = node.post_json
        node.post_json = self._count  # type: ignore[method-assign]
        self.clear()

    def clear(self) -> None:
        self.requests, self.methods = 0, Counter[str]()

    def _count(self, path: str, body: Any, max_bytes: int = 0) -> Any:
        self.requests += 1
        self.methods.update(each.get("method", path) for each in (body if isinstance(body, list) else [body]))
        return self._post(path, body, max_bytes)


def idle_schedules() -> list[tuple[Step, int]]:
    """Every schedule of app.py with nothing to do, and how many minutes are between two runs."""
    from app import build

    with in_process_aws() as client:
        world = World(client, chains=FakeChains(*(FakeChain(each.name) for each in ALL_NETWORKS)))
        app, found = build(world.services.settings, lambda: world.services), []
        for source in app.event_sources:
            if isinstance(source, ScheduledEventConfig):
                with metered(client) as units:
                    app.handler_map[source.name](_EVENT, LambdaContext(source.name, 512, 60_000))
                expression = source.schedule_expression
                text = expression if isinstance(expression, str) else expression.to_string()
                minutes = int(text.split("(")[1].split()[0])
                found.append((Step(source.name, source.name, units, sent=len(world.queue.messages)), minutes))
                world.queue.messages.clear()
        return found


_EVENT = {
    **dict.fromkeys(("version", "id", "detail-type", "source", "account", "time", "region"), ""),
    "resources": [],
    "detail": {},
}


@cache
def prod_settings() -> Settings:
    """The settings of stage prod, as they are committed."""
    return Settings.read(variables_of("prod"))
