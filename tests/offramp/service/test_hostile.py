"""Off-ramp orders when the provider is wrong or hostile, and when two things happen at once."""

from contextlib import suppress

import pytest

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.offramp.payers.flows import erase
from chalicelib.offramp.service import flows
from chalicelib.offramp.service.checking import check_due
from chalicelib.offramp.service.rules import ChosenAccount
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.storage.store import WriteConflict
from tests.fakes.crash import FragileClient, Interruption
from tests.fakes.offramps import PERSON, bodies, load_order, load_payer, store_payer
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World, in_process_aws
from tests.offramp.service.test_flows import AMOUNT, choose, moved, paid, unpaid

TOKEN = token_with_id("fUSDC-sepolia")
assert TOKEN is not None


def deposit(world: World, request: Request, address: str) -> None:
    """Has the provider name another deposit address for the order of a request."""
    choose(world, store_request(world.services, payee="", is_crypto_to_fiat=True))
    provider = world.compliance.provider
    made = dict(next(iter(provider.resources["orders"].values())))
    provider.resources["orders"][f"offramp_{request.request_id}"] = made | {
        "id": f"offramp_{request.request_id}",
        "depositAddress": address,
    }


@pytest.mark.parametrize("address", ["0x" + "00" * 20, TOKEN.address, address_of(ERC20_FEE_PROXY, "sepolia")])
def test_an_address_from_which_no_tokens_can_be_sent_on_is_not_taken(world: World, address: str) -> None:
    store_payer(world.services)
    request = unpaid(world)
    deposit(world, request, address)
    with pytest.raises(ProviderUnavailable):
        choose(world, request)
    assert load_request(world.services, request).payee == ""


def test_a_payment_that_a_fork_removes_while_a_report_is_taken_is_no_crash() -> None:
    for position in range(1, 20):
        with in_process_aws() as client:
            world = World(client)
            store_payer(world.services)
            request = paid(world)
            report = moved(world, request, "fiat_sent")

            def fork(world: World = world) -> None:
                world.chain.fork(3)
                world.scan()

            other = Interruption(position, fork)
            with suppress(WriteConflict):
                flows.take(world.start(FragileClient(client, other)), report)
            if other.calls < position:
                return
    raise AssertionError("the report takes more calls")


def test_a_provider_that_was_faster_than_the_confirmations_and_a_fork_end_with_one_confirmation_each(world: World) -> None:
    store_payer(world.services)
    request = choose(world, unpaid(world))
    for step in ("initiated", "fiat_sent"):
        flows.take(world.services, moved(world, request, step))
    assert bodies(world) == []
    world.chain.pay(request)
    world.scan()
    world.chain.fork(3)
    world.scan()
    world.chain.pay(request)
    world.scan()
    kinds = [body["event"].removeprefix("payment.") for body in bodies(world)]
    notified = [*["processing"] * 5, "confirmed"]
    assert kinds == [*notified, "failed", *notified]


def test_a_payer_is_not_erased_while_a_payment_may_be_on_the_way(world: World) -> None:
    store_payer(world.services)
    request = choose(world, unpaid(world))
    with pytest.raises(Conflict, match="under way"):
        erase(world.services, world.actor, PERSON)
    world.chain.pay(request)
    world.scan()
    assert load_order(world.services, request).paid_at
    with pytest.raises(Conflict, match="under way"):
        erase(world.services, world.actor, PERSON)


def test_a_payer_whose_order_was_never_paid_is_erased_a_day_later(world: World) -> None:
    payer = store_payer(world.services)
    choose(world, unpaid(world))
    world.advance(86_400)
    assert check_due(world.services) == 1
    assert load_payer(world.services, payer).open_orders == 0
    assert erase(world.services, world.actor, PERSON)[0].erased_at
    assert check_due(world.services) == 0


def test_an_erasure_at_any_call_of_an_order_leaves_the_one_or_the_other() -> None:
    for position in range(1, 20):
        with in_process_aws() as client:
            world = World(client)
            store_payer(world.services)
            request = unpaid(world)
            other = Interruption(position, lambda w=world: erase(w.services, w.actor, PERSON))  # type: ignore[misc]
            with suppress(WriteConflict, NotFound):
                choose(world, request, services=world.start(FragileClient(client, other)))
                assert other.calls < position
            assert load_request(world.services, request).payee == "" or other.calls < position, position
            if other.calls < position:
                return
    raise AssertionError("the order takes more calls")


def test_who_pays_with_a_public_client_id_does_not_learn_who_is_registered(world: World) -> None:
    store_payer(world.services)
    request = unpaid(world, created_with=Mode.CLIENT_ID)
    anybody = Owner(world.account_id, world.client_id, world.origin, mode=Mode.CLIENT_ID)
    messages = []
    for person in (PERSON, "somebody@example.com"):
        with pytest.raises(NotFound) as refused:
            flows.for_bank_account(world.services, anybody, request, ChosenAccount(person, "guessed"), AMOUNT)
        messages.append((refused.value.message, refused.value.logged))
    assert messages[0] == messages[1]
