"""Orders that an operator settles: what the merchant is notified, what is in the audit log, and what is refused."""

from contextlib import suppress
from dataclasses import replace

import pytest

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.core.rules import ENDS
from chalicelib.offramp.service import flows, settling
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.storage.store import WriteConflict
from tests.fakes.crash import FragileClient, Interruption
from tests.fakes.offramps import bodies, load_order, load_payer, notified, processing, store_payer
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World, in_process_aws
from tests.offramp.service.test_checking import run
from tests.offramp.service.test_flows import STEPS, choose, moved, paid

SENT, FAILED, REFUNDED = ENDS


def settle(world: World, request: Request, end: OrderStatus) -> Order:
    return settling.settle(world.services, Actor(world.account_id, "operator", "", ""), request.request_id, end)


def entries(world: World) -> list[tuple[str, str, str]]:
    found = world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=world.account_id))
    return [(each.actor, each.action, each.target) for each in found if each.action == "offramp.settled"]


def lost(world: World) -> Request:
    """A paid request of whose order the provider knows nothing."""
    request = paid(world)
    world.compliance.provider.resources["orders"].clear()
    run(world, days=1)
    assert load_order(world.services, request).status is OrderStatus.LOST
    return request


def test_a_lost_order_whose_fiat_was_sent_is_told_to_its_end(world: World) -> None:
    payer = store_payer(world.services)
    request = lost(world)
    settled = settle(world, request, SENT)
    assert settled == load_order(world.services, request)
    assert notified(world) == [*processing(*STEPS), ("confirmed", "")]
    assert load_request(world.services, request).is_settled
    assert load_payer(world.services, payer).open_orders == 0
    assert entries(world) == [("operator", "offramp.settled", settled.order_id)]


@pytest.mark.parametrize("end", [FAILED, REFUNDED])
def test_a_lost_order_that_failed_is_told_as_failed_and_its_payer_can_be_erased(world: World, end: OrderStatus) -> None:
    payer = store_payer(world.services)
    request = lost(world)
    settle(world, request, end)
    assert notified(world)[-1] == ("failed", "failed")
    assert bodies(world)[-1]["failureReason"] == "settled_by_operator"
    assert load_payer(world.services, payer).open_orders == 0
    assert run(world, days=1) == 0, "it is read no more"
    with pytest.raises(Conflict, match="create a new request"):
        choose(world, request)


def test_what_the_provider_says_is_never_overruled(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    before = load_order(world.services, request)
    moved(world, request, "ongoing_checks")
    for end in ENDS:
        with pytest.raises(Conflict, match="The provider says that the order is ongoing_checks: have the provider"):
            settle(world, request, end)
    assert (load_order(world.services, request), entries(world)) == (before, [])
    moved(world, request, "refunded")
    settled = settle(world, request, REFUNDED)
    assert (settled.reason, len(entries(world))) == (None, 1), "it was the provider's word"
    assert notified(world)[-1] == ("failed", "failed")


def test_an_order_that_the_provider_has_for_another_person_is_not_this_one(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    order_id = load_order(world.services, request).order_id
    world.compliance.provider.resources["orders"][order_id]["userId"] = "another"
    assert settle(world, request, FAILED).reason == "settled_by_operator"


def test_a_provider_that_does_not_answer_may_say_something_else(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    world.compliance.trouble = lambda method, path: "down"
    with pytest.raises(ProviderUnavailable):
        settle(world, request, FAILED)
    assert entries(world) == []


def test_without_a_provider_the_operator_alone_knows(world: World) -> None:
    payer = store_payer(world.services)
    request = paid(world)
    world.compliance._base_url = ""
    settle(world, request, SENT)
    assert load_payer(world.services, payer).open_orders == 0


def test_nothing_is_settled_twice_or_before_it_is_paid(world: World) -> None:
    store_payer(world.services)
    request = lost(world)
    settle(world, request, FAILED)
    with pytest.raises(Conflict, match="settled as failed already"):
        settle(world, request, FAILED)
    assert len(entries(world)) == 1
    settle(world, request, REFUNDED)
    other = store_request(world.services, payee="", is_crypto_to_fiat=True)
    with pytest.raises(NotFound, match="no off-ramp order"):
        settle(world, other, FAILED)
    with pytest.raises(Conflict, match="not paid on its chain"):
        settle(world, choose(world, other), FAILED)
    with pytest.raises(NotFound, match="no off-ramp order"):
        settling.settle(world.services, Actor(world.account_id, "operator", "", ""), "01" * 33, FAILED)


def test_an_end_that_was_not_told_yet_is_told_when_it_is_settled(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    world.compliance.provider.resources["orders"].clear()
    sent = {"status": SENT, "provider_status": "fiat_sent", "announced": 5}
    world.services.store.write(replace(load_order(world.services, request), **sent))
    settle(world, request, SENT)
    assert notified(world)[-1] == ("confirmed", "")


def test_a_report_while_an_order_is_settled_is_not_overwritten() -> None:
    for position in range(1, 20):
        with in_process_aws() as client:
            world = World(client)
            store_payer(world.services)
            request = paid(world)
            report = moved(world, request, "sending_fiat")
            kept = world.compliance.provider.resources["orders"].copy()
            world.compliance.provider.resources["orders"].clear()

            def news(world: World = world, report: object = report) -> None:
                flows.take(world.services, report)  # type: ignore[arg-type]

            other, actor = Interruption(position, news), Actor("acct", "operator", "", "")
            with suppress(WriteConflict):
                settled = settling.settle(world.start(FragileClient(client, other)), actor, request.request_id, FAILED)
                assert settled.status is OrderStatus.FAILED
            events = [each for each in notified(world) if each[0] == "failed"]
            is_failed = load_order(world.services, request).status is OrderStatus.FAILED
            assert len(events) == len(entries(world)) <= 1
            assert is_failed or load_order(world.services, request).status is OrderStatus.SENDING_FIAT
            assert kept
            if other.calls < position:
                return
    raise AssertionError("settling takes more calls")
