"""Payers that are erased while something else is done with them: no data comes back, here or at the provider."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.base.errors import NotFound
from chalicelib.offramp.payers import bank_accounts, checking, flows, rules, store
from chalicelib.offramp.payers.flows import erase
from chalicelib.offramp.payers.rules import PayerNotFound
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.privacy import store as privacy_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from tests.fakes.crash import FragileClient, Interruption
from tests.fakes.world import World, in_process_aws
from tests.offramp.payers.people import NAME, add_account, register

Flow = Callable[[World, Services], object]


def kept_at_provider(world: World) -> tuple[Any, Any]:
    provider = world.compliance.provider
    return provider.resources["users"], provider.details


def an_hour_later(world: World) -> None:
    world.now += rules.LONGEST_PAUSE
    checking.check_due(world.services)


def erase_during(world: World, method: str) -> None:
    """Has the person erased when the provider is about to do what the next request of a method asks for."""

    def trouble(sent: str, path: str) -> None:
        if sent == method:
            world.compliance.trouble = lambda method, path: None
            erase(world.services, world.actor, NAME)

    world.compliance.trouble = trouble


def test_an_update_that_the_provider_gets_after_the_erasure_is_erased_there_too(world: World) -> None:
    register(world)
    erase_during(world, "PUT")
    with pytest.raises(PayerNotFound):
        register(world, city="Boston")
    an_hour_later(world)
    assert kept_at_provider(world) == ({}, {})
    asked = len(world.compliance.calls)
    an_hour_later(world)
    assert len(world.compliance.calls) == asked, "nothing is asked any more"


def test_details_that_the_sweep_sends_after_the_erasure_are_erased_there_too(world: World) -> None:
    world.compliance.trouble = lambda method, path: "down"
    with pytest.raises(ProviderUnavailable):
        register(world)
    erase_during(world, "PUT")
    an_hour_later(world)
    an_hour_later(world)
    assert kept_at_provider(world) == ({}, {})


@pytest.mark.parametrize(
    "flow",
    [
        lambda world, services: register(world, services, city="Boston"),
        lambda world, services: add_account(world, services, accountNumber="1"),
        lambda world, services: bank_accounts.read(services, world.account_id, NAME, None),
        lambda world, services: flows.export(services, world.actor, NAME),
        lambda world, services: flows.complete_agreement(services, world.account_id, NAME),
    ],
    ids=["update", "add an account", "read the accounts", "export", "agreement"],
)
def test_an_erasure_between_any_two_calls_leaves_nothing_and_is_no_crash(flow: Flow) -> None:
    for position in range(1, 30):
        with in_process_aws() as client:
            world = World(client)
            made, bank = register(world), add_account(world)
            other = Interruption(position, lambda w=world: erase(w.services, w.actor, NAME))  # type: ignore[misc]
            with suppress(NotFound, WriteConflict, ProviderUnavailable):
                flow(world, world.start(FragileClient(client, other)))
            if other.calls < position:
                return
            an_hour_later(world)
            left = store.payer(world.services.store, made.user_id)
            assert left is not None and left.erased_at is not None and left.sealed is None
            accounts = store.bank_accounts(world.services.store, made.user_id)
            assert [each.details_id for each in accounts if each.details_id == bank.details_id or each.sealed] == [
                bank.details_id
            ]
            assert privacy_store.person_key(world.services.store, made.user_id) is None
            users, details = kept_at_provider(world)
            assert made.user_id not in users and bank.details_id not in details, position
    raise AssertionError("more calls than expected")
