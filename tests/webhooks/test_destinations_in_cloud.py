"""Events through every way at once, on a local cloud: URL, queue, topic, event bus, and the list of events."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.destination_sender import DestinationSender
from chalicelib.webhooks import publisher
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices
from chalicelib.webhooks.events.flows import next_events
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.samples import sample_event
from infra.local.cloud import REGION, Cloud
from tests.fakes.world import World
from tests.support.rehearsed import few

ACCOUNT = "000000000000"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/payment-events-orders"
_AT_ONCE = 500


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with Cloud.start() as cloud:
        yield cloud


class Merchant:
    """An AWS account with a destination of each kind, and a queue in which what arrives there is received."""

    def __init__(self, cloud: Cloud) -> None:
        self._sqs, self.received = cloud.client("sqs"), Counter[tuple[str, str]]()
        sns, bridge = cloud.client("sns"), cloud.client("events")
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        cloud.client("iam").create_role(RoleName="payment-events-orders", AssumeRolePolicyDocument=trust)
        ways = ("queue", "topic", "bus")
        self._urls = {way: self._sqs.create_queue(QueueName=f"orders-{way}")["QueueUrl"] for way in ways}
        queues = {way: f"arn:aws:sqs:{REGION}:{ACCOUNT}:orders-{way}" for way in ways}
        topic = sns.create_topic(Name="orders")["TopicArn"]
        raw = {"RawMessageDelivery": "true"}
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queues["topic"], Attributes=raw)
        bus = bridge.create_event_bus(Name="orders")["EventBusArn"]
        pattern = json.dumps({"source": ["payment-requests"]})
        bridge.put_rule(Name="all", EventBusName="orders", EventPattern=pattern)
        bridge.put_targets(Rule="all", EventBusName="orders", Targets=[{"Id": "queue", "Arn": queues["bus"]}])
        self.arns = {"queue": queues["queue"], "topic": topic, "bus": bus}

    def collect(self) -> None:
        """Takes what has arrived off the queues, and counts it by way and id of the event."""
        for way, url in self._urls.items():
            wanted = {"QueueUrl": url, "MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"]}
            while found := self._sqs.receive_message(**wanted).get("Messages"):
                self.received.update((way, _event_id(each)) for each in found)
                gone = [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(found)]
                self._sqs.delete_message_batch(QueueUrl=url, Entries=gone)


def _event_id(message: dict[str, Any]) -> str:
    named = message.get("MessageAttributes")
    return str(named["eventId"]["StringValue"] if named else json.loads(message["Body"])["detail"]["eventId"])


@pytest.mark.parametrize("count", few({100}, [100, 10_000]))
def test_every_event_arrives_everywhere_once_under_the_same_id(world: World, cloud: Cloud, count: int) -> None:
    merchant = Merchant(cloud)
    clients = {name: cloud.client(name) for name in ("sts", "sqs", "sns", "events")}
    sender = DestinationSender(False, lambda service, *_: clients[service])
    world.services = replace(world.services, destinations=lambda: sender)
    arguments = (world.services, world.actor, None, Mode.API_KEY)
    for arn in merchant.arns.values():
        endpoints.register(*arguments, arn, Choices(role_arn=ROLE))
    endpoints.register(*arguments, "https://shop.example/hook")
    sample = sample_event("payment.failed", world.account_id, None, event_context(world.services))
    expected = [f"{number:026}" for number in range(count)]
    for number, event_id in enumerate(expected):
        world.services.store.write(replace(sample, event_id=event_id, published=False, request_id=f"request-{number % 7}"))
        publisher.publish_events(world.services, [event_id])
        if number % _AT_ONCE == 0:
            world.drain()
    world.drain()
    merchant.collect()
    ways = {way: {each: number for (found, each), number in merchant.received.items() if found == way} for way in merchant.arns}
    ways["url"] = Counter(posted.headers["x-service-event-id"] for posted in world.receiver.posted)
    world.now += timedelta(minutes=2)
    ways["list"] = Counter(_list_ids(world))
    for way, found in ways.items():
        assert found == dict.fromkeys(expected, 1), way


def _list_ids(world: World) -> Iterator[str]:
    page = next_events(world.services, world.account_id, {}, None, None, 100)
    while True:
        yield from (each.event_id for each in page.events)
        if not page.has_more:
            return
        page = next_events(world.services, world.account_id, {}, page.cursor, None, 100)
