"""Destinations of events in AWS: who registers them, what they receive, and what becomes of events they do not take."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.destination_sender import DestinationSender
from chalicelib.webhooks import publisher
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.deliveries import reading as delivery_reading
from chalicelib.webhooks.deliveries.records import Delivery, DeliveryState, Listing
from chalicelib.webhooks.deliveries.store import newest
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices, Endpoint
from chalicelib.webhooks.records import Event
from tests.fakes.merchant_aws import MerchantAws
from tests.fakes.world import World
from tests.support.client import Reply, Shop
from tests.support.running import run_on, running

ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/payment-events-orders"
ARNS = {
    "queue": f"arn:aws:sqs:eu-west-1:{ACCOUNT}:orders",
    "topic": f"arn:aws:sns:us-east-2:{ACCOUNT}:orders",
    "bus": f"arn:aws:events:eu-west-1:{ACCOUNT}:event-bus/orders",
}


def register(shop: Shop, credentials: dict[str, str], arn: str = ARNS["queue"], **body: str) -> Reply:
    return shop.api.request("POST", "/v1/webhook", {"url": arn, "roleArn": ROLE, **body}, credentials)


def test_an_account_registers_a_destination_and_is_told_the_policy_of_its_role(new_shop: Shop) -> None:
    by_key = {"x-api-key": new_shop.key}
    created = register(new_shop, by_key)
    assert created.status == 201, created.json
    (listed,) = new_shop.api.get("/v1/webhook", by_key).json
    assert (listed["url"], listed["roleArn"]) == (ARNS["queue"], ROLE)
    (statement,) = created.json["trustPolicy"]["Statement"]
    assert statement["Condition"] == {"StringEquals": {"sts:ExternalId": listed["externalId"]}}
    assert statement["Principal"] == {"AWS": "arn:aws:iam::123456789012:root"}, "the account of the service, in moto"
    assert len(listed["externalId"]) == 58


def test_each_destination_has_an_external_id_of_its_own(new_shop: Shop) -> None:
    by_key = {"x-api-key": new_shop.key}
    for arn in ARNS.values():
        assert register(new_shop, by_key, arn).status == 201
    assert len({each["externalId"] for each in new_shop.api.get("/v1/webhook", by_key).json}) == 3


def test_a_client_id_alone_registers_none(new_shop: Shop) -> None:
    reply = register(new_shop, new_shop.by_client)
    assert reply.status == 403 and "x-api-key" in reply.message
    assert new_shop.api.get("/v1/webhook", new_shop.by_client).json == []


class SilentAws(MerchantAws):
    """Counts the clients that are made, and refuses whatever they ask."""

    def client(self, service: str, *others: Any) -> Any:
        self.taken.append((service, ""))
        return super().client(service, *others)


@pytest.fixture
def aws() -> Iterator[SilentAws]:
    """AWS of the running service, which does not answer."""
    before, silent = running(), SilentAws(sts_fault=("InternalFailure", 500))
    run_on(replace(before, destinations=lambda: DestinationSender(True, silent.client)))
    yield silent
    run_on(before)


def test_a_request_that_is_refused_in_any_case_asks_aws_for_nothing(new_shop: Shop, aws: SilentAws) -> None:
    assert register(new_shop, new_shop.by_client).status == 403
    assert register(new_shop, new_shop.by_client, "https://93.184.215.14/hook").status == 400
    assert register(new_shop, {"x-api-key": new_shop.key}, roleArn=ROLE.replace(ACCOUNT, "999999999999")).status == 400
    assert aws.taken == []


def test_while_sts_does_not_answer_nothing_is_registered_and_the_answer_says_so(
    new_shop: Shop, aws: SilentAws
) -> None:
    reply = register(new_shop, {"x-api-key": new_shop.key})
    assert (reply.status, reply.message) == (
        503, "AWS did not answer which account roles have to trust; nothing was registered: try again"
    )
    assert new_shop.api.get("/v1/webhook", {"x-api-key": new_shop.key}).json == []
    aws.sts_fault = None
    assert register(new_shop, {"x-api-key": new_shop.key}).status == 201


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"roleArn": ROLE.replace(ACCOUNT, "999999999999")}, "in the AWS account of the destination"),
        ({"roleArn": f"arn:aws:iam::{ACCOUNT}:role/admin"}, "roleArn"),
        ({"arn": "https://93.184.215.14/hook"}, "only the ARN of a queue, topic or event bus has one"),
        ({"arn": f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:orders"}, "url"),
        ({"arn": f"arn:aws:sqs:nowhere:{ACCOUNT}:orders"}, "no region"),
    ],
)
def test_a_destination_that_cannot_be_is_refused_with_what_to_change(
    new_shop: Shop, changes: dict[str, str], why: str
) -> None:
    reply = register(new_shop, {"x-api-key": new_shop.key}, **changes)
    assert reply.status == 400 and why in reply.message
    assert new_shop.api.get("/v1/webhook", {"x-api-key": new_shop.key}).json == []


def test_an_arn_without_a_role_is_refused(new_shop: Shop) -> None:
    reply = new_shop.api.request("POST", "/v1/webhook", {"url": ARNS["bus"]}, {"x-api-key": new_shop.key})
    assert reply.status == 400 and "roleArn" in reply.message


class Merchant:
    """An account of the service with a destination of each kind, which its role may send to."""

    def __init__(self, world: World) -> None:
        self.world, self.count = world, 0
        self.endpoints = {kind: self.register(arn) for kind, arn in ARNS.items()}

    def register(self, arn: str) -> Endpoint:
        role = f"{ROLE}-{len(self.world.merchants.roles)}"
        args = (self.world.services, self.world.actor, None, Mode.API_KEY, arn)
        endpoint, _ = endpoints.register(*args, Choices(role_arn=role))
        self.world.merchants.roles[role] = endpoint.external_id
        return endpoint

    def tell(self, count: int) -> None:
        for _ in range(count):
            self.count += 1
            body = json.dumps({"event": "payment.confirmed", "requestId": f"request-{self.count % 3}"})
            event = Event(f"{self.count:026}", "payment.confirmed", self.world.account_id, None, body, self.world.now, False)
            self.world.services.store.write(event)
            publisher.publish_events(self.world.services, [event.event_id])

    def run(self, seconds: int) -> None:
        for _ in range(0, seconds, 15):
            self.world.drain()
            publisher.sweep(self.world.services)
            self.world.advance(15)
        self.world.drain()

    def deliveries(self, kind: str) -> tuple[Delivery, ...]:
        return newest(self.world.services.store, self.endpoints[kind].webhook_id, Listing.ALL, None, 500)[0]

    def received(self, kind: str) -> list[str]:
        """The ids of the events that have arrived there."""
        return [_event_id(each) for each in self.world.merchants.sent.get(ARNS[kind], [])]


def _event_id(message: dict[str, Any]) -> str:
    if "Detail" in message:
        return str(json.loads(message["Detail"])["eventId"])
    return str(message["MessageAttributes"]["eventId"]["StringValue"])


@pytest.fixture
def merchant(world: World) -> Merchant:
    return Merchant(world)


def test_every_destination_receives_every_event_once_under_the_same_id(merchant: Merchant) -> None:
    merchant.tell(30)
    merchant.run(30)
    for kind in ARNS:
        assert sorted(merchant.received(kind)) == [f"{number:026}" for number in range(1, 31)]
        assert {each.state for each in merchant.deliveries(kind)} == {DeliveryState.DELIVERED}


def test_a_destination_that_throttles_loses_nothing(merchant: Merchant) -> None:
    merchant.world.merchants.fault = ("ThrottlingException", 429)
    merchant.tell(12)
    merchant.run(3_600)
    assert merchant.world.merchants.sent == {}
    merchant.world.merchants.fault = None
    merchant.run(1_200)
    for kind in ARNS:
        lost = [each for each in merchant.deliveries(kind) if each.state is not DeliveryState.DELIVERED]
        assert {each.state for each in lost} <= {DeliveryState.FAILED}
        for each in lost:  # those that failed before the destination was known to throttle
            endpoint = merchant.endpoints[kind]
            delivery_reading.repeat_one(merchant.world.services, endpoint, each.delivery_id)
        merchant.run(60)
        assert sorted(merchant.received(kind)) == [f"{number:026}" for number in range(1, 13)]


def test_what_a_deleted_queue_did_not_take_can_be_sent_again_once_it_is_back(merchant: Merchant) -> None:
    merchant.world.merchants.fault = ("AWS.SimpleQueueService.NonExistentQueue", 400)
    merchant.tell(1)
    merchant.run(60)
    (failed,) = merchant.deliveries("queue")
    assert failed.state is DeliveryState.FAILED and failed.attempts is not None
    assert [each.status for each in failed.attempts] == [400] * 4
    assert failed.attempts[0].answer == "AWS.SimpleQueueService.NonExistentQueue: refused"
    merchant.world.merchants.fault = None
    delivery_reading.repeat_one(merchant.world.services, merchant.endpoints["queue"], failed.delivery_id)
    merchant.run(15)
    assert merchant.received("queue") == [f"{1:026}"]


def test_a_sample_event_arrives_marked_as_one(merchant: Merchant) -> None:
    world = merchant.world
    deliveries.send_test(world.services, world.account_id, None, "payment.confirmed", only_public=False)
    world.drain()
    (message,) = world.merchants.sent[ARNS["topic"]]
    assert message["MessageAttributes"]["test"]["StringValue"] == "true"


def test_what_the_merchant_asks_for_again_is_another_message_and_an_automatic_attempt_is_not(merchant: Merchant) -> None:
    world, aws, queue = merchant.world, merchant.world.merchants, f"{ARNS['queue']}.fifo"
    merchant.endpoints["fifo"] = merchant.register(queue)
    merchant.tell(1)
    aws.is_lossy = True  # takes each message, and does not answer
    merchant.run(60)
    aws.is_lossy = False
    first = {each["MessageDeduplicationId"] for each in aws.sent[queue]}
    assert len(aws.sent[queue]) == 4 and len(first) == 1
    (failed,) = merchant.deliveries("fifo")
    delivery_reading.repeat_one(world.services, merchant.endpoints["fifo"], failed.delivery_id)
    merchant.run(15)
    (*_, last) = aws.sent[queue]
    assert len(aws.sent[queue]) == 5 and last["MessageDeduplicationId"] not in first
    assert last["MessageAttributes"]["id"]["StringValue"] == failed.delivery_id
