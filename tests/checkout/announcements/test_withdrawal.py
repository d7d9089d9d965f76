"""The owner of a link ends its wait for a multisig transaction, whatever else happens at the same moment."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.checkout.announcements import flows
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkStatus, PayableLink
from chalicelib.payments.links.rules import check_payable
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Store
from tests.fakes.announcements import HASH, SAFE, is_free, record, stored, track, with_safe
from tests.fakes.payouts import store_payouts
from tests.fakes.world import PREFIX, World


@pytest.fixture
def world(world: World) -> World:
    return with_safe(world)


def withdraw(world: World, payable: PayableLink, services: Services | None = None) -> AnnouncedTransaction:
    return flows.withdraw(services or world.services, payable.link.token, Viewer(world.account_id, None))


def test_a_link_is_free_once_its_owner_has_withdrawn_the_announced_transaction(world: World) -> None:
    payment = world.create_link()
    pending = record(world, payment)
    ended = withdraw(world, payment)
    assert (ended.announced_id, ended.status) == (pending.announced_id, AnnouncedStatus.LAPSED)
    assert is_free(world, payment)
    assert (track(world), stored(world)[0].version) == (ended, 2), "no sweep looks at it any more"
    assert record(world, payment).announced_id != pending.announced_id


def test_what_is_not_pending_or_anothers_cannot_be_withdrawn(world: World) -> None:
    payment, paid = world.create_link(), world.create_link()
    with pytest.raises(NotFound, match="No announced transaction is pending"):
        withdraw(world, payment)
    record(world, payment)
    for account, client in (("another", None), (world.account_id, "cli_other")):
        with pytest.raises(NotFound, match="Secure payment not found"):
            flows.withdraw(world.services, payment.link.token, Viewer(account, client))
    withdraw(world, payment)
    record(world, paid)
    world.chain.pay(paid.requests[0])
    world.scan()
    for ended in (payment, paid):
        with pytest.raises(NotFound, match="No announced transaction is pending"):
            withdraw(world, ended)


@pytest.mark.parametrize("through", ["the multicall", "a child"])
def test_a_multicall_is_freed_as_a_whole(world: World, through: str) -> None:
    children = store_payouts(world.services, world.account_id, 2, creator_wallet=SAFE)
    tokens = [child.link.token for child in children]
    parent = multicalls.create(world.services, Owner(world.account_id, None, None), tokens, None).payable
    record(world, parent)
    withdraw(world, parent if through == "the multicall" else children[0])
    assert len(multicall_reading.payable_children(world.services, world.load(parent), lambda whole: check_payable(whole, world.now))) == 2


def test_what_the_safe_executes_after_all_is_a_payment(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    withdraw(world, payment)
    world.chain.pay(payment.requests[0])
    world.chain.execute_safe(SAFE, HASH)
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert track(world).status is AnnouncedStatus.LAPSED


class Slow(Store):
    """Lets something happen before its first write."""

    act: Callable[[], object] | None = None

    def write(self, *writes: Any) -> Any:
        act, self.act = self.act, None
        if act is not None:
            act()
        return super().write(*writes)


def slow(world: World, act: Callable[[], object]) -> Services:
    store = Slow(PREFIX, world.client)
    store.act = act
    return replace(world.services, store=store)


def test_a_look_that_comes_first_decides(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    with pytest.raises(NotFound):
        withdraw(world, payment, slow(world, lambda: track(world)))
    assert stored(world)[0].first.status is AnnouncedStatus.FAILED


def test_a_look_that_leaves_it_pending_does_not_stop_the_owner(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    assert withdraw(world, payment, slow(world, lambda: track(world))).status is AnnouncedStatus.LAPSED
    assert is_free(world, payment)


def test_a_look_that_comes_later_changes_nothing(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    assert track(world, slow(world, lambda: withdraw(world, payment))).status is AnnouncedStatus.LAPSED


def test_a_payment_that_is_detected_meanwhile_completes_the_link(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.pay(payment.requests[0])
    withdraw(world, payment, slow(world, world.scan))
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    with pytest.raises(Conflict):
        record(world, payment)
