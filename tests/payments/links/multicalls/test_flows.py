"""Combining payouts, and what is seen of them when they are paid, expire or are merged elsewhere meanwhile."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import Conflict, Forbidden, Locked, NotFound
from chalicelib.payments.links import expiry
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.multicalls import flows, reading
from chalicelib.payments.links.multicalls.children import MulticallRefused, SetRefused
from chalicelib.payments.links.multicalls.rules import MulticallDetails
from chalicelib.payments.links.records import ASSEMBLY_TIME, Link, LinkStatus, PayableLink
from chalicelib.payments.links.rules import check_payable, check_unlocked
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.platform.storage.store import WriteConflict
from tests.fakes.payouts import on_its_way, store_payouts
from tests.fakes.world import World
from tests.support.errors import body_of


def owner(world: World) -> Owner:
    return Owner(world.account_id, None, None)


def tokens(payments: list[PayableLink]) -> list[str]:
    return [payment.link.token for payment in payments]


def payouts(world: World, count: int = 2, **changes: Any) -> list[str]:
    return tokens(store_payouts(world.services, world.account_id, count, **changes))


def combine(world: World, children: list[str], kind: Any = None) -> MulticallDetails:
    return flows.create(world.services, owner(world), children, kind)


def refused(world: World, children: list[str]) -> dict[str, str]:
    """The reason of each token that is refused."""
    before = stored(world)
    with pytest.raises(MulticallRefused) as refusal:
        combine(world, children)
    assert stored(world) == before, "nothing is written"
    return {failure["securePaymentToken"]: failure["reason"] for failure in body_of(refusal.value)["failures"]}


def refused_as_a_set(world: World, children: list[str], kind: Any = None) -> str:
    """The reason why the children are refused together."""
    before = stored(world)
    with pytest.raises(SetRefused) as refusal:
        combine(world, children, kind)
    assert stored(world) == before, "nothing is written"
    (failure,) = body_of(refusal.value)["failures"]
    assert failure["securePaymentToken"] == "*"
    reason: str = failure["reason"]
    return reason


def stored(world: World) -> list[Any]:
    return sorted(map(str, world.client.scan(TableName="payment-requests-local-payments")["Items"]))


def read(world: World, made: MulticallDetails) -> MulticallDetails:
    return reading.read(world.services, made.payable.link.token, world.account_id)


def reasons(details: MulticallDetails) -> list[str | None]:
    return [child.reason for child in details.children]


def change(world: World, token: str, **changes: Any) -> None:
    """What another flow writes to a link."""
    payment = link_reading.load(world.services, token)
    assert payment is not None
    world.services.store.write(replace(payment.link, **changes))


def pay(world: World, token: str) -> None:
    payment = link_reading.load(world.services, token)
    assert payment is not None
    request = payment.requests[0]
    world.services.store.write(
        replace(payment.link, status=LinkStatus.COMPLETED),
        replace(request, paid=request.amount, status=RequestStatus.PAID, tx_hash="0x" + "ab" * 32),
    )


def test_a_multicall_claims_its_children_in_their_order_and_reads_back(world: World) -> None:
    early = payouts(world, 1, expires_at=world.now + timedelta(days=1))
    children = [*payouts(world, 2), *early]
    made = combine(world, children)
    link = made.payable.link
    assert link.child_tokens == tuple(children)
    assert link.expires_at == world.now + timedelta(days=1)
    assert [child.payable.link.token for child in made.children if child.payable] == children
    again = read(world, made)
    assert (again.payable, again.status, again.can_execute) == (made.payable, LinkStatus.PENDING, True)
    assert reasons(again) == [None, None, None]
    paid = reading.payable_children(world.services, again.payable, lambda whole: check_payable(whole, world.now))
    assert [payment.link.token for payment in paid] == children
    assert {payment.link.parent_token for payment in paid} == {link.token}


def test_every_child_that_cannot_be_in_it_is_named_at_once(world: World) -> None:
    good, twice = payouts(world, 2)
    (foreign,) = tokens(store_payouts(world.services, "another account", 1))
    (awaiting,) = payouts(world, 1, expires_at=world.now)
    (expired,) = payouts(world, 1, status=LinkStatus.EXPIRED)
    incoming = world.create_link().link.token
    (batch,) = payouts(world, 1, payment_type="batch")
    busy = store_payouts(world.services, world.account_id, 1)[0]
    world.services.store.write(on_its_way(busy).announcements)
    (done,) = payouts(world, 1)
    pay(world, done)
    (merged,) = payouts(world, 1, status=LinkStatus.INVALIDATED)
    (screened,) = payouts(world, 1, status=LinkStatus.COMPLIANCE_FAILED)
    asked = [good, twice, foreign, awaiting, expired, incoming, batch, busy.link.token]
    asked += [done, merged, screened, "nothing", twice]
    assert refused(world, asked) == {
        twice: "duplicate_child",
        foreign: "not_owned",
        awaiting: "not_payable_child",
        expired: "secure_payment_expired",
        incoming: "not_outgoing",
        batch: "not_single_payment",
        busy.link.token: "request_processing",
        done: "already_paid",
        merged: "secure_payment_not_pending",
        screened: "compliance_failed",
        "nothing": "not_found",
    }


def test_a_parent_is_no_child(world: World) -> None:
    parent = combine(world, payouts(world)).payable.link.token
    assert refused(world, [*payouts(world, 1), parent]) == {parent: "not_single_payment"}


def test_a_child_is_in_one_living_parent(world: World) -> None:
    first, second, third = payouts(world, 3)
    made = combine(world, [first, second])
    assert refused(world, [second, third]) == {second: "invalid_child_linkage"}
    world.advance(8 * 24 * 3600)
    assert refused(world, [second, third])[second] == "not_payable_child"
    assert read(world, made).status is LinkStatus.AWAITING_CHAIN
    world.read_past(world.now)
    assert expiry.expire_due(world.services) == 3
    assert refused(world, [second, third])[second] == "secure_payment_expired"
    assert read(world, made).status is LinkStatus.EXPIRED


def test_a_parent_with_a_child_that_was_paid_elsewhere_lets_the_others_go(world: World) -> None:
    first, second, third = payouts(world, 3)
    old = combine(world, [first, second, third])
    pay(world, first)
    assert refused(world, [first, second]) == {first: "already_paid"}
    new = combine(world, [second, third])
    assert reasons(read(world, new)) == [None, None]
    assert reasons(read(world, old)) == ["already_paid", "invalid_child_linkage", "invalid_child_linkage"]
    assert refused(world, [second, third]) == {second: "invalid_child_linkage", third: "invalid_child_linkage"}


def test_children_that_no_kind_pays_are_refused_and_none_of_them_is_claimed(world: World) -> None:
    (dollar,) = payouts(world, 1)
    (coin,) = payouts(world, 1, currency="ETH-sepolia-sepolia")
    assert refused_as_a_set(world, [dollar, coin]) == "unsupported_combination"
    assert refused_as_a_set(world, [dollar, *payouts(world, 1, currency="USDC-base")]) == "unsupported_combination"
    assert refused_as_a_set(world, payouts(world), "evm_cross_chain") == "unsupported_combination"
    assert reasons(combine(world, [dollar, *payouts(world, 1)])) == [None, None]


def test_children_of_different_creators_are_not_combined(world: World) -> None:
    own, others = payouts(world, 1), payouts(world, 1, creator_wallet="0x" + "12" * 20)
    assert refused_as_a_set(world, [*own, *others]) == "unsupported_combination"


def test_a_multisig_that_is_on_its_way_for_the_whole_is_so_for_each_child(world: World) -> None:
    """Also once the parent's time is over: the transaction may still be executed."""
    early = store_payouts(world.services, world.account_id, 1, expires_at=world.now + timedelta(hours=1))
    made = combine(world, tokens(early) + payouts(world, 2))
    world.services.store.write(on_its_way(made.payable).announcements)
    _, second, third = made.payable.link.child_tokens
    world.advance(3600)
    for child in (second, third):
        with pytest.raises(Locked):
            check_unlocked(link_reading.load_visible(world.services, child, link_reading.Viewer(world.account_id, None)))
    assert refused(world, [second, third]) == {second: "request_processing", third: "request_processing"}


def test_a_multicall_belongs_to_the_client_id_of_its_children(world: World) -> None:
    own, unnamed, others = payouts(world, 1, client_id="cli_a"), payouts(world, 1), payouts(world, 1, client_id="cli_b")
    assert combine(world, own + unnamed).payable.link.client_id == "cli_a"
    assert refused_as_a_set(world, payouts(world, 1, client_id="cli_a") + others) == "unsupported_combination"


def test_a_parent_whose_child_waits_for_a_multisig_keeps_the_others(world: World) -> None:
    first, second = store_payouts(world.services, world.account_id, 2)
    combine(world, tokens([first, second]))
    world.services.store.write(on_its_way(first).announcements)
    assert refused(world, [*payouts(world, 1), second.link.token]) == {second.link.token: "invalid_child_linkage"}


def test_a_parent_that_has_expired_lets_its_longer_living_children_go(world: World) -> None:
    (early,) = payouts(world, 1, expires_at=world.now + timedelta(hours=1))
    late, other = payouts(world, 2)
    old = combine(world, [early, late])
    world.advance(3600)
    new = combine(world, [late, other])
    assert reasons(read(world, new)) == [None, None]
    for reason, code, status in (
        ("not_payable_child", "awaiting_chain", "pending"),
        ("secure_payment_expired", None, "expired"),
    ):
        assert reasons(read(world, old)) == [reason, "invalid_child_linkage"]
        with pytest.raises(Forbidden) as closed:
            reading.payable_children(world.services, old.payable, lambda all: check_payable(all, world.now))
        assert (body_of(closed.value).get("code"), body_of(closed.value)["status"]) == (code, status)
        world.read_past(world.now)
        expiry.expire_due(world.services)


def test_a_parent_that_was_left_half_made_is_removed_by_the_sweep_or_by_who_wants_its_children(world: World) -> None:
    for sweep in (True, False):
        children = payouts(world)
        half = combine(world, children).payable.link
        change(world, half.token, status=LinkStatus.ASSEMBLING)
        assert link_reading.load(world.services, half.token) is None, "no reader takes it for a link"
        with pytest.raises(NotFound):
            reading.read(world.services, half.token, world.account_id)
        assert set(refused(world, children).values()) == {"invalid_child_linkage"}
        world.advance(ASSEMBLY_TIME.total_seconds())
        assert not sweep or expiry.expire_due(world.services) == 1
        made = combine(world, children)
        assert world.services.store.get(Link, Link.KEY.of(token=half.token)) is None
        assert made.can_execute
        assert expiry.expire_due(world.services) == 0


def test_the_sweep_leaves_a_parent_that_is_young_or_whole(world: World) -> None:
    young, whole = combine(world, payouts(world)), combine(world, payouts(world))
    change(world, young.payable.link.token, status=LinkStatus.ASSEMBLING)
    world.advance(ASSEMBLY_TIME.total_seconds() - 1)
    assert expiry.expire_due(world.services) == 0
    world.advance(1)
    assert expiry.expire_due(world.services) == 1
    assert read(world, whole).can_execute


def test_a_child_that_changes_while_it_is_claimed_is_looked_at_again(world: World) -> None:
    children = payouts(world)
    original = world.services.store.write
    raced = []

    def paid_meanwhile(*writes: Any) -> None:
        if not raced:
            raced.append(True)
            pay(World(world.client), children[0])
        original(*writes)

    world.services.store.write = paid_meanwhile  # type: ignore[method-assign]
    with pytest.raises(MulticallRefused) as refusal:
        combine(world, children)
    assert [each["reason"] for each in body_of(refusal.value)["failures"]] == ["already_paid"]


def test_children_that_never_hold_still_are_a_conflict(world: World) -> None:
    children = payouts(world)
    original = world.services.store.write
    other = World(world.client)

    def changed_meanwhile(*writes: Any) -> None:
        change(other, children[0], reference="changed")
        original(*writes)

    world.services.store.write = changed_meanwhile  # type: ignore[method-assign]
    with pytest.raises(WriteConflict):
        combine(world, children)


def test_what_became_of_the_children_is_seen_in_the_details_and_when_they_are_to_be_paid(world: World) -> None:
    children = payouts(world, 4)
    made = combine(world, children)
    pay(world, children[1])
    change(world, children[2], status=LinkStatus.INVALIDATED)
    change(world, children[3], expires_at=world.now)
    now = read(world, made)
    expected = [None, "already_paid", "secure_payment_not_pending", "not_payable_child"]
    assert (reasons(now), now.status, now.can_execute) == (expected, LinkStatus.PARTIALLY_SETTLED, False)
    with pytest.raises(MulticallRefused) as refusal:
        reading.payable_children(world.services, made.payable, lambda whole: check_payable(whole, world.now))
    failures = body_of(refusal.value)["failures"]
    assert [(each["securePaymentToken"], each["reason"]) for each in failures] == list(
        zip(children[1:], expected[1:], strict=True)
    )


def test_a_multicall_whose_children_are_all_paid_is_completed_even_after_its_time(world: World) -> None:
    children = payouts(world)
    made = combine(world, children)
    for token in children:
        pay(world, token)
    for _ in range(2):
        assert read(world, made).status is LinkStatus.COMPLETED
        with pytest.raises(Conflict) as completed:
            reading.payable_children(world.services, made.payable, lambda whole: check_payable(whole, world.now))
        statuses = body_of(completed.value)["requestStatuses"]
        assert [(each["requestId"], each["hasBeenPaid"]) for each in statuses] == [
            (request.request_id, True) for request in made.requests
        ]
        world.advance(8 * 24 * 3600)


def test_while_a_multisig_transaction_is_on_its_way_for_the_whole_nobody_else_pays(world: World) -> None:
    made = combine(world, payouts(world))
    busy = on_its_way(made.payable)
    with pytest.raises(Locked) as locked:
        reading.payable_children(world.services, busy, lambda whole: check_payable(whole, world.now))
    assert len(body_of(locked.value)["requestStatuses"]) == 2
    world.services.store.write(busy.announcements)
    assert not read(world, made).can_execute


def test_without_a_router_children_of_several_currencies_are_refused(world: World) -> None:
    mixed = [*payouts(world, 1, currency="USDC-base"), *payouts(world, 1, currency="USDT-mainnet")]
    world.router.is_configured = False
    assert refused_as_a_set(world, mixed) == "unsupported_route"


def test_children_of_several_networks_can_be_paid_by_routes_up_to_a_limit(world: World) -> None:
    on_base = payouts(world, 19, currency="USDC-base")
    made = combine(world, [*on_base, *payouts(world, 1, currency="USDT-mainnet")])
    assert read(world, made).can_execute
    many = [*payouts(world, 20, currency="USDC-base"), *payouts(world, 1, currency="USDT-mainnet")]
    with pytest.raises(SetRefused) as over:
        combine(world, many)
    body = body_of(over.value)
    assert body["cap"] == {"type": "child_count", "maximum": 20, "actual": 21, "reduceBy": 1}
    (failure,) = body["failures"]
    assert (failure["reason"], failure["recoveryAction"]) == ("cap_exceeded", "recreate_reduced")
    assert combine(world, payouts(world, 21, currency="USDC-base"))
    with pytest.raises(SetRefused):
        combine(world, payouts(world, 21, currency="USDC-base"), "evm_cross_chain")


def test_another_account_is_not_authorized_and_other_links_are_no_multicalls(world: World) -> None:
    made = combine(world, payouts(world))
    with pytest.raises(Forbidden, match="Not authorized"):
        reading.read(world.services, made.payable.link.token, "another account")
    for token in (*payouts(world, 1), "nothing", "x" * 1000):
        with pytest.raises(NotFound, match="^Multicall payout not found$"):
            reading.read(world.services, token, world.account_id)


def test_for_a_client_id_that_a_platform_is_linked_to_only_the_pair_combines(world: World) -> None:
    linked = Owner(world.account_id, world.client_id, None, ClientSettings(orchestrator_id="orc"))
    with pytest.raises(Forbidden, match="x-orchestrator-key"):
        flows.create(world.services, linked, payouts(world), None)
    pair = replace(linked, orchestrator_id="orc")
    assert flows.create(world.services, pair, payouts(world), None).payable.link.client_id == world.client_id
