"""Many at once on a real local cloud: one nonce makes one destination, a wallet has one, a client id is linked once."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.orchestrators.records import Linkage
from chalicelib.accounts.payees import flows, store
from chalicelib.accounts.payees.records import Action, PayeeDestination
from chalicelib.base.errors import BadRequest, ServiceError
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.sessions.records import Wallet
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.accounts.payees.test_flows import add, asked, new_client, stored
from tests.fakes.destinations import FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import World

PARALLEL = 20
_worlds = itertools.count()


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment with an account of its own on the shared cloud."""
    number = next(_worlds)
    world = World(cloud.client("dynamodb"), seed=1000 + number)
    world.account_id = f"destinations{number}"
    return world


def in_parallel(acts: list[Callable[[Services], Any]], cloud: Cloud, world: World) -> list[Any]:
    """Runs all at once, each as a process of its own; refusals are results."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[Services], Any]) -> Any:
        services = world.start(cloud.client("dynamodb"))
        barrier.wait()
        try:
            return act(services)
        except (ServiceError, WriteConflict) as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def made_by(world: World) -> tuple[PayeeDestination, ...]:
    return store.destinations(world.services.store, world.account_id)


def test_20_parallel_posts_of_one_nonce_make_one_destination(cloud: Cloud, world: World) -> None:
    client, wallet = new_client(world), evm_wallet(world.account_id)
    signed = asked(world, client, wallet)
    results = in_parallel(
        [lambda services: flows.add(services, world.actor, client, *signed, vouched=True)] * PARALLEL, cloud, world
    )
    (made,) = (each for each in results if isinstance(each, PayeeDestination))
    assert [each for each in results if not isinstance(each, PayeeDestination | BadRequest)] == []
    assert made_by(world) == (replace(made, version=1),)
    assert stored(world, client).payee_destination_id == made.record_id
    lines = world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=world.account_id))
    assert [line.action for line in lines].count("payee_destination.added") == 1


def test_a_wallet_that_signs_two_routes_at_once_has_one(cloud: Cloud, world: World) -> None:
    client, wallet = new_client(world), evm_wallet(world.account_id)
    nonces = [asked(world, client, wallet, token) for token in (FUSDC_SEPOLIA, FUSDT_SEPOLIA)] * 5

    def act(signed: tuple[str, str]) -> Callable[[Services], Any]:
        return lambda services: flows.add(services, world.actor, client, *signed, vouched=True)

    results = in_parallel([act(signed) for signed in nonces], cloud, world)
    assert sum(isinstance(each, PayeeDestination) for each in results) == 1
    (made,) = made_by(world)
    assert made.is_active and stored(world, client).payee_destination_id == made.record_id


def test_adding_and_removing_at_once_leaves_pointer_and_record_agreed(cloud: Cloud, world: World) -> None:
    client, wallet = new_client(world), evm_wallet(world.account_id)
    made = add(world, client, wallet)
    current = stored(world, client)
    ends = [asked(world, client, wallet, action=Action.DEACTIVATE) for _ in range(5)]
    adds = [asked(world, client, wallet) for _ in range(5)]

    def end(signed: tuple[str, str]) -> Callable[[Services], Any]:
        return lambda services: flows.remove(services, world.actor, current, made.destination_id, *signed)

    def begin(signed: tuple[str, str]) -> Callable[[Services], Any]:
        return lambda services: flows.add(services, world.actor, current, *signed, vouched=True)

    in_parallel([*map(end, ends), *map(begin, adds)], cloud, world)
    (left,) = made_by(world)
    assert flows.active_of(world.services, wallet.address) == (left if left.is_active else None)


def test_two_platforms_at_once_link_a_client_id_once(cloud: Cloud, world: World) -> None:
    client: ClientId = new_client(world)
    platforms = [
        orchestrators.register(world.services, world.actor, f"Plat {number}", "help@plat.example")[0]
        for number in range(2)
    ] * 5

    def act(orchestrator_id: str) -> Callable[[Services], Any]:
        return lambda services: orchestrators.link_client(services, world.actor, orchestrator_id, client.client_id)

    results = in_parallel([act(each.orchestrator_id) for each in platforms], cloud, world)
    fresh = [linkage for linkage, already in (r for r in results if isinstance(r, tuple)) if not already]
    assert len(fresh) == 1 and isinstance(fresh[0], Linkage)
    assert stored(world, client).orchestrator_id == fresh[0].orchestrator_id


def test_a_wallet_keeps_one_destination_from_20_requests(cloud: Cloud, world: World) -> None:
    wallet = evm_wallet(world.account_id)
    results = in_parallel(
        [
            lambda services: flows.activate(
                services, world.actor, Wallet(wallet.address), FUSDC_SEPOLIA, SEPOLIA, None
            )
        ]
        * PARALLEL,
        cloud,
        world,
    )
    assert any(isinstance(each, PayeeDestination) for each in results)
    assert len(made_by(world)) == 1
