"""Which addresses belong to the deployment, and how often a container reads them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.addresses import address_bytes
from chalicelib.platform.own_accounts.flows import CACHED_FOR, own_addresses
from chalicelib.platform.services import Services
from chalicelib.relayer.flows import account_states
from chalicelib.relayer.tracking import track
from chalicelib.sandbox.opening import open_sandbox
from tests.bench.calls import counted
from tests.fakes.escrows import CONTRACTS
from tests.fakes.world import PlainSigningKeys, World

OWN = address_bytes(PlainSigningKeys.address)


@pytest.fixture
def world() -> World:
    return World(relayer_keys={"sepolia": "secret"}, escrow_contracts={"sepolia": CONTRACTS})


def another_container(services: Services) -> Services:
    return replace(services, own_accounts={})


def test_the_first_check_after_a_key_was_set_makes_its_account_known(world: World) -> None:
    assert OWN not in own_addresses(world.services)
    track(world.services, "sepolia")
    assert own_addresses(another_container(world.services))[OWN] == "an account of this service"
    world.advance(CACHED_FOR.total_seconds())
    assert OWN in own_addresses(world.services)


def test_an_account_is_known_before_the_operator_is_told_its_address(world: World) -> None:
    assert OWN not in own_addresses(another_container(world.services))
    (state,) = account_states(world.services)
    assert address_bytes(state.address) == OWN
    assert OWN in own_addresses(another_container(world.services))
    with counted(world.services.store.client) as calls:
        account_states(world.services)
    assert not set(calls.by_operation) & {"PutItem", "TransactWriteItems"}


def test_an_account_whose_key_was_replaced_stays_known(world: World) -> None:
    track(world.services, "sepolia")
    keys: object = PlainSigningKeys("another")
    world.services = replace(world.services, signing_keys=keys)
    track(world.services, "sepolia")
    found = own_addresses(another_container(world.services))
    assert OWN in found and len([each for each in found.values() if each == "an account of this service"]) == 2


def test_the_contracts_of_the_setting_are_named(world: World) -> None:
    found = own_addresses(world.services)
    assert [found[address_bytes(address)] for address in CONTRACTS.names.values()] == [
        f"the contract of {name}" for name in CONTRACTS.names
    ]


def test_a_sandbox_has_the_addresses_of_the_live_service(world: World) -> None:
    track(world.services, "sepolia")
    inside = open_sandbox(world.services, world.account_id)
    assert own_addresses(inside) == own_addresses(another_container(world.services))
    assert OWN in own_addresses(inside)


def test_a_container_reads_them_once_in_a_minute_and_never_without_keys(world: World) -> None:
    def reads(services: Services) -> int:
        with counted(services.store.client) as calls:
            for _ in range(5):
                own_addresses(services)
        return calls.by_operation.total()

    assert reads(world.services) == 1
    world.now += timedelta(seconds=59)
    assert reads(world.services) == 0
    world.now += timedelta(seconds=1)
    assert reads(world.services) == 1
    world.now -= timedelta(seconds=2)
    assert reads(world.services) == 1, "a clock that was set back keeps nothing for ever"
    assert reads(replace(World().services, own_accounts={})) == 0
