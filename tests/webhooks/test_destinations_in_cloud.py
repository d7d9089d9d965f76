"""Events through every way at once, on a local cloud: URL, queue, topic, event bus, and the list of events."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.destination_sender import DestinationSender
from chalicelib.platform.outbound.sender import PostResult
from chalicelib.platform.services import Services
from chalicelib.webhooks import publisher
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices
from chalicelib.webhooks.events.flows import next_events
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.samples import sample_event
from infra.local.cloud import REGION, Cloud
from tests.fakes.crash import Crash, FragileClient, FragileQueue, Tripwire
from tests.fakes.world import World
from tests.support.rehearsed import few

ACCOUNT = "000000000000"
_AT_ONCE = 500
_SERVICES = ("sts", "sqs", "sns", "events")


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with Cloud.start() as cloud:
        yield cloud


class Merchant:
    """An AWS account with a destination of each kind, and a queue in which what arrives there is received."""

    def __init__(self, cloud: Cloud, name: str) -> None:
        self._sqs, self.received = cloud.client("sqs"), Counter[tuple[str, str]]()
        sns, bridge = cloud.client("sns"), cloud.client("events")
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        cloud.client("iam").create_role(RoleName=f"payment-events-{name}", AssumeRolePolicyDocument=trust)
        self.role = f"arn:aws:iam::{ACCOUNT}:role/payment-events-{name}"
        ways = ("queue", "topic", "bus")
        self._urls = {way: self._sqs.create_queue(QueueName=f"{name}-{way}")["QueueUrl"] for way in ways}
        queues = {way: f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}-{way}" for way in ways}
        topic = sns.create_topic(Name=name)["TopicArn"]
        raw = {"RawMessageDelivery": "true"}
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queues["topic"], Attributes=raw)
        bus = bridge.create_event_bus(Name=name)["EventBusArn"]
        pattern = json.dumps({"source": ["payment-requests"]})
        bridge.put_rule(Name="all", EventBusName=name, EventPattern=pattern)
        bridge.put_targets(Rule="all", EventBusName=name, Targets=[{"Id": "queue", "Arn": queues["bus"]}])
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
    merchant = Merchant(cloud, f"orders-{count}")
    _register(world, merchant, {name: cloud.client(name) for name in _SERVICES})
    expected = [_store_event(world, number) for number in range(count)]
    for number, event_id in enumerate(expected):
        publisher.publish_events(world.services, [event_id])
        if number % _AT_ONCE == 0:
            world.drain()
    world.drain()
    for way, found in _arrived(world, merchant).items():
        assert found == dict.fromkeys(expected, 1), way


@pytest.mark.parametrize("count", few({60}, [60, 2_000]))
def test_no_event_is_lost_in_any_way_by_processes_that_die_and_destinations_that_fail(
    world: World, cloud: Cloud, count: int
) -> None:
    """Some arrive twice then, under the same id. Each attempt fails at most twice, as the fourth is the last."""
    merchant, trouble = Merchant(cloud, f"trouble-{count}"), Trouble(random.Random(count))
    _register(world, merchant, {name: trouble.around(cloud.client(name)) for name in _SERVICES})
    world.services = replace(world.services, sender=trouble.before(world.receiver))
    expected = [_store_event(world, number) for number in range(count)]
    for event_id in expected:
        with suppress(Crash):
            publisher.publish_events(trouble.process(world), [event_id])
    for _ in range(20):
        trouble.drain(world)
        world.now += timedelta(minutes=2)
        with suppress(Crash):
            publisher.sweep(trouble.process(world))
    world.drain()
    assert trouble.deaths > count / 2 and trouble.failures > count / 2 and trouble.lost_messages > 0
    arrived = _arrived(world, merchant)
    for way, found in arrived.items():
        assert sorted(found) == expected, way
    assert set(arrived["list"].values()) == {1}
    assert publisher.sweep(world.services) == 0, "nothing is left to do"


class Trouble:
    """Processes that die at a random call to the store or the queue, messages that are lost, and attempts that fail:
    before they arrive, or after it, so that only the answer is lost."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._failed = chance, Counter[str]()
        self.deaths = self.failures = self.lost_messages = 0

    def process(self, world: World) -> Services:
        """The services of a process that may die."""
        if self._chance.random() < 0.5:
            return world.services
        wire = Tripwire(self._chance.randint(1, 9), before=self._chance.random() < 0.5)
        store = world.start(FragileClient(world.client, wire)).store
        return replace(world.services, store=store, queue=FragileQueue(world.queue, wire))

    def drain(self, world: World) -> None:
        while world.queue.messages:
            message = min(world.queue.messages, key=lambda each: each.due)
            world.now = max(world.now, message.due)
            world.queue.messages.remove(message)
            if self._chance.random() < 0.02:
                self.lost_messages += 1
                continue
            try:
                world.consume(message, self.process(world))
            except Crash:
                self.deaths += 1

    def around(self, client: Any) -> Any:
        """A client of AWS whose calls fail now and then."""
        return Failing(client, self)

    def before(self, receiver: Any) -> Any:
        """A webhook that fails now and then."""
        return FailingReceiver(receiver, self)

    def strikes(self, attempt: str) -> bool:
        if self._failed[attempt] >= 2 or self._chance.random() < 0.6:
            return False
        self._failed[attempt] += 1
        self.failures += 1
        return True

    def is_late(self) -> bool:
        """Whether what fails has arrived."""
        return self._chance.random() < 0.5


class Failing:
    def __init__(self, client: Any, trouble: Trouble) -> None:
        self._client, self._trouble = client, trouble

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        return partial(self._call, name, call) if name in ("send_message", "publish", "put_events") else call

    def _call(self, name: str, call: Any, **arguments: Any) -> Any:
        if not self._trouble.strikes(name + json.dumps(arguments, default=str)):
            return call(**arguments)
        if self._trouble.is_late():
            call(**arguments)
            raise ReadTimeoutError(endpoint_url="https://aws.example")
        if name == "put_events":
            return {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure"}]}
        raise ClientError({"Error": {"Code": "Throttling"}, "ResponseMetadata": {"HTTPStatusCode": 400}}, name)


class FailingReceiver:
    def __init__(self, receiver: Any, trouble: Trouble) -> None:
        self._receiver, self._trouble = receiver, trouble

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostResult:
        if not self._trouble.strikes("url" + headers["x-service-event-id"]):
            return cast("PostResult", self._receiver.post(url, headers, body))
        if self._trouble.is_late():
            self._receiver.post(url, headers, body)
        return PostResult(None, "no answer in time")


def _register(world: World, merchant: Merchant, clients: Mapping[str, Any]) -> None:
    """Registers every way of a merchant, with clients of AWS by service."""
    sender = DestinationSender(False, lambda service, *_: clients[service])
    world.services = replace(world.services, destinations=lambda: sender)
    arguments = (world.services, world.actor, None, Mode.API_KEY)
    for arn in merchant.arns.values():
        endpoints.register(*arguments, arn, Choices(role_arn=merchant.role))
    endpoints.register(*arguments, "https://shop.example/hook")


def _store_event(world: World, number: int) -> str:
    sample = sample_event("payment.failed", world.account_id, None, event_context(world.services))
    event_id = f"{number:026}"
    world.services.store.write(replace(sample, event_id=event_id, published=False, request_id=f"request-{number % 7}"))
    return event_id


def _arrived(world: World, merchant: Merchant) -> dict[str, dict[str, int]]:
    """How often each event has arrived, by way and id."""
    merchant.collect()
    ways = {way: {each: number for (found, each), number in merchant.received.items() if found == way} for way in merchant.arns}
    ways["url"] = Counter(posted.headers["x-service-event-id"] for posted in world.receiver.posted)
    world.now += timedelta(minutes=2)
    ways["list"] = Counter(_list_ids(world))
    return ways


def _list_ids(world: World) -> Iterator[str]:
    page = next_events(world.services, world.account_id, {}, None, None, 100)
    while True:
        yield from (each.event_id for each in page.events)
        if not page.has_more:
            return
        page = next_events(world.services, world.account_id, {}, page.cursor, None, 100)
