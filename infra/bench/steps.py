"""The steps that a deployment is paid for, with the calls that each makes: those of a payment, and those of idle time.

A step takes as long as its calls take that the functions wait for, at the times which infra/bench/load.py states.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from math import ceil
from typing import Any

from chalice.app import ScheduledEventConfig
from chalice.local import LambdaContext

from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network
from chalicelib.payments.scanning import flows as scanning
from chalicelib.platform.settings import Settings
from infra.bench.deployment import deployed
from infra.bench.load import NODE_SECONDS, QUEUE_SECONDS
from infra.bench.units import Units, metered
from infra.configuration import functions_of, variables_of
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.node import FakeNode, TimedChain, chain_of
from tests.fakes.world import PREFIX, WALLET, World, in_process_aws
from tests.support.node import Node

ENDPOINT_SECONDS = 0.3
"""How long a merchant's endpoint takes to answer."""
OVERHEAD_SECONDS = 0.01
"""Of an invocation, beside the calls that it waits for."""
POLLS, PAGE_FILES, PAGE_BYTES = 6, 11, 8_000
"""How often a page asks whether it is paid, until a payment on base counts; how many files it loads for that, and how
long they are on average, compressed."""
IDLE_MINUTES = 5
"""How long each network is read to count the calls of a tick."""


@dataclass(frozen=True)
class Step:
    """One invocation of a function, of which a payment takes so many `times`.

    `sent` is how many messages it sends, `node` how many HTTP requests to the node it waits for, `waits` how many
    seconds it waits for others, `bytes` how much it sends to a caller.
    """

    name: str
    function: str
    units: Units
    sent: float = 0
    node: float = 0
    waits: float = 0
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
    """A network that is read and on which nothing is paid: its ticks a second, one of them, and what it asks the node.

    `calls` are JSON-RPC calls, of which one HTTP request has several.
    """

    name: str
    interval: int
    tick: Step
    calls: float


def payment_steps() -> list[Step]:
    """The steps of one payment to a link, which has one webhook."""
    return [*_requests(), *_background()]


def _requests() -> Iterator[Step]:
    node = Node()
    try:
        with deployed({"sepolia": node.url}) as deployment:
            client = deployment.services.store.client

            def step(name: str, event: Any, node: int = 0, times: int = 1) -> tuple[Step, Any]:
                with metered(client) as units:
                    body = deployment.call(event)
                size = len(json.dumps(body))
                return Step(name, "api_handler", units, node=node, is_request=True, bytes=size, times=times), body

            created, body = step("create the link", deployment.create_link())
            wallet = {"wallet": WALLET}
            yield created
            yield replace(
                created, name="send the page and its files", units=Units(), bytes=PAGE_BYTES, times=PAGE_FILES
            )
            yield step("show the link to a wallet", deployment.read_link(body["token"], wallet), node=1)[0]
            yield step("say what to sign", deployment.pay_link(body["token"], wallet), node=1)[0]
            yield step("ask whether it is paid", deployment.read_link(body["token"]), times=POLLS)[0]
    finally:
        node.close()


def _background() -> Iterator[Step]:
    """Averages of some payments to one account, as its records are spread over partitions."""
    steps: dict[str, list[Step]] = {}
    with in_process_aws() as client:
        world = World(client)
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


def _payment(world: World, client: Any, idle: Units) -> Iterator[Step]:
    """The steps of one payment, the messages that the recorder sends, and those that follow from them."""
    world.chain.pay(world.create_link().requests[0])
    yield Step("find the payment in a block", "scan_chain", _tick(world, client) - idle, sent=1)
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


def idle_networks() -> list[IdleNetwork]:
    """Every network, read at the interval of stage prod, with blocks at the network's own pace."""
    return [_idle_network(each) for each in ALL_NETWORKS]


def _idle_network(facts: Network) -> IdleNetwork:
    name = facts.name
    with in_process_aws() as client:
        world = World(client)
        node = FakeNode(TimedChain(name, world.clock))
        world = World(client, chains=FakeChains(chain_of(node)))  # type: ignore[arg-type]
        node.chain._clock = world.clock
        asked = _Asked(node)
        node.chain.mine(2000)
        interval, pace = prod_settings().scan_interval(name), facts.block_milliseconds / 1000
        scanning.scan(world.services, name)
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
        return IdleNetwork(name, interval, step, asked.calls / ticks)


class _Asked:
    """Counts the HTTP requests to a fake node, and the JSON-RPC calls in them."""

    def __init__(self, node: FakeNode) -> None:
        self._post = node.post_json
        node.post_json = self._count  # type: ignore[method-assign]
        self.clear()

    def clear(self) -> None:
        self.requests = self.calls = 0

    def _count(self, path: str, body: Any, max_bytes: int = 0) -> Any:
        self.requests += 1
        self.calls += len(body) if isinstance(body, list) else 1
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
