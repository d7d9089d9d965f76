"""Links of several requests: whole or not there wherever their creation dies; and payouts that become one batch."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.base.errors import NotFound
from chalicelib.payments.links import flows as links
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls.children import MulticallRefused
from chalicelib.payments.links.payouts import flows
from chalicelib.payments.links.payouts.rules import LARGEST_MERGE, MergeDraft, PayoutDraft
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.rules import remaining
from chalicelib.payments.requests.targets import Item
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.world import PAYEE, WALLET, World, draft, in_process_aws
from tests.support.errors import body_of

ITEMS = tuple(Item(str(n + 1), None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for n in range(68))


def payout(world: World, amount: str = "12.50", **changes: Any) -> PayableLink:
    about = draft(items=(), fee_percentage=None, fee_address=None, **changes)
    wanted = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", amount, about)
    return flows.create(world.services, world.owner, None, wanted)


def combine(world: World, made: list[PayableLink], services: Any = None) -> PayableLink:
    wanted = MergeDraft(tuple(payment.link.token for payment in made), None, None)
    return flows.combine(services or world.services, world.owner, wanted)


class Meanwhile:
    """A DynamoDB client; before its first transaction, somebody else does something."""

    def __init__(self, client: Any, act: Callable[[], object]) -> None:
        self._client, self._acts = client, [act]

    def __getattr__(self, name: str) -> Any:
        if name == "transact_write_items" and self._acts:
            self._acts.pop()()
        return getattr(self._client, name)


# --- batches ---


class Watched:
    """A DynamoDB client that lets somebody look before each write: what is seen is what a crash there would leave."""

    def __init__(self, client: Any, look: Callable[[], object]) -> None:
        self._client, self._look, self.writes = client, look, 0

    def __getattr__(self, name: str) -> Any:
        if name in ("transact_write_items", "put_item", "update_item"):
            self._look()
            self.writes += 1
        return getattr(self._client, name)


def test_a_link_of_many_requests_exists_whole_or_not_at_all_wherever_its_creation_dies(world: World) -> None:
    """205 records: 100, 100, and the last 5 with the link that makes all of them readable."""
    watched = Watched(world.client, lambda: _nothing_is_readable(world))
    links.create(world.start(watched), world.owner, draft(items=ITEMS))
    assert watched.writes == 3
    _everything_is_readable(world)


def _partitions(world: World, kind: str) -> set[str]:
    """The ids of links (LINK) or of requests (REQUEST) of which there is any record."""
    found = world.client.scan(TableName="payment-requests-local-payments", ProjectionExpression="pk")["Items"]
    return {pk.removeprefix(f"{kind}#") for pk in (item["pk"]["S"] for item in found) if pk.startswith(f"{kind}#")}


def _nothing_is_readable(world: World) -> None:
    for token in _partitions(world, "LINK"):
        assert link_reading.load(world.services, token) is None
        assert link_reading.load_many(world.services, [token]) == {}
    for request_id in list(_partitions(world, "REQUEST"))[:1]:
        with pytest.raises(NotFound):
            link_reading.load_by_request(world.services, request_id, Viewer(world.account_id, None))


def _everything_is_readable(world: World) -> None:
    (token,) = _partitions(world, "LINK")
    payment = link_reading.load_visible(world.services, token, Viewer(world.account_id, None))
    assert [request.amount for request in payment.requests] == [(n + 1) * 10**6 for n in range(68)]
    assert {request.request_id for request in payment.requests} == _partitions(world, "REQUEST")


def test_every_request_of_a_batch_is_found_when_it_is_paid(world: World) -> None:
    payment = links.create(world.services, world.owner, draft(items=ITEMS[:40]))
    for request in (payment.requests[0], payment.requests[39]):
        world.chain.pay(request)
    world.scan()
    assert [request.position for request in world.load(payment).requests if request.paid] == [0, 39]


# --- payouts that become a batch ---


def test_merged_payouts_are_over_and_their_requests_are_the_batchs(world: World) -> None:
    made = [payout(world, str(n + 1)) for n in range(LARGEST_MERGE)]
    batch = combine(world, made)
    assert world.load(batch).link == batch.link
    assert [r.request_id for r in world.load(batch).requests] == [p.requests[0].request_id for p in made]
    for payment in made:
        assert world.load(payment).link.status is LinkStatus.INVALIDATED
        found = link_reading.load_by_request(world.services, payment.requests[0].request_id, Viewer(world.account_id, None))
        assert found.link.token == batch.link.token


def test_the_merchant_hears_the_reference_that_each_payout_was_made_with(world: World) -> None:
    world.register_webhook()
    world.scan()
    batch = combine(world, [payout(world, reference="INV-1"), payout(world, reference="INV-2")])
    for request in batch.requests:
        world.chain.pay(request)
    world.scan()
    world.drain()
    bodies = [json.loads(posted.body) for posted in world.receiver.posted if posted.event == "payment.confirmed"]
    assert {(body["requestId"], body["reference"]) for body in bodies} == {
        (batch.requests[0].request_id, "INV-1"),
        (batch.requests[1].request_id, "INV-2"),
    }


def test_calldata_that_was_handed_out_before_the_merge_pays_the_batch(world: World) -> None:
    world.scan()
    made = [payout(world), payout(world)]
    early = world.chain.pay(made[0].requests[0], amount=5_000_000)
    world.scan()
    batch = combine(world, made)
    assert [request.paid for request in batch.requests] == [5_000_000, 0]
    world.chain.pay(made[0].requests[0], amount=7_500_000)
    world.chain.pay(made[1].requests[0])
    world.scan()
    paid = world.load(batch)
    assert (paid.link.status, [remaining(request) for request in paid.requests]) == (LinkStatus.COMPLETED, [0, 0])
    keys = Payment.KEY.all(request_id=made[0].requests[0].request_id)
    recorded = world.services.store.query(Payment, keys)
    assert len(recorded) == 2 and early["transactionHash"] in {payment.tx_hash for payment in recorded}
    assert world.load(made[0]).link.status is LinkStatus.INVALIDATED


def test_a_fork_that_drops_a_payment_from_before_the_merge_takes_it_from_the_batch(world: World) -> None:
    world.scan()
    made = [payout(world), payout(world)]
    world.chain.pay(made[0].requests[0], amount=5_000_000)
    world.scan()
    batch = combine(world, made)
    world.chain.fork(4)
    world.scan()
    assert [request.paid for request in world.load(batch).requests] == [0, 0]


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_payouts_are_merged_or_as_they_were_wherever_the_process_dies(before: bool) -> None:
    def attempt(wire: Tripwire) -> None:
        with in_process_aws() as client:
            world = World(client)
            world.scan()
            made = [payout(world), payout(world)]
            with suppress(Crash):
                combine(world, made, world.start(FragileClient(client, wire)))
            for payment in made:
                world.chain.pay(payment.requests[0])
            world.scan()
            found = [link_reading.load_by_request(world.services, r, Viewer(world.account_id, None)) for r in _partitions(world, "REQUEST")]
            readable = [p for t in _partitions(world, "LINK") if (p := link_reading.load(world.services, t)) is not None]
            pending = [p for p in readable if p.link.status is not LinkStatus.INVALIDATED]
            owed = sorted(request.request_id for payment in pending for request in payment.requests)
            assert owed == sorted(_partitions(world, "REQUEST")), "each request is owed by exactly one link"
            assert all(payment.link.status is LinkStatus.COMPLETED for payment in found)
            assert sum(r.paid for payment in pending for r in payment.requests) == 2 * 12_500_000

    wire = Tripwire()
    attempt(wire)
    assert wire.calls == 2
    for fatal in (1, 2):
        attempt(Tripwire(fatal, before))


def test_of_two_merges_of_the_same_payouts_one_wins_and_the_other_names_them(world: World) -> None:
    made = [payout(world) for _ in range(3)]
    services = world.start(Meanwhile(world.client, lambda: combine(world, made[:2])))
    with pytest.raises(MulticallRefused) as caught:
        combine(world, made, services)
    failures = body_of(caught.value)["failures"]
    assert [(f["securePaymentToken"], f["reason"]) for f in failures] == [
        (payment.link.token, "secure_payment_not_pending") for payment in made[:2]
    ]
    assert world.load(made[2]).link.status is LinkStatus.PENDING


def test_a_part_that_is_paid_in_the_middle_of_a_merge_is_counted_once_by_the_batch(world: World) -> None:
    world.scan()
    made = [payout(world), payout(world)]
    world.chain.pay(made[0].requests[0], amount=5_000_000)
    batch = combine(world, made, world.start(Meanwhile(world.client, world.scan)))
    assert [request.paid for request in world.load(batch).requests] == [5_000_000, 0]


def test_a_merge_in_the_middle_of_recording_a_part_is_seen_by_the_recording(world: World) -> None:
    world.scan()
    made = [payout(world), payout(world)]
    world.chain.pay(made[0].requests[0], amount=5_000_000)
    merged: list[PayableLink] = []
    services = world.start(Meanwhile(world.client, lambda: merged.append(combine(world, made))))
    world.scan(services)
    assert [request.paid for request in world.load(merged[0]).requests] == [5_000_000, 0]


def test_a_payout_that_is_paid_in_the_middle_of_a_merge_is_not_merged(world: World) -> None:
    world.scan()
    made = [payout(world), payout(world)]
    world.chain.pay(made[0].requests[0])
    with pytest.raises(MulticallRefused) as caught:
        combine(world, made, world.start(Meanwhile(world.client, world.scan)))
    assert [f["reason"] for f in body_of(caught.value)["failures"]] == ["already_paid"]
    assert world.load(made[1]).link.status is LinkStatus.PENDING


def test_a_payout_that_a_living_multicall_holds_is_not_merged(world: World) -> None:
    made = [payout(world) for _ in range(3)]
    multicalls.create(world.services, world.owner, [payment.link.token for payment in made[:2]], None)
    with pytest.raises(MulticallRefused) as caught:
        combine(world, made)
    assert [f["reason"] for f in body_of(caught.value)["failures"]] == ["invalid_child_linkage"] * 2


def test_a_multicall_that_claims_a_payout_in_the_middle_of_a_merge_keeps_it(world: World) -> None:
    made = [payout(world) for _ in range(3)]
    tokens = [payment.link.token for payment in made]

    def claim() -> None:
        multicalls.create(world.services, world.owner, tokens[1:], None)

    with pytest.raises(MulticallRefused) as caught:
        combine(world, made[:2], world.start(Meanwhile(world.client, claim)))
    assert [f["reason"] for f in body_of(caught.value)["failures"]] == ["invalid_child_linkage"]
