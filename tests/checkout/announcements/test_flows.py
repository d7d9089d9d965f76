"""A link waits for one multisig transaction, whoever announces what at the same moment and whatever crashes."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chalicelib.base.errors import ChainUnavailable, Conflict, Forbidden, Locked
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.checkout.flows import describe
from chalicelib.offramp.payers.records import KycStatus
from chalicelib.payments.links.errors import LinkCompleted
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.reading import Viewer, load_visible
from chalicelib.payments.links.records import AnnouncedStatus, Flow, LinkAnnouncements, LinkStatus, PayableLink
from chalicelib.payments.links.rules import check_payable, check_unlocked
from chalicelib.payments.requests.records import Reference, Request
from chalicelib.payments.requests.references import reference_topic
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.storage.store import Delete, WriteConflict
from tests.fakes.announcements import (
    HASH,
    OTHER_HASH,
    PROPOSED,
    SAFE,
    announcement,
    in_seconds,
    is_free,
    record,
    stored,
    track,
    with_safe,
)
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.offramps import store_payer
from tests.fakes.payouts import store_payouts
from tests.fakes.safes import FakeSafes
from tests.fakes.world import World, in_process_aws
from tests.support.errors import body_of


@pytest.fixture
def world(world: World) -> World:
    return with_safe(world)


def test_a_link_is_locked_while_its_transaction_is_pending(world: World) -> None:
    payment = world.create_link()
    announced = record(world, payment, announcement(deadline=in_seconds(world, 3600)))
    assert (announced.status, announced.wallet, world.load(payment).announcements) == (
        AnnouncedStatus.PENDING,
        SAFE,
        LinkAnnouncements(announced, version=1),
    )
    with pytest.raises(Locked) as refusal:
        check_payable(world.load(payment), world.now)
    (status,) = body_of(refusal.value)["requestStatuses"]
    assert status == {
        "requestId": payment.requests[0].request_id,
        "hasBeenPaid": False,
        "safeTxHash": HASH,
        "chainId": 11155111,
        "safePaymentDeadline": int(in_seconds(world, 3600).timestamp()),
    }
    assert track(world).status is AnnouncedStatus.PENDING


def test_the_same_transaction_is_announced_twice_and_recorded_once(world: World) -> None:
    payment = world.create_link()
    first = record(world, payment)
    again = record(world, payment, announcement(deadline=in_seconds(world, 60)))
    assert (again.announced_id, again.deadline) == (first.announced_id, None)


def test_another_transaction_is_waited_for_too_and_the_link_until_the_last_has_ended(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    record(world, payment, announcement(OTHER_HASH))
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    track(world)
    assert [each.status.value for each in stored(world)[0].all] == ["pending", "failed"]
    assert not is_free(world, payment)
    world.chain.execute_safe(SAFE, OTHER_HASH, success=False)
    world.scan()
    track(world)
    assert [each.status.value for each in stored(world)[0].all] == ["failed", "failed"]
    assert is_free(world, payment)


def test_a_network_that_detection_does_not_read_yet_takes_no_announced_transaction() -> None:
    with in_process_aws() as client:
        world = World(client)
        world.chain.contracts.add(SAFE)
        with pytest.raises(ChainUnavailable, match="Detection has not begun on sepolia yet"):
            record(world, world.create_link())
        assert stored(world) == []


def test_a_payout_takes_the_announced_transaction_of_its_creators_safe_alone(world: World) -> None:
    payment = world.create_link()
    payout = replace(payment.link, flow=Flow.PAY, creator_wallet="0x" + "11" * 20)
    world.services.store.write(replace(payout, version=1))
    for draft in (announcement(), announcement(payer_address=None)):
        with pytest.raises(Forbidden, match="Only the wallet that created this payout may pay it"):
            record(world, payment, draft)
    world.services.store.write(replace(payout, creator_wallet=SAFE.lower(), version=2))
    assert record(world, payment).status is AnnouncedStatus.PENDING


def a_multicall(world: World, **changes: object) -> PayableLink:
    owner = Owner(world.account_id, None, None)
    children = store_payouts(world.services, world.account_id, 2, creator_wallet=SAFE, **changes)
    made = multicalls.create(world.services, owner, [child.link.token for child in children], None)
    return world.load(made.payable)


def children_of(world: World, parent: PayableLink) -> tuple[PayableLink, ...]:
    return multicall_reading.payable_children(world.services, world.load(parent), lambda whole: check_payable(whole, world.now))


def test_a_multicall_waits_as_a_whole_and_its_children_stay_payable_alone(world: World) -> None:
    parent = a_multicall(world)
    children = children_of(world, parent)
    announced = record(world, parent)
    with pytest.raises(Locked) as refusal:
        children_of(world, parent)
    waiting = [status["requestId"] for status in body_of(refusal.value)["requestStatuses"]]
    assert waiting == [child.requests[0].request_id for child in children]
    assert all(is_free(world, child) for child in children)
    assert record(world, parent).announced_id == announced.announced_id


def test_the_announced_transaction_of_a_multicall_is_settled_by_the_last_of_its_children(world: World) -> None:
    parent = a_multicall(world)
    record(world, parent)
    for child, status in zip(
        multicall_reading.details(world.services, parent).children, ("pending", "settled"), strict=True
    ):
        assert child.request is not None
        world.services.store.write(_reference_of(child.request))
        world.chain.pay(child.request)
        world.scan()
        assert track(world).status.value == status
    with pytest.raises(Conflict):
        record(world, parent, announcement(OTHER_HASH))


def test_a_multicall_that_is_paid_waits_for_nothing_though_its_announced_transaction_was_not_looked_at_yet(
    world: World,
) -> None:
    parent = a_multicall(world)
    children = children_of(world, parent)
    record(world, parent)
    for child, is_last in zip(children, (False, True), strict=True):
        world.services.store.write(_reference_of(child.requests[0]))
        world.chain.pay(child.requests[0])
        world.scan()
        viewer = Viewer(world.account_id, None)
        check_unlocked(load_visible(world.services, child.link.token, viewer))
        with pytest.raises(LinkCompleted if is_last else Locked):
            describe(world.services, parent.link.token, viewer, None)
    assert multicall_reading.read(world.services, parent.link.token, world.account_id).status is LinkStatus.COMPLETED
    assert [each.first.status for each in stored(world)] == [AnnouncedStatus.PENDING]


def test_a_multicall_is_free_again_when_its_transaction_failed(world: World) -> None:
    parent = a_multicall(world)
    record(world, parent)
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    assert track(world).status is AnnouncedStatus.FAILED
    assert len(children_of(world, parent)) == 2


def test_a_multicall_takes_the_announced_transaction_of_the_wallet_that_created_its_children(world: World) -> None:
    other = "0x" + "11" * 20
    world.chain.contracts.add(other)
    with pytest.raises(Forbidden, match="Only the wallet that created this payout may pay it"):
        record(world, a_multicall(world), announcement(OTHER_HASH, payer_address=other))


def test_a_multicall_whose_children_were_all_merged_elsewhere_takes_no_announced_transaction(world: World) -> None:
    parent = a_multicall(world)
    for child in children_of(world, parent):
        world.services.store.write(Delete(child.requests[0]))
    with pytest.raises(Forbidden):
        record(world, parent)


def _reference_of(request: Request) -> Reference:
    return Reference(reference_topic(bytes.fromhex(request.payment_reference[2:])), request.payable_id, 0)


class Interrupted(FakeSafes):
    """Lets something happen after a link was read and before its announced transaction is written."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act: Callable[[], object] | None = act

    def transaction(self, network: str, safe_tx_hash: str) -> Proposal | None:
        act, self.act = self.act, None
        if act is not None:
            act()
        return PROPOSED


def test_a_payment_that_comes_first_leaves_no_announced_transaction(world: World) -> None:
    payment = world.create_link()

    def pay() -> None:
        world.chain.pay(payment.requests[0])
        world.scan()

    services = replace(world.services, safes=Interrupted(pay))  # type: ignore[arg-type]
    with pytest.raises(Conflict):
        record(world, payment, announcement(payer_address=None), services)
    assert stored(world) == []


def test_of_two_announced_transactions_at_once_both_are_kept_and_the_first_is_shown(world: World) -> None:
    payment = world.create_link()
    services = replace(world.services, safes=Interrupted(lambda: record(world, payment)))  # type: ignore[arg-type]
    record(world, payment, announcement(OTHER_HASH, payer_address=None), services)
    (kept,) = stored(world)
    assert [announced.safe_tx_hash for announced in kept.all] == [HASH, OTHER_HASH]


def test_one_announcement_made_twice_at_once_is_one_announced_transaction(world: World) -> None:
    payment = world.create_link()
    services = replace(world.services, safes=Interrupted(lambda: record(world, payment)))  # type: ignore[arg-type]
    assert (
        record(world, payment, announcement(payer_address=None), services).announced_id == stored(world)[0].first.announced_id
    )


def test_one_who_is_overtaken_every_time_gives_up(world: World) -> None:
    payment = world.create_link()

    class Overtaken(FakeSafes):
        def transaction(self, network: str, safe_tx_hash: str) -> Proposal | None:
            world.services.store.write(world.load(payment).link)
            return PROPOSED

    with pytest.raises(WriteConflict):
        services = replace(world.services, safes=Overtaken())  # type: ignore[arg-type]
        record(world, payment, announcement(payer_address=None), services)


def test_a_payment_that_comes_after_the_announced_transaction_completes_the_link(world: World) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.before_reading = lambda: record(world, payment) and None
    world.scan()
    with pytest.raises(Conflict):
        check_payable(world.load(payment), world.now)
    assert track(world).status is AnnouncedStatus.SETTLED


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_whatever_call_recording_or_tracking_dies_at_the_link_is_whole_and_free_in_the_end(before: bool) -> None:
    fatal, died = 0, True
    while died:
        fatal += 1
        died = _run_with_a_crash(Tripwire(fatal, before))
    assert fatal > 8


def _run_with_a_crash(wire: Tripwire) -> bool:
    died = False
    with in_process_aws() as client:
        world = World(client)
        world.chain.contracts.add(SAFE)
        world.scan()
        payment = world.create_link()
        fragile = world.start(FragileClient(world.client, wire))
        try:
            record(world, payment, services=fragile)
        except Crash:
            died = True
        assert len(stored(world)) <= 1
        record(world, payment)
        world.chain.execute_safe(SAFE, HASH, success=False)
        world.scan()
        try:
            track(world, fragile)
        except Crash:
            died = True
        assert track(world).status is AnnouncedStatus.FAILED
        assert is_free(world, payment)
    return died


def test_an_announcement_of_a_refused_payout_stores_no_refusal_which_the_provider_may_take_back(world: World) -> None:
    (payment,) = store_payouts(world.services, world.account_id, 1, recipient_identifier="ann", creator_wallet=SAFE)
    request = replace(payment.requests[0], created_with=Mode.API_KEY)
    world.services.store.write(request)
    record(world, payment, announcement())
    payer = store_payer(world.services, world.account_id, "ann", kyc_status=KycStatus.REJECTED)
    viewer = Viewer(world.account_id, None)
    assert load_visible(world.services, payment.link.token, viewer).link.status is LinkStatus.COMPLIANCE_FAILED
    record(world, payment, announcement(announcer="ab" * 32))
    with pytest.raises(Forbidden):
        record(world, payment, announcement(OTHER_HASH))
    assert world.load(payment).link.status is LinkStatus.PENDING
    world.services.store.write(replace(payer, kyc_status=KycStatus.APPROVED, version=1))
    assert load_visible(world.services, payment.link.token, viewer).link.status is LinkStatus.PENDING
