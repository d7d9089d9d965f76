"""Whatever call a process dies at, after a restart and the sweeps nothing is lost and nothing is counted twice."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.payments.links import expiry
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows
from chalicelib.payments.requests.payments.records import UnmatchedTransfer
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.scanning.rules import LEASE
from chalicelib.platform.services import Services
from chalicelib.webhooks import publisher
from tests.fakes.crash import Crash, FragileQueue, FragileWrites, Tripwire
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PAYEE, PREFIX, START, Receiver, World, draft, in_process_aws, in_process_tables
from tests.support.rehearsed import few, parts

TABLES = ("payments", "webhooks")
"""The tables of work: each item with `due_shard` is swept, now or later. Links are swept at their expiry."""

EVENTS = {"payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"}

Act = Callable[[World, Services], None]


class FragileReceiver:
    def __init__(self, receiver: Receiver, wire: Tripwire) -> None:
        self.check, self.post = receiver.check, wire.guard(receiver.post)


def fragile(world: World, wire: Tripwire) -> Services:
    """A process that dies before or after a write, a message that it sends, or a post to a merchant."""
    services = world.start(FragileWrites(world.client, wire), FragileQueue(world.queue, wire))
    return replace(services, sender=FragileReceiver(world.receiver, wire))


def detect(world: World, services: Services) -> None:
    world.scan(services)


def detect_and_deliver(world: World, services: Services) -> None:
    world.scan(services)
    world.drain(services)


def deliver_to_a_failing_receiver(world: World, services: Services) -> None:
    world.receiver.status = 500
    detect_and_deliver(world, services)


def sweep_after_a_lost_message(world: World, services: Services) -> None:
    world.scan()
    world.queue.messages.clear()
    world.advance(60)
    publisher.sweep(services)
    world.drain(services)


def sweep_after_a_lost_hint(world: World, services: Services) -> None:
    world.chain.mine(2)
    scan_chain(world.services, '{"network": "sepolia"}')
    world.queue.messages.clear()
    world.advance(60)
    flows.queue_overdue(services)
    world.record(services)


def recover(world: World) -> None:
    """What the schedules do after a restart, until nothing is left to do. A lease that was not given back ends first."""
    world.receiver.status = 200
    world.advance(LEASE.total_seconds())
    world.scan()
    while world.queue.messages or is_work_left(world):
        assert world.now < START + timedelta(days=1), "the sweeps do not come to an end"
        world.advance(120)
        flows.queue_overdue(world.services)
        publisher.sweep(world.services)
        world.drain()


def is_work_left(world: World) -> bool:
    items = [item for table in TABLES for item in in_process_tables()[f"{PREFIX}-{table}"].all()]
    return any("due_shard" in item and not item["pk"]["S"].startswith("LINK#") for item in items)


def run_alone(act: Act, wire: Tripwire) -> World:
    """As `run`, for a request without a link."""
    with in_process_aws() as client:
        world = World(client)
        world.register_webhook()
        request = store_request(world.services, world.account_id, client_id=world.client_id)
        world.chain.pay(request)
        with suppress(Crash):
            act(world, fragile(world, wire))
        recover(world)
        after = load_request(world.services, request)
        assert (after.paid, after.status, after.payment_count) == (request.amount, RequestStatus.PAID, 1)
        return world


def run(act: Act, wire: Tripwire) -> tuple[World, PayableLink]:
    with in_process_aws() as client:
        world = World(client)
        world.register_webhook()
        payment = world.create_link()
        world.chain.pay(payment.requests[0])
        with suppress(Crash):
            act(world, fragile(world, wire))
        recover(world)
        assert world.load(payment).link.status is LinkStatus.COMPLETED
        assert world.load(payment).requests[0].paid == payment.requests[0].amount
        return world, payment


def calls_of(act: Act) -> int:
    wire = Tripwire()
    run(act, wire)
    return wire.calls


@pytest.mark.parametrize("part", parts(2))
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("act", [detect, detect_and_deliver, sweep_after_a_lost_message, sweep_after_a_lost_hint])
def test_no_event_is_lost_wherever_the_process_dies(act: Act, before: bool, part: int) -> None:
    calls = calls_of(act)
    assert calls >= 2
    for fatal in range(1 + part, calls + 1, 2):
        world, _ = run(act, Tripwire(fatal, before))
        delivered = {posted.event: posted.delivery for posted in world.receiver.posted}
        assert set(delivered) == EVENTS, f"died {'before' if before else 'after'} call {fatal} of {calls}"
        assert len({posted.delivery for posted in world.receiver.posted}) == len(EVENTS)


@pytest.mark.parametrize("before", few([False], [True, False]), ids=["before", "after"])
@pytest.mark.parametrize("act", [detect_and_deliver, sweep_after_a_lost_hint])
def test_no_event_of_a_request_without_a_link_is_lost_wherever_the_process_dies(act: Act, before: bool) -> None:
    wire = Tripwire()
    run_alone(act, wire)
    for fatal in range(1, wire.calls + 1):
        world = run_alone(act, Tripwire(fatal, before))
        delivered = {posted.event: posted.delivery for posted in world.receiver.posted}
        assert set(delivered) == EVENTS - {"payment.confirmed.checkout"}, f"died at call {fatal} of {wire.calls}"
        assert len({posted.delivery for posted in world.receiver.posted}) == len(delivered)


@pytest.mark.parametrize("before", few([False], [True, False]), ids=["before", "after"])
def test_a_failing_receiver_gets_no_more_than_its_attempts_under_each_number(before: bool) -> None:
    calls = calls_of(deliver_to_a_failing_receiver)
    for fatal in range(1, calls + 1, 3):
        world, _ = run(deliver_to_a_failing_receiver, Tripwire(fatal, before))
        numbers = [(p.delivery, p.headers["x-service-retry-count"]) for p in world.receiver.posted]
        assert {number for _, number in numbers} <= {"0", "1", "2", "3"}
        repeated = len(numbers) - len(set(numbers))
        assert repeated <= 1, "only the attempt that died between the post and its record may happen twice"


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_link_exists_whole_or_not_at_all_wherever_its_creation_dies(before: bool) -> None:
    with in_process_aws() as client:
        world = World(client)
        wire = Tripwire(1, before)
        with pytest.raises(Crash):
            links.create(fragile(world, wire), world.owner, draft())
        items = client.scan(TableName="payment-requests-local-payments")["Items"]
        assert len(items) == (0 if before else 6), "the link, its request with two entries, and two counts"


@pytest.mark.parametrize("before", few([False], [True, False]), ids=["before", "after"])
def test_a_correction_is_told_wherever_the_process_dies_while_undoing_a_fork(before: bool) -> None:
    def undo(wire: Tripwire) -> World:
        with in_process_aws() as client:
            world = World(client)
            world.register_webhook()
            world.scan()
            payment = world.create_link()
            world.chain.pay(payment.requests[0])
            world.scan()
            world.drain()
            world.chain.fork(4)
            with suppress(Crash):
                world.scan(fragile(world, wire))
            recover(world)
            assert world.load(payment).link.status is LinkStatus.PENDING
            assert world.load(payment).requests[0].paid == 0
            return world

    wire = Tripwire()
    undo(wire)
    for fatal in range(1, wire.calls + 1):
        world = undo(Tripwire(fatal, before))
        corrections = {p.delivery for p in world.receiver.posted if p.event == "payment.failed"}
        assert len(corrections) == 1, f"died at call {fatal}"


@pytest.mark.parametrize("before", few([False], [True, False]), ids=["before", "after"])
def test_a_link_of_several_requests_is_complete_and_every_stray_is_kept_wherever_the_scan_dies(before: bool) -> None:
    def detect_all(wire: Tripwire) -> None:
        with in_process_aws() as client:
            world = World(client)
            item = Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
            payment = world.create_link(items=(item, item))
            world.chain.pay(payment.requests[0], payee="0x" + "22" * 20)
            for request in payment.requests:
                world.chain.pay(request)
            with suppress(Crash):
                world.scan(fragile(world, wire))
            recover(world)
            assert world.load(payment).link.status is LinkStatus.COMPLETED
            assert [request.paid for request in world.load(payment).requests] == [1_000_000, 1_000_000]
            kept = UnmatchedTransfer.KEY.all(request_id=payment.requests[0].request_id)
            assert len(world.services.store.query(UnmatchedTransfer, kept)) == 1

    wire = Tripwire()
    detect_all(wire)
    for fatal in range(1, wire.calls + 1):
        detect_all(Tripwire(fatal, before))


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_every_link_is_written_expired_wherever_the_sweep_dies(before: bool) -> None:
    def sweep(wire: Tripwire) -> None:
        with in_process_aws() as client:
            world = World(client)
            made = [world.create_link() for _ in range(3)]
            world.read_past(world.now + timedelta(days=8))
            with suppress(Crash):
                expiry.expire_due(fragile(world, wire))
            expiry.expire_due(world.services)
            assert {world.load(payment).link.status for payment in made} == {LinkStatus.EXPIRED}
            assert expiry.expire_due(world.services) == 0

    wire = Tripwire()
    sweep(wire)
    for fatal in range(1, wire.calls + 1):
        sweep(Tripwire(fatal, before))
