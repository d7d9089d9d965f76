"""What a fork below the confirmations changes: payments that move, vanish and come back, and what merchants are notified."""

import json
from dataclasses import replace

import pytest

from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import matching
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import store as scan_store
from tests.fakes.world import PAYEE, World

CONFIRMED = ["payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"]


def payments_of(world: World, payable: PayableLink) -> tuple[Payment, ...]:
    request_id = payable.requests[0].request_id
    return world.services.store.query(Payment, Payment.KEY.all(request_id=request_id))


def notified(world: World) -> list[str]:
    """The core events that the merchant got, in the order in which they happened."""
    world.drain()
    bodies = [json.loads(posted.body) for posted in world.receiver.posted]
    return [body["event"] for body in bodies if body["event"].count(".") == 1]


def new_link(world: World) -> PayableLink:
    """A link of 12.50 on a network that is being read."""
    world.register_webhook()
    world.scan()
    return world.create_link()


@pytest.mark.parametrize("moved_by", [0, 1, 2])
def test_a_payment_whose_transaction_is_in_another_block_after_a_fork_changes_its_block_and_nothing_else(
    world: World, moved_by: int
) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.scan()
    before, (old,), events = world.load(payment), payments_of(world, payment), notified(world)
    world.chain.fork(4, moved_by)
    world.scan()
    world.scan()
    (new,) = payments_of(world, payment)
    number = old.block_number + moved_by
    assert (new.block_number, new.block_hash) == (number, world.chain.blocks[number].hash)
    assert new.block_hash != old.block_hash
    assert new.paid_at == world.chain.block_facts([number])[number].time
    moved = {"block_number": new.block_number, "block_hash": new.block_hash, "paid_at": new.paid_at, "version": new.version}
    assert new == replace(old, **moved)
    after = world.load(payment)
    assert (after.link, after.requests) == (before.link, before.requests)
    assert notified(world) == events == ["payment.confirmed"]


def test_a_payment_whose_transaction_is_not_confirmed_after_a_fork_is_corrected_until_it_is(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.fork(4, moved_by=7)
    del world.chain.blocks[-2:]  # its new block is the head
    world.tick()
    assert (world.load(payment).link.status, notified(world)) == (LinkStatus.PENDING, ["payment.confirmed", "payment.failed"])
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert notified(world) == ["payment.confirmed", "payment.failed", "payment.confirmed"]


def test_a_branch_that_loses_wins_and_loses_again_changes_the_block_each_time(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.scan()
    first = payments_of(world, payment)[0].block_hash
    branch_a = world.chain.fork(4, moved_by=1)
    world.scan()
    second = payments_of(world, payment)[0].block_hash
    branch_b = world.chain.blocks[branch_a[0].number :]
    world.chain.restore(branch_a)
    world.chain.mine(6)
    world.scan()
    assert payments_of(world, payment)[0].block_hash == first
    world.chain.restore(branch_b)
    world.chain.mine(12)
    world.scan()
    assert payments_of(world, payment)[0].block_hash == second
    assert notified(world) == ["payment.confirmed"]
    assert world.load(payment).requests[0].paid == 12_500_000


def test_a_payment_that_vanishes_and_comes_back_is_corrected_and_told_again(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.scan()
    branch = world.chain.fork(4)
    world.scan()
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert [each.status for each in payments_of(world, payment)] == [PaymentStatus.REVERSED]
    world.chain.restore(branch)
    world.chain.mine(10)
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert [each.status for each in payments_of(world, payment)] == [PaymentStatus.CONFIRMED]
    assert notified(world) == ["payment.confirmed", "payment.failed", "payment.confirmed"]


def test_a_surplus_that_vanishes_sends_no_failure(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.chain.mine(4)
    world.chain.pay(payment.requests[0], amount=5)
    world.scan()
    world.chain.fork(4)
    world.scan()
    after = world.load(payment)
    assert (after.link.status, after.requests[0].paid) == (LinkStatus.COMPLETED, 12_500_000)
    assert [each.status for each in payments_of(world, payment)].count(PaymentStatus.REVERSED) == 1
    assert notified(world) == ["payment.confirmed"]


def test_a_surplus_that_keeps_the_request_paid_is_confirmed_when_the_announced_payment_vanishes(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.chain.mine(4)
    world.scan()
    removed_from = world.chain.blocks[-7].number
    log = world.chain.pay(payment.requests[0], amount=20_000_000)
    world.scan()
    # only the block of the first payment changes: its transaction is gone, the surplus is in its block's successor
    keep = [block for block in world.chain.blocks if block.logs][-1]
    world.chain.fork(len(world.chain.blocks) - removed_from)
    world.chain.blocks[-2].logs.append(
        {**keep.logs[0], "blockNumber": hex(world.chain.blocks[-2].number), "blockHash": world.chain.blocks[-2].hash}
    )
    world.scan()
    after = world.load(payment)
    assert (after.link.status, after.requests[0].paid) == (LinkStatus.COMPLETED, 20_000_000)
    assert after.requests[0].tx_hash == log["transactionHash"]
    assert notified(world) == ["payment.confirmed", "payment.failed", "payment.confirmed"]
    bodies = [json.loads(posted.body) for posted in world.receiver.posted]
    failed = next(body for body in bodies if body["event"] == "payment.failed")
    last = [body for body in bodies if body["event"] == "payment.confirmed"][-1]
    assert (failed["amount"], failed["totalAmountPaid"]) == ("12.5", "20")
    assert (last["amount"], last["totalAmountPaid"], last["txHash"]) == ("20", "20", log["transactionHash"])


def test_payments_that_vanish_together_are_undone_newest_first_and_none_is_announced_on_the_way(world: World) -> None:
    payment = new_link(world)
    for _ in range(8):  # more than one transaction undoes
        world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.fork(10)
    world.scan()
    assert world.load(payment).requests[0].paid == 0
    assert notified(world) == ["payment.confirmed", "payment.failed"]


def test_a_part_that_vanishes_lowers_the_total_and_the_rest_completes_it(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0], amount=5_000_000)
    world.chain.mine(4)
    world.chain.pay(payment.requests[0], amount=4_000_000)
    world.scan()
    world.chain.fork(4)
    world.scan()
    (request,) = world.load(payment).requests
    assert (request.paid, request.status) == (5_000_000, RequestStatus.PARTIALLY_PAID)
    world.chain.pay(payment.requests[0], amount=7_500_000)
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert notified(world) == ["payment.partial", "payment.partial", "payment.failed", "payment.confirmed"]


@pytest.mark.parametrize("moved_by", [None, 0, 3])
def test_payments_that_are_only_summed_up_are_moved_and_subtracted_like_others(
    world: World, monkeypatch: pytest.MonkeyPatch, moved_by: int | None
) -> None:
    monkeypatch.setattr(matching, "MAX_SMALL_PAYMENTS", 1)
    payment = new_link(world)
    world.chain.pay(payment.requests[0], amount=1)
    for _ in range(7):
        world.chain.pay_too(payment.requests[0], amount=1)
    world.scan()
    assert world.load(payment).requests[0].dust_count == 7
    branch = world.chain.fork(4, moved_by)
    world.scan()
    (request,) = world.load(payment).requests
    count = 0 if moved_by is None else 7
    assert (request.dust_count, request.dust_amount, request.paid) == (count, count, count and 8)
    world.chain.restore(branch)
    world.chain.mine(20)
    world.scan()
    (request,) = world.load(payment).requests
    assert (request.dust_count, request.dust_amount, request.paid) == (7, 7, 8)


def test_a_fork_that_replaces_blocks_while_they_are_read_again_counts_nothing_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A payment that is only added up as dust has no record by which its transaction could be recognized."""
    monkeypatch.setattr(matching, "MAX_SMALL_PAYMENTS", 0)
    payment = new_link(world)
    world.chain.pay(payment.requests[0], amount=1)
    world.scan()
    for _ in range(2):  # the first blocks are read again, then those with the payment become due
        world.advance(3600)
        world.scan()
    world.advance(3600)
    world.chain.fork(8, moved_by=0)
    del world.chain.blocks[-1]
    for _ in range(3):
        world.tick()  # the new branch is not longer yet, so old blocks are read again
    world.scan()
    (request,) = world.load(payment).requests
    assert (request.paid, request.dust_count) == (1, 1)


def test_a_fork_that_is_deeper_than_one_transaction_undoes_every_request_of_a_batch(world: World) -> None:
    world.register_webhook()
    world.scan()
    item = Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    batch = world.create_link(items=(item,) * 8)
    world.chain.mine()
    for request in batch.requests:
        world.chain.pay_too(request)
    world.scan()
    assert world.load(batch).link.status is LinkStatus.COMPLETED
    world.chain.fork(4)
    world.scan()
    after = world.load(batch)
    assert after.link.status is LinkStatus.PENDING
    assert {(request.paid, request.status) for request in after.requests} == {(0, RequestStatus.CREATED)}
    assert notified(world) == ["payment.confirmed"] * 8 + ["payment.failed"] * 8


def test_a_recorder_that_is_late_records_a_payment_and_its_removal_in_their_order(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    world.chain.fork(4)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    assert len(scan_store.list_unrecorded(world.services.store, payment.link.token, 10)) == 2
    world.record()
    assert world.load(payment).requests[0].paid == 0
    assert notified(world) in ([], ["payment.confirmed", "payment.failed"])


def test_a_transfer_that_a_fork_removes_again_before_its_return_is_recorded_does_not_count(world: World) -> None:
    payment = new_link(world)
    world.chain.pay(payment.requests[0])
    world.scan()
    branch = world.chain.fork(4)
    world.scan()
    world.chain.restore(branch)
    world.chain.mine(10)
    scanning.scan(world.services, "sepolia")  # the recorder is late
    world.chain.fork(16)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    world.record()
    assert (world.load(payment).link.status, world.load(payment).requests[0].paid) == (LinkStatus.PENDING, 0)
    assert notified(world) == ["payment.confirmed", "payment.failed", "payment.confirmed", "payment.failed"]
