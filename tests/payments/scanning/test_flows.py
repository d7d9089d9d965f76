"""A scan tick: what it writes and in which order, what it costs, and what it does when a node is wrong."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.records import Record
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.scanning import flows, store
from chalicelib.payments.scanning.records import Cursor, LoggedTransfer, TransferState, UnrecordedTransfers
from chalicelib.payments.scanning.rules import LEASE, take_lease
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message
from chalicelib.platform.storage.store import Throttled
from tests.bench.calls import counted
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import World
from tests.payments.recording.test_shared import Interposed
from tests.support.rehearsed import rehearsed

CALLS_BEFORE_WRITES = 5
"""A tick reads and takes its lease, and reads its cursor, references and entries; then it writes."""


def scan(world: World, services: Services | None = None) -> int:
    """One tick after two more blocks; returns how many transfers were new."""
    world.chain.mine(2)
    return flows.scan(services or world.services, "sepolia")


def cursor(world: World) -> Cursor:
    found = store.cursor(world.services.store, "sepolia")
    assert found is not None
    return found


def logged(world: World) -> list[LoggedTransfer]:
    return store.list_logged(world.services.store, "sepolia", 0, len(world.chain.blocks))


def hinted(world: World) -> list[str]:
    messages = [json.loads(each.body) for each in world.queue.messages if each.queue.endswith("-recordings")]
    return [payable for message in messages for payable in message["bills"]]


class FailingQueue:
    """A queue that does not answer."""

    def send(self, queue: str, messages: Sequence[Message]) -> None:
        raise ConnectionError("the queue does not answer")


def test_a_tick_writes_a_transfer_to_the_log_and_work_for_its_link_and_records_nothing(world: World) -> None:
    scan(world)
    payment = world.create_link()
    log = world.chain.pay(payment.requests[0], amount=5, fee=2)
    assert scan(world) == 1
    (entry,) = logged(world)
    assert (entry.tx_hash, entry.amount, entry.fee_amount) == (log["transactionHash"], 5, 2)
    assert (entry.payable_id, entry.state) == (payment.link.token, TransferState.UNRECORDED)
    (part,) = store.list_unrecorded(world.services.store, payment.link.token, 10)
    assert (part.added, part.removed) == ((entry.transfer_id,), ())
    assert hinted(world) == [payment.link.token]
    assert world.load(payment).requests[0].paid == 0


def test_a_transfer_of_nothing_and_one_without_a_request_are_not_logged(world: World) -> None:
    scan(world)
    payment = world.create_link()
    (request,) = payment.requests
    world.chain.pay(request, amount=0)
    world.chain.pay(replace(request, payment_reference="0x" + "ff" * 8))
    assert scan(world) == 0
    assert logged(world) == []
    assert hinted(world) == []


def test_a_range_that_is_read_again_is_not_logged_again_and_makes_work_only_while_it_is_not_recorded(
    world: World,
) -> None:
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    assert scan(world) == 1
    assert scan(world) == 0
    assert hinted(world) == [payment.link.token] * 2, "the recorder may have lost the first part"
    world.record()
    assert scan(world) == 0
    assert hinted(world) == []
    assert len(logged(world)) == 1


def pay_500_links(world: World) -> list[PayableLink]:
    payments = [world.create_link() for _ in range(500)]
    for start in range(0, 500, 10):
        world.chain.mine()
        for payment in payments[start : start + 10]:
            world.chain.pay_too(payment.requests[0])
    return payments


@rehearsed
def test_500_payments_of_500_links_cost_the_scanner_73_calls_with_the_second_reading_of_their_blocks(
    world: World,
) -> None:
    """References and entries are read by hundreds; entries and work are written 25 per call."""
    world.services = replace(world.services, store=(memory := MemoryStore()))
    scan(world)
    pay_500_links(world)
    memory.calls.clear()
    assert scan(world) == 500
    assert memory.calls == {"GetItem": 2, "Query": 1, "BatchGetItem": 10, "BatchWriteItem": 42, "UpdateItem": 4}
    world.record()
    memory.calls.clear()
    assert scan(world) == 0
    assert memory.calls == {"GetItem": 2, "Query": 1, "BatchGetItem": 10, "UpdateItem": 3}


@pytest.mark.parametrize(("links", "earlier"), [(1, 0), (40, 0), (1, 40)])
def test_a_tick_costs_the_same_whatever_links_are_open_and_payments_were_made_before(
    world: World, links: int, earlier: int
) -> None:
    payment, *_ = [world.create_link() for _ in range(links)]
    for _ in range(earlier):
        world.chain.pay(payment.requests[0], amount=20_000)
    for _ in range(3):  # the blocks of the earlier ones are not read again after it
        world.scan()
    world.chain.pay(payment.requests[0], amount=20_000)
    world.chain.mine(2)
    with counted(world.client) as calls:
        assert flows.scan(world.services, "sepolia") == 1
    assert calls.by_operation == {"GetItem": 2, "Query": 1, "BatchGetItem": 2, "BatchWriteItem": 2, "UpdateItem": 4}


def test_a_second_tick_while_one_is_running_does_nothing(world: World) -> None:
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    found = list[int]()

    def scan_meanwhile() -> None:
        world.chain.before_reading = lambda: None
        with counted(world.client) as calls:
            found.append(flows.scan(world.services, "sepolia"))
        assert calls.by_operation == {"GetItem": 1}

    world.chain.before_reading = scan_meanwhile
    assert flows.scan(world.services, "sepolia") == 1
    assert found == [0]


def test_a_tick_that_lost_the_race_for_the_lease_does_nothing(world: World) -> None:
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    slower = world.start(Interposed(world.client, "update_item", world.tick))
    assert flows.scan(slower, "sepolia") == 0
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_tick_that_dies_keeps_others_from_starting_for_a_minute(world: World) -> None:
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    lease = take_lease(store.lease(world.services.store, "sepolia"), "sepolia", world.now)
    assert lease is not None
    world.services.store.write(lease)  # the process ends after this
    assert flows.scan(world.services, "sepolia") == 0
    world.advance(LEASE.total_seconds() - 0.001)
    assert flows.scan(world.services, "sepolia") == 0
    world.advance(0.001)
    assert flows.scan(world.services, "sepolia") == 1


def test_a_tick_that_fails_gives_the_lease_back(world: World) -> None:
    world.chain.is_down = True
    with pytest.raises(ChainUnavailable):
        scan(world)
    world.chain.is_down = False
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    assert scan(world) == 1


def test_a_hint_that_fails_breaks_nothing_and_the_sweep_finds_the_work(world: World) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    assert scan(world, world.start(queue=FailingQueue())) == 1
    assert world.queue.messages == []
    assert recording.queue_overdue(world.services) == 0, "younger than 30 seconds"
    world.advance(31)
    assert recording.queue_overdue(world.start(queue=FailingQueue())) == 1
    assert recording.queue_overdue(world.services) == 1
    world.record()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert recording.queue_overdue(world.services) == 0


def test_a_node_that_refuses_every_range_is_asked_for_smaller_ones_down_to_one_block_and_once_for_that(
    world: World,
) -> None:
    scan(world)
    asked: list[int] = []
    world.chain.largest_range = 0
    world.chain.before_reading = lambda: asked.append(1)
    before = cursor(world)
    world.chain.mine(62)
    scan(world)
    assert (len(asked), cursor(world).range_limit) == (7, 1), "64 blocks, 32, 16, 8, 4, 2, 1"
    scan(world)
    assert (len(asked), cursor(world).scanned_to) == (8, before.scanned_to)


def test_a_range_that_is_refused_is_halved_whatever_the_limit_was(world: World) -> None:
    """The limit is thousands of blocks, and a tick reads a few."""
    scan(world)
    world.chain.mine(6)
    world.chain.largest_range = 4
    asked: list[int] = []
    world.chain.before_reading = lambda: asked.append(1)
    scan(world)
    assert cursor(world).scanned_to == len(world.chain.blocks) - 2
    assert len(asked) <= 4


def test_one_full_block_among_many_is_read_alone_and_the_others_together(world: World) -> None:
    scan(world)
    payment, later = world.create_link(), world.create_link()
    world.chain.mine(10)
    world.chain.pay(payment.requests[0])
    world.chain.full_blocks = {len(world.chain.blocks) - 1}
    world.chain.mine(10)
    world.chain.pay(later.requests[0])
    asked: list[int] = []
    world.chain.before_reading = lambda: asked.append(1)
    assert scan(world) == 2
    assert cursor(world).scanned_to == len(world.chain.blocks) - 2
    assert len(asked) <= 16
    world.chain.before_reading = lambda: None
    world.record()
    assert world.load(payment).link.status is world.load(later).link.status is LinkStatus.COMPLETED


def test_any_number_of_full_blocks_is_read_as_fast_as_the_node_answers(world: World) -> None:
    scan(world)
    payment = world.create_link()
    first = len(world.chain.blocks)
    world.chain.mine(60)
    world.chain.pay(payment.requests[0])
    world.chain.full_blocks = set(range(first, len(world.chain.blocks) + 10))
    asked: list[int] = []
    world.chain.before_reading = lambda: asked.append(1)
    assert scan(world) == 1
    assert cursor(world).scanned_to == len(world.chain.blocks) - 2
    assert len(asked) <= 62 + 8
    world.chain.before_reading = lambda: world.advance(3)
    world.chain.mine(60)
    before = cursor(world).scanned_to
    scan(world)
    assert before < cursor(world).scanned_to <= before + 10, "a tick begins nothing after 20 seconds"


@pytest.mark.parametrize("position", [0, 13, 39])
def test_a_full_block_delays_the_later_readings_of_others_by_few_ticks(world: World, position: int) -> None:
    scan(world)
    payment = world.create_link()
    world.chain.mine(40)
    log = world.chain.pay_too(payment.requests[0])
    world.chain.blocks[-1].logs.remove(log)  # the node has not indexed it
    world.chain.mine(40)
    for _ in range(3):  # each tick reads the range before once more
        scan(world)
    paid = int(log["blockNumber"], 16)
    world.chain.blocks[paid].logs.append(log)
    world.chain.full_blocks = {paid - 40 + position, paid}
    world.advance(601)
    for _ in range(2):  # reads the blocks before these again
        scan(world)
    world.advance(601)
    ticks, limit = 1, cursor(world).range_limit
    while not (found := scan(world)):
        ticks += 1
        assert ticks < 12
    assert found == 1
    assert cursor(world).range_limit >= limit, "new blocks are read as before"


def test_a_tick_that_caught_up_for_long_enough_leaves_the_rest_to_the_next(world: World) -> None:
    scan(world)
    before = cursor(world)
    world.services.store.write(replace(before, range_limit=2))
    world.chain.before_reading = lambda: world.advance(9)
    world.chain.mine(30)
    scan(world)
    assert before.scanned_to < cursor(world).scanned_to < before.scanned_to + 12


def test_a_tick_reads_20_ranges_at_most(world: World) -> None:
    scan(world)
    before = cursor(world)
    world.services.store.write(replace(before, range_limit=1))
    asked: list[int] = []
    world.chain.before_reading = lambda: asked.append(1)
    world.chain.mine(200)
    scan(world)
    assert len(asked) == 20


def test_a_log_that_is_throttled_is_written_by_the_next_tick_in_a_smaller_range(world: World) -> None:
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    before, put_many = cursor(world), world.services.store.put_many

    def throttled(records: object) -> None:
        raise Throttled

    world.services.store.put_many = throttled  # type: ignore[method-assign]
    assert scan(world) == 0
    after = cursor(world)
    assert (after.scanned_to, after.range_limit) == (before.scanned_to, 1), "half of three blocks"
    world.services.store.put_many = put_many  # type: ignore[method-assign]
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert cursor(world).unfinished is None


def test_a_log_that_has_another_index_in_the_same_block_counts_once(world: World) -> None:
    scan(world)
    payment = world.create_link()
    log = world.chain.pay(payment.requests[0])
    world.scan()
    before, log["logIndex"] = logged(world), "0x7"
    assert scan(world) == 0
    world.record()
    assert logged(world) == before
    assert world.load(payment).requests[0].paid == payment.requests[0].amount


def test_equal_transfers_of_one_transaction_count_each_whichever_of_them_a_node_leaves_out_first(world: World) -> None:
    scan(world)
    payment = world.create_link()
    (request,) = payment.requests
    first = world.chain.pay(request, amount=5)
    for _ in range(2):
        world.chain.pay_too(request, amount=5)
    block = world.chain.blocks[-1]
    block.logs.remove(first)
    assert scan(world) == 2
    block.logs.insert(0, first)
    assert scan(world) == 1
    world.record()
    assert world.load(payment).requests[0].paid == 15


def test_a_log_of_a_block_that_is_not_canonical_is_a_contradiction_of_the_node_and_counts_nothing(world: World) -> None:
    scan(world)
    payment = world.create_link()
    log = world.chain.pay(payment.requests[0])
    canonical, log["blockHash"] = log["blockHash"], "0x" + "ee" * 32
    before = cursor(world)
    with pytest.raises(InconsistentNode, match="contradicts"):
        scan(world)
    world.tick()
    assert (logged(world), cursor(world)) == ([], before)
    assert world.load(payment).requests[0].paid == 0
    log["blockHash"] = canonical
    assert scan(world) == 1


@pytest.mark.parametrize("write", [2, 3, 4])
def test_what_a_tick_logged_before_it_died_is_undone_if_a_fork_removes_it_unnoticed(world: World, write: int) -> None:
    """The cursor has no checkpoint of those blocks, and what the tick wrote is recorded by the sweep."""
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    dying = world.start(FragileClient(world.client, Tripwire(CALLS_BEFORE_WRITES + write)))
    with pytest.raises(Crash):
        flows.scan(dying, "sepolia")
    world.advance(LEASE.total_seconds())
    recording.queue_overdue(world.services)
    world.record()
    assert world.load(payment).requests[0].paid in (0, 12_500_000)
    world.chain.fork(3)
    world.scan()
    assert world.load(payment).requests[0].paid == 0
    assert cursor(world).unfinished is None
    recording.queue_overdue(world.services)
    world.record()
    assert world.load(payment).requests[0].paid == 0


def test_blocks_that_are_unfinished_are_not_read_before_the_chain_has_them_again(world: World) -> None:
    scan(world)
    before = cursor(world)
    newest = len(world.chain.blocks) + 3
    world.services.store.write(replace(before, unfinished=BlockRange(before.scanned_to + 1, newest)))
    scan(world)
    assert cursor(world).scanned_to == before.scanned_to
    scan(world)
    scan(world)
    assert (cursor(world).scanned_to, cursor(world).unfinished) == (len(world.chain.blocks) - 2, None)


def paid_and_recorded(world: World) -> PayableLink:
    """A payment that the recorder has recorded, four blocks deep."""
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    return payment


def test_a_fork_undoes_nothing_before_the_new_branch_is_longer_than_what_was_read(world: World) -> None:
    payment = paid_and_recorded(world)
    before = cursor(world)
    world.chain.fork(4)
    world.tick()
    assert cursor(world) == before
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    world.chain.mine()
    world.tick()
    assert world.load(payment).link.status is LinkStatus.PENDING


@pytest.mark.parametrize("moved_by", [0, 1])
def test_a_node_that_has_lost_its_logs_but_not_its_receipts_undoes_nothing(world: World, moved_by: int) -> None:
    payment = paid_and_recorded(world)
    world.chain.fork(4, moved_by)
    world.chain.hides_logs = True
    with pytest.raises(InconsistentNode) as error:
        scan(world)
    assert "has a receipt in block" in error.value.reason
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert [entry.state for entry in logged(world)] == [TransferState.PAYMENT]
    world.chain.hides_logs = False
    world.tick()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert [entry.state for entry in logged(world)] == [TransferState.REVERSED, TransferState.PAYMENT]


def test_a_transaction_that_pays_another_amount_in_its_new_block_is_one_transfer_instead_of_the_other(
    world: World,
) -> None:
    """What a contract does can depend on the block, so such a fork is not a contradiction of the node."""
    payment = paid_and_recorded(world)
    (before,) = logged(world)
    world.chain.fork(4, moved_by=0)
    (log,) = world.chain.blocks[before.block_number].logs
    log["data"] = log["data"].replace(f"{12_500_000:064x}", f"{5_000_000:064x}")
    world.scan()
    assert world.load(payment).requests[0].paid == 5_000_000
    assert sorted(entry.state for entry in logged(world)) == [TransferState.PAYMENT, TransferState.REVERSED]


def test_a_checkpoint_whose_block_the_node_does_not_have_leads_to_an_older_one(world: World) -> None:
    payment = paid_and_recorded(world)
    world.chain.mine(20)
    world.scan()
    newest = cursor(world).checkpoints[-1].number
    world.chain.fork(3)
    world.chain.without_headers = {checkpoint.number for checkpoint in cursor(world).checkpoints[1:]} - {newest}
    world.scan()
    assert cursor(world).scanned_to > newest
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    world.chain.pay(world.create_link().requests[0])
    world.chain.mine(2)
    assert scan(world) == 1


def test_a_fork_while_a_fork_is_read_is_followed_by_the_next_tick(world: World) -> None:
    payment = paid_and_recorded(world)
    world.services.store.write(replace(cursor(world), range_limit=1))
    reads = list[int]()

    def fork_again() -> None:
        reads.append(1)
        if len(reads) == 3:
            world.chain.fork(6)

    world.chain.fork(4)
    world.chain.before_reading = fork_again
    with pytest.raises(ChainUnavailable, match="forked again"):
        scan(world)
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    world.chain.before_reading = lambda: None
    world.scan()
    assert world.load(payment).link.status is LinkStatus.PENDING


def test_a_range_that_is_refused_while_a_fork_is_read_is_halved_and_a_refused_block_undoes_nothing(
    world: World,
) -> None:
    payment = paid_and_recorded(world)
    world.chain.fork(5)
    world.chain.largest_range = 0
    with pytest.raises(ChainUnavailable, match="refuses block"):
        scan(world)
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    world.chain.largest_range = 1
    world.scan()
    assert world.load(payment).link.status is LinkStatus.PENDING


def test_logs_that_a_node_indexed_late_are_found_when_the_blocks_are_read_again(world: World) -> None:
    scan(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.hides_logs = True
    for _ in range(3):
        assert scan(world) == 0
    world.chain.hides_logs = False
    minutes = 0
    while not scan(world):
        world.advance(60)
        minutes += 1
        assert minutes < 25
    assert minutes >= 10
    world.record()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_tick_that_dies_while_it_reads_old_blocks_again_leaves_the_newer_blocks_as_read(world: World) -> None:
    """Otherwise the next tick would have to read six hours of blocks at once, as after a fork."""
    scan(world)
    world.chain.hides_logs = True
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    for _ in range(3):
        scan(world)
    world.chain.hides_logs = False
    put_many, minutes = world.services.store.put_many, 0

    def dies(records: Sequence[Record]) -> None:
        put_many(records)
        if records:
            raise Crash

    world.services.store.put_many = dies  # type: ignore[method-assign,assignment]
    with pytest.raises(Crash):
        while minutes < 25:
            scan(world)
            world.advance(60)
            minutes += 1
    world.services.store.put_many = put_many  # type: ignore[method-assign]
    assert [cursor(world).unfinished, len(logged(world))] == [None, 1]
    world.advance(LEASE.total_seconds())
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_work_that_waits_for_a_rate_is_behind_all_other_and_is_read_once_from_any_place_on(world: World) -> None:
    def part(network: str, digest: str, waits: bool) -> UnrecordedTransfers:
        return UnrecordedTransfers("T", network, 7, 0, 0, digest, world.now, (), waits_for_rate=waits)

    waiting = [part("base", f"{number * 7_001:04x}", True) for number in range(9)]
    plain = [part(network, "0" * 16, False) for network in ("base", "zksync")]
    world.services.store.put_many([*waiting, *plain])
    assert [each.network for each in store.list_unrecorded(world.services.store, "T", 3)] == ["base", "zksync", "base"]
    assert not any(each.waits_for_rate for each in store.list_unrecorded(world.services.store, "T", 2))
    for start in ("0000", "5fff", "ffff", waiting[3].digest[:4]):
        found = list(store.waiting_for_rates(world.services.store, "T", 4, start))
        assert len(found) == 9 and {each.digest for each in found} == {each.digest for each in waiting}
        assert found[0].digest >= start or max(each.digest for each in waiting) < start
    assert list(store.waiting_for_rates(world.services.store, "another", 4, "0000")) == []
