"""Mails from the transaction that writes them to SES and back: once each, within limits, and never to a stopped address."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.email_addresses import EmailAddress, email_address
from chalicelib.mail import flows, store
from chalicelib.mail.flows import ASKED_FOR, Limit
from chalicelib.mail.records import Mail, MailKind, MailState
from chalicelib.mail.rules import LEASE, Draft
from chalicelib.platform.metrics import MAILS
from chalicelib.platform.outbound.ses import NotSent
from chalicelib.platform.services import Services
from tests.fakes.crash import Crash, FragileQueue, FragileWrites, Guarded, Tripwire
from tests.fakes.world import World

ANN = email_address("ann@shop.example")
LINK = {"link": "https://auth.example/password#token=abc"}
BUSY = NotSent("TooManyRequestsException", later=True)


def draft(to: EmailAddress = ANN, kind: MailKind = MailKind.RESET, account_id: str = "acct") -> Draft:
    return Draft(kind, to, {}, LINK, account_id)


def write(world: World, services: Services | None = None, **changes: object) -> Mail:
    services = services or world.services
    [mail] = flows.write_mail(services, draft(**changes), Limit())
    mail = services.store.write(mail)
    flows.queue_mails(services, [mail])
    return mail


def stored(world: World, mail: Mail) -> Mail:
    found = store.mail(world.services.store, mail.mail_id)
    assert found is not None
    return found


def bounce(mail: Mail, kind: str = "Permanent") -> str:
    recipients = [{"emailAddress": mail.recipient}]
    about = {"bounceType": kind, "bouncedRecipients": recipients}
    return json.dumps({"eventType": "Bounce", "mail": {"tags": {"service-mail": [mail.mail_id]}}, "bounce": about})


def test_a_mail_is_sent_once_with_its_id_and_its_link(world: World) -> None:
    mail = write(world)
    world.drain()
    [message] = world.ses.sent
    assert (message.mail_id, message.to) == (mail.mail_id, "ann@shop.example")
    assert LINK["link"] in message.text and LINK["link"] in message.html
    assert "Payment Request Service" in message.text
    assert f"{mail.expires_at:%Y-%m-%d %H:%M} UTC" in message.text
    sent = stored(world, mail)
    assert (sent.state, sent.message_id, sent.next_due) == (MailState.SENT, "ses-1", None)
    assert world.metrics.taken(MAILS) == {"sent": [1]}
    flows.send(world.services, mail.mail_id)
    assert len(world.ses.sent) == 1


def test_a_link_is_stored_encrypted_and_forgotten_when_the_mail_is_over(world: World) -> None:
    mail = write(world)
    assert mail.sealed is not None and mail.sealed.startswith(f"mail#{mail.mail_id}:")
    assert LINK["link"] not in mail.facts
    world.drain()
    assert stored(world, mail).sealed is None


def test_without_a_sender_nothing_is_written(world: World) -> None:
    silent = World(world.client).services
    assert not flows.is_configured(silent) and flows.is_configured(world.services)
    assert flows.write_mail(silent, draft(), ASKED_FOR) == ()
    write(world)
    world.queue.messages.clear()
    world.advance(60)
    assert flows.sweep(silent) == 0


def test_a_mail_whose_message_was_lost_is_swept(world: World) -> None:
    mail = write(world)
    world.queue.messages.clear()
    assert flows.sweep(world.services) == 0
    world.advance(31)
    assert flows.sweep(world.services) == 1
    world.drain()
    assert stored(world, mail).state is MailState.SENT
    world.advance(86_400)
    assert flows.sweep(world.services) == 0


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("fatal", range(1, 7))
def test_whatever_call_a_process_dies_at_the_mail_arrives_and_twice_only_under_one_id(
    world: World, fatal: int, before: bool
) -> None:
    """Written, hinted, claimed, sent, marked: six calls that change something, each with a death before and after it."""
    wire = Tripwire(fatal, before)
    services = world.start(FragileWrites(world.client, wire), FragileQueue(world.queue, wire))
    services = replace(services, ses=Guarded(world.ses, ("send",), wire))
    try:
        write(world, services)
        world.drain(services)
    except Crash:
        pass
    written = len(list(store.due(world.services.store, world.now + timedelta(days=1), 10, 0))) + len(world.ses.sent)
    for _ in range(3):
        world.advance(LEASE.total_seconds() + 31)
        world.queue.messages.clear()
        flows.sweep(world.services)
        world.drain()
    assert len({each.mail_id for each in world.ses.sent}) == min(written, 1)
    assert len(world.ses.sent) <= 2
    assert len(world.ses.sent) >= 1 or (fatal, before) == (1, True)


def test_an_answer_that_is_lost_has_the_message_sent_again_with_the_same_id(world: World) -> None:
    world.ses.taken_first = True
    world.ses.refusals.append(NotSent("ReadTimeoutError", later=True))
    mail = write(world)
    world.drain()
    first, second = world.ses.sent
    assert first == second and first.mail_id == mail.mail_id
    assert stored(world, mail).attempt == 1


def test_two_workers_send_a_mail_once(world: World) -> None:
    mail = write(world)
    class Overtaken:
        def send(self, message: object) -> str:
            flows.send(world.services, mail.mail_id)  # another worker, while this one waits for SES
            return world.ses.send(message)  # type: ignore[arg-type]

    flows.send(replace(world.services, ses=Overtaken()), mail.mail_id)  # type: ignore[arg-type]
    assert len(world.ses.sent) == 1


def test_what_ses_cannot_take_now_is_sent_after_growing_delays(world: World) -> None:
    world.ses.refusals += [BUSY] * 4
    start = world.now
    mail = write(world, kind=MailKind.CHANGES)
    world.drain()
    [at] = world.ses.sent_at
    assert at - start == timedelta(seconds=10 + 60 + 300 + 900)
    assert stored(world, mail).attempt == 4
    assert world.metrics.taken(MAILS) == {"pending": [1] * 4, "sent": [1]}


def test_an_attempt_in_more_than_a_quarter_of_an_hour_is_queued_by_the_sweep(world: World) -> None:
    world.ses.refusals += [BUSY] * 5
    mail = write(world, kind=MailKind.CHANGES)
    world.drain()
    assert stored(world, mail).state is MailState.PENDING and not world.queue.messages
    world.advance(3000)
    assert flows.sweep(world.services) == 0
    world.advance(700)
    assert flows.sweep(world.services) == 1
    world.drain()
    assert stored(world, mail).state is MailState.SENT


def test_what_ses_refuses_for_good_fails_at_once(world: World) -> None:
    world.ses.refusals.append(NotSent("BadRequestException", later=False))
    mail = write(world)
    world.drain()
    failed = stored(world, mail)
    assert (failed.state, failed.error, world.ses.sent) == (MailState.FAILED, "BadRequestException", [])


def test_a_link_that_works_no_more_is_not_sent(world: World) -> None:
    mail = write(world)
    world.advance(30 * 60)
    world.drain()
    assert stored(world, mail).state is MailState.FAILED and not world.ses.sent


def test_the_language_is_that_of_the_address(world: World) -> None:
    world.services.store.write(replace(store.mailbox(world.services.store, ANN), locale="de"))
    write(world)
    world.drain()
    assert world.ses.sent[0].subject == "Neues Passwort setzen"


# --- limits ---


def test_an_address_gets_no_more_mails_than_its_limit_whoever_asks_and_an_hour_later_more(world: World) -> None:
    kinds = [flows.write_mail(world.services, draft(), ASKED_FOR)[0].kind for _ in range(8)]
    assert kinds == [MailKind.RESET] * 5 + [MailKind.NOTHING] * 3
    assert flows.write_mail(world.services, draft(email_address("ANN@shop.example")), ASKED_FOR)[0].kind is MailKind.NOTHING
    assert flows.write_mail(world.services, draft(email_address("bob@shop.example")), ASKED_FOR)[0].kind is MailKind.RESET
    assert flows.write_mail(world.services, draft(kind=MailKind.CONFIRM), ASKED_FOR)[0].kind is MailKind.CONFIRM
    world.advance(3600)
    assert flows.write_mail(world.services, draft(), ASKED_FOR)[0].kind is MailKind.RESET


def test_an_account_causes_no_more_mails_in_a_day_than_its_limit(world: World) -> None:
    limit = Limit(of_account=3)
    addresses = [email_address(f"ann+{number}@shop.example") for number in range(5)]
    kinds = [flows.write_mail(world.services, draft(each), limit)[0].kind for each in addresses]
    assert kinds == [MailKind.RESET] * 3 + [MailKind.NOTHING] * 2
    assert flows.write_mail(world.services, draft(account_id="other"), limit)[0].kind is MailKind.RESET


def test_what_is_withheld_is_written_sealed_and_never_sent(world: World) -> None:
    [mail] = flows.write_mail(world.services, draft(), ASKED_FOR, is_withheld=True)
    assert (mail.kind, mail.recipient, mail.account_id) == (MailKind.NOTHING, "", "")
    assert mail.sealed is not None
    flows.queue_mails(world.services, [world.services.store.write(mail)])
    world.drain()
    assert stored(world, mail).state is MailState.DROPPED and not world.ses.sent


# --- news ---


def test_an_address_that_bounces_is_not_written_to_again_until_the_operator_lifts_it(world: World) -> None:
    mail = write(world)
    world.drain()
    flows.note(world.services, bounce(mail))
    flows.note(world.services, bounce(mail))
    assert stored(world, mail).state is MailState.BOUNCED
    mailbox = store.mailbox(world.services.store, email_address("ANN@shop.example"))
    assert (mailbox.stopped_by, mailbox.stopped_at) == ("bounce", world.now)

    assert flows.write_mail(world.services, draft(), Limit())[0].kind is MailKind.NOTHING
    assert flows.lift(world.services, ANN) and not flows.lift(world.services, ANN)
    write(world)
    world.drain()
    assert len(world.ses.sent) == 2


def test_a_mail_that_waits_while_its_address_bounces_is_dropped(world: World) -> None:
    first, second = write(world), write(world)
    flows.send(world.services, first.mail_id)
    flows.note(world.services, bounce(first))
    world.drain()
    assert stored(world, second).state is MailState.DROPPED and len(world.ses.sent) == 1


def test_news_without_a_tag_stops_the_addresses_that_it_names(world: World) -> None:
    about = {"complainedRecipients": [{"emailAddress": "ANN@shop.example"}, {"emailAddress": "bob@shop.example"}]}
    flows.note(world.services, json.dumps({"notificationType": "Complaint", "mail": {}, "complaint": about}))
    for name in ("ann", "bob"):
        assert store.mailbox(world.services.store, email_address(f"{name}@shop.example")).stopped_by == "complaint"


def test_a_full_mailbox_stops_nothing(world: World) -> None:
    mail = write(world)
    world.drain()
    flows.note(world.services, bounce(mail, "Transient"))
    assert store.mailbox(world.services.store, ANN).stopped_at is None
    assert stored(world, mail).state is MailState.SENT
