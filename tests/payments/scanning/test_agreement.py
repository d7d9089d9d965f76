"""Payments of a network with several nodes: all that answer have to say the same, and at least two have to say it."""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import BlockPayments, Disconnected, RangeReading
from chalicelib.chains.nodes.history.logs import BlockFacts, BlockRange, Checkpoint
from chalicelib.chains.nodes.history.receipts import BlockReceipts
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, logs_in
from chalicelib.payments.links import expiry
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.scanning import flows, store
from chalicelib.payments.scanning.checks import absence
from chalicelib.payments.scanning.jobs import scan_chain, start_scans
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.metrics import COUNTED_LINES
from tests.fakes.chain import FakeChain, FakeChains, by_transaction
from tests.fakes.world import World, in_process_aws

AMOUNT = 12_500_000
CONFIRMATIONS = require_network("sepolia").confirmations


class Liar(FakeChain):
    """A node whose receipts, lists and headers agree with each other: it has the logs in `forged`, and times that differ
    by `shift`. It numbers the logs as `index` says, of a log and its number in its transaction. The number of its newest
    block is `ahead` of the chain's."""

    ahead = 0
    shift = timedelta(0)
    shifts_readings_alone = False
    """Whether its times differ in readings of ranges alone, and not where blocks are compared."""
    index: Callable[[dict[str, Any], int], int] | None = None

    def head(self) -> int:
        return super().head() + self.ahead

    def find_receipts(self, tx_hashes: Sequence[str]) -> RawReceipts:
        forged = [log for log in self.forged if log["transactionHash"] in tx_hashes]
        logs = (*logs_in(super().find_receipts(tx_hashes)), *self._with_transfers(forged))
        return by_transaction(tx_hashes, self._numbered(logs))

    def read_receipts(self, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        block = super().read_receipts(number, tx_hashes)
        forged = {each: [log for log in self.forged if log["transactionHash"] == each] for each in block.logs}
        return BlockReceipts(
            block.hash, {each: self._numbered((*logs, *forged[each])) for each, logs in block.logs.items()}
        )

    def read_payments(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        found = super().read_payments(wanted)
        return {number: replace(each, logs=self._numbered(each.logs or ())) for number, each in found.items()}

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        reading = super().read_range(blocks, after, headers, again)
        last = BlockFacts(reading.last.hash, super()._facts(blocks.last).time + self.shift)
        return replace(reading, logs=self._numbered(reading.logs), last=last)

    def _facts(self, number: int) -> BlockFacts:
        facts = super()._facts(number)
        return facts if self.shifts_readings_alone else replace(facts, time=facts.time + self.shift)

    def _numbered(self, logs: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        if self.index is None:
            return tuple(logs)
        counts, found = dict[str, int](), list[Mapping[str, Any]]()
        for log in logs:
            number = counts.get(log["transactionHash"], 0)
            counts[log["transactionHash"]] = number + 1
            found.append({**log, "logIndex": hex(self.index(dict(log), number))})
        return tuple(found)


class Group:
    """A world whose sepolia has some nodes of the same chain."""

    def __init__(self, client: Any, count: int, kind: type[Liar] = Liar) -> None:
        self.nodes = [kind() for _ in range(count)]
        for node in self.nodes:
            node.blocks = self.nodes[0].blocks
        chains = FakeChains(self.nodes[0])
        self.world = World(client, chains)
        each: Any = [(f"node-{number}", node) for number, node in enumerate(self.nodes)]
        chains._chains["sepolia"] = Nodes(each, self.world.clock, self.report)  # type: ignore[assignment]
        self.world.chain = self.nodes[0]
        self.stream = io.StringIO()
        log = Logger(service="group", level="INFO")
        log.registered_handler.setStream(self.stream)  # type: ignore[attr-defined]
        self.world.services = replace(self.world.start(), log=log)
        self.tick()

    def report(self, network: str, reason: str) -> None:
        """As a stage does (platform/services.py)."""
        self.world.services.log.error("nodes disagree", extra={"network": network, "reason": reason})

    def tick(self, seconds: int = 5, compare: bool = False, blocks: int = 2) -> None:
        self.world.advance(seconds)
        self.nodes[0].mine(blocks)
        scan_chain(self.world.services, json.dumps({"network": "sepolia", "compareNodes": compare}))
        self.world.record()

    def run(self, minutes: int) -> None:
        """Ticks with a comparison each minute."""
        for number in range(3 * minutes):
            self.tick(20, compare=number % 3 == 0)

    def paid(self, payable: PayableLink) -> int:
        return self.world.load(payable).requests[0].paid

    @property
    def ends_until(self) -> datetime:
        """Until when what ends by time may have ended."""
        assert self.cursor.agreed_until is not None
        return self.cursor.agreed_until

    def logged(self, message: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [line for line in lines if line["message"] == message]

    @property
    def cursor(self) -> Cursor:
        found = store.cursor(self.world.services.store, "sepolia")
        assert found is not None
        return found


@pytest.fixture
def client() -> Iterator[Any]:
    with in_process_aws() as client:
        yield client


def invent(group: Group, liar: Liar, payable: PayableLink, kind: str) -> None:
    """The liar has a log of a payment that is not there: by a transaction that does not exist, by one of another block,
    or by one of its block that does something else."""
    chain = group.nodes[0]
    other = group.world.create_link()
    foreign = chain.pay(other.requests[0], amount=1)["transactionHash"]
    if kind == "of another block":
        chain.mine()
    log = chain.pay_too(payable.requests[0])
    chain.blocks[-1].logs.remove(log)
    liar.forged.append({**log, "transactionHash": "0x" + "f0" * 32 if kind == "of none" else foreign, "logIndex": "0x9"})


@pytest.mark.parametrize("kind", ["of none", "of another block", "of its block"])
@pytest.mark.parametrize(
    ("count", "place", "silent"),
    [(2, 0, None), (2, 1, None), (3, 0, None), (3, 0, 1), (3, 1, 2), (3, 2, 0)],
)
def test_a_log_that_one_node_invents_with_its_receipts_is_never_a_payment(
    client: Any, count: int, place: int, silent: int | None, kind: str
) -> None:
    group = Group(client, count)
    payment = group.world.create_link()
    if silent is not None:
        group.nodes[silent].is_down = True
    invent(group, group.nodes[place], payment, kind)
    group.run(minutes=12)
    assert group.paid(payment) == 0
    if place == 0:  # a transaction that it has in two blocks shows by itself
        assert group.logged("node contradicts itself" if kind == "of another block" else "nodes disagree")


def test_a_node_that_contradicts_itself_is_asked_last_so_that_the_other_one_is_read(client: Any) -> None:
    group = Group(client, 2)
    payment, paid = group.world.create_link(), group.world.create_link()
    invent(group, group.nodes[0], payment, "of another block")
    group.nodes[0].pay(paid.requests[0])
    for _ in range(3):
        group.tick()
    assert (group.paid(payment), group.paid(paid)) == (0, AMOUNT)


@pytest.mark.parametrize("blocks", [21, 45])
def test_nor_are_those_in_more_blocks_than_are_looked_up_in_one_reading(client: Any, blocks: int) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    for number in range(blocks):
        log = group.nodes[0].pay(payment.requests[0], amount=1)
        group.nodes[0].blocks[-1].logs.clear()
        group.nodes[0].forged.append({**log, "transactionHash": "0x" + f"{number:064x}"})
    group.run(minutes=3)
    assert group.paid(payment) == 0


@pytest.mark.parametrize("count", [2, 3])
def test_while_all_other_nodes_are_dead_a_payment_is_recorded_after_a_time_and_compared_once_one_is_back(
    client: Any, count: int
) -> None:
    group = Group(client, count)
    payment = group.world.create_link()
    for node in group.nodes[1:]:
        node.is_down = True
    group.nodes[0].pay(payment.requests[0])
    for _ in range(23):
        group.tick(5)
        assert group.paid(payment) == 0
    assert "node-1 does not answer" in group.logged("transfers wait for another node")[-1]["reason"]
    group.tick(10)
    assert group.paid(payment) == AMOUNT
    assert group.logged("transfers of one node recorded")
    assert group.cursor.alone is not None
    second = group.world.create_link()
    group.nodes[0].pay(second.requests[0])
    group.tick(5)
    assert group.paid(second) == AMOUNT, "the others are still dead"
    group.nodes[1].is_down = False
    group.tick(301)
    assert (group.cursor.alone, group.paid(payment)) == (None, AMOUNT)
    assert group.logged("node contradicts itself") == group.logged("nodes disagree") == []


@pytest.mark.parametrize(("count", "dead"), [(2, [0]), (2, [1]), (3, [0, 2]), (3, [1])])
def test_a_network_with_one_node_left_of_several_says_after_a_time_that_nothing_is_decided(
    client: Any, count: int, dead: list[int]
) -> None:
    group = Group(client, count)
    group.nodes[0].clock = group.world.clock

    def says(minutes: int) -> tuple[bool, int]:
        """Of the status, and how many lines an alarm counts."""
        group.run(minutes)
        start_scans(group.world.services)
        return flows.status(group.world.services)[0].waits_for_node, len(group.logged("decisions wait for another node"))

    assert says(minutes=2) == (False, 0)
    for number in dead:
        group.nodes[number].is_down = True
    is_one = count - len(dead) == 1
    assert says(minutes=1) == (False, 0)
    assert says(minutes=3) == (is_one, is_one)
    assert COUNTED_LINES["decisions wait for another node"] == COUNTED_LINES["transfers wait for another node"]
    for number in dead:
        group.nodes[number].is_down = False
    assert says(minutes=7) == (False, is_one)


def test_a_node_that_has_been_dead_for_that_time_is_waited_for_no_longer_when_a_payment_comes(client: Any) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[1].is_down = True
    group.run(minutes=3)
    group.nodes[0].pay(payment.requests[0])
    group.tick()
    assert group.paid(payment) == AMOUNT
    group.nodes[1].is_down = False
    group.run(minutes=6)
    assert (group.cursor.alone, group.cursor.silent) == (None, ())


def test_of_three_nodes_one_that_alone_has_new_blocks_is_not_believed_while_the_two_others_answer(client: Any) -> None:
    """As when a rollup makes no blocks for a while."""
    group = Group(client, 3)
    payment, liar = group.world.create_link(), group.nodes[0]
    group.run(minutes=3)
    liar.blocks = list(liar.blocks)
    liar.fork(1)
    liar.blocks[-1] = group.nodes[1].blocks[-1]
    liar.mine()
    liar.pay(payment.requests[0])
    group.run(minutes=12)
    assert group.paid(payment) == 0
    assert "node-1 is at block" in group.logged("transfers wait for another node")[-1]["reason"]
    group.nodes[2].is_down = True
    group.run(minutes=5)
    assert group.paid(payment) == AMOUNT, "of one that answers it cannot be known"


@pytest.mark.parametrize("apart", [130, 235])
@pytest.mark.parametrize("lies_all_the_time", [True, False])
def test_two_moments_in_which_the_other_node_does_not_answer_are_no_silence_between_them(
    client: Any, apart: int, lies_all_the_time: bool
) -> None:
    """In between it denies what the liar invents, if it is asked, and it is there when nodes are compared."""
    group = Group(client, 2)
    payment = group.world.create_link()
    group.run(minutes=3)
    if lies_all_the_time:
        invent(group, group.nodes[0], payment, "of none")
    group.nodes[1].is_down = True
    group.tick(compare=not lies_all_the_time)
    group.nodes[1].is_down = False
    for number in range(apart // 5):
        group.tick(compare=number % 12 == 11)
    if not lies_all_the_time:
        invent(group, group.nodes[0], payment, "of none")
    group.nodes[1].is_down = True
    for compare in (True, False):
        group.tick(compare=compare)
    assert group.paid(payment) == 0
    group.run(minutes=3)
    assert group.paid(payment) == AMOUNT, "now it is silent for two minutes"


def test_a_moment_without_an_answer_ends_with_the_next_transfer_that_the_other_node_has(client: Any) -> None:
    group = Group(client, 2)
    waiting, invented = group.world.create_link(), group.world.create_link()
    group.nodes[0].pay(waiting.requests[0])
    group.nodes[1].is_down = True
    group.tick()
    group.nodes[1].is_down = False
    group.tick()
    assert (group.paid(waiting), group.cursor.all_silent) == (AMOUNT, ())
    group.tick(150)
    invent(group, group.nodes[0], invented, "of none")
    group.nodes[1].is_down = True
    group.tick()
    assert group.paid(invented) == 0


def test_a_node_that_knows_the_newest_block_and_says_nothing_of_another_one_is_not_waited_for_for_ever(
    client: Any,
) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[1].read_payments = does_not_say  # type: ignore[method-assign]
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=2)
    assert group.paid(payment) == 0
    group.run(minutes=1)
    assert group.paid(payment) == AMOUNT
    assert group.cursor.alone is not None


def does_not_say(numbers: Sequence[int]) -> Any:
    raise ChainUnavailable("The sepolia node does not answer")


def test_what_one_node_alone_had_in_many_blocks_is_compared_in_parts(client: Any) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[1].is_down = True
    for _ in range(50):
        group.nodes[0].pay(payment.requests[0], amount=1)
    group.run(minutes=3)
    assert group.paid(payment) == 50
    group.nodes[1].is_down = False
    group.world.advance(301)
    lasts = []
    while group.cursor.alone is not None and len(lasts) < 9:
        group.tick()
        lasts.append(group.cursor.alone and group.cursor.alone.first)
    assert len(lasts) == 3, "twenty blocks in each tick"
    assert group.paid(payment) == 50


@pytest.mark.parametrize("insists", [True, False])
def test_what_one_node_invented_meanwhile_holds_the_network_or_is_taken_back(client: Any, insists: bool) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[1].is_down = True
    invent(group, group.nodes[0], payment, "of none")
    group.run(minutes=3)
    assert group.paid(payment) == AMOUNT
    group.nodes[1].is_down = False
    if not insists:
        group.nodes[0].forged.clear()
    group.run(minutes=6)
    assert bool(group.logged("nodes disagree")) is insists
    assert group.paid(payment) == (AMOUNT if insists else 0)


def test_a_node_that_claims_blocks_which_no_other_one_has_yet_is_not_believed(client: Any) -> None:
    """All others are behind it, and get new blocks."""
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[1].lag = 40
    group.nodes[0].mine(30)
    group.nodes[0].pay(payment.requests[0])
    for _ in range(12):
        group.tick(60, compare=True, blocks=1)
    assert group.paid(payment) == 0
    assert "node-1 is at block" in group.logged("transfers wait for another node")[-1]["reason"]


def test_payments_before_the_block_that_another_node_lacks_do_not_wait(client: Any) -> None:
    group = Group(client, 2)
    first, second = group.world.create_link(), group.world.create_link()
    group.nodes[0].pay(first.requests[0])
    group.nodes[0].mine(6)
    group.nodes[0].pay(second.requests[0])
    group.nodes[0].mine(2)
    group.nodes[1].lag = 5
    group.tick()
    assert (group.paid(first), group.paid(second)) == (AMOUNT, 0)
    group.nodes[1].lag = 0
    group.tick()
    assert group.paid(second) == AMOUNT


@pytest.mark.parametrize("ahead", [CONFIRMATIONS - 1, 1000])
@pytest.mark.parametrize(("count", "liar", "silent"), [(2, 0, None), (2, 1, None), (3, 0, 1), (3, 0, 2), (3, 1, None)])
def test_no_payment_is_recorded_before_two_nodes_have_as_many_blocks_as_confirm_it(
    client: Any, count: int, liar: int, silent: int | None, ahead: int
) -> None:
    """All nodes have its block, and one says that the chain is longer than it is."""
    group = Group(client, count)
    payment = group.world.create_link()
    if silent is not None:
        group.nodes[silent].is_down = True
    group.run(minutes=3)
    group.nodes[liar].ahead = ahead
    group.nodes[0].pay(payment.requests[0])
    group.tick(blocks=0)
    assert group.paid(payment) == 0
    group.tick(blocks=CONFIRMATIONS - 2)
    assert group.paid(payment) == 0
    group.nodes[liar].ahead = 0
    group.tick(blocks=1)
    assert group.paid(payment) == AMOUNT


def test_nor_where_a_node_says_that_the_chain_has_forked(client: Any) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.run(minutes=3)
    liar = group.nodes[0]
    read, liar.ahead = liar.read_range, CONFIRMATIONS - 1

    def read_range(*args: Any) -> RangeReading:
        del liar.read_range
        raise Disconnected

    liar.read_range = read_range  # type: ignore[method-assign]
    liar.pay(payment.requests[0])
    group.tick(blocks=0)
    assert (group.paid(payment), liar.read_range) == (0, read), "it has followed a fork"
    group.tick(blocks=CONFIRMATIONS - 1)
    assert group.paid(payment) == AMOUNT


# times


@pytest.mark.parametrize("shift", [timedelta(hours=-1), timedelta(seconds=1)])
@pytest.mark.parametrize("liar", [0, 1])
def test_a_payment_is_not_recorded_with_a_time_that_another_node_does_not_say(
    client: Any, shift: timedelta, liar: int
) -> None:
    """By an earlier time a quote that has run out would pay."""
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[liar].shift = shift
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=3)
    assert group.paid(payment) == 0
    (line, *_) = group.logged("nodes disagree")
    assert " is of 202" in line["reason"] and "node-1" in line["reason"]
    group.nodes[liar].shift = timedelta(0)
    group.run(minutes=2)
    assert group.paid(payment) == AMOUNT


def test_a_time_that_one_node_alone_said_is_compared_once_another_one_is_back(client: Any) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[0].shift, group.nodes[1].is_down = timedelta(hours=-1), True
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=3)
    assert group.paid(payment) == AMOUNT
    group.nodes[1].is_down = False
    group.run(minutes=6)
    assert group.logged("nodes disagree")


@pytest.mark.parametrize("shift", [timedelta(days=8), timedelta(hours=1)])
@pytest.mark.parametrize("liar", [0, 1])
@pytest.mark.parametrize("shifts_readings_alone", [True, False])
def test_a_time_of_the_newest_block_that_one_node_alone_says_ends_nothing(
    client: Any, shift: timedelta, liar: int, shifts_readings_alone: bool
) -> None:
    """The chain is an hour behind our clock, by which the link has expired."""
    group = Group(client, 2)
    payment, world = group.world.create_link(), group.world
    group.nodes[0].clock = lambda: world.now - timedelta(minutes=59)
    world.now = payment.link.expires_at - timedelta(minutes=3)
    group.run(minutes=2)
    group.nodes[liar].shift, group.nodes[liar].shifts_readings_alone = shift, shifts_readings_alone
    group.run(minutes=4)
    assert world.now > payment.link.expires_at
    assert group.ends_until <= world.now - timedelta(minutes=59)
    expiry.expire_due(world.services)
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert bool(group.logged("nodes disagree")) is not shifts_readings_alone
    group.nodes[liar].shift = timedelta(0)
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=2)
    assert (group.paid(payment), world.load(payment).link.status) == (AMOUNT, LinkStatus.COMPLETED)


@pytest.mark.parametrize(("count", "liar", "silent"), [(2, 0, None), (2, 1, None), (3, 0, 1), (3, 1, None)])
def test_nothing_ends_by_a_block_that_one_node_alone_says_to_be_confirmed(
    client: Any, count: int, liar: int, silent: int | None
) -> None:
    """A fork may still put a payment before it."""
    group = Group(client, count)
    chain = group.nodes[0]
    chain.clock = group.world.clock
    if silent is not None:
        group.nodes[silent].is_down = True
    group.run(minutes=3)
    before = group.ends_until
    group.nodes[liar].ahead = CONFIRMATIONS - 1
    for blocks in (1, 0, 0, 1, 0):
        group.tick(20, compare=True, blocks=blocks)
        confirmed = chain.blocks[-CONFIRMATIONS].time
        assert confirmed is not None and before < group.ends_until <= confirmed
    group.nodes[liar].ahead = 0
    group.run(minutes=2)
    assert group.ends_until >= group.world.now - timedelta(minutes=1)


def test_a_time_that_differs_is_in_the_log_once_a_comparison(client: Any) -> None:
    group = Group(client, 2)
    group.run(minutes=2)
    group.nodes[1].shift = timedelta(hours=1)
    for number in range(3):
        group.tick(20, compare=True)
        assert len(group.logged("nodes disagree")) == number + 1


def test_what_ends_by_time_waits_while_one_of_two_nodes_is_dead_though_payments_are_recorded(client: Any) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[0].clock = group.world.clock
    group.run(minutes=2)
    before = group.ends_until
    group.nodes[1].is_down = True
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=5)
    assert (group.ends_until, group.paid(payment)) == (before, AMOUNT)
    assert group.cursor.read_until is not None and group.world.now - group.cursor.read_until < timedelta(minutes=1)
    group.nodes[1].is_down = False
    group.run(minutes=2)
    assert group.world.now - group.ends_until < timedelta(minutes=2)


# numbers


def per_transaction(log: dict[str, Any], number: int) -> int:
    return number


def with_offset(log: dict[str, Any], number: int) -> int:
    return int(log["logIndex"], 16) + 7


@pytest.mark.parametrize("index", [per_transaction, with_offset])
@pytest.mark.parametrize("checkable", [True, False])
@pytest.mark.parametrize("place", [0, 1])
def test_two_nodes_that_number_logs_differently_are_no_liars(
    client: Any, index: Callable[[dict[str, Any], int], int], checkable: bool, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absence, "TRIAL", timedelta(minutes=1))
    group = Group(client, 2)
    for node in group.nodes:
        node.is_checkable = checkable
    group.nodes[place].index = index  # type: ignore[assignment]
    payment = group.world.create_link()
    group.run(minutes=2)
    for number in range(3):
        group.nodes[0].pay(payment.requests[0], amount=1)
        group.nodes[0].pay_too(payment.requests[0], amount=1)
        foreign = group.nodes[0].pay_too(payment.requests[0], amount=1)
        foreign["transactionHash"] = "0x" + f"{number:064x}"
    group.run(minutes=2)
    assert group.paid(payment) == 9
    for name, node in zip(("first", "second"), group.nodes, strict=True):
        node.is_down = name == "first"
    group.run(minutes=14)
    assert group.paid(payment) == 9, "the other one reads the blocks again"
    for message in ("nodes disagree", "node contradicts itself", "node lists other logs", "nodes list different logs"):
        assert group.logged(message) == []


def test_logs_that_cannot_be_matched_are_told_in_words(client: Any) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    log = group.nodes[0].pay(payment.requests[0], amount=1)
    group.nodes[0].forged.append({**log, "data": log["data"][:-1] + "1", "logIndex": "0x9"})
    group.tick()
    (line,) = group.logged("nodes disagree")
    assert "cannot be matched by what they say" in line["reason"]
    assert group.paid(payment) == 0
