"""Claims to sign at once on a real local cloud: one is the claim, whoever else asks or announces at that moment."""

import itertools
from typing import Any

import pytest

from chalicelib.checkout.announcements import flows as announcements
from chalicelib.checkout.signing import flows
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.errors import LinkBeingSigned, LinkLocked
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import PayableLink, SigningClaim
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.fakes.announcements import PAGE, announcement, with_safe
from tests.fakes.payouts import store_payouts
from tests.fakes.world import World
from tests.support.racing import PARALLEL, Act, at_once

CALLS = "0x" + "ab" * 32
_worlds = itertools.count(1)


@pytest.fixture
def world(cloud: Cloud) -> World:
    number = next(_worlds)
    world = World(cloud.client("dynamodb"), seed=7_300 + number)
    world.account_id, world.client_id = f"signing{number}", f"cli_signing{number}"
    return world


def claiming(payable: PayableLink, device: int) -> Act:
    claimant = f"{device:064x}"
    return lambda services: flows.claim(services, payable.link.token, PAGE, claimant, CALLS)


def test_of_claims_at_once_one_is_the_claim(cloud: Cloud, world: World) -> None:
    payment = world.create_link()
    found = at_once(cloud, world, *(claiming(payment, device) for device in range(PARALLEL)))
    holders = {each.claimant for each in found if isinstance(each, SigningClaim)}
    assert len(holders) == 1
    assert all(isinstance(each, SigningClaim | LinkBeingSigned | WriteConflict) for each in found)
    stored = world.load(payment).signing
    assert stored is not None and {stored.claimant} == holders and stored.attempt == 1


def test_claims_that_are_given_back_and_taken_at_once_have_one_holder(cloud: Cloud, world: World) -> None:
    payment = world.create_link()
    token, first = payment.link.token, f"{1:064x}"
    flows.claim(world.services, token, PAGE, first, CALLS)

    def giving(services: Services) -> bool:
        return flows.end(services, token, PAGE, first)

    found = at_once(cloud, world, giving, *(claiming(payment, device) for device in range(2, PARALLEL)))
    assert all(isinstance(each, bool | SigningClaim | LinkBeingSigned | WriteConflict) for each in found), found
    assert [each for each in found if each is True] == [True], "it is given back once"
    holders = {each.claimant for each in found if isinstance(each, SigningClaim)}
    stored = world.load(payment).signing
    assert stored is not None and len(holders) <= 1 and holders <= {stored.claimant}
    assert stored.claimant != first or not stored.is_valid(world.services.clock())


def test_of_a_multicall_and_its_payouts_claimed_at_once_one_side_is_the_claim(cloud: Cloud, world: World) -> None:
    """The payouts do not exclude each other: each pays another debt."""
    payouts = store_payouts(world.services, world.account_id, 3)
    tokens = [each.link.token for each in payouts]
    made = multicalls.create(world.services, Owner(world.account_id, None, None), tokens, None)
    parent = link_reading.load(world.services, made.payable.link.token)
    assert parent is not None
    found = at_once(cloud, world, *(claiming(each, number) for number, each in enumerate((parent, *payouts))))
    assert all(isinstance(each, SigningClaim | LinkBeingSigned | WriteConflict) for each in found), found
    claimed = {each.link_token for each in found if isinstance(each, SigningClaim)}
    assert claimed and (claimed == {parent.link.token} or parent.link.token not in claimed)


def test_a_claim_and_an_announced_transaction_at_once_leave_one_of_them_to_be_paid(cloud: Cloud, world: World) -> None:
    """What was sent is recorded whoever is asked to sign; a claim after it is refused."""
    payment = with_safe(world).create_link()
    viewer = Viewer(world.account_id, None)

    def announcing(services: Services) -> Any:
        return announcements.record(services, payment.link.token, viewer, announcement())

    found = at_once(cloud, world, announcing, claiming(payment, 1))
    assert any(isinstance(each, tuple) for each in found)
    assert all(isinstance(each, tuple | SigningClaim | LinkLocked | WriteConflict) for each in found)
    now = world.load(payment)
    assert now.announcements is not None and now.is_locked
    with pytest.raises(LinkLocked):
        flows.claim(world.services, payment.link.token, PAGE, f"{2:064x}", CALLS)
