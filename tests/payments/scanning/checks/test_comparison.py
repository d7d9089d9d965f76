"""A log that is not there: listed twice, or made up, by one node or by one of two; at the first reading and later ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.chains.nodes.history.receipts import BlockReceipts
from chalicelib.chains.nodes.nodes import Nodes, NodesDisagree
from chalicelib.chains.nodes.rpc.jsonrpc import NodeTimeout
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, logs_in
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.checks import comparison
from chalicelib.payments.scanning.records import Cursor, TransferState
from tests.fakes.chain import FakeChain, FakeChains, by_transaction
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import store_request
from tests.fakes.world import World, in_process_aws

LATER = (601, 601, 6 * 3600 + 1)
"""Seconds after which blocks are read again, one after the other."""


def twice(chain: FakeChain, log: dict[str, Any], index: int = 7) -> None:
    """The node lists a log a second time, with another index."""
    chain.forged.append({**log, "logIndex": hex(index)})


def half(world: World, payable: PayableLink) -> dict[str, Any]:
    return world.chain.pay(payable.requests[0], amount=6_250_000)


def read_later(world: World, *seconds: int) -> None:
    for each in seconds:
        world.advance(each)
        for _ in range(3):
            world.scan()


def states(world: World) -> list[TransferState]:
    logged = scan_store.list_logged(world.services.store, "sepolia", 0, len(world.chain.blocks))
    return sorted(each.state for each in logged)


def paid(world: World, payable: PayableLink) -> int:
    return world.load(payable).requests[0].paid


@pytest.mark.parametrize("index", [7, 3])
def test_a_log_that_a_node_lists_twice_counts_for_nothing_until_its_receipt_agrees(world: World, index: int) -> None:
    world.scan()
    payment = world.create_link()
    log = half(world, payment)
    log["logIndex"] = "0x5"
    twice(world.chain, log, index)
    world.chain.mine(2)
    with pytest.raises(InconsistentNode) as raised:
        scanning.scan(world.services, "sepolia")
    assert "is not in the receipt" in raised.value.reason
    assert paid(world, payment) == 0
    world.chain.forged.clear()
    world.scan()
    assert paid(world, payment) == 6_250_000


@pytest.mark.parametrize("is_fork", [True, False])
def test_nor_does_it_when_blocks_of_a_fork_or_of_a_tick_that_died_are_read_again(world: World, is_fork: bool) -> None:
    world.scan()
    payment = world.create_link()
    world.chain.mine(6)
    world.scan()
    if is_fork:
        world.chain.fork(6)
    else:
        cursor = scan_store.cursor(world.services.store, "sepolia")
        assert cursor is not None
        unfinished = BlockRange(cursor.scanned_to + 1, cursor.scanned_to + 1)
        world.services.store.write(replace(cursor, unfinished=unfinished))
    log = half(world, payment)
    twice(world.chain, log)
    world.chain.mine(2)
    with pytest.raises(InconsistentNode):
        scanning.scan(world.services, "sepolia")
    assert paid(world, payment) == 0
    world.chain.forged.clear()
    world.scan()
    assert paid(world, payment) == 6_250_000


def test_equal_transfers_of_one_transaction_that_are_in_its_receipt_count_each(world: World) -> None:
    world.scan()
    payment = world.create_link()
    half(world, payment)
    world.chain.pay_too(payment.requests[0], amount=6_250_000)
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_flood_of_equal_transfers_is_read_in_small_ranges(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction with one costs a receipt, and a range that takes too long is read again for ever."""
    monkeypatch.setitem(comparison.COMPARED_PER_RANGE, "evm", 4)
    world.scan()
    payment, asked = world.create_link(), list[int]()
    read = world.chain.find_receipts

    def counted(tx_hashes: Sequence[str]) -> RawReceipts:
        asked.append(len(tx_hashes))
        return read(tx_hashes)

    monkeypatch.setattr(world.chain, "find_receipts", counted)
    for _ in range(40):
        world.chain.pay(payment.requests[0], amount=1)
        world.chain.pay_too(payment.requests[0], amount=1)
    half(world, payment)
    for _ in range(3):
        world.scan()
    assert paid(world, payment) == 6_250_080
    assert max(asked) <= 4 and sum(asked) == 41, "each receipt is read once"


def believe_twice(world: World, payable: PayableLink) -> None:
    """The receipt had it twice, too, when it was read first."""
    log = half(world, payable)
    block = world.chain.blocks[-1]
    block.logs.append({**log, "logIndex": "0x7"})
    world.scan()
    assert world.load(payable).link.status is LinkStatus.COMPLETED
    block.logs.pop()


def test_what_was_counted_twice_is_taken_back_when_its_block_is_read_again(world: World) -> None:
    world.register_webhook()
    world.scan()
    payment = world.create_link()
    believe_twice(world, payment)
    read_later(world, *LATER[:2])
    assert paid(world, payment) == 6_250_000
    assert states(world) == [TransferState.PAYMENT, TransferState.REVERSED]
    world.drain()
    assert "payment.failed" in world.receiver.events
    notified = list(world.receiver.events)
    read_later(world, LATER[2])
    world.drain()
    assert (paid(world, payment), world.receiver.events) == (6_250_000, notified)


def test_a_payment_that_was_made_up_is_taken_back_and_comes_back_with_its_log(world: World) -> None:
    world.scan()
    payment = world.create_link()
    log = world.chain.pay(payment.requests[0])
    block = world.chain.blocks[-1]
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    block.logs.clear()
    read_later(world, *LATER[:2])
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert paid(world, payment) == 0
    block.logs.append(log)
    read_later(world, LATER[2], LATER[2])
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_node_that_lists_no_logs_later_takes_nothing_back(world: World) -> None:
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.hides_logs = True
    read_later(world, *LATER)
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert states(world) == [TransferState.PAYMENT]


class Pair:
    """Two nodes of one network; the second shows what the chain has, the first adds to it or is left out."""

    def __init__(self, client: Any) -> None:
        self.first, self.second = FakeChain(), FakeChain()
        self.second.blocks = self.first.blocks
        chains = FakeChains(self.first)
        self.world = World(client, chains)
        nodes = Nodes([("first", self.first), ("second", self.second)], self.world.clock)  # type: ignore[list-item]
        chains._chains["sepolia"] = nodes  # type: ignore[assignment]
        self.world.chain = self.first


@pytest.fixture
def pair() -> Iterator[Pair]:
    with in_process_aws() as client:
        yield Pair(client)


def receipts_of_liar(pair: Pair) -> None:
    """The first node has the log twice in its receipts, too."""
    honest = pair.first.find_receipts
    pair.first.find_receipts = lambda hashes: by_transaction(  # type: ignore[method-assign]
        hashes, (*logs_in(honest(hashes)), *pair.first._with_transfers(pair.first.forged))
    )


def test_a_log_that_one_of_two_nodes_has_twice_holds_the_network_and_counts_for_nothing(pair: Pair) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    log = half(world, payment)
    twice(pair.first, log)
    receipts_of_liar(pair)
    world.chain.mine(2)
    with pytest.raises(NodesDisagree) as raised:
        scanning.scan(world.services, "sepolia")
    assert "is at first and not at second" in raised.value.reason
    assert paid(world, payment) == 0


def made_up(pair: Pair, world: World, payable: PayableLink, names: str) -> None:
    """A node lists a payment by a transaction that does not exist, or that is in another block."""
    other = world.chain.pay(payable.requests[0], amount=1)["transactionHash"]
    for _ in range(3):
        world.scan()
    log = world.chain.pay(payable.requests[0])
    world.chain.blocks[-1].logs.remove(log)
    log["transactionHash"] = other if names == "another block" else "0x" + "f0" * 32
    pair.first.forged.append(log)


@pytest.mark.parametrize("names", ["no block", "another block"])
def test_a_log_that_one_of_two_nodes_made_up_counts_for_nothing_though_the_other_has_no_receipt(
    pair: Pair, names: str
) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    made_up(pair, world, payment, names)
    receipts_of_liar(pair)
    world.chain.mine(2)
    with pytest.raises(NodesDisagree) as raised:
        scanning.scan(world.services, "sepolia")
    assert "is at first and not at second" in raised.value.reason
    pair.first.forged.clear()
    world.tick(network="sepolia")
    assert paid(world, payment) == 1


def test_nor_does_one_that_the_other_node_lists_when_blocks_are_read_again(pair: Pair) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    pair.first, pair.second = pair.second, pair.first
    made_up(pair, world, payment, "no block")
    receipts_of_liar(pair)
    forged, pair.first.forged = pair.first.forged, []
    world.scan()
    assert paid(world, payment) == 1
    pair.first.forged += forged
    for _ in range(2):
        world.advance(601)
        for _ in range(3):
            world.chain.mine(2)
            world.tick(network="sepolia")
    assert paid(world, payment) == 1


def test_every_payment_of_a_flood_is_compared_with_the_other_node(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(comparison.COMPARED_PER_RANGE, "evm", 4)
    world = pair.world
    world.scan()
    payment = world.create_link()
    for _ in range(12):
        world.chain.pay(payment.requests[0], amount=1)
    for number in range(6):
        log = world.chain.pay_too(payment.requests[0], amount=1)
        log["transactionHash"] = "0x" + f"{number:064x}"
    pair.first.forged.append({**log, "transactionHash": "0x" + "f0" * 32, "logIndex": "0x9"})
    for _ in range(3):
        world.chain.mine(2)
        world.tick(network="sepolia")
    assert paid(world, payment) == 11, "up to the block of the log that is made up"
    pair.first.forged.clear()
    scanning.scan(world.services, "sepolia", compares_nodes=True)
    world.record()
    assert paid(world, payment) == 18


@pytest.mark.parametrize("seconds", [5, 3600])
def test_a_payment_waits_for_another_node_that_is_behind_however_long_that_takes(pair: Pair, seconds: int) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    half(world, payment)
    world.chain.mine(2)
    for lag in (8, 9, 10):  # of two new blocks each it has one more
        pair.second.lag = lag
        world.scan()
        world.advance(seconds)
        assert paid(world, payment) == 0
    pair.second.lag = 0
    world.scan()
    assert paid(world, payment) == 6_250_000
    assert cursor_of(world).alone is None


def cursor_of(world: World) -> Cursor:
    found = scan_store.cursor(world.services.store, "sepolia")
    assert found is not None
    return found


def wait_out(world: World) -> None:
    """The other node has been silent for as long as it takes until the one that is left is believed."""
    world.scan()
    world.advance(world.services.settings.silent_nodes_seconds)
    world.scan()


def test_a_node_that_contradicts_its_receipt_is_asked_last_and_the_other_one_is_read(pair: Pair) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    twice(pair.first, half(world, payment))
    world.chain.mine(2)
    world.tick(network="sepolia")
    assert paid(world, payment) == 0
    world.tick(network="sepolia")
    assert paid(world, payment) == 6_250_000


@pytest.mark.parametrize("insists", [False, True])
def test_what_one_node_made_up_while_the_other_was_away_is_taken_back_by_both_and_by_neither_alone(
    pair: Pair, insists: bool
) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    log = half(world, payment)
    twice(pair.first, log)
    receipts_of_liar(pair)
    pair.second.is_down = True
    wait_out(world)
    assert paid(world, payment) == 12_500_000
    pair.second.is_down = False
    if insists:
        honest = pair.first.read_receipts
        pair.first.read_receipts = lambda number, hashes: with_forged(  # type: ignore[method-assign]
            honest(number, hashes), pair.first
        )
    for _ in range(2):
        world.advance(601)
        for _ in range(3):
            world.chain.mine(2)
            world.tick(network="sepolia")
    cursor = scan_store.cursor(world.services.store, "sepolia")
    assert cursor is not None
    assert cursor.is_paused is insists
    assert paid(world, payment) == (12_500_000 if insists else 6_250_000)
    assert states(world)[1] is (TransferState.PAYMENT if insists else TransferState.REVERSED)


@pytest.mark.parametrize("is_fork", [False, True])
def test_what_was_taken_back_is_not_believed_of_one_node_when_it_lists_it_again(pair: Pair, is_fork: bool) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    twice(pair.first, half(world, payment))
    receipts_of_liar(pair)
    pair.second.is_down = True
    wait_out(world)
    assert paid(world, payment) == 12_500_000
    pair.second.is_down, forged = False, list(pair.first.forged)
    pair.first.forged.clear()
    later(world, 601)
    later(world, 601)
    assert (paid(world, payment), states(world)[1]) == (6_250_000, TransferState.REVERSED)
    (pair.first if is_fork else pair.second).forged += forged  # the second one reads again what was read before
    if is_fork:
        stored = cursor_of(world)
        again = BlockRange(int(forged[0]["blockNumber"], 16), stored.scanned_to)
        world.services.store.write(replace(stored, unfinished=again))
    for seconds in (0, 6 * 3600, 6 * 3600):
        later(world, seconds)
        assert paid(world, payment) == 6_250_000


def with_forged(block: BlockReceipts, chain: FakeChain) -> BlockReceipts:
    forged = {each: [log for log in chain.forged if log["transactionHash"] == each] for each in block.logs}
    return BlockReceipts(block.hash, {each: (*logs, *forged[each]) for each, logs in block.logs.items()})


def test_a_block_stays_unproved_until_every_node_has_said_that_a_transfer_is_not_in_it(pair: Pair) -> None:
    """The rest of it is proved meanwhile: then nobody would look for the transfer again."""
    world = pair.world
    pair.first.is_checkable = pair.second.is_checkable = True
    world.scan()
    payment = world.create_link()
    log = half(world, payment)
    pair.first.forged.append({**log, "transactionHash": "0x" + "f0" * 32, "logIndex": "0x7f"})
    pair.second.is_down = True
    wait_out(world)
    assert paid(world, payment) == 12_500_000
    pair.first.forged.clear()
    pair.second.is_down, answers = False, pair.second.read_receipts
    pair.second.read_receipts = is_silent  # type: ignore[method-assign]
    later(world, 601)
    assert paid(world, payment) == 12_500_000
    pair.second.read_receipts = answers  # type: ignore[method-assign]
    later(world, 3601)
    assert paid(world, payment) == 6_250_000


def test_what_one_node_adds_to_a_block_that_is_proved_makes_it_unproved(pair: Pair) -> None:
    """The newest blocks are read twice, and the other node is silent at the second time."""
    world = pair.world
    pair.first.is_checkable = pair.second.is_checkable = True
    world.scan()
    payment = world.create_link()
    log = half(world, payment)
    world.scan()
    assert paid(world, payment) == 6_250_000
    pair.first.forged.append({**log, "transactionHash": "0x" + "f0" * 32, "logIndex": "0x7f"})
    pair.second.is_down = True
    wait_out(world)
    assert paid(world, payment) == 12_500_000
    assert any(each.is_unproved and each.first <= int(log["blockNumber"], 16) for each in cursor_of(world).weak)
    pair.first.forged.clear()
    pair.second.is_down = False
    later(world, 601)
    assert paid(world, payment) == 6_250_000


def test_what_the_second_reading_of_one_node_adds_is_held_while_the_other_does_not_say_whether_it_is_there(pair: Pair) -> None:
    """Blocks that were corroborated are read again by the other node, which may make something up."""
    world = pair.world
    world.scan()
    payment = world.create_link()
    log = half(world, payment)
    world.scan()
    later(world, 601)  # the blocks of the payment are read again the next time
    assert paid(world, payment) == 6_250_000
    pair.second.forged.append({**log, "transactionHash": "0x" + "f0" * 32, "logIndex": "0x7f"})
    honest, answers = pair.second.read_receipts, pair.first.read_receipts
    pair.second.read_receipts = lambda number, hashes: with_forged(  # type: ignore[method-assign]
        honest(number, hashes), pair.second
    )
    receipts = pair.second.find_receipts
    pair.second.find_receipts = lambda hashes: by_transaction(  # type: ignore[method-assign]
        hashes, (*logs_in(receipts(hashes)), *pair.second.forged)
    )
    pair.first.read_receipts = is_silent  # type: ignore[method-assign]
    later(world, 601)
    assert (paid(world, payment), cursor_of(world).deferred_from is not None) == (6_250_000, True)
    pair.second.forged.clear()
    pair.first.read_receipts = answers  # type: ignore[method-assign]
    later(world, 3601)
    assert (paid(world, payment), cursor_of(world).deferred_from) == (6_250_000, None)


@pytest.mark.parametrize("loses", ["first", "second"])
def test_a_deferred_payment_is_recorded_though_the_node_that_is_read_next_does_not_list_it(pair: Pair, loses: str) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    half(world, payment)
    listed = {name: (node.read_range, node.read_payments) for name, node in (("first", pair.first), ("second", pair.second))}

    leaves_out(pair.second)
    answers = pair.second.read_receipts
    pair.second.read_receipts = is_silent  # type: ignore[method-assign]
    world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from is not None) == (0, True)
    if loses == "first":
        pair.second.read_range, pair.second.read_payments = listed["second"]  # type: ignore[method-assign]
        leaves_out(pair.first)
    pair.second.read_receipts = answers  # type: ignore[method-assign]
    for _ in range(3):
        world.advance(5)
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from) == (6_250_000, None)


def leaves_out(node: Any) -> None:
    """It lists no logs, and returns receipts."""
    ranges, payments = node.read_range, node.read_payments
    node.read_range = lambda *given: replace(ranges(*given), logs=())
    node.read_payments = lambda numbers: {at: replace(each, logs=()) for at, each in payments(numbers).items()}


@pytest.mark.parametrize("is_fork", [False, True], ids=["new", "a fork"])
def test_no_payment_is_deferred_because_many_blocks_have_some_that_the_other_node_does_not_list(
    pair: Pair, is_fork: bool
) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    leaves_out(pair.second)
    if is_fork:
        world.chain.mine(60)
        world.scan()
        pair.first.fork(60)
    for _ in range(50):
        world.chain.pay(payment.requests[0], amount=1)
    for _ in range(2):
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from) == (50, None)
    assert cursor_of(world).scanned_to == len(pair.first.blocks) - 2


def test_a_fork_of_many_such_blocks_is_followed_within_a_tick_though_the_other_node_is_slow(pair: Pair) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    leaves_out(pair.second)
    world.chain.mine(60)
    world.scan()
    pair.first.fork(60)
    for _ in range(50):
        world.chain.pay(payment.requests[0], amount=1)
    answer = pair.second.read_receipts

    def slow(number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        world.advance(3)
        return answer(number, tx_hashes)

    pair.second.read_receipts = slow  # type: ignore[method-assign]
    world.scan()
    world.scan()
    assert cursor_of(world).scanned_to == len(pair.first.blocks) - 2
    assert 20 <= paid(world, payment) < 50 and cursor_of(world).deferred_from is not None
    for _ in range(12):
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from) == (50, None)


@pytest.mark.parametrize("is_fork", [False, True])
def test_blocks_with_more_logs_than_are_read_together_are_compared_alone(pair: Pair, is_fork: bool) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    if is_fork:
        world.chain.mine(30)
        world.scan()
        pair.first.fork(30)
    for _ in range(25):
        world.chain.pay(payment.requests[0], amount=1)
    answer = pair.second.read_payments

    def few(wanted: Any) -> Any:
        if len(wanted) > 1:
            raise RangeTooLarge("the blocks have more logs than are read together")
        return answer(wanted)

    pair.second.read_payments = few  # type: ignore[method-assign]
    for _ in range(3):
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from) == (25, None)
    assert cursor_of(world).scanned_to == len(pair.first.blocks) - 2


@pytest.mark.parametrize("answers", ["at once", "later"])
@pytest.mark.parametrize("moved_by", [0, 1, 6])
def test_a_deferred_payment_that_a_fork_moves_is_found_once_in_its_new_block(
    pair: Pair, moved_by: int, answers: str
) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    leaves_out(pair.second)
    answer = pair.second.read_receipts
    pair.second.read_receipts = is_silent  # type: ignore[method-assign]
    half(world, payment)
    world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from is not None) == (0, True)
    pair.first.fork(4, moved_by)
    new = next(block for block in pair.first.blocks if block.logs)
    if answers == "at once":
        pair.second.read_receipts = answer  # type: ignore[method-assign]
    for _ in range(5):
        world.advance(5)
        world.scan()
    assert paid(world, payment) == (6_250_000 if answers == "at once" else 0)
    pair.second.read_receipts = answer  # type: ignore[method-assign]
    for _ in range(3):
        world.advance(5)
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from) == (6_250_000, None)
    (logged,) = scan_store.list_logged(world.services.store, "sepolia", 0, len(pair.first.blocks))
    assert (logged.block_hash, logged.state) == (new.hash, TransferState.PAYMENT)


def test_a_payment_that_was_recorded_and_that_a_fork_moves_stays_though_the_other_node_does_not_say(pair: Pair) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    half(world, payment)
    world.scan()
    leaves_out(pair.second)
    pair.second.read_receipts = is_silent  # type: ignore[method-assign]
    pair.first.fork(4, 1)
    for _ in range(3):
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from) == (6_250_000, None)


def test_a_payment_that_was_taken_back_is_compared_as_a_new_one_when_a_fork_moves_it(pair: Pair) -> None:
    world = pair.world
    world.scan()
    payment = world.create_link()
    log = half(world, payment)
    world.scan()
    block = pair.first.blocks[int(log["blockNumber"], 16)]
    block.logs.clear()
    later(world, 601)
    later(world, 601)
    assert (paid(world, payment), states(world)) == (0, [TransferState.REVERSED])
    leaves_out(pair.second)
    pair.second.read_receipts = is_silent  # type: ignore[method-assign]
    block.logs.append(log)
    pair.first.fork(len(pair.first.blocks) - block.number, 1)
    for _ in range(3):
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from is not None) == (0, True)


def is_silent(number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
    raise ChainUnavailable("The sepolia node does not answer")


def later(world: World, seconds: int) -> None:
    world.advance(seconds)
    for _ in range(3):
        world.chain.mine(2)
        world.tick(network="sepolia")


# receipts that are too large


class Burdened(FakeChain):
    """A node whose receipts of the transactions in `heavy` take 3 seconds each, and are refused with others; those in
    `stuck` never arrive. No answer has more than one of them."""

    def __init__(self, clock: Any, network: str = "sepolia") -> None:
        super().__init__(network)
        self.heavy, self.stuck = set[str](), set[str]()
        self.largest_answer = 0
        self._world_clock = clock

    def find_receipts(self, tx_hashes: Sequence[str]) -> RawReceipts:
        self._take(tx_hashes)
        return super().find_receipts(tx_hashes)

    def read_receipts(self, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        self._take(tx_hashes)
        return super().read_receipts(number, tx_hashes)

    def _take(self, tx_hashes: Sequence[str]) -> None:
        asked = {"0x" + each.removeprefix("0x") for each in tx_hashes}
        heavy = (self.heavy | self.stuck) & asked
        self._world_clock.advance(3 * min(len(heavy), 2))
        if len(heavy) > 1 or self.stuck & heavy:
            raise NodeTimeout("The sepolia node takes too long")
        self.largest_answer = max(self.largest_answer, len(heavy))


JUNK = "0x" + "ab" * 20


def burden(chain: Burdened, request: Request, count: int, token: str | None = None) -> set[str]:
    """Transactions with two equal transfers under the reference of a request, whose receipts are very long."""
    made, altered = set[str](), {"token": token} if token else {}
    for _ in range(count):
        made.add(chain.pay(request, amount=1, **altered)["transactionHash"])
        chain.pay_too(request, amount=1, **altered)
    return made


@pytest.fixture
def burdened() -> Iterator[tuple[World, Burdened]]:
    with in_process_aws() as client:
        world = World(client)
        chain = Burdened(world)
        world._chains = FakeChains(chain)
        world.chain, world.services = chain, world.start()
        world.scan()
        yield world, chain


def test_receipts_of_a_worthless_token_are_not_read(burdened: tuple[World, Burdened]) -> None:
    world, chain = burdened
    payment, other = world.create_link(), world.create_link()
    chain.stuck |= burden(chain, payment.requests[0], 6, JUNK)
    half(world, other)
    before = world.now
    world.scan()
    assert (paid(world, other), cursor_of(world).deferred_from) == (6_250_000, None)
    assert world.now == before, "no receipt was waited for"


@pytest.mark.parametrize("ends", [True, False], ids=["slow", "never"])
def test_receipts_that_are_too_large_hold_up_neither_the_network_nor_other_payments(
    burdened: tuple[World, Burdened], ends: bool
) -> None:
    world, chain = burdened
    payment, other = world.create_link(), world.create_link()
    (chain.heavy if ends else chain.stuck).update(burden(chain, payment.requests[0], 100))
    half(world, other)
    for _ in range(2):
        world.scan()
    assert cursor_of(world).scanned_to == len(chain.blocks) - 2, "no lag after two ticks"
    assert paid(world, other) == 6_250_000
    assert cursor_of(world).deferred_from is not None
    after = world.create_link()
    for _ in range(25):
        world.advance(5)
        world.scan()
    half(world, after)
    world.scan()
    assert (paid(world, after), paid(world, payment)) == (6_250_000, 200 if ends else 0)
    assert cursor_of(world).scanned_to == len(chain.blocks) - 2
    assert (cursor_of(world).deferred_from is None) is ends
    assert chain.largest_answer <= 1, "memory has one such receipt at a time"


def test_nor_do_they_on_tron_where_each_receipt_is_a_request() -> None:
    world = World(client=object(), confirmations={"tron": 2})
    chain = Burdened(world, "tron")
    world._chains = FakeChains(chain)
    services = replace(world.start(), store=MemoryStore())
    chain.mine(2)
    scanning.scan(services, "tron")
    request = store_request(services, currency="USDT-tron", payee="TJRabPrwbZy45sbavfcjinPJC18kjpRTv8")
    chain.stuck |= burden(chain, request, 100)
    honest = chain.pay(request, amount=5)
    chain.mine(2)
    ticks = 0
    while not (logged := scan_store.list_logged(services.store, "tron", 0, len(chain.blocks))):
        ticks += 1
        assert ticks <= 2, "no lag after two ticks"
        scanning.scan(services, "tron")
    assert [each.tx_hash for each in logged] == [honest["transactionHash"].removeprefix("0x")]
    assert len(scan_store.list_deferred(services.store, "tron", "", 200)) == 100
    assert chain.largest_answer == 0


def test_one_stuck_receipt_keeps_none_of_the_others_from_being_recorded(burdened: tuple[World, Burdened]) -> None:
    world, chain = burdened
    payment = world.create_link()
    chain.stuck |= burden(chain, payment.requests[0], 7)
    honest = burden(chain, payment.requests[0], 1)
    for _ in range(6):
        world.advance(5)
        world.scan()
    assert paid(world, payment) == 2
    chain.stuck.clear()
    for _ in range(6):
        world.advance(5)
        world.scan()
    assert (paid(world, payment), cursor_of(world).deferred_from) == (16, None)
    assert honest


def test_two_nodes_need_no_receipt_for_what_both_list(pair: Pair) -> None:
    world = pair.world
    world.scan()
    payment, other = world.create_link(), world.create_link()
    for node in (pair.first, pair.second):
        node.find_receipts = is_too_slow  # type: ignore[method-assign]
        node.read_receipts = is_silent  # type: ignore[method-assign]
    pair.first.pay(payment.requests[0], amount=1)
    pair.first.pay_too(payment.requests[0], amount=1)
    half(world, other)
    world.scan()
    assert (paid(world, payment), paid(world, other)) == (2, 6_250_000)


def is_too_slow(tx_hashes: Sequence[str]) -> Any:
    raise NodeTimeout("The sepolia node takes too long")


@pytest.mark.parametrize("token", [None, JUNK])
def test_a_fork_that_removes_transactions_with_receipts_that_are_too_large_is_followed(
    burdened: tuple[World, Burdened], token: str | None
) -> None:
    world, chain = burdened
    payment, other = world.create_link(), world.create_link()
    half(world, other)
    heavy = burden(chain, payment.requests[0], 3, token)
    world.scan()
    depth = 5 + 2
    chain.stuck |= heavy
    chain.fork(depth)
    for _ in range(3):
        world.advance(5)
        world.scan()
    assert (paid(world, payment), paid(world, other)) == (0, 0)
    assert cursor_of(world).scanned_to == len(chain.blocks) - 2
