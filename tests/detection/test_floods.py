"""What anybody can send under a known reference: it costs the scan little, hides nothing and stops nobody."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.detection import flows as detection
from chalicelib.detection import payments, unmatched
from chalicelib.detection.records import Cursor
from chalicelib.links.records import LinkStatus
from chalicelib.requests.records import Payment, PaymentStatus, Request, UnmatchedTransfer
from chalicelib.services import Services
from chalicelib.transfers import flows as transfers
from infra.bench.calls import counted
from tests.fakes.world import World

WORTHLESS = "0x" + "77" * 20
FUSDT = "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78"


class SlowTransactions:
    """A DynamoDB client whose transactions take their time, by the world's clock."""

    def __init__(self, world: World, seconds: float) -> None:
        self._world, self._seconds = world, seconds

    def __getattr__(self, name: str) -> Any:
        if name == "transact_write_items":
            self._world.advance(self._seconds)
        return getattr(self._world.client, name)


def unmatched_transfer(world: World, request: Request) -> tuple[UnmatchedTransfer, ...]:
    return world.services.store.query(UnmatchedTransfer, UnmatchedTransfer.KEY.all(request_id=request.request_id))


def payments_of(world: World, request: Request) -> tuple[Payment, ...]:
    return world.services.store.query(Payment, Payment.KEY.all(request_id=request.request_id))


def flood(world: World, request: Request, count: int, **facts: Any) -> None:
    """So many transfers in one block."""
    world.chain.mine()
    for _ in range(count):
        world.chain.pay_too(request, **facts)


def calls_of_scan(world: World, scan: Callable[[], object]) -> dict[str, int]:
    world.chain.mine(2)
    with counted(world.client) as calls:
        scan()
    return dict(calls.by_operation)


def test_a_flood_of_unmatched_transfers_is_two_reads_and_no_more_when_it_is_read_again(world: World) -> None:
    payment = world.create_link()
    world.scan()
    flood(world, payment.requests[0], 150, amount=1, token=WORTHLESS)
    reads = {"GetItem": 1, "BatchGetItem": 1, "Query": 2, "PutItem": 1}
    assert calls_of_scan(world, world.scan) == {**reads, "TransactWriteItems": 1}
    assert calls_of_scan(world, world.scan) == reads


def test_a_flood_of_dust_is_recorded_whole_with_few_calls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payments, "MAX_ANNOUNCED_PAYMENTS", 4)
    payment = world.create_link()
    (request,) = payment.requests
    world.scan()
    flood(world, request, 150, amount=1)
    calls = calls_of_scan(world, world.scan)
    assert calls["TransactWriteItems"] <= 5, "150 payments, 46 a transaction"
    assert calls["Query"] == 2, "the link and its payments"
    assert world.load(payment).requests[0].paid == 150
    assert len(payments_of(world, request)) == 150
    assert "TransactWriteItems" not in calls_of_scan(world, world.scan)
    world.chain.pay(request)
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    flood(world, request, 100, amount=1)
    assert calls_of_scan(world, world.scan)["TransactWriteItems"] == 3
    assert world.load(payment).requests[0].paid == 12_500_250


def test_worthless_tokens_do_not_hide_a_real_one_and_the_list_says_that_more_may_have_come(world: World) -> None:
    payment = world.create_link()
    (request,) = payment.requests

    def listing() -> transfers.Listing:
        return transfers.list_transfers(world.services, payment.link.token, world.account_id, None)

    flood(world, request, 19, amount=1, token=WORTHLESS)
    world.scan()
    assert not listing().truncated
    flood(world, request, 120, amount=1, token=WORTHLESS)
    flood(world, request, 40, amount=1, payee="0x" + "22" * 20)
    world.chain.pay(request, token=FUSDT)
    world.scan()
    kept = unmatched.count_by_kind(request, unmatched_transfer(world, request))
    assert kept == {**unmatched.MAX_PER_KIND, unmatched.UnmatchedKind.RIGHT_PAYEE: 1}
    assert listing().truncated


def test_a_flood_that_a_fork_removes_is_reversed_with_few_reads(world: World) -> None:
    world.scan()
    payment = world.create_link()
    (request,) = payment.requests
    flood(world, request, 30, amount=1)
    flood(world, request, 10, amount=1, token=WORTHLESS)
    world.scan()
    world.chain.fork(5)
    calls = calls_of_scan(world, world.scan)
    assert calls["Query"] == 1 + 3, "the unfinalized ones, link, payments and unmatched ones"
    assert world.load(payment).requests[0].paid == 0
    assert {each.status for each in unmatched_transfer(world, request)} == {PaymentStatus.REVERSED}


def scan_slowly(world: World, seconds: float) -> Services:
    """The services of a process in which a transaction takes so long."""
    return world.start(SlowTransactions(world, seconds))


def test_a_tick_that_runs_out_of_time_goes_on_where_it_stopped(world: World) -> None:
    world.scan()
    links = [world.create_link() for _ in range(4)]
    heights = [int(world.chain.pay(payment.requests[0])["blockNumber"], 16) for payment in links]
    world.chain.mine(2)
    slow = scan_slowly(world, 21)
    assert detection.scan(slow, "sepolia") == 1
    cursor = world.services.store.get(Cursor, Cursor.KEY.of(network="sepolia"))
    assert cursor is not None
    assert (cursor.scanned_to, cursor.newest and cursor.newest.hash) == (
        heights[0],
        world.chain.blocks[heights[0]].hash,
    )
    limit = cursor.range_limit
    assert [detection.scan(slow, "sepolia") for _ in range(3)] == [1, 1, 1]
    assert {world.load(payment).link.status for payment in links} == {LinkStatus.COMPLETED}
    cursor = world.services.store.get(Cursor, Cursor.KEY.of(network="sepolia"))
    assert cursor is not None
    assert cursor.range_limit < limit
    assert detection.scan(slow, "sepolia") == 0


def test_a_block_that_is_too_much_for_a_tick_is_done_over_several_and_others_come_after_it(world: World) -> None:
    world.scan()
    payment, other = world.create_link(), world.create_link()
    (request,) = payment.requests
    world.chain.pay(request)
    flood(world, request, 200, amount=1)
    world.chain.pay(other.requests[0])
    world.chain.mine(2)
    slow, ticks = scan_slowly(world, 11), 0
    while world.load(other).link.status is not LinkStatus.COMPLETED:
        detection.scan(slow, "sepolia")
        ticks += 1
        assert ticks < 10
    assert ticks > 2
    assert len(payments_of(world, request)) == 201
    cursor = world.services.store.get(Cursor, Cursor.KEY.of(network="sepolia"))
    while cursor is not None and cursor.scanned_to < len(world.chain.blocks) - 2:
        detection.scan(slow, "sepolia")
        cursor = world.services.store.get(Cursor, Cursor.KEY.of(network="sepolia"))
        ticks += 1
        assert ticks < 12
    assert world.load(payment).requests[0].paid == request.amount + 200


def test_a_tick_that_caught_up_for_long_enough_leaves_the_rest_to_the_next(world: World) -> None:
    world.scan()
    cursor = world.services.store.get(Cursor, Cursor.KEY.of(network="sepolia"))
    assert cursor is not None
    world.services.store.write(replace(cursor, range_limit=2))
    world.chain.before_reading = lambda: world.advance(9)
    world.chain.mine(30)
    detection.scan(world.services, "sepolia")
    after = world.services.store.get(Cursor, Cursor.KEY.of(network="sepolia"))
    assert after is not None
    assert cursor.scanned_to < after.scanned_to < cursor.scanned_to + 12
