"""The sweep reads at the provider what is open there, finishes what a crash left, and ends at some time."""

from contextlib import suppress
from datetime import timedelta

import pytest

from chalicelib.offramp.payers import rules, store
from chalicelib.offramp.payers.checking import check_due
from chalicelib.offramp.payers.flows import erase
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.compliance import FakeCompliance
from tests.fakes.world import World
from tests.offramp.payers.people import NAME, account, add_account, notified, payer, register, states


def later(world: World) -> int:
    world.now += rules.LONGEST_PAUSE
    return check_due(world.services)


def moved(world: World, user_id: str, **changes: str) -> None:
    """Moves a person at the provider, whose event is lost."""
    world.compliance.provider.move("users", user_id, changes)


def test_a_lost_event_is_made_good(world: World) -> None:
    world.register_webhook()
    made = register(world)
    moved(world, made.user_id, kycStatus="approved", agreementStatus="completed")
    assert check_due(world.services) == 0, "it is not due yet"
    assert later(world) == 1
    assert states(world) == [("approved", "completed")]
    assert payer(world).check_at is None, "nothing is open there"
    assert later(world) == 0


def test_a_lost_event_of_a_bank_account_is_made_good(world: World) -> None:
    world.register_webhook()
    register(world)
    made = add_account(world)
    world.compliance.provider.move("bank-accounts", made.details_id, {"status": "failed", "reason": "closed"})
    later(world)
    assert (notified(world)[0]["status"], notified(world)[0]["rejectionMessage"]) == ("failed", "closed")
    assert account(world, made).check_at is None


@pytest.mark.parametrize("trouble", ["down", "lost"])
def test_details_that_the_provider_does_not_have_are_sent(world: World, trouble: str) -> None:
    world.compliance.trouble = lambda method, path: trouble
    with pytest.raises(ProviderUnavailable):
        register(world)
    world.compliance.trouble = lambda method, path: None
    later(world)
    made = payer(world)
    assert made.is_submitted
    assert world.compliance.provider.details[made.user_id]["email"] == NAME
    puts = [path for method, path in world.compliance.calls if method == "PUT"]
    assert len(puts) == (2 if trouble == "down" else 1), "what it has is read, and not sent again"


def test_what_the_provider_does_not_have_is_checked_soon(world: World) -> None:
    register(world)
    world.compliance.trouble = lambda method, path: "down"
    for make in (lambda: register(world, name="bob"), lambda: add_account(world)):
        with pytest.raises(ProviderUnavailable):
            make()
    (kept,) = store.bank_accounts(world.services.store, payer(world).user_id)
    assert {payer(world, "bob").check_at, kept.check_at} == {world.now + rules.FIRST_CHECK}


def test_details_of_an_account_that_the_provider_does_not_have_are_sent(world: World) -> None:
    register(world)
    world.compliance.trouble = lambda method, path: "down"
    with pytest.raises(ProviderUnavailable):
        add_account(world)
    world.compliance.trouble = lambda method, path: None
    later(world)
    ((made_id, _),) = world.compliance.provider.resources["bank-accounts"].items()
    found = store.bank_account(world.services.store, payer(world).user_id, made_id)
    assert found is not None and found.is_submitted


def test_details_that_are_refused_at_last_are_not_kept(world: World) -> None:
    world.compliance.trouble = lambda method, path: "down"
    with pytest.raises(ProviderUnavailable):
        register(world, phone="refused")
    world.compliance.trouble = lambda method, path: None
    user_id = payer(world).user_id
    later(world)
    assert store.payer(world.services.store, user_id) is None


def test_of_a_person_who_is_refused_at_last_no_bank_account_is_kept_either(world: World) -> None:
    world.compliance.trouble = lambda method, path: "down"
    with pytest.raises(ProviderUnavailable):
        register(world, city="refused")
    made = payer(world)
    with pytest.raises(ProviderUnavailable):
        add_account(world)
    world.compliance.trouble = lambda method, path: None
    for _ in range(3):
        with suppress(SweepIncomplete):  # the provider takes no account of somebody whom it does not know
            later(world)
    assert store.payer(world.services.store, made.user_id) is None
    assert store.bank_accounts(world.services.store, made.user_id) == ()


def test_the_pauses_grow_to_a_day_and_the_checks_end(world: World) -> None:
    register(world)
    pauses = []
    while (due := payer(world).check_at) is not None:
        pauses.append(due - world.now)
        world.now = due
        check_due(world.services)
    minutes = [10, 10, 20, 40, 80, 160, 320, 640, 1280]
    assert pauses[:9] == [timedelta(minutes=each) for each in minutes]
    assert set(pauses[9:]) == {timedelta(days=1)}
    assert len(pauses) == rules.MOST_CHECKS
    assert timedelta(days=25) < sum(pauses, timedelta()) < timedelta(days=40)


def test_news_begin_the_pauses_anew(world: World) -> None:
    made = register(world)
    for _ in range(5):
        later(world)
    assert payer(world).checks == 5
    moved(world, made.user_id, kycStatus="pending")
    later(world)
    assert (payer(world).checks, payer(world).check_at) == (0, world.now + rules.FIRST_CHECK)


@pytest.mark.parametrize(
    ("kyc", "agreement"),
    [("rejected", "pending"), ("failed", "not_started"), ("pending", "rejected"), ("approved", "failed")],
)
def test_who_is_rejected_is_not_read_again(world: World, kyc: str, agreement: str) -> None:
    made = register(world)
    moved(world, made.user_id, kycStatus=kyc, agreementStatus=agreement)
    later(world)
    assert payer(world).check_at is None


def test_news_of_an_account_that_stays_open_begin_its_pauses_anew(world: World) -> None:
    register(world)
    made = add_account(world)
    for _ in range(3):
        later(world)
    assert account(world, made).checks == 3
    world.compliance.provider.move("bank-accounts", made.details_id, {"status": "pending"})
    later(world)
    assert (account(world, made).checks, account(world, made).check_at) == (0, world.now + rules.FIRST_CHECK)


def test_a_provider_that_does_not_answer_holds_up_nobody_and_raises_an_alarm(world: World) -> None:
    bob, ada = register(world, name="bob"), register(world)
    moved(world, ada.user_id, kycStatus="approved", agreementStatus="completed")
    world.compliance.trouble = lambda method, path: "down" if bob.user_id in path else None
    world.now += rules.LONGEST_PAUSE
    with pytest.raises(SweepIncomplete):
        check_due(world.services)
    assert payer(world).is_compliant
    assert payer(world, "bob").check_at == world.now + rules.FIRST_CHECK, "and it is tried again"


def test_an_erasure_is_repeated_until_the_provider_has_confirmed_it(world: World) -> None:
    made = register(world)
    world.compliance.trouble = lambda method, path: "down"
    left, _ = erase(world.services, world.actor, NAME)
    assert not left.is_forgotten
    for _ in range(rules.MOST_CHECKS + 3):
        later(world)
    assert made.user_id in world.compliance.provider.resources["users"]
    world.compliance.trouble = lambda method, path: None
    later(world)
    found = store.payer(world.services.store, made.user_id)
    assert found is not None and found.is_forgotten and found.check_at is None
    assert world.compliance.provider.resources["users"] == {}


def test_without_a_provider_nothing_is_read(world: World) -> None:
    register(world)
    object.__setattr__(world.services, "compliance", FakeCompliance(is_configured=False))
    assert later(world) == 0
