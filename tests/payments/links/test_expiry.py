"""The sweep that expires links: never before their network was read past the expiry and everything read is recorded."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.payments.links import expiry, flows
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.links.rules import status_at
from chalicelib.payments.recording.jobs import record_transfers
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.payouts import payout
from tests.fakes.world import World, in_process_aws

HOUR = timedelta(hours=1)


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client)


def status(world: World, payable: PayableLink) -> LinkStatus:
    """The status as every read computes it."""
    return status_at(world.load(payable).link, world.now)


def sweep(world: World) -> int:
    return expiry.expire_due(world.services)


def past_expiry(world: World, payable: PayableLink, by: timedelta = timedelta(0)) -> None:
    """Passes the link's expiry by our clock alone; nothing is mined."""
    world.now = payable.link.expires_at + by


def scan_unrecorded(world: World) -> None:
    """Scans without recording: the messages for the recorder stay in the queue."""
    world.chain.mine(2)
    scan_chain(world.services, json.dumps({"network": world.chain.network}))


def test_a_link_whose_network_was_never_read_awaits_the_chain(world: World) -> None:
    payment = world.create_link()
    past_expiry(world, payment, 30 * 24 * HOUR)
    assert (sweep(world), status(world, payment)) == (0, LinkStatus.AWAITING_CHAIN)


def test_a_link_expires_once_a_block_after_its_expiry_was_read(world: World) -> None:
    payment = world.create_link()
    world.scan()
    past_expiry(world, payment)
    world.chain.clock = world.clock
    world.scan()
    assert (sweep(world), status(world, payment)) == (0, LinkStatus.AWAITING_CHAIN), "a block of the expiry itself"
    world.advance(60)
    assert (sweep(world), status(world, payment)) == (0, LinkStatus.AWAITING_CHAIN), "the head stands still"
    world.scan()
    world.advance(60)
    assert (sweep(world), status(world, payment)) == (1, LinkStatus.EXPIRED)


def test_a_payment_made_in_time_and_read_after_an_outage_completes_the_link(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.scan()
    past_expiry(world, payment, -HOUR)
    world.chain.clock, world.chain.is_down = world.clock, True
    world.chain.pay(payment.requests[0])
    for _ in range(50):
        world.advance(HOUR.total_seconds())
        world.chain.mine()
        world.tick()
        assert sweep(world) == 0
    assert status(world, payment) is LinkStatus.AWAITING_CHAIN
    world.chain.is_down = False
    world.scan()
    assert sweep(world) == 0
    world.drain()
    assert status(world, payment) is LinkStatus.COMPLETED
    assert world.receiver.events.count("payment.confirmed") == 1


def test_a_link_does_not_expire_while_what_was_read_for_it_is_not_recorded(world: World) -> None:
    payment = world.create_link()
    past_expiry(world, payment, -HOUR)
    world.chain.clock = world.clock
    world.chain.pay(payment.requests[0], amount=1)
    past_expiry(world, payment, HOUR)
    scan_unrecorded(world)
    assert (sweep(world), status(world, payment)) == (0, LinkStatus.AWAITING_CHAIN)
    world.record()
    world.advance(HOUR.total_seconds())
    assert (sweep(world), status(world, payment)) == (1, LinkStatus.EXPIRED)


def test_a_batch_does_not_expire_while_a_payout_that_was_merged_into_it_has_work(world: World) -> None:
    world.scan()
    first, second = (_unwritten(payout(world.services, world.account_id)) for _ in range(2))
    for each in (first, second):
        flows.save(world.services, each)
    tokens = (first.link.token, second.link.token)
    made = payouts.combine(world.services, world.owner, MergeDraft(tokens, None, None))
    past_expiry(world, made, -HOUR)
    world.chain.clock = world.clock
    world.chain.pay(made.requests[0], amount=1)
    past_expiry(world, made, HOUR)
    scan_unrecorded(world)
    assert scan_store.has_work(world.services.store, [first.link.token])
    assert not scan_store.has_work(world.services.store, [made.link.token])
    assert (sweep(world), status(world, made)) == (0, LinkStatus.AWAITING_CHAIN)
    world.record()
    world.advance(HOUR.total_seconds())
    assert (sweep(world), status(world, made)) == (1, LinkStatus.EXPIRED)


def test_a_network_that_is_not_read_changes_nothing_for_the_links_of_another() -> None:
    for outage in ("is_down", "stands still", "refuses"):
        with in_process_aws() as client:
            sepolia, base = FakeChain("sepolia"), FakeChain("base")
            world = World(client, chains=FakeChains(sepolia, base))
            there = world.create_link(currency="USDC-base")
            here = world.create_link()
            _tick(world, sepolia, base)
            sepolia.clock = base.clock = world.clock
            past_expiry(world, there, HOUR)
            base.is_down, base.largest_range = outage == "is_down", 0 if outage == "refuses" else 10**9
            sepolia.mine(2)
            base.mine(0 if outage == "stands still" else 2)
            _tick(world, sepolia, base)
            assert sweep(world) == 1
            assert (status(world, here), status(world, there)) == (LinkStatus.EXPIRED, LinkStatus.AWAITING_CHAIN)


def test_links_that_cannot_expire_yet_do_not_stay_before_those_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of this test checks 3 links per shard; those that wait for their network are due before the other one."""
    monkeypatch.setattr(expiry, "_DUE_PER_SHARD", 3)
    with in_process_aws() as client:
        sepolia, base = FakeChain("sepolia"), FakeChain("base")
        world = World(client, chains=FakeChains(sepolia, base))
        waiting = [world.create_link(currency="USDC-base") for _ in range(60)]
        world.advance(1)
        other = world.create_link()
        past_expiry(world, other, HOUR)
        sepolia.clock = world.clock
        sepolia.mine(2)
        _tick(world, sepolia)
        for _ in range(8):
            sweep(world)
        assert status(world, other) is LinkStatus.EXPIRED
        assert {status(world, payment) for payment in waiting} == {LinkStatus.AWAITING_CHAIN}


def test_the_checks_of_a_link_become_rarer_while_its_network_is_not_read(world: World) -> None:
    payment = world.create_link()
    past_expiry(world, payment)
    checks = 0
    while world.now < payment.link.expires_at + 3 * HOUR:
        assert sweep(world) == 0
        due = world.load(payment).link.next_due
        assert due is not None and timedelta(seconds=10) <= due - world.now <= timedelta(minutes=10)
        world.now = due
        checks += 1
    assert 40 < checks < 70


def test_a_sweep_begins_at_a_random_shard_and_stops_in_time(world: World) -> None:
    made = [world.create_link() for _ in range(40)]
    world.read_past(max(payment.link.expires_at for payment in made))
    first: set[str] = set()
    for _ in range(8):
        slow = world.start(_Slow(world))
        before = {payment.link.token for payment in made if status(world, payment) is LinkStatus.AWAITING_CHAIN}
        assert expiry.expire_due(slow) in (1, 2, 3)
        after = {payment.link.token for payment in made if status(world, payment) is LinkStatus.AWAITING_CHAIN}
        first |= before - after
    assert len(first) >= 8


def test_a_link_that_cannot_be_checked_holds_no_other_up(world: World) -> None:
    broken, fine = world.create_link(), world.create_link()
    world.read_past(max(broken.link.expires_at, fine.link.expires_at))
    key = {"pk": {"S": broken.link.key.pk}, "sk": {"S": broken.link.key.sk}}
    world.client.update_item(
        TableName="payment-requests-local-payments",
        Key=key,
        UpdateExpression="SET payment_type = :odd",
        ExpressionAttributeValues={":odd": {"S": "odd"}},
    )
    with pytest.raises(SweepIncomplete):
        sweep(world)
    assert status(world, fine) is LinkStatus.EXPIRED


def test_a_reopened_link_past_its_expiry_awaits_the_chain_and_then_expires(world: World) -> None:
    payment = world.create_link()
    world.chain.clock = world.clock
    world.chain.pay(payment.requests[0])
    world.scan()
    assert status(world, payment) is LinkStatus.COMPLETED
    past_expiry(world, payment, HOUR)
    world.chain.fork(3)
    world.scan()
    assert status(world, payment) is LinkStatus.AWAITING_CHAIN
    world.advance(60)
    world.scan()
    assert (sweep(world), status(world, payment)) == (1, LinkStatus.EXPIRED)


def _tick(world: World, *chains: FakeChain) -> None:
    for chain in chains:
        scan_chain(world.services, json.dumps({"network": chain.network}))
    for waiting in [each for each in world.queue.messages if each.queue.endswith("recordings")]:
        world.queue.messages.remove(waiting)
        record_transfers(world.services, waiting.body)


def _unwritten(payable: PayableLink) -> PayableLink:
    return PayableLink(tuple(replace(each, version=0) for each in payable.requests), replace(payable.link, version=0))


class _Slow:
    """A client whose every write takes twenty seconds of the world's clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        if name == "update_item":
            self._world.advance(20)
        return getattr(self._world.client, name)


