"""One network under load: how far scanner and recorder fall behind, with and without dust to one link beside it.

The real scanner and recorder run on tables in memory. Every call to DynamoDB, SQS and the node takes the time that is
stated here, on a virtual clock; twenty recorders work at once. So the result does not depend on this machine.
"""

import heapq
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import rules as scan_rules
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.records import LoggedTransfer
from chalicelib.platform.storage.queue import MAX_BATCH, Message, Queue
from chalicelib.platform.storage.store import AT_ONCE
from tests.bench.figures import Figure
from tests.fakes.chain import FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.node import TimedChain
from tests.fakes.world import START, World

NETWORK, CURRENCY = "base", "USDC-base"
TABLE_SECONDS, TRANSACTION_SECONDS, QUEUE_SECONDS, NODE_SECONDS = 0.006, 0.012, 0.01, 0.2
"""How long a call takes; DynamoDB and SQS answer faster in most cases."""
RECORDERS = 20
BLOCK, TICK = timedelta(seconds=2), timedelta(seconds=5)
RATE = 100
"""Payments a second, each to a link of its own by a transaction of its own."""


@dataclass
class Clock:
    """The virtual time of the call that is running."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class SlowStore(MemoryStore):
    """Tables in memory whose calls take their time. Items that nothing reads any more are dropped, to save memory."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.rounds = 0
        """The number of calls that waited for each other."""

    def _count(self, operation: str, *resources: str, calls: int = 1) -> None:
        super()._count(operation, *resources, calls=calls)
        rounds = -(-calls // AT_ONCE)
        self.rounds += rounds
        self._clock.spend(rounds * (TRANSACTION_SECONDS if operation == "TransactWriteItems" else TABLE_SECONDS))

    def forget_transfers(self, before_block: int) -> None:
        for key in [key for key, each in self._records.items() if _is_old(each, before_block)]:
            self._remove(key)


class SlowChain(TimedChain):
    """A chain whose node takes its time, and whose newest blocks hold the payments and the dust of two seconds."""

    spend: Any = None

    def _read(self) -> None:
        if self.spend is not None:
            self.spend(NODE_SECONDS)


@dataclass
class SlowQueue(Queue):
    clock: Clock
    messages: list[tuple[datetime, str]] = field(default_factory=list)

    def send(self, queue: str, messages: Sequence[Message]) -> None:
        self.clock.spend(QUEUE_SECONDS * -(-len(messages) // MAX_BATCH))
        if queue.endswith("recordings"):
            self.messages += [(self.clock.now, json.dumps(each.body)) for each in messages]


@dataclass(frozen=True)
class Load:
    """The result: when payments were recorded after their block was confirmed, and how long ticks took, in seconds.

    `calls_per_payment` are the scanner's sequential calls to DynamoDB for each new transfer.
    """

    payments: int
    p50: float
    p99: float
    slowest: float
    longest_tick: float
    blocks_behind: int
    calls_per_payment: float
    transfers: int


def simulate(seconds: int, dust_per_second: int) -> Load:
    """Pays RATE links a second for so long, with dust to one more link beside them."""
    run = _Run(dust_per_second)
    return run.result(seconds)


def measure(seconds: int = 30, dust: int = 300_000) -> list[Figure]:
    quiet, dusty = simulate(seconds, 0), simulate(seconds, dust // seconds)
    figures = []
    for name, load in ((f"{RATE} payments a second", quiet), (f"with {dust:,} dust transfers to one link", dusty)):
        two_ticks = 2 * TICK.total_seconds()
        figures += [
            Figure(f"{name}: recorded after, p99", load.p99, "s", "two ticks", two_ticks, 1),
            Figure(f"{name}: longest tick", load.longest_tick, "s", "two ticks", two_ticks, 1),
            Figure(f"{name}: rounds of calls", load.calls_per_payment, "a transfer", "a call each", 1, 0.11),
        ]
    return figures


@cache
def seconds_of_a_transfer(transfers: int = 640) -> float:
    """How long a tick takes for each of so many new transfers, beside what it takes without any.

    They are in one transaction, as what a tick takes to read payers does not grow with transfers: of 500 transactions at
    most, 50 by a request (payments/scanning/details.py).
    """
    busy, idle = (_Run(0).tick_seconds(number) for number in (transfers, 0))
    return (busy - idle) / transfers


class _Run:
    def __init__(self, dust_per_second: int) -> None:
        self._dust = dust_per_second
        self.clock = Clock()
        self.chain = SlowChain(NETWORK, self.clock)
        self.store, self.queue = SlowStore(self.clock), SlowQueue(self.clock)
        world = World(object(), FakeChains(self.chain), webhook_allow_loopback=True, safe_service_urls={})
        self._world = world
        world.services = self._services = replace(
            world.services, store=self.store, queue=self.queue, clock=self.clock, entropy=_entropy()
        )
        self._dusty = world.create_link(currency=CURRENCY, amount="1000000").requests[0]
        self._paid: list[tuple[Request, int]] = []
        self._workers = [START] * RECORDERS
        self._ticks: list[float] = []
        self._rounds = 0.0
        self._transfers = 0

    def result(self, seconds: int) -> Load:
        start, end = self.clock.now, self.clock.now + timedelta(seconds=seconds)
        self._settle_history()
        next_block, next_tick = start + BLOCK, start + TICK
        drained = end + timedelta(seconds=60)
        while min(next_block, next_tick) <= drained:
            if next_block <= next_tick:
                self.clock.now = next_block
                self._mine(with_payments=next_block <= end)
                next_block += BLOCK
            else:
                self._tick(next_tick)
                next_tick += TICK
            self._record_until(min(next_block, next_tick))
        return self._load()

    def tick_seconds(self, transfers: int) -> float:
        """How long the tick takes that finds so many transfers, each to a link of its own."""
        self._settle_history()
        self.chain.mine()
        for _ in range(transfers):
            self.chain.pay_too(self._world.create_link(currency=CURRENCY).requests[0])
        self.chain.mine(30)
        self._tick(self.clock.now)
        return self._ticks[-1]

    def _settle_history(self) -> None:
        """Mines enough blocks for the first cursor, and reads them."""
        self.chain.mine(40)
        scanning.scan(self._services, NETWORK)
        self.chain.spend = self.clock.spend

    def _mine(self, with_payments: bool) -> None:
        self.chain.mine()
        if not with_payments:
            return
        for _ in range(RATE * int(BLOCK.total_seconds())):
            request = self._world.create_link(currency=CURRENCY).requests[0]
            self.chain.pay_too(request)["transactionHash"] = f"0x{len(self._paid):064x}"
            self._paid.append((request, self.chain.blocks[-1].number))
        for _ in range(self._dust * int(BLOCK.total_seconds())):
            self.chain.pay_too(self._dusty, amount=1)

    def _tick(self, at: datetime) -> None:
        """Runs one tick. It may take longer than until the next one, whose lease then keeps it from starting."""
        self.clock.now = max(at, self._tick_ends)
        if self.clock.now > at + TICK:
            return
        before, started = self.store.rounds, self.clock.now
        self._transfers += scanning.scan(self._services, NETWORK)
        self._rounds += self.store.rounds - before
        self._tick_ends = self.clock.now
        self._ticks.append((self.clock.now - started).total_seconds())
        if len(self._ticks) % 10 == 0:
            self.store.forget_transfers(len(self.chain.blocks) - 60)

    _tick_ends = START

    def _record_until(self, until: datetime) -> None:
        """Runs the recorders on the messages that they can start before `until`."""
        while self.queue.messages:
            self.queue.messages.sort()
            sent, body = self.queue.messages[0]
            start = max(sent, min(self._workers))
            if start >= until:
                return
            self.queue.messages.pop(0)
            self.clock.now = start
            message = json.loads(body)
            recording.record_each(self._services, message["account"], message["bills"])
            heapq.heapreplace(self._workers, self.clock.now)

    def _load(self) -> Load:
        confirmations = 10
        waits = []
        for request, block in self._paid:
            (payment,) = self.store.query(Payment, Payment.KEY.all(request_id=request.request_id))
            confirmed = self.chain.times[block + confirmations - 1]
            waits.append((payment.detected_at - confirmed).total_seconds())
        waits.sort()
        cursor = scan_store.cursor(self.store, NETWORK)
        assert cursor is not None
        behind = scan_rules.height_of_confirmed(len(self.chain.blocks) - 1, confirmations) - cursor.scanned_to
        return Load(
            payments=len(waits),
            p50=waits[len(waits) // 2],
            p99=waits[len(waits) * 99 // 100],
            slowest=waits[-1],
            longest_tick=max(self._ticks),
            blocks_behind=behind,
            calls_per_payment=self._rounds / max(self._transfers, 1),
            transfers=self._transfers,
        )


def _entropy() -> Any:
    numbers = itertools.count()
    return lambda count: next(numbers).to_bytes(count, "big")


def _is_old(record: Any, before_block: int) -> bool:
    return isinstance(record, LoggedTransfer) and record.block_number < before_block and record.state != "unrecorded"
