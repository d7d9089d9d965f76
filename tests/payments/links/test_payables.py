"""Payables: what is recorded together, with its owner."""

from dataclasses import replace

from chalicelib.payments.links import store
from chalicelib.payments.links.creation import Item
from chalicelib.payments.links.records import LinkStatus, Payable
from tests.fakes.payouts import store_payouts
from tests.fakes.requests import standalone, store_request
from tests.fakes.world import PAYEE, START, World

OWNED_FIELDS = ("account_id", "client_id", "origin", "created_at")


def test_the_requests_of_a_new_link_have_its_owner(world: World) -> None:
    (request,) = world.create_link().requests
    owner = (world.account_id, world.client_id, world.origin, START)
    assert tuple(getattr(request, name) for name in OWNED_FIELDS) == owner


def test_every_read_of_a_link_has_its_requests_with_their_owner(world: World) -> None:
    item = Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    made = world.create_link(items=(item, item))
    token, wanted = made.link.token, [[getattr(r, name) for name in OWNED_FIELDS] for r in made.requests]
    whole, payable = store.payable_link(world.services.store, token), store.load_payable(world.services.store, token)
    first = store.links_with_first_request(world.services.store, [token])[token]
    assert whole is not None and payable is not None
    read = [[getattr(r, name) for name in OWNED_FIELDS] for r in (*whole.requests, *payable.requests, *first.requests)]
    assert read == [*wanted, *wanted, wanted[0]]


def test_a_request_without_a_link_is_a_payable_of_its_own(world: World) -> None:
    request = store_request(world.services)
    assert store.load_payable(world.services.store, request.request_id) == Payable((request,))
    assert request.link_token is None


def test_the_payable_of_a_merged_link_is_that_of_its_batch(world: World) -> None:
    child, batch = store_payouts(world.services, "acct", 2)
    world.services.store.write(
        replace(child.link, status=LinkStatus.INVALIDATED, successor_token=batch.link.token)
    )
    payable = store.load_payable(world.services.store, child.link.token)
    assert payable is not None and payable.link == batch.link


def test_a_link_that_is_not_complete_has_no_payable(world: World) -> None:
    """Its requests are written first, in several transactions."""
    world.services.store.write(standalone(world.services, payable_id="01LINK"))
    assert store.load_payable(world.services.store, "01LINK") is None
    assert store.load_payable(world.services.store, "01NOSUCHLINK") is None
