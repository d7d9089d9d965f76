"""Detection with few and with very many open requests: scan ticks on the tables of a local cloud.

The local cloud holds its tables in memory: 100,000 open requests take about 1.1 GB.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.records import Reference
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.scanning import flows as scanning
from infra.local.cloud import Cloud
from tests.bench.calls import Calls, counted
from tests.bench.figures import Figure
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import World, create_tables

SIZES = (10, 1_000, 100_000)
TICKS = 9
LOGS, PAYMENTS = 50, 5
_LINKS_AT_ONCE = 1_000


class CountingChain(FakeChain):
    """Counts the reads, each of which would be one HTTP request to a real node."""

    reads = 0

    def _read(self) -> None:
        self.reads += 1
        super()._read()


@dataclass(frozen=True)
class Ticks:
    """Medians of some ticks: wall clock milliseconds including the tables, DynamoDB calls, reads of the node."""

    milliseconds: float
    calls: int
    reads: int


def measure() -> list[Figure]:
    """Returns figures of ticks with 50 new logs, 5 of which pay open requests, for growing numbers of open requests.

    Each tick also reads the 50 logs of the previous tick again.
    """
    chain, done = CountingChain(), 0
    with Cloud.start() as cloud:
        client = cloud.client("dynamodb")
        create_tables(client)
        world = World(client, chains=FakeChains(chain))
        world.chain = chain
        world.register_webhook()
        ticks: dict[int, Ticks] = {}
        _ticks(world)  # opens connections, creates the cursor and the logs that the next tick reads again
        for size in SIZES:
            _open_links(world, done, size)
            ticks[size], done = _ticks(world), size
    return list(_figures(ticks))


def _figures(ticks: dict[int, Ticks]) -> Iterator[Figure]:
    few = SIZES[0]
    for size in SIZES[1:]:
        name, reference = f"scan tick, {size:,} open requests", f"with {few} open requests"
        yield Figure(name, ticks[size].milliseconds, "ms", reference, ticks[few].milliseconds, 1.15)
        yield Figure(name, ticks[size].calls, "DynamoDB calls", reference, ticks[few].calls, 1)
    most = SIZES[-1]
    yield Figure(
        f"scan tick, {most:,} open requests",
        ticks[most].reads,
        "requests to the node",
        "asking for each open request",
        most,
        0.001,
    )


def _ticks(world: World) -> Ticks:
    samples = [_tick(world) for _ in range(TICKS)]
    return Ticks(
        statistics.median(taken for taken, _, _ in samples) * 1e3,
        round(statistics.median(calls.total for _, calls, _ in samples)),
        round(statistics.median(reads for _, _, reads in samples)),
    )


def _tick(world: World) -> tuple[float, Calls, int]:
    chain = world.chain
    assert isinstance(chain, CountingChain)
    payments = [world.create_link() for _ in range(PAYMENTS)]
    for position in range(LOGS):
        request = payments[position // (LOGS // PAYMENTS)].requests[0]
        foreign = replace(request, payment_reference=f"0xff{len(chain.blocks):014x}")
        chain.pay(foreign if position % (LOGS // PAYMENTS) else request)
    chain.mine(2)
    reads_before = chain.reads
    with counted(world.client) as calls:
        started = time.perf_counter()
        recorded = scanning.scan(world.services, chain.network)
        taken = time.perf_counter() - started
    world.record()
    if recorded != PAYMENTS:
        raise AssertionError(f"a tick recorded {recorded} payments, not {PAYMENTS}, so its time cannot be compared")
    return taken, calls, chain.reads - reads_before


def _open_links(world: World, first: int, last: int) -> None:
    """Writes the open links numbered `first` to `last`: copies of one, each with its own token and reference."""
    pattern = world.create_link()
    for start in range(first, last, _LINKS_AT_ONCE):
        numbers = range(start, min(start + _LINKS_AT_ONCE, last))
        world.services.store.put_many(record for number in numbers for record in _records(pattern, number))


def _records(pattern: PayableLink, number: int) -> Iterator[Any]:
    token, reference = f"{number:026}", number.to_bytes(8, "big")
    request = replace(pattern.requests[0], request_id=token, payable_id=token, payment_reference="0x" + reference.hex())
    yield replace(pattern.link, token=token)
    yield request
    yield Reference(reference_topic(reference), token, 0)
