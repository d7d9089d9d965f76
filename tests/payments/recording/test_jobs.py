"""The recorder's messages: some payables of an account each, in any order and any number of times."""

import json
from collections import Counter
from dataclasses import replace
from threading import Event, Thread

import pytest

from chalicelib.payments.links import flows as links
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import LinkStatus, Payable, PayableLink
from chalicelib.payments.recording import flows
from chalicelib.payments.recording.jobs import record_transfers, sweep_transfers
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning.records import UnrecordedTransfers
from chalicelib.platform.storage.store import Store
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.bench.calls import counted
from tests.fakes.world import PREFIX, Waiting, World, draft
from tests.payments.recording.test_floods import SlowTransactions
from tests.payments.recording.test_shared import Interposed
from tests.support.patience import patience


def found(world: World, amount: int | None = None) -> PayableLink:
    """A link whose payment is in the log, and not recorded."""
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=amount)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    world.queue.messages.clear()
    return payment


def test_a_message_records_the_work_of_its_link_and_the_same_message_again_does_nothing(world: World) -> None:
    payment, other = found(world), found(world)
    message = json.dumps({"account": "acct", "bills": [payment.link.token]})
    record_transfers(world.services, message)
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert world.load(other).link.status is LinkStatus.PENDING
    after = world.load(payment)
    with counted(world.client) as calls:
        record_transfers(world.services, message)
    assert calls.by_operation == {"Query": 1}
    assert world.load(payment) == after


def test_events_are_in_the_order_of_the_chain_whatever_the_order_of_the_messages(world: World) -> None:
    """Work of later blocks is written first if hints are late: the recorder takes the oldest."""
    world.register_webhook()
    payment = found(world, 5_000_000)
    world.chain.pay(payment.requests[0], amount=4_000_000)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    world.chain.pay(payment.requests[0], amount=3_500_000)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    world.queue.messages.reverse()
    world.drain()
    bodies = [json.loads(posted.body) for posted in world.receiver.posted]
    notified = [(body["event"], body["amount"], body["totalAmountPaid"]) for body in bodies if body["event"].count(".") == 1]
    assert notified == [
        ("payment.partial", "5", "5"),
        ("payment.partial", "4", "9"),
        ("payment.confirmed", "3.5", "12.5"),
    ]


def test_a_run_records_newer_work_that_a_run_beside_it_leaves_to_it(world: World) -> None:
    """The run beside it has the newer work's message, but ends when it finds the oldest part recorded."""
    payment = found(world, 5_000_000)
    token = payment.link.token
    has_read, may_commit = Event(), Event()

    def pause() -> None:
        has_read.set()
        assert may_commit.wait(patience())

    paused = world.start(Interposed(world.client, "transact_write_items", pause))
    first = Thread(target=flows.record_payable, args=(paused, token))
    first.start()
    assert has_read.wait(patience())
    world.chain.pay(payment.requests[0], amount=7_500_000)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")

    def let_the_first_finish() -> None:
        may_commit.set()
        first.join()

    beside = world.start(Interposed(world.client, "transact_write_items", let_the_first_finish))
    assert flows.record_payable(beside, token) == 0
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def pay_at_once(world: World, payments: list[PayableLink], network: str = "sepolia") -> list[Waiting]:
    """Pays links in one block, and reads it; returns the recorder's messages."""
    world.chain.mine()
    for payment in payments:
        world.chain.pay_too(payment.requests[0])
    world.chain.mine(2)
    world.queue.messages.clear()
    scanning.scan(world.services, network)
    return list(world.queue.messages)


def other_account_pays(world: World) -> PayableLink:
    owner = replace(world.owner, account_id="other", client_id="cli_other")
    return links.create(world.services, owner, draft())


def test_60_requests_of_an_account_that_are_paid_at_once_take_six_turns(world: World) -> None:
    world.scan()
    payments = [world.create_link() for _ in range(60)]
    turns = pay_at_once(world, payments)
    assert [len(json.loads(each.body)["bills"]) for each in turns] == [10] * 6
    assert {each.group for each in turns} == {world.account_id}
    for turn in turns:
        record_transfers(world.services, turn.body)
    assert {world.load(each).link.status for each in payments} == {LinkStatus.COMPLETED}


def test_requests_of_one_account_hold_up_no_other_account(world: World) -> None:
    """SQS delivers the groups of a busy queue in turn."""
    world.scan()
    many, one = [world.create_link() for _ in range(60)], other_account_pays(world)
    turns = pay_at_once(world, [*many, one])
    by_group = {group: [each for each in turns if each.group == group] for group in (world.account_id, "other")}
    (alone,) = by_group["other"]
    assert json.loads(alone.body) == {"account": "other", "bills": [one.link.token]}
    assert len(by_group[world.account_id]) == 6
    for turn in (by_group[world.account_id][0], alone):
        record_transfers(world.services, turn.body)
    assert world.load(one).link.status is LinkStatus.COMPLETED


def test_the_sweep_groups_what_it_queues_by_account_too(world: World) -> None:
    world.scan()
    many, one = [world.create_link() for _ in range(12)], other_account_pays(world)
    pay_at_once(world, [*many, one])
    world.queue.messages.clear()
    world.advance(31)
    sweep_transfers(world.services)
    sizes = Counter({each.group: 0 for each in world.queue.messages})
    for message in world.queue.messages:
        sizes[message.group] += len(json.loads(message.body)["bills"])
    assert sizes == {world.account_id: 12, "other": 1}
    assert len(world.queue.messages) == 3


def test_a_flood_to_one_payable_of_a_message_delays_the_others_by_its_share_of_the_time(world: World) -> None:
    world.scan()
    flooded, other = world.create_link(), world.create_link()
    world.chain.mine()
    for _ in range(200):
        world.chain.pay_too(flooded.requests[0], amount=1)
    turns = pay_at_once(world, [other])
    (turn,) = turns
    assert json.loads(turn.body)["bills"] == [flooded.link.token, other.link.token]
    world.queue.messages.clear()
    record_transfers(world.start(SlowTransactions(world, 4)), turn.body)
    assert world.load(other).link.status is LinkStatus.COMPLETED
    assert 0 < world.load(flooded).requests[0].paid < 200
    (again,) = [each for each in world.queue.messages if each.queue.endswith("recordings")]
    assert (json.loads(again.body)["bills"], again.group) == ([flooded.link.token], world.account_id)
    world.record()
    assert world.load(flooded).requests[0].paid == 200


def test_a_payable_that_fails_stops_no_other_of_its_message(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.scan()
    first, second = world.create_link(), world.create_link()
    (turn,) = pay_at_once(world, [first, second])
    read = link_store.load_payable

    def broken(store: Store, payable_id: str) -> Payable | None:
        if payable_id == first.link.token:
            raise RuntimeError("an item that cannot be read")
        return read(store, payable_id)

    with monkeypatch.context() as patch:
        patch.setattr(link_store, "load_payable", broken)
        with pytest.raises(SweepIncomplete):
            record_transfers(world.services, turn.body)
    assert world.load(second).link.status is LinkStatus.COMPLETED
    record_transfers(world.services, turn.body)
    assert world.load(first).link.status is LinkStatus.COMPLETED


def test_work_of_a_link_that_does_not_exist_is_dropped(world: World) -> None:
    payment = found(world)
    world.client.delete_item(
        TableName=f"{PREFIX}-payments", Key={"pk": {"S": f"LINK#{payment.link.token}"}, "sk": {"S": "LINK"}}
    )
    assert flows.record_payable(world.services, payment.link.token) == 0
    assert flows.record_payable(world.services, payment.link.token) == 0


def test_the_sweep_queues_each_link_with_work_once_when_it_is_30_seconds_old(world: World) -> None:
    payments = [found(world) for _ in range(3)]
    world.advance(30)
    sweep_transfers(world.services)
    queued = sorted(payable for message in world.queue.messages for payable in json.loads(message.body)["bills"])
    assert queued == sorted(payment.link.token for payment in payments)
    world.queue.messages.clear()
    world.advance(-1)
    sweep_transfers(world.services)
    assert world.queue.messages == []


def test_a_link_with_a_flood_of_old_work_hides_no_other_link_from_the_sweep(world: World) -> None:
    def work(token: str, sequence: int) -> UnrecordedTransfers:
        return UnrecordedTransfers(token, "sepolia", sequence, 1, 0, "", world.now, ())

    world.services.store.put_many([work("flooded", sequence) for sequence in range(1001)])
    world.advance(1)
    others = [f"link{number}" for number in range(30)]
    world.services.store.put_many([work(token, 1) for token in others])
    world.advance(30)
    sweep_transfers(world.services)
    queued = sorted(payable for message in world.queue.messages for payable in json.loads(message.body)["bills"])
    assert queued == sorted(["flooded", *others])
