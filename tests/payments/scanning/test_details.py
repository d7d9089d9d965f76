"""Who paid, and what a conversion should have moved: what a tick asks the node for, and what it does without an answer."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.nodes.history.receipts import PaidTransfer, PaymentSender
from chalicelib.chains.nodes.rpc.jsonrpc import NodeTimeout
from chalicelib.chains.nodes.rpc.receipts import RawReceipts
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import flows, store
from chalicelib.payments.scanning.details import RECEIPTS_PER_REQUEST, RECEIPTS_PER_TICK
from chalicelib.payments.scanning.records import LoggedTransfer
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import store_request
from tests.fakes.world import World

PAYER = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
TRON_PAYEE = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
JUNK = "0x" + "77" * 20


class Node(FakeChain):
    """Counts what it is asked for; everything was paid by PAYER. It fails with `failure` for receipts in `refused`."""

    def __init__(self, network: str) -> None:
        super().__init__(network)
        self.asked: list[list[str]] = []
        self.blocks_asked: list[int | None] = []
        self.failure: ChainUnavailable | None = None
        self.refused: set[str] | None = None
        self.takes = lambda: None

    def find_receipts(self, tx_hashes: Sequence[str]) -> RawReceipts:
        self.asked.append(list(tx_hashes))
        self.takes()
        if self.failure is not None and (self.refused is None or self.refused & set(tx_hashes)):
            raise self.failure
        return super().find_receipts(tx_hashes)

    def payers_of(
        self, payments: Sequence[PaidTransfer], read: RawReceipts | None = None
    ) -> tuple[PaymentSender | None, ...]:
        assert read is not None and all(read[each.tx_hash] for each in payments)
        return tuple(PaymentSender(PAYER, True) for _ in payments)

    def read_conversion_rates(
        self, paths: Sequence[tuple[str, ...]], block: int | None = None
    ) -> tuple[PathRate | None, ...]:
        self.blocks_asked.append(block)
        return super().read_conversion_rates(paths, block)


class Scanned:
    """A deployment that reads one network."""

    def __init__(self, network: str, token: str, **changes: object) -> None:
        self.node = Node(network)
        self.world = World(client=object(), chains=FakeChains(self.node), confirmations={network: 2})
        self.world.chain = self.node
        self.world.services = replace(self.world.services, store=MemoryStore())
        self.tick()
        self.request = store_request(self.world.services, currency=token, **changes)

    def tick(self) -> int:
        self.node.mine(2)
        return flows.scan(self.world.services, self.node.network)

    def pay(self, count: int, **altered: str) -> Request:
        for _ in range(count):
            self.node.pay(self.request, 5, **altered)
        return self.request

    @property
    def logged(self) -> list[LoggedTransfer]:
        return store.list_logged(self.world.services.store, self.node.network, 0, len(self.node.blocks))


@pytest.fixture
def sepolia() -> Scanned:
    return Scanned("sepolia", "fUSDC-sepolia")


@pytest.fixture
def tron() -> Scanned:
    return Scanned("tron", "USDT-tron", payee=TRON_PAYEE)


def test_only_new_transfers_with_a_known_reference_and_token_cost_a_call(sepolia: Scanned) -> None:
    sepolia.tick()
    assert sepolia.node.asked == []
    sepolia.node.pay(replace(sepolia.request, payment_reference="0x" + "ff" * 8))
    sepolia.pay(3, token=JUNK)
    assert sepolia.tick() == 3
    assert sepolia.node.asked == [], "anybody can create tokens, and no request is paid in them"
    sepolia.pay(3)
    assert sepolia.tick() == 3
    assert [len(each) for each in sepolia.node.asked] == [3], "one request for the receipts of a range"
    assert [each.payer for each in sepolia.logged] == [None] * 3 + [PAYER] * 3
    assert sepolia.tick() == 0, "the same blocks are read again"
    assert len(sepolia.node.asked) == 1


@pytest.mark.parametrize("failure", [ChainUnavailable("no receipts"), NodeTimeout("takes too long")])
def test_a_node_that_gives_no_receipts_delays_no_payment(sepolia: Scanned, failure: ChainUnavailable) -> None:
    sepolia.node.failure = failure
    sepolia.pay(2)
    assert sepolia.tick() == 2
    tries = len(sepolia.node.asked)
    assert tries == (2 if isinstance(failure, NodeTimeout) else 1), "after a time-out one receipt by itself"
    assert [each.payer for each in sepolia.logged] == [None, None]
    sepolia.node.failure = None
    sepolia.world.record()
    assert sepolia.tick() == 0
    assert len(sepolia.node.asked) == tries, "it is not tried again"


def test_a_receipt_that_is_too_long_costs_the_payers_of_one_request_only(sepolia: Scanned) -> None:
    most = RECEIPTS_PER_REQUEST["evm"]
    sepolia.pay(most + 10)
    (log,) = sepolia.node.blocks[-1].logs
    sepolia.node.failure, sepolia.node.refused = ChainUnavailable("responds with too much"), {log["transactionHash"]}
    assert sepolia.tick() == most + 10
    assert [len(each) for each in sepolia.node.asked] == [most, 10]
    assert [each.payer for each in sepolia.logged] == [PAYER] * most + [None] * 10


def test_a_node_that_took_too_long_twice_is_asked_for_no_more_receipts_by_the_same_tick(sepolia: Scanned) -> None:
    sepolia.node.failure = NodeTimeout("takes too long")
    sepolia.pay(RECEIPTS_PER_REQUEST["evm"] * 3)
    assert sepolia.tick() == RECEIPTS_PER_REQUEST["evm"] * 3
    assert [len(each) for each in sepolia.node.asked] == [RECEIPTS_PER_REQUEST["evm"], 1]


@pytest.mark.parametrize("place", [0, 20, 49])
def test_a_receipt_that_takes_too_long_costs_its_own_payer_and_those_after_it_in_its_request(
    sepolia: Scanned, place: int
) -> None:
    """Anybody can make one, for the gas."""
    most = RECEIPTS_PER_REQUEST["evm"]
    sepolia.pay(most + 10)
    (log,) = sepolia.node.blocks[place - most - 10].logs
    sepolia.node.failure, sepolia.node.refused = NodeTimeout("takes too long"), {log["transactionHash"]}
    assert sepolia.tick() == most + 10
    payers = [each.payer for each in sepolia.logged]
    assert payers[most:] == [PAYER] * 10, "those of other requests are read first"
    assert payers[:most] == [PAYER] * place + [None] * (most - place)


def test_no_receipt_is_asked_for_after_the_time_of_a_tick(sepolia: Scanned) -> None:
    sepolia.node.takes = lambda: sepolia.world.advance(20)
    sepolia.pay(RECEIPTS_PER_REQUEST["evm"] * 3)
    assert sepolia.tick() == RECEIPTS_PER_REQUEST["evm"] * 3
    assert len(sepolia.node.asked) == 1


def test_on_tron_a_tick_asks_for_20_receipts_at_most_one_by_one(tron: Scanned) -> None:
    tron.pay(RECEIPTS_PER_TICK["tron"] + 5)
    assert tron.tick() == 25
    assert [len(each) for each in tron.node.asked] == [1] * 20
    assert [each.payer for each in tron.logged] == [PAYER] * 20 + [None] * 5


def test_a_batch_costs_one_receipt(sepolia: Scanned) -> None:
    sepolia.node.mine()
    for amount in range(1, 31):
        sepolia.node.pay_too(sepolia.request, amount)
    assert sepolia.tick() == 30
    assert [len(each) for each in sepolia.node.asked] == [1]


def test_a_transfer_that_a_fork_moved_has_its_payer_in_its_new_block_too(sepolia: Scanned) -> None:
    sepolia.pay(1)
    assert sepolia.tick() == 1
    sepolia.node.fork(4, moved_by=1)
    sepolia.tick()
    assert [each.payer for each in sepolia.logged] == [PAYER] * 2


def test_the_rates_of_conversions_are_read_once_per_block_that_has_some() -> None:
    mainnet = Scanned("mainnet", "USDC-mainnet", invoice_currency="USD", amount=1_250_000_000)
    mainnet.node.prices = mainnet.world.prices
    mainnet.world.prices._when_set = lambda: None
    mainnet.world.prices.set("USD", "USDC", "1.0003")
    mainnet.node.pay(mainnet.request)
    mainnet.node.convert(mainnet.request, 12_503_750)
    block = len(mainnet.node.blocks) - 1
    mainnet.node.convert(mainnet.request, 0)
    assert mainnet.tick() == 2
    assert mainnet.node.blocks_asked == [block]
    assert [each.path_amount for each in mainnet.logged] == [None, 12_503_750]
    mainnet.tick()
    assert len(mainnet.node.blocks_asked) == 1
