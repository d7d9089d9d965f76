"""A conversion on mainnet, which two nodes read; one of them lies about it, at the first reading or at later ones."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.nodes.history.log_ranges import RangeReading
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import PaymentStatus
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import flows as scanning
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World

USD_AMOUNT = BaseUnits(1_250_000_000)
MOVED = 12_503_750
Log = dict[str, Any]


def without_transfer(first: Log, second: Log) -> list[Log]:
    return [second]


def without_conversion(first: Log, second: Log) -> list[Log]:
    return [first]


def without_both(first: Log, second: Log) -> list[Log]:
    return []


def doubled(first: Log, second: Log) -> list[Log]:
    return [first, second, *({**each, "logIndex": hex(int(each["logIndex"], 16) + 10)} for each in (first, second))]


def made_up(first: Log, second: Log) -> list[Log]:
    other = {"transactionHash": "0x" + "f0" * 32}
    return [first, second, *({**each, **other, "logIndex": hex(int(each["logIndex"], 16) + 10)} for each in (first, second))]


def ten_times_as_much(first: Log, second: Log) -> list[Log]:
    return [first, {**second, "data": f"0x{10 * USD_AMOUNT:064x}{second['data'][66:]}"}]


def moved_by_another(first: Log, second: Log) -> list[Log]:
    return [{**each, "transactionHash": "0x" + "f0" * 32} for each in (first, second)]


LIES: list[Callable[[Log, Log], list[Log]]] = [
    without_transfer, without_conversion, without_both, doubled, made_up, ten_times_as_much, moved_by_another,
]  # fmt: skip


class Liar(FakeChain):
    """A node of the same chain as another one. It lists the logs of conversions as its `lie` says."""

    lie: Callable[[Log, Log], list[Log]] | None = None

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        reading = super().read_range(blocks, after, headers, again)
        if self.lie is None or not reading.logs:
            return reading
        first, second = (dict(each) for each in reading.logs)
        return replace(reading, logs=tuple(type(self).lie(first, second)))  # type: ignore[misc]


class Pair:
    """A deployment that reads mainnet by two nodes, the liar first."""

    def __init__(self, is_checkable: bool) -> None:
        self.liar, self.honest = Liar("mainnet"), FakeChain("mainnet")
        self.honest.blocks = self.liar.blocks
        self.liar.is_checkable = self.honest.is_checkable = is_checkable
        chains = FakeChains(self.liar)
        self.world = World(client=object(), chains=chains, confirmations={"mainnet": 2})
        nodes: Any = Nodes([("liar", self.liar), ("honest", self.honest)], self.world.clock)  # type: ignore[list-item]
        chains._chains["mainnet"] = nodes
        self.world.services = replace(self.world.services, store=MemoryStore())
        self.world.prices.set("USD", "USDC", "1.0003")
        self.liar.prices = self.honest.prices = self.world.prices
        self.world.chain = self.liar
        self.liar.clock = self.honest.clock = self.world.clock

    def read(self, seconds: float, times: int = 3) -> None:
        """Reads the chain after a while, also if the nodes contradict each other."""
        self.world.advance(seconds)
        for _ in range(times):
            self.liar.mine(2)
            self.world.advance(60)
            with suppress(ChainUnavailable):
                scanning.scan(self.world.services, "mainnet", compares_nodes=True)
                self.world.record()

    def counted(self, request: Request) -> tuple[int, int]:
        """What is paid of the request, and by how many payments that stand."""
        found = payment_store.payments(self.world.services.store, request.request_id)
        standing = [each for each in found if each.status is PaymentStatus.CONFIRMED]
        return load_request(self.world.services, request).paid, len(standing)


@pytest.mark.parametrize("is_checkable", [False, True], ids=["without headers", "with headers"])
@pytest.mark.parametrize("lie", LIES, ids=lambda each: each.__name__)
def test_what_one_node_says_of_a_conversion_counts_for_no_more_than_it_moved_and_the_truth_in_the_end(
    lie: Callable[[Log, Log], list[Log]], is_checkable: bool
) -> None:
    pair = Pair(is_checkable)
    pair.read(0)
    request = store_request(
        pair.world.services, currency="USDC-mainnet", invoice_currency="USD", amount=USD_AMOUNT, client_id=World.client_id
    )
    Liar.lie = staticmethod(lie)  # type: ignore[assignment]
    try:
        pair.liar.convert(request, MOVED)
        pair.read(0)
        assert pair.counted(request) in [(0, 0), (USD_AMOUNT, 1)], "no lie counts while the other node answers"
        pair.read(601)
        assert pair.counted(request) in [(0, 0), (USD_AMOUNT, 1)]
    finally:
        Liar.lie = None
    pair.read(601)
    pair.read(6 * 3600)
    assert pair.counted(request) == (USD_AMOUNT, 1)


def test_no_node_alone_says_what_the_path_of_a_conversion_should_have_moved() -> None:
    """Whoever pays goes round through feeds by which half of the tokens is enough, and the liar says that it is."""
    pair = Pair(is_checkable=True)
    pair.read(0)
    request = store_request(
        pair.world.services, currency="USDC-mainnet", invoice_currency="USD", amount=USD_AMOUNT, client_id=World.client_id
    )

    def halved(paths: Sequence[tuple[str, ...]], block: int | None = None) -> tuple[PathRate | None, ...]:
        true = pair.honest.read_conversion_rates(paths, block)
        return tuple(each and replace(each, rate=each.rate // 2) for each in true)

    true = pair.liar.read_conversion_rates
    pair.liar.read_conversion_rates = halved  # type: ignore[method-assign]
    pair.liar.convert(request, MOVED // 2)
    pair.read(0)
    pair.read(601)
    assert pair.counted(request) == (0, 0), "its rate is not that of the price source, and so none"
    pair.liar.read_conversion_rates = true  # type: ignore[method-assign]
    recording.queue_overdue(pair.world.services)
    pair.world.record()
    assert pair.counted(request) == (USD_AMOUNT // 2, 1)
