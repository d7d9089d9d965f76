"""Links of several requests, links that are merged meanwhile, Tron, and transfers that do not count."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft, PayoutDraft
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows, unmatched
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, UnmatchedTransfer
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.transfers import flows as transfers
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete
from tests.bench.calls import counted
from tests.fakes.chain import FEE_ADDRESS, FakeChain, FakeChains
from tests.fakes.world import PAYEE, WALLET, World, draft

TRON_PAYEE = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
STRANGER = "0x" + "22" * 20
FUSDT = "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78"


class Interposed:
    """A DynamoDB client that, just before its first call of one kind, lets something else happen."""

    def __init__(self, client: Any, call: str, act: Callable[[], object]) -> None:
        self._client, self._call, self._act = client, call, act

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name != self._call:
            return found

        def interposed(**arguments: Any) -> Any:
            act, self._act = self._act, lambda: None
            act()
            return found(**arguments)

        return interposed


def batch_of(world: World, count: int) -> PayableLink:
    return world.create_link(items=tuple(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for _ in range(count)))


def payments_of(world: World, request_id: str) -> tuple[Payment, ...]:
    return world.services.store.query(Payment, Payment.KEY.all(request_id=request_id))


def unmatched_transfer(world: World, payable: PayableLink) -> tuple[UnmatchedTransfer, ...]:
    kept = UnmatchedTransfer.KEY.all(request_id=payable.requests[0].request_id)
    return world.services.store.query(UnmatchedTransfer, kept)


def test_40_requests_paid_in_one_transaction_are_recorded_in_four(world: World) -> None:
    """Up to 10 together, as 100 writes fit into one: nine each, the link and the work. The link is read once."""
    payment = batch_of(world, 40)
    world.chain.mine()
    for request in payment.requests:
        world.chain.pay_too(request)
    world.chain.mine(2)
    assert scanning.scan(world.services, "sepolia") == 40
    with counted(world.client) as calls:
        assert flows.record_payable(world.services, payment.link.token) == 40
    assert calls.by_operation["TransactWriteItems"] == 4
    assert calls.by_operation["BatchGetItem"] == 2 * 4, "the entries of the log, and what became of them"
    after = world.load(payment)
    assert (after.link.status, after.link.completed_at) == (LinkStatus.COMPLETED, world.now)
    assert {request.status for request in after.requests} == {RequestStatus.PAID}


def test_a_link_is_complete_with_its_last_request_and_each_payment_is_told_as_its_own(world: World) -> None:
    world.register_webhook()
    payment = batch_of(world, 2)
    world.chain.pay(payment.requests[1])
    world.scan()
    assert world.load(payment).link.status is LinkStatus.PENDING
    world.chain.pay(payment.requests[0])
    world.chain.pay_too(payment.requests[0], amount=5)
    world.scan()
    world.drain()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert world.load(payment).requests[0].paid == 1_000_005
    assert world.receiver.events.count("payment.confirmed") == 2


def test_a_fork_that_removes_one_of_several_payments_reopens_the_link(world: World) -> None:
    world.scan()
    payment = batch_of(world, 2)
    world.chain.pay(payment.requests[0])
    world.chain.mine(4)
    world.chain.pay(payment.requests[1])
    world.scan()
    world.chain.fork(4)
    world.scan()
    after = world.load(payment)
    assert (after.link.status, after.link.completed_at) == (LinkStatus.PENDING, None)
    assert [request.paid for request in after.requests] == [1_000_000, 0]


def test_two_requests_that_are_paid_at_the_same_moment_complete_their_link(world: World) -> None:
    """Before the first recorder commits, the second payment is found, and both are recorded by another one."""
    payment = batch_of(world, 2)
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")

    def pay_the_other() -> None:
        world.chain.pay(payment.requests[1])
        world.scan()

    first = world.start(Interposed(world.client, "transact_write_items", pay_the_other))
    assert flows.record_payable(first, payment.link.token) == 0
    after = world.load(payment)
    assert [request.status for request in after.requests] == [RequestStatus.PAID, RequestStatus.PAID]
    assert after.link.status is LinkStatus.COMPLETED


def two_payouts(world: World) -> list[PayableLink]:
    about = replace(draft(), items=())
    facts = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", "12.50", about)
    return [payouts.create(world.services, world.owner, None, facts) for _ in range(2)]


def merge(services: Services, world: World, children: list[PayableLink]) -> PayableLink:
    return payouts.combine(services, world.owner, MergeDraft(tuple(c.link.token for c in children), None, None))


def test_a_payment_for_a_payout_that_was_merged_counts_for_the_batch(world: World) -> None:
    children = two_payouts(world)
    batch = merge(world.services, world, children)
    for child in children:
        world.chain.pay(child.requests[0])
    world.scan()
    assert world.load(batch).link.status is LinkStatus.COMPLETED
    assert {world.load(child).link.status for child in children} == {LinkStatus.INVALIDATED}
    for payment, count in ((batch, 2), (children[0], 1)):
        listing = transfers.list_of_link(world.services, payment.link.token, Viewer(world.account_id, None))
        assert [each.classified.classification.value for each in listing.transfers] == ["exact"] * count


@pytest.mark.parametrize("call", ["query", "transact_write_items"])
def test_a_payment_counts_once_when_its_payout_is_merged_while_it_is_being_recorded(world: World, call: str) -> None:
    children, made = two_payouts(world), list[PayableLink]()
    world.chain.pay(children[0].requests[0], amount=5)
    world.chain.mine(2)
    services = world.start(
        Interposed(world.client, call, lambda: made.append(merge(world.services, world, children)))
    )
    world.tick(services)
    (batch,) = made
    assert [request.paid for request in world.load(batch).requests] == [5, 0]
    assert len(payments_of(world, children[0].requests[0].request_id)) == 1


def test_a_merge_that_meets_a_payment_takes_it_along(world: World) -> None:
    children = two_payouts(world)
    world.chain.pay(children[1].requests[0], amount=5)
    world.chain.mine(2)
    services = world.start(Interposed(world.client, "transact_write_items", world.tick))
    batch = merge(services, world, children)
    assert [request.paid for request in world.load(batch).requests] == [0, 5]


def test_a_fork_takes_back_what_was_paid_before_the_payout_was_merged(world: World) -> None:
    world.scan()
    world.register_webhook()
    children = two_payouts(world)
    world.chain.pay(children[0].requests[0], amount=5)
    world.scan()
    batch = merge(world.services, world, children)
    assert world.load(batch).requests[0].paid == 5
    world.chain.fork(4)
    world.scan()
    assert world.load(batch).requests[0].paid == 0
    world.drain()
    bodies = [json.loads(posted.body) for posted in world.receiver.posted]
    notified = [(body["event"], body["sequence"]) for body in bodies if body["event"] in ("payment.partial", "payment.failed")]
    assert notified == [("payment.partial", 1), ("payment.failed", 2)], "the batch counts on where the payout was"


def test_a_reference_of_a_link_that_was_never_finished_stops_nothing(world: World) -> None:
    half, whole = world.create_link(), world.create_link()
    world.services.store.write(Delete(replace(half.link, version=1)))
    world.chain.pay(half.requests[0])
    world.chain.pay(whole.requests[0])
    world.scan()
    assert world.load(whole).link.status is LinkStatus.COMPLETED
    assert payments_of(world, half.requests[0].request_id) == ()


def test_tron_is_read_like_any_other_network(world: World) -> None:
    chain = FakeChain("tron")
    tron = World(world.client, chains=FakeChains(chain), confirmations={"tron": 1})
    tron.register_webhook()
    facts = {"currency": "USDT-tron", "payee": TRON_PAYEE, "fee_address": TRON_PAYEE}
    payment = tron.create_link(**facts)
    log = chain.pay(payment.requests[0], fee=125_000, fee_address=TRON_PAYEE)
    assert tron.tick(network="tron") == 1
    tron.drain()
    after = tron.load(payment)
    assert after.link.status is LinkStatus.COMPLETED
    assert after.requests[0].tx_hash == log["transactionHash"].removeprefix("0x")
    assert b'"fees":[{"type":"platform","amount":"0.125","currency":"USDT"}]' in tron.receiver.posted[0].body


def test_a_payment_carries_the_time_of_its_block_and_the_node_is_asked_only_for_those(world: World) -> None:
    asked = list[int]()
    answer = world.chain.read_transfers

    def read_transfers(wanted: Mapping[int, Any]) -> Any:
        asked.extend(wanted)
        return answer(wanted)

    world.chain.read_transfers = read_transfers  # type: ignore[method-assign]
    payment = world.create_link()
    world.scan()
    assert asked == []
    log = world.chain.pay(payment.requests[0])
    world.scan()
    number = int(log["blockNumber"], 16)
    assert asked == [number]
    (stored,) = payments_of(world, payment.requests[0].request_id)
    assert stored.paid_at == world.chain.genesis + timedelta(seconds=number)


@pytest.mark.parametrize(
    ("altered", "reason"), [({"token": FUSDT}, "wrong_token"), ({"payee": STRANGER}, "wrong_payee")]
)
def test_a_transfer_that_does_not_count_is_kept_once(world: World, altered: dict[str, str], reason: str) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=5, **altered)
    world.chain.pay(payment.requests[0], amount=0, **altered)
    for _ in range(3):  # the range before is read again
        world.scan()
    (stray,) = unmatched_transfer(world, payment)
    assert (stray.reason, stray.amount, stray.network) == (reason, 5, "sepolia")
    assert stray.paid_at == world.chain.genesis + timedelta(seconds=stray.block_number)
    assert world.load(payment).requests[0].paid == 0


def test_a_transfer_on_another_network_is_kept_as_such(world: World) -> None:
    base = FakeChain("base")
    both = World(world.client, chains=FakeChains(world.chain, base))
    payment = both.create_link()
    base.pay(payment.requests[0], fee_address=FEE_ADDRESS)
    base.mine(20)
    assert both.tick(network="base") == 0
    (stray,) = unmatched_transfer(both, payment)
    assert (stray.reason, stray.network) == ("wrong_network", "base")


def test_a_fork_marks_what_did_not_count_as_reversed_until_its_branch_wins_again(world: World) -> None:
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0], payee=STRANGER)
    world.scan()
    dropped = world.chain.fork(4)
    world.scan()
    assert [stray.status for stray in unmatched_transfer(world, payment)] == [PaymentStatus.REVERSED]
    world.chain.restore(dropped)
    world.chain.mine(10)
    world.scan()
    assert [stray.status for stray in unmatched_transfer(world, payment)] == [PaymentStatus.CONFIRMED]


def test_dust_is_kept_up_to_a_limit_and_the_payment_still_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(unmatched.MAX_PER_KIND, unmatched.UnmatchedKind.OTHER_PAYEE, 3)
    payment = world.create_link()
    for _ in range(5):
        world.chain.pay(payment.requests[0], amount=1, payee=STRANGER)
    world.chain.pay(payment.requests[0])
    world.scan()
    assert len(unmatched_transfer(world, payment)) == 3
    assert world.load(payment).link.status is LinkStatus.COMPLETED
