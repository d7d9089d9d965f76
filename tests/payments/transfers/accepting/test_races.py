"""An acceptance and what pays or ends a request, at once on a real local cloud: one is decided by the other."""

import itertools
from contextlib import suppress

import pytest

from chalicelib.base.errors import Conflict, ServiceError
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.links.cancelling import flows as cancelling
from chalicelib.payments.links.errors import LinkClosed
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.transfers.accepting import flows
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.fakes.announcements import announcement, with_safe
from tests.fakes.requests import load_request
from tests.fakes.world import PREFIX, World
from tests.support.racing import Act, at_once

PART = 4_000_000
_worlds = itertools.count(1)


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment of its own account on the shared cloud; its chain is unread."""
    number = next(_worlds)
    client = cloud.client("dynamodb")
    for sort_key in ("CURSOR", "LEASE"):
        client.delete_item(TableName=f"{PREFIX}-ops", Key={"pk": {"S": "CHAIN#sepolia"}, "sk": {"S": sort_key}})
    world = World(client, seed=9_500 + number)
    world.account_id, world.client_id = f"accept{number}", f"cli_accept{number}"
    return world


def partly_paid(world: World) -> PayableLink:
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=PART)
    world.chain.mine(2)
    world.tick()
    assert load_request(world.services, payment.requests[0]).paid == PART
    return payment


def acceptance(world: World, payable: PayableLink) -> Act:
    viewer, request_id = Viewer(world.account_id, None), payable.requests[0].request_id
    return lambda services: flows.accept(services, request_id, viewer, world.actor)


def notified(world: World) -> list[str]:
    """The kinds of the events that a webhook received."""
    world.record()
    world.drain()
    return sorted(world.receiver.events)


def test_many_acceptances_at_once_are_one(cloud: Cloud, world: World) -> None:
    world.register_webhook()
    payment = partly_paid(world)
    results = at_once(cloud, world, acceptance(world, payment))
    done = [each for each in results if isinstance(each, Request)]
    assert done and all(isinstance(each, Request | WriteConflict) for each in results)
    assert {each.accepted_at for each in done} == {load_request(world.services, payment.requests[0]).accepted_at}
    assert [notified(world).count(kind) for kind in ("payment.partial", "payment.confirmed")] == [1, 1]


@pytest.mark.parametrize("number", range(3))
def test_of_an_acceptance_and_an_announcement_one_wins(cloud: Cloud, world: World, number: int) -> None:
    with_safe(world)
    payment, draft, owner = partly_paid(world), announcement(), Viewer(world.account_id, None)
    results = at_once(
        cloud,
        world,
        acceptance(world, payment),
        lambda services: announcements.record(services, payment.link.token, owner, draft),
    )
    after = world.load(payment)
    is_accepted = after.link.status is LinkStatus.COMPLETED
    assert is_accepted != (after.announcements is not None), "never both"
    refused = results[1::2] if is_accepted else results[::2]
    assert all(isinstance(each, LinkClosed | Conflict | WriteConflict) for each in refused)


@pytest.mark.parametrize("number", range(3))
def test_of_an_acceptance_a_cancellation_and_a_recorded_payment_each_is_decided_by_the_first(
    cloud: Cloud, world: World, number: int
) -> None:
    world.register_webhook()
    payment, viewer = partly_paid(world), Viewer(world.account_id, None)
    (request,) = payment.requests
    world.chain.pay(request, amount=request.amount - PART)
    world.chain.mine(2)

    def record(services: Services) -> None:
        with suppress(WriteConflict):
            scanning.scan(services, "sepolia")
        recording.record_payable(services, payment.link.token)

    def cancel(services: Services) -> None:
        with suppress(ServiceError):
            cancelling.cancel_link(services, payment.link.token, viewer, world.actor)

    at_once(cloud, world, record, acceptance(world, payment), cancel)
    world.tick()
    after, events = load_request(world.services, request), notified(world)
    assert after.paid == after.amount, "whatever was first, the money is recorded"
    assert events.count("request.cancelled") == (after.status is RequestStatus.CANCELLED)
    assert events.count("payment.confirmed") == (after.status is RequestStatus.PAID), "told once, by whichever was first"
