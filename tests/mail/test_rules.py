"""The life of a mail, and what SES says of it afterwards."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.email_addresses import email_address
from chalicelib.mail import rules
from chalicelib.mail.records import Mail, Mailbox, MailKind, MailState
from chalicelib.mail.rules import LEASE, LIFETIMES, RETRY_DELAYS, Draft, Feedback
from tests.fakes.world import START

ANN = email_address("Ann@shop.example")
SECOND = timedelta(seconds=1)


def mail(kind: MailKind = MailKind.RESET, **changes: Any) -> Mail:
    made = rules.new_mail(Draft(kind, ANN, {"a": "b", "name": "Zoë"}, account_id="acct"), "01M", "de", "sealed", START)
    return replace(made, **changes)


def test_a_new_mail_is_due_at_once_and_worth_sending_as_long_as_its_link_works() -> None:
    made = mail()
    assert (made.recipient, made.next_due, made.state) == ("Ann@shop.example", START, MailState.PENDING)
    assert made.expires_at == START + timedelta(minutes=30)
    assert made.vanishes_at == START + timedelta(days=30)
    assert made.facts == '{"a":"b","name":"Zoë"}'


def test_every_kind_has_its_time() -> None:
    assert LIFETIMES.keys() == set(MailKind)
    hours = {kind: time / timedelta(hours=1) for kind, time in LIFETIMES.items()}
    links = {MailKind.CONFIRM: 24, MailKind.REGISTERED: 24, MailKind.RESET: 0.5, MailKind.INVITATION: 168}
    assert hours == {**links, MailKind.NOTHING: 1, MailKind.CHANGES: 72, MailKind.PAYMENT: 72, MailKind.ATTENTION: 72}
    assert timedelta(minutes=1) == LEASE
    assert RETRY_DELAYS == (10, 60, 300, 900, 3600)


def test_a_mail_that_says_nothing_names_nobody() -> None:
    draft = rules.withheld(Draft(MailKind.RESET, ANN, {"a": "b"}, account_id="acct"))
    made = rules.new_mail(draft, "01M", "de", "sealed", START)
    assert (made.kind, made.recipient, made.account_id) == (MailKind.NOTHING, "", "")
    assert rules.claim(made, None, START).state is MailState.DROPPED


def test_a_worker_has_a_mail_until_its_lease_ends() -> None:
    claimed = rules.claim(mail(), None, START)
    assert claimed.next_due == START + LEASE
    assert not rules.may_send(claimed, START + LEASE - SECOND)
    assert rules.may_send(claimed, START + LEASE)


def test_a_mail_that_is_over_keeps_no_secret_and_is_never_due() -> None:
    claimed = rules.claim(mail(), None, START)
    for over in (rules.mark_sent(claimed, "ses-1", START), rules.decide_refused(claimed, "BadRequestException", False, START)[0]):
        assert (over.sealed, over.next_due, over.leased_until) == (None, None, None)
        assert not rules.may_send(over, START + timedelta(days=1))


@pytest.mark.parametrize("stopped_by", ["bounce", "complaint"])
def test_a_stopped_address_gets_no_mail(stopped_by: str) -> None:
    ended = rules.claim(mail(), Mailbox("x", stopped_at=START, stopped_by=stopped_by), START)
    assert (ended.state, ended.error) == (MailState.DROPPED, f"the address is stopped: {stopped_by}")


def test_a_mail_whose_time_is_over_is_not_sent() -> None:
    assert rules.claim(mail(), None, START + timedelta(minutes=30) - SECOND).state is MailState.PENDING
    assert rules.claim(mail(), None, START + timedelta(minutes=30)).state is MailState.FAILED
    assert rules.claim(mail(error="SendingPausedException"), None, START + timedelta(hours=1)).error == "SendingPausedException"


def test_what_is_refused_for_now_is_tried_again_later_and_later_until_it_expires() -> None:
    now, current, delays = START, mail(MailKind.CHANGES), []
    while True:
        current, delay = rules.decide_refused(rules.claim(current, None, now), "TooManyRequestsException", True, now)
        if not delay:
            break
        assert (current.error, current.leased_until) == ("TooManyRequestsException", None)
        assert current.due_at == now + timedelta(seconds=delay) == current.next_due
        delays.append(delay)
        now = current.due_at
    assert tuple(delays[:5]) == RETRY_DELAYS and set(delays[5:]) == {RETRY_DELAYS[-1]}
    assert (current.state, current.error) == (MailState.FAILED, "TooManyRequestsException")
    assert timedelta(days=3) - timedelta(hours=1) <= now - START < timedelta(days=3)


def test_what_is_refused_for_good_is_not_tried_again() -> None:
    failed, delay = rules.decide_refused(mail(), "BadRequestException", False, START)
    assert (failed.state, failed.error, delay) == (MailState.FAILED, "BadRequestException", 0)


def test_the_mail_of_an_event_has_one_id_for_each_address() -> None:
    first = rules.mail_id_of("01E", "ann@shop.example")
    assert first == rules.mail_id_of("01E", "ann@shop.example")
    assert len(first) == 32
    assert len({first, rules.mail_id_of("01E", "bob@shop.example"), rules.mail_id_of("01F", "ann@shop.example")}) == 3


# --- news ---


def news(shape: str, kind: str, **about: Any) -> str:
    mail = {"messageId": "ses-1", "destination": ["ann@shop.example"]}
    if shape == "eventType":
        mail["tags"] = {"service-mail": ["01M"], "ses:configuration-set": ["x"]}
    return json.dumps({shape: kind, "mail": mail, kind.lower(): about})


BOUNCED = {"bouncedRecipients": [{"emailAddress": "ann@shop.example", "status": "5.1.1"}]}
COMPLAINED = {"complainedRecipients": [{"emailAddress": "ann@shop.example"}]}


@pytest.mark.parametrize(("shape", "mail_id"), [("eventType", "01M"), ("notificationType", None)])
def test_a_permanent_bounce_and_a_complaint_stop_an_address_in_both_shapes(shape: str, mail_id: str | None) -> None:
    bounce = rules.feedback_of(news(shape, "Bounce", bounceType="Permanent", **BOUNCED))
    assert bounce == Feedback(mail_id, "bounce", ("ann@shop.example",))
    assert rules.feedback_of(news(shape, "Complaint", **COMPLAINED)) == Feedback(mail_id, "complaint", ("ann@shop.example",))


@pytest.mark.parametrize("kind", ["Transient", "Undetermined", None])
def test_no_other_bounce_stops_an_address(kind: str | None) -> None:
    assert rules.feedback_of(news("eventType", "Bounce", bounceType=kind, **BOUNCED)).stops is None


@pytest.mark.parametrize("kind", ["Delivery", "Send", "Reject", "Open", "Rendering Failure"])
def test_other_news_stops_nothing(kind: str) -> None:
    assert rules.feedback_of(news("eventType", kind)).stops is None


@pytest.mark.parametrize("body", ["", "x", "[]", "1", "null", "{}", '{"eventType": "Bounce"}', '{"eventType": 1, "mail": []}'])
def test_what_is_no_news_of_ses_is_refused(body: str) -> None:
    with pytest.raises(ValueError):
        rules.feedback_of(body)


@pytest.mark.parametrize("recipients", [None, "x", [], ["x"], [{"emailAddress": 1}], [{}]])
def test_news_without_addresses_names_none(recipients: Any) -> None:
    found = rules.feedback_of(news("eventType", "Bounce", bounceType="Permanent", bouncedRecipients=recipients))
    assert found == Feedback("01M", "bounce", ())


@pytest.mark.parametrize("tag", [None, "01M", [], [1], {}])
def test_news_whose_tag_is_no_list_of_texts_names_no_mail(tag: Any) -> None:
    body = {"eventType": "Delivery", "mail": {"tags": {"service-mail": tag}}}
    assert rules.feedback_of(json.dumps(body)) == Feedback(None, None, ())


def test_a_complaint_outweighs_a_bounce_and_the_first_time_stays() -> None:
    bounced = rules.stop_mailbox(Mailbox("x"), "bounce", START)
    assert (bounced.stopped_at, bounced.stopped_by) == (START, "bounce")
    assert rules.stop_mailbox(bounced, "bounce", START + SECOND) is bounced
    complained = rules.stop_mailbox(bounced, "complaint", START + SECOND)
    assert (complained.stopped_at, complained.stopped_by) == (START, "complaint")
    assert rules.stop_mailbox(complained, "bounce", START + SECOND) is complained
    assert rules.lift_stop(complained) == Mailbox("x")
