"""A cancellation and what pays, at once on a real local cloud: whichever is first, the other is decided by it."""

import itertools
import json
from contextlib import suppress

import pytest

from chalicelib.base.errors import Conflict, ServiceError
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.links.cancelling import flows
from chalicelib.payments.links.errors import LinkClosed
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning import flows as scanning
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.fakes.announcements import announcement, with_safe
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PREFIX, World
from tests.support.racing import Act, at_once
from tests.support.rehearsed import parts

_worlds = itertools.count(1)


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment of its own account on the shared cloud; its chain is unread."""
    number = next(_worlds)
    client = cloud.client("dynamodb")
    for sort_key in ("CURSOR", "LEASE"):
        client.delete_item(TableName=f"{PREFIX}-ops", Key={"pk": {"S": "CHAIN#sepolia"}, "sk": {"S": sort_key}})
    world = World(client, seed=9_000 + number)
    world.account_id, world.client_id = f"cancel{number}", f"cli_cancel{number}"
    return world


def cancelling_link(world: World, payable: PayableLink) -> Act:
    viewer = Viewer(world.account_id, None)
    return lambda services: flows.cancel_link(services, payable.link.token, viewer, world.actor)


def notified(world: World) -> list[str]:
    """The kinds of the events that a webhook received."""
    world.record()
    world.drain()
    assert all(json.loads(each.body) for each in world.receiver.posted)
    return sorted(world.receiver.events)


def test_many_cancellations_at_once_are_one(cloud: Cloud, world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    results = at_once(cloud, world, cancelling_link(world, payment))
    done = [each for each in results if isinstance(each, PayableLink)]
    assert done and all(isinstance(each, PayableLink | WriteConflict) for each in results)
    assert {each.link.cancelled_at for each in done} == {world.load(payment).link.cancelled_at}
    assert notified(world) == ["request.cancelled"]


@pytest.mark.parametrize("number", range(3))
def test_of_a_cancellation_and_an_announcement_one_wins(cloud: Cloud, world: World, number: int) -> None:
    with_safe(world)
    payment, draft = world.create_link(), announcement()
    owner = Viewer(world.account_id, None)
    results = at_once(
        cloud,
        world,
        cancelling_link(world, payment),
        lambda services: announcements.record(services, payment.link.token, owner, draft),
    )
    after = world.load(payment)
    is_cancelled = after.link.status is LinkStatus.CANCELLED
    assert is_cancelled != (after.announcements is not None), "never both"
    cancellations, announced = results[::2], results[1::2]
    refused = announced if is_cancelled else cancellations
    assert all(isinstance(each, (LinkClosed if is_cancelled else Conflict, WriteConflict)) for each in refused)


@pytest.mark.parametrize("number", parts(3))
def test_of_a_cancellation_and_a_recorded_payment_one_wins_and_no_money_is_lost(
    cloud: Cloud, world: World, number: int
) -> None:
    world.register_webhook()
    payment, alone = world.create_link(), store_request(world.services, world.account_id, client_id=world.client_id)
    world.chain.pay(payment.requests[0])
    world.chain.pay(alone)
    world.chain.mine(2)
    viewer = Viewer(world.account_id, None)

    def record(services: Services) -> None:
        with suppress(WriteConflict):
            scanning.scan(services, "sepolia")
        for payable_id in (payment.link.token, alone.request_id):
            recording.record_payable(services, payable_id)

    def cancel_both(services: Services) -> None:
        for act in (
            cancelling_link(world, payment),
            lambda each: flows.cancel_request(each, alone.request_id, viewer, world.actor),
        ):
            with suppress(ServiceError):
                act(services)

    at_once(cloud, world, record, cancel_both)
    world.tick()
    events = notified(world)
    after = [load_request(world.services, each) for each in (payment.requests[0], alone)]
    assert [each.paid for each in after] == [each.amount for each in after], "whatever was first, the money is recorded"
    assert events.count("request.cancelled") == sum(map(is_cancelled, after))
    assert events.count("payment.confirmed") == 2 - events.count("request.cancelled"), "never told as paid"


def is_cancelled(request: Request) -> bool:
    assert request.status in (RequestStatus.CANCELLED, RequestStatus.PAID)
    return request.is_cancelled
