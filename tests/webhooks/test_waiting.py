"""Receivers that do not answer: their deliveries wait, are probed, released and given up; nothing of it is lost."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.sender import PostResult
from chalicelib.platform.services import Services
from chalicelib.platform.storage import pages
from chalicelib.platform.storage.store import Write, WriteConflict
from chalicelib.webhooks import publisher
from chalicelib.webhooks import store as event_store
from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.circuits.records import Circuit, CircuitState
from chalicelib.webhooks.circuits.rules import FIRST_PROBE, OPEN_AFTER_DELIVERIES
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.deliveries import waiting
from chalicelib.webhooks.deliveries.records import Delivery, DeliveryState, Listing
from chalicelib.webhooks.deliveries.store import newest
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices, Endpoint
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.records import EVENTS, Event
from tests.fakes.crash import Crash, FragileClient, FragileQueue, Tripwire
from tests.fakes.world import PREFIX, START, World, in_process_aws
from tests.support.rehearsed import parts, rehearsed

DEAD = "https://dead.example/hook"
_DAY = 24 * 3600


@dataclass
class Merchant:
    """A world with one webhook that is dead: each attempt takes five seconds. Others answer at once."""

    world: World
    endpoint: Endpoint = field(init=False)
    is_dead: bool = True
    notified: int = 0
    attempts: list[tuple[datetime, str]] = field(default_factory=list)
    sweep_at: datetime = START + timedelta(seconds=60)

    def __post_init__(self) -> None:
        self.endpoint, _ = endpoints.register(self.world.services, self.world.actor, None, Mode.API_KEY, DEAD)
        answer = self.world.receiver.post

        def post(url: str, headers: Any, body: bytes) -> PostResult:
            result = answer(url, headers, body)
            if url != DEAD:
                return result
            self.attempts.append((self.world.now, headers["x-service-delivery"]))
            if not self.is_dead:
                return result
            self.world.advance(5)
            return PostResult(None, "no answer in time", duration_ms=5000)

        self.world.receiver.post = post  # type: ignore[method-assign]

    def tell(self, count: int = 1, services: Services | None = None) -> None:
        """Announces events, whose first attempts are then queued."""
        for _ in range(count):
            self.notified += 1
            event = Event(f"{self.notified:026}", "payment.confirmed", "acct", None, "{}", self.world.now, False)
            self.world.services.store.write(event)
            publisher.publish_events(services or self.world.services, [event.event_id])

    def run(self, seconds: float, services: Services | None = None, sweep_every: float = 60) -> None:
        """Lets time pass: messages are consumed when they are due, and the outbox is swept once a minute."""
        end = self.world.now + timedelta(seconds=seconds)
        while True:
            due = min((each.due for each in self.world.queue.messages), default=end)
            if min(due, self.sweep_at) >= end:
                self.world.now = max(self.world.now, end)
                return
            if due <= self.sweep_at:
                self.consume(services)
            else:
                self.world.now = max(self.world.now, self.sweep_at)
                self.sweep_at = self.world.now + timedelta(seconds=sweep_every)
                publisher.sweep(services or self.world.services)

    def consume(self, services: Services | None = None) -> None:
        message = min(self.world.queue.messages, key=lambda each: each.due)
        self.world.now = max(self.world.now, message.due)
        self.world.queue.messages.remove(message)
        self.world.consume(message, services or self.world.services)

    def open(self) -> None:
        """Opens the circuit with deliveries that fail for good."""
        self.tell(OPEN_AFTER_DELIVERIES)
        while self.circuit is None or self.circuit.state is CircuitState.CLOSED:
            self.consume()

    @property
    def circuit(self) -> Circuit | None:
        return event_store.circuit(self.world.services.store, self.endpoint.webhook_id)

    def states(self) -> dict[DeliveryState, int]:
        found: dict[DeliveryState, int] = {}
        for each in self.all():
            found[each.state] = found.get(each.state, 0) + 1
        return found

    def all(self, listing: Listing = Listing.ALL) -> tuple[Delivery, ...]:
        return newest(self.world.services.store, self.endpoint.webhook_id, listing, None, 100)[0]


@pytest.fixture
def merchant(world: World) -> Merchant:
    return Merchant(world)


def test_a_short_failure_changes_nothing_in_the_schedule_of_deliveries(merchant: Merchant) -> None:
    """A receiver that restarts: it refuses for nine seconds, at once."""
    merchant.world.receiver.status = 503
    merchant.is_dead = False
    merchant.tell(20)
    merchant.run(9)
    merchant.world.receiver.status = 200
    merchant.run(60)
    assert merchant.states() == {DeliveryState.DELIVERED: 20}
    seconds = {(at - START).total_seconds() for at, _ in merchant.attempts}
    assert seconds == {0, 1, 6, 21}


def test_a_first_attempt_takes_the_slow_lane_after_two_failures_until_one_succeeds(merchant: Merchant) -> None:
    merchant.tell(2)
    merchant.consume()
    merchant.consume()
    assert len(merchant.attempts) == 2, "a single failure changes nothing"
    merchant.tell()
    queues = [message.queue for message in merchant.world.queue.messages]
    assert sorted(queues) == [f"{PREFIX}-webhook-retries"] * 2 + [f"{PREFIX}-webhooks"]
    first = next(each for each in merchant.world.queue.messages if each.queue.endswith("-webhooks"))
    merchant.world.queue.messages.remove(first)
    attempts = len(merchant.attempts)
    merchant.world.consume(first, merchant.world.services)
    assert len(merchant.attempts) == attempts, "it is moved, not made"
    assert [message.queue for message in merchant.world.queue.messages] == [f"{PREFIX}-webhook-retries"] * 3
    merchant.is_dead = False
    merchant.run(60)
    assert merchant.states() == {DeliveryState.DELIVERED: 3}
    merchant.tell()
    merchant.consume()
    assert merchant.states() == {DeliveryState.DELIVERED: 4}


def test_a_receiver_that_answers_slowly_takes_no_worker_from_first_attempts(merchant: Merchant) -> None:
    def answer(seconds: float) -> None:
        result = PostResult(200, None, duration_ms=int(seconds * 1000))
        merchant.world.receiver.post = lambda *_: result  # type: ignore[method-assign]

    answer(4.9)
    merchant.tell()
    merchant.consume()
    merchant.tell()
    merchant.consume()
    assert [message.queue for message in merchant.world.queue.messages] == [f"{PREFIX}-webhook-retries"]
    answer(0.1)
    merchant.consume()
    merchant.tell()
    merchant.consume()
    assert merchant.world.queue.messages == []
    assert merchant.states() == {DeliveryState.DELIVERED: 3}


def test_while_a_circuit_is_open_one_attempt_is_made_per_probe_and_everything_waits(merchant: Merchant) -> None:
    merchant.open()
    opened, made = merchant.world.now, len(merchant.attempts)
    merchant.tell(40)
    merchant.run(3600)
    later = [(at - opened).total_seconds() for at, _ in merchant.attempts[made:]]
    assert len(later) <= 8, "15, 30, 60 ... 900 seconds"
    assert later[0] >= FIRST_PROBE.total_seconds()
    assert merchant.states()[DeliveryState.WAITING] >= 40
    assert len({delivery for _, delivery in merchant.attempts[made:]}) == len(later), "not always the same one"


def test_a_circuit_that_others_keep_changing_is_left_as_it_is_and_the_attempt_is_settled(merchant: Merchant) -> None:
    world, conflicts = merchant.world, []

    def overtaken(apply: Callable[..., None], writes: Sequence[Write]) -> None:
        if any(isinstance(each, Circuit) for each in writes):
            conflicts.append(writes)
            raise WriteConflict
        apply(*writes)

    services = replace(world.services, store=world.services.store.with_join(overtaken))
    merchant.tell()
    merchant.consume(services)
    (delivery,) = merchant.all()
    assert (len(conflicts), merchant.circuit, delivery.state) == (3, None, DeliveryState.PENDING)
    assert len(world.queue.messages) == 1, "its next attempt"
    merchant.consume()
    assert merchant.circuit is not None


def test_when_a_receiver_is_back_all_that_waited_is_sent_the_oldest_first_and_once(merchant: Merchant) -> None:
    merchant.open()
    merchant.run(120)
    merchant.tell(70)
    merchant.run(60)
    assert merchant.states()[DeliveryState.WAITING] >= 70
    made = len(merchant.attempts)
    merchant.is_dead = False
    merchant.run(1200)
    assert set(merchant.states()) <= {DeliveryState.DELIVERED, DeliveryState.FAILED}
    assert merchant.states()[DeliveryState.DELIVERED] >= 70
    sent = [delivery for _, delivery in merchant.attempts[made + 1 :]]
    assert len(sent) == len(set(sent))
    assert sent == sorted(sent)
    assert merchant.circuit is not None and merchant.circuit.due_at is None
    assert merchant.all(Listing.WAITING) == ()


def test_a_probe_uses_up_no_attempt_and_is_listed_as_one(merchant: Merchant) -> None:
    merchant.open()
    merchant.run(1200)
    probed = [each for each in merchant.all(Listing.WAITING) if each.attempts]
    assert probed
    assert all(each.attempt <= len(each.attempts or ()) for each in probed)
    merchant.is_dead = False
    merchant.run(1200)
    assert DeliveryState.WAITING not in merchant.states()


def test_a_delivery_that_waited_for_a_day_fails_and_no_sooner(merchant: Merchant) -> None:
    merchant.open()
    merchant.tell()
    (young, *_) = merchant.all()
    merchant.run(_DAY - 600, sweep_every=3600)
    assert next(each for each in merchant.all() if each.delivery_id == young.delivery_id).state is DeliveryState.WAITING
    merchant.run(2400)
    assert merchant.states() == {DeliveryState.FAILED: merchant.notified}
    assert merchant.all(Listing.WAITING) == ()
    assert len(merchant.all(Listing.FAILED)) == merchant.notified
    merchant.run(120)
    assert merchant.circuit is not None
    assert merchant.circuit.due_at is None, "nothing is probed, so nothing is due"
    made = len(merchant.attempts)
    merchant.tell(3)
    merchant.run(60)
    assert len(merchant.attempts) == made + 1, "the next failure opens it again"


def test_the_outage_of_the_workers_gives_up_no_delivery(merchant: Merchant) -> None:
    merchant.is_dead = False
    merchant.tell(3)
    merchant.world.queue.messages.clear()
    merchant.world.advance(3 * _DAY)
    for _ in range(3):
        merchant.run(120)
    assert merchant.states() == {DeliveryState.DELIVERED: 3}


@pytest.mark.parametrize("act", ["deleted", "switched off"])
def test_what_waits_for_a_webhook_that_is_gone_fails(act: str, merchant: Merchant) -> None:
    merchant.open()
    merchant.tell(40)
    merchant.run(30)
    actor, endpoint = merchant.world.actor, merchant.endpoint
    if act == "deleted":
        endpoints.delete(merchant.world.services, actor, endpoint)
    else:
        endpoints.change(merchant.world.services, actor, endpoint, False, endpoint.events, False)
    merchant.run(1800)
    assert merchant.states() == {DeliveryState.FAILED: merchant.notified}
    assert merchant.circuit is not None and merchant.circuit.due_at is None


def test_lost_messages_of_a_circuit_are_sent_again_by_the_sweep(merchant: Merchant) -> None:
    merchant.open()
    merchant.tell(3)
    merchant.run(1)
    merchant.world.queue.messages.clear()
    merchant.is_dead = False
    merchant.run(300)
    assert DeliveryState.WAITING not in merchant.states()
    assert merchant.states()[DeliveryState.DELIVERED] >= 3


def test_a_delivery_that_was_set_aside_while_the_circuit_closed_is_found(merchant: Merchant) -> None:
    """Its worker read the open circuit before, and wrote after the first release had found nothing."""
    merchant.open()
    merchant.run(5)
    merchant.is_dead = False
    merchant.run(25)
    circuit = merchant.circuit
    assert circuit is not None and circuit.state is CircuitState.CLOSED and circuit.due_at is not None
    merchant.tell()
    late = merchant.all()[0]
    merchant.world.queue.messages = [each for each in merchant.world.queue.messages if "webhookId" in each.body]
    deliveries._set_aside(merchant.world.services, late)
    assert len(merchant.all(Listing.WAITING)) == 1
    merchant.run(180)
    assert merchant.all(Listing.WAITING) == ()
    assert DeliveryState.WAITING not in merchant.states()


def test_a_receiver_that_refuses_what_it_is_sent_keeps_its_schedule(merchant: Merchant) -> None:
    merchant.is_dead, merchant.world.receiver.status = False, 404
    for _ in range(10):
        merchant.tell()
        merchant.run(30)
    assert len(merchant.attempts) == 40
    assert merchant.states() == {DeliveryState.FAILED: 10}


def test_of_many_messages_that_come_when_the_probe_is_due_one_is_made(merchant: Merchant) -> None:
    merchant.open()
    merchant.world.queue.messages.clear()
    merchant.tell(10)
    made = len(merchant.attempts)
    merchant.world.advance(20)
    for _ in range(20):
        if merchant.world.queue.messages:
            merchant.world.now = START + timedelta(seconds=60)
            message = merchant.world.queue.messages.pop(0)
            if "webhookId" not in message.body:
                merchant.world.consume(message, merchant.world.services)
    assert len(merchant.attempts) == made + 1


def test_tending_a_webhook_that_never_failed_or_is_not_due_does_nothing(merchant: Merchant) -> None:
    waiting.tend(merchant.world.services, merchant.endpoint.webhook_id)
    merchant.open()
    made = len(merchant.attempts)
    waiting.tend(merchant.world.services, merchant.endpoint.webhook_id)
    assert len(merchant.attempts) == made


def test_a_slow_account_shares_its_workers_and_others_have_their_own_group(merchant: Merchant) -> None:
    sent = []
    merchant.world.services.queue.send = lambda queue, messages: sent.extend((queue, each) for each in messages)  # type: ignore[method-assign]
    merchant.tell()
    deliveries.send_test(merchant.world.services, "acct", None, "payment.confirmed", only_public=False)
    assert {each.group for _, each in sent} == {"acct"}
    assert [queue for queue, _ in sent] == [f"{PREFIX}-webhooks", f"{PREFIX}-webhook-retries"]



@pytest.mark.parametrize("part", parts(3))
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_nothing_that_waits_is_lost_wherever_the_process_dies(before: bool, part: int) -> None:
    """Dies at a call while circuits open, deliveries wait, are probed and released; the next process goes on."""

    def run(wire: Tripwire) -> None:
        with in_process_aws() as client:
            merchant = Merchant(World(client))
            services = merchant.world.start(FragileClient(client, wire), FragileQueue(merchant.world.queue, wire))
            with suppress(Crash):
                merchant.tell(OPEN_AFTER_DELIVERIES + 1)
                merchant.run(60, services)
                merchant.is_dead = False
                merchant.run(90, services)
            merchant.is_dead = False
            merchant.run(1800)
            assert set(merchant.states()) <= {DeliveryState.DELIVERED, DeliveryState.FAILED}, wire.calls
            assert sum(merchant.states().values()) == OPEN_AFTER_DELIVERIES + 1
            assert merchant.all(Listing.WAITING) == ()
            failed = {each.delivery_id for each in merchant.all(Listing.FAILED)}
            assert failed == {each.delivery_id for each in merchant.all() if each.state is DeliveryState.FAILED}

    wire = Tripwire()
    run(wire)
    assert wire.calls > 60
    for fatal in range(1 + before + 8 * part, wire.calls + 1, 24):
        run(Tripwire(fatal, before))


def test_the_message_of_a_circuit_names_nothing_but_the_webhook(merchant: Merchant) -> None:
    merchant.open()
    bodies = [json.loads(message.body) for message in merchant.world.queue.messages]
    (of_circuit,) = [each for each in bodies if "webhookId" in each]
    assert of_circuit == {"webhookId": merchant.endpoint.webhook_id, "hop": of_circuit["hop"]}


@rehearsed
def test_a_receiver_that_is_back_after_a_thousand_deliveries_is_sent_all_by_chains_that_aws_allows(
    merchant: Merchant,
) -> None:
    """The world refuses a message as AWS Lambda does, if a function comes too often in its chain."""
    merchant.open()
    merchant.tell(600)
    merchant.run(60)
    merchant.is_dead = False
    merchant.run(1800)
    assert merchant.world.receiver.posted
    assert merchant.all(Listing.WAITING) == ()
    assert merchant.circuit is not None and merchant.circuit.due_at is None


@rehearsed
def test_a_receiver_that_fails_again_and_again_makes_no_chain_that_aws_ends(merchant: Merchant) -> None:
    merchant.open()
    for _ in range(30):
        merchant.tell(OPEN_AFTER_DELIVERIES)
        merchant.run(45)
        merchant.is_dead = not merchant.is_dead
    merchant.is_dead = False
    merchant.run(1800)
    assert merchant.all(Listing.WAITING) == ()


def test_the_operator_hears_of_a_webhook_that_fails_for_over_an_hour_and_not_before(merchant: Merchant) -> None:
    heard: list[timedelta] = []
    merchant.world.services.log.error = lambda message, extra: (  # type: ignore[method-assign]
        heard.append(merchant.world.now - extra["since"]) if message == "webhook fails for an hour" else None
    )
    merchant.tell(OPEN_AFTER_DELIVERIES)
    merchant.run(7200)
    assert heard and min(heard) >= timedelta(hours=1)
    assert len(heard) <= 5, "once for each probe, which are 15 minutes apart"
    merchant.is_dead = False
    merchant.run(1800)
    before = len(heard)
    merchant.run(7200)
    assert len(heard) == before


def heard_of(merchant: Merchant) -> list[tuple[str, dict[str, Any]]]:
    """The URL and the body of each event about a webhook that fails."""
    posted = ((each.url, json.loads(each.body)) for each in merchant.world.receiver.posted)
    return [(url, body) for url, body in posted if body.get("event") == "webhook.failing"]


def register(merchant: Merchant, url: str, client_id: str | None, created_with: Mode = Mode.API_KEY) -> Endpoint:
    chosen = Choices(("webhook.failing",))
    return endpoints.register(merchant.world.services, merchant.world.actor, client_id, created_with, url, chosen)[0]


def choose_it(merchant: Merchant) -> None:
    """Has the webhook that is dead choose the event, too."""
    merchant.world.services.store.write(replace(merchant.endpoint, events=("*", "webhook.failing")))


@rehearsed
def test_the_other_webhooks_hear_once_of_one_that_fails_for_an_hour_and_it_does_not_itself(merchant: Merchant) -> None:
    choose_it(merchant)
    register(merchant, "https://well.example/hook", None)
    register(merchant, "https://client.example/hook", "cli_shop")
    merchant.tell(OPEN_AFTER_DELIVERIES)
    began = iso(merchant.world.now)
    merchant.run(3600)
    assert heard_of(merchant) == []
    merchant.run(7200)
    ((url, body),) = heard_of(merchant)
    assert url == "https://well.example/hook"
    published_at = body.pop("timestamp")
    assert published_at > body.pop("failingSince") >= began
    assert body.pop("sequence") == int(datetime.fromisoformat(published_at).timestamp())
    assert body == {"event": "webhook.failing", "webhookId": merchant.endpoint.webhook_id}
    assert all(each.kind != "webhook.failing" for each in merchant.all())
    merchant.is_dead = False
    merchant.run(1800)
    assert len(heard_of(merchant)) == 1, "nothing is told when it answers again"
    merchant.is_dead = True
    merchant.tell(OPEN_AFTER_DELIVERIES)
    merchant.run(7200)
    assert len(heard_of(merchant)) == 2, "it fails again"


def test_a_webhook_that_fails_alone_has_one_event_and_no_delivery_of_it(merchant: Merchant) -> None:
    choose_it(merchant)
    merchant.tell(OPEN_AFTER_DELIVERIES)
    merchant.run(10_800)
    wanted = pages.Listing(merchant.endpoint.account_id, EVENTS, {"by_kind": "webhook.failing"})
    (event,) = pages.page_after(merchant.world.services.store, Event, wanted, None, 10).records
    assert event.published and heard_of(merchant) == []
    assert all(each.kind != "webhook.failing" for each in merchant.all())


def test_a_worker_that_dies_anywhere_leaves_one_event_of_a_webhook_that_fails(merchant: Merchant) -> None:
    register(merchant, "https://well.example/hook", None)
    merchant.tell(OPEN_AFTER_DELIVERIES)
    merchant.run(3000)
    client = merchant.world.services.store.client
    for step in range(1, 40):
        wire = Tripwire(step)
        services = merchant.world.start(FragileClient(client, wire), FragileQueue(merchant.world.queue, wire))
        with suppress(Crash):
            merchant.run(240, services)
    merchant.run(3600)
    assert len(heard_of(merchant)) == 1


def test_public_webhooks_hear_of_no_other_and_nobody_hears_of_them(merchant: Merchant) -> None:
    """A stranger registers them, by the client id alone."""
    world = merchant.world
    register(merchant, "https://stranger.example/hook", "cli_shop", Mode.CLIENT_ID)
    register(merchant, "https://client.example/hook", "cli_shop")
    account_id, context = merchant.endpoint.account_id, event_context(world.services)
    begun = circuit_rules.new_circuit("w", account_id, "cli_shop", world.now)
    long_open = replace(begun, state=CircuitState.OPEN, failing_since=world.now - timedelta(hours=1))
    event = circuit_rules.failing_event(long_open, context)
    assert event is not None
    world.services.store.write(event)
    publisher.publish_events(world.services, [event.event_id])
    merchant.run(60)
    assert [url for url, _ in heard_of(merchant)] == ["https://client.example/hook"]
    assert circuit_rules.failing_event(replace(long_open, is_public=True), context) is None
