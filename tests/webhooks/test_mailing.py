"""E-mails about payments: to those who look after money, if the account wants them, once each, and never in the way."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from chalicelib.mail import flows as mail
from chalicelib.mail.records import Choices, MailKind
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people.records import Role
from chalicelib.webhooks import publisher
from chalicelib.webhooks.kinds import KINDS as EVERY_KIND
from chalicelib.webhooks.mailing import KINDS
from chalicelib.webhooks.records import Event
from infra.documents.event_models import sample
from tests.bench.calls import counted
from tests.fakes.crash import Crash, FragileQueue, FragileWrites, Tripwire
from tests.fakes.mails import SENDER
from tests.fakes.members import store_member
from tests.fakes.world import START, World, in_process_aws

ANN, BOB, EVE = "ann@shop.example", "bob@shop.example", "eve@shop.example"


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        world = World(client, mail_sender=SENDER)
        world.services.store.write(Account("acct", "Ann's shop", world.now))
        store_member(world.services, "acct", ANN, Role.OWNER)
        store_member(world.services, "acct", BOB, Role.FINANCE)
        store_member(world.services, "acct", EVE, Role.DEVELOPER)
        yield world


def choose(world: World, payments: bool = True, attention: bool = True) -> None:
    world.services.store.write(Choices("acct", payments, attention))


def event(kind: str = "payment.confirmed", number: int = 0, **body: object) -> Event:
    text = json.dumps({**sample(kind), **body})
    return Event(f"01KJM9CZ33EVENT000000{number:05}", kind, "acct", "cli_shop", text, START, False)


def announced(world: World, *events: Event) -> list[tuple[str, str]]:
    """Announces events, and sends what follows from that; returns to whom what was written."""
    world.services.store.write(*events)
    publisher.publish_events(world.services, [each.event_id for each in events])
    world.drain()
    return [(each.to, each.text.replace("\u2068", "").replace("\u2069", "")) for each in world.ses.sent]


def test_a_payment_is_told_to_those_who_look_after_money(world: World) -> None:
    choose(world)
    payment = world.create_link()
    world.chain.pay(payment.requests[0], fee=125_000)
    world.scan()
    world.drain()
    assert sorted(each.to for each in world.ses.sent) == [ANN, BOB]
    message = world.ses.to(ANN)[0]
    assert message.subject == "Payment received"
    text = message.text.replace("\u2068", "").replace("\u2069", "")
    assert "A payment to the account Ann's shop at Payment Request Service is confirmed:" in text
    assert "- Amount · 12.5 fUSDC\n- Network · sepolia\n- Reference · INV-1\n- Request · 01" in text


@pytest.mark.parametrize(
    ("payments", "attention", "wanted"), [(True, False, {"payment"}), (False, True, {"attention"}), (False, False, set())]
)
def test_an_account_gets_what_it_chose(world: World, payments: bool, attention: bool, wanted: set[str]) -> None:
    choose(world, payments, attention)
    announced(world, *(event(kind, number) for number, kind in enumerate(KINDS)))
    subjects = {"Payment received": "payment", "Something needs your attention": "attention"}
    assert {subjects[each.subject] for each in world.ses.sent} == wanted


def test_an_account_that_chose_nothing_gets_none(world: World) -> None:
    assert announced(world, event()) == []


def test_a_webhook_that_fails_for_an_hour_is_told_to_an_account_that_chose_attention(world: World) -> None:
    choose(world, payments=False)
    (_, text), _ = announced(world, event("webhook.failing", webhookId="01KM7E57FA111NGWEBH00K0000"))
    assert text.split("\n\n")[1] == "- Event · webhook failing for an hour\n- Webhook · 01KM7E57FA111NGWEBH00K0000"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["over"], ["- Event · more paid than asked for"]),
        (["late", "over"], ["- Event · payment after the expiry", "- Event · more paid than asked for"]),
    ],
)
@pytest.mark.parametrize("payments", [True, False])
def test_a_payment_that_is_late_or_too_much_needs_attention_by_one_mail(
    world: World, payments: bool, labels: list[str], said: list[str]
) -> None:
    choose(world, payments)
    (first, text), (second, _) = announced(world, event(labels=labels))
    assert {first, second} == {ANN, BOB}
    assert {each.subject for each in world.ses.sent} == {"Something needs your attention"}
    assert text.split("\n\n")[1].splitlines()[: len(said)] == said


def test_a_late_payment_is_told_as_any_other_to_an_account_that_chose_payments_alone(world: World) -> None:
    choose(world, attention=False)
    announced(world, event(labels=["late"]))
    assert [each.subject for each in world.ses.sent] == ["Payment received"] * 2


def test_every_kind_of_event_can_be_told_and_those_of_people_say_nothing_of_them(world: World) -> None:
    choose(world)
    assert KINDS.keys() <= set(EVERY_KIND)
    for number, kind in enumerate(EVERY_KIND):
        announced(world, event(kind, number))
    assert len(world.ses.sent) == 2 * len(KINDS)
    sealed = replace(event("payment.failed", 99), body="sealed", person_id="p")
    before = len(world.ses.sent)
    mailed = announced(world, sealed)[before:]
    assert [text.split("\n\n")[1] for _, text in mailed] == ["- Event · payment failed or reversed"] * 2


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("fatal", range(1, 8))
def test_whatever_call_a_process_dies_at_each_mail_is_sent_once(world: World, fatal: int, before: bool) -> None:
    choose(world)
    world.register_webhook()
    world.services.store.write(event())
    wire = Tripwire(fatal, before)
    with suppress(Crash):
        services = world.start(FragileWrites(world.client, wire), FragileQueue(world.queue, wire))
        publisher.publish_events(services, [event().event_id])
    for _ in range(3):
        world.advance(100)
        publisher.sweep(world.services)
        mail.sweep(world.services)
        world.drain()
    assert sorted(each.to for each in world.ses.sent) == [ANN, BOB]
    assert len(world.receiver.posted) >= 1


def test_an_event_that_is_announced_again_makes_no_second_mail(world: World) -> None:
    choose(world)
    announced(world, event())
    stored = world.services.store.get(Event, event().key)
    assert stored is not None
    world.services.store.write(replace(stored, published=False))
    publisher.publish_events(world.services, [event().event_id])
    world.drain()
    assert len(world.ses.sent) == 2


def test_what_is_read_of_an_account_is_read_once_a_message_and_nothing_without_a_sender(world: World) -> None:
    events = [event(number=number) for number in range(10)]
    world.services.store.write(*events)
    silent = World(world.client).services
    with counted(world.client) as calls:
        publisher.publish_events(silent, [each.event_id for each in events[:5]])
    assert "GetItem" not in calls.by_operation
    with counted(world.client) as calls:
        publisher.publish_events(world.services, [each.event_id for each in events[5:]])
    assert calls.by_operation["GetItem"] == 1


def test_a_day_has_a_limit_which_holds_up_no_webhook(world: World) -> None:
    choose(world)
    world.register_webhook()
    limit = mail.Limit(of_account=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chalicelib.webhooks.mailing.EACH_DAY", limit)
        announced(world, *(event(number=number) for number in range(5)))
    assert len(world.ses.sent) == 3
    assert len({posted.delivery for posted in world.receiver.posted}) >= 5
    assert MailKind.PAYMENT in KINDS.values()
