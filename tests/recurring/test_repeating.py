"""Requests that recur, as the worker creates them: once for each date, with an event, beside payments and stops."""

import json
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import DailyCount, Frequency, Recurrence, Request
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.audit.records import Actor
from chalicelib.recurring import running
from tests.fakes.crash import Crash, Interruption, Tripwire
from tests.fakes.recurring import Recurring
from tests.fakes.world import PAYEE

ACTOR = Actor("acct", "test", "203.0.113.7", "request-1")


def begin(shop: Recurring, frequency: Frequency = Frequency.DAILY) -> Request:
    item = Item("12.50", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    today = f"{shop.world.now:%Y-%m-%d}"
    draft = Draft(item, reference="INV-1", recurrence=Recurrence(today, frequency))
    return requests.create(shop.services, shop.owner, draft)


def series(shop: Recurring, original: Request) -> list[Request]:
    found = [each for each in shop.store.all(Request) if each.original_request_id == original.request_id]
    return sorted(found, key=lambda each: each.created_at)


def test_each_date_has_a_new_request_with_an_event() -> None:
    shop = Recurring()
    shop.world.register_webhook()
    original = begin(shop)
    for days in (1, 2, 3):
        shop.jump(days=1)
        shop.settle(2)
        assert len(series(shop, original)) == days
    events = shop.events("request.recurring")
    assert [each["requestId"] for each in events] == [each.request_id for each in series(shop, original)]
    assert {each["originalRequestId"] for each in events} == {original.request_id}
    assert all("recurringPayment" not in each for each in events)
    assert shop.world.receiver.events == ["request.recurring"] * 3


def test_a_new_request_is_paid_found_and_counted_as_any_other() -> None:
    shop = Recurring()
    original = begin(shop)
    shop.jump(days=1)
    shop.settle(2)
    (new,) = series(shop, original)
    shop.world.chain.pay(new)
    shop.settle(2)
    found = request_store.request(shop.store, new.request_id)
    assert found is not None and found.paid == found.amount
    counted = sum(sum(each.counts.values()) for each in shop.store.all(DailyCount) if each.series == "REQUESTS")
    assert counted == 2


def test_after_days_without_a_run_each_date_is_made_up_for() -> None:
    shop = Recurring()
    original = begin(shop)
    shop.jump(days=40)
    shop.settle(3)
    assert len(series(shop, original)) == 40


def test_a_stopped_one_has_no_more() -> None:
    shop = Recurring()
    original = begin(shop)
    requests.change(shop.services, original.request_id, shop.owner, ACTOR, requests.Change(True))
    shop.jump(days=5)
    shop.settle(2)
    assert series(shop, original) == []
    requests.change(shop.services, original.request_id, shop.owner, ACTOR, requests.Change(False))
    shop.jump(days=1)
    shop.settle(2)
    assert len(series(shop, original)) == 1


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_process_that_dies_at_any_call_repeats_nothing(before: bool) -> None:
    for fatal in range(1, 8):
        shop = Recurring()
        original = begin(shop)
        shop.jump(days=2)
        with pytest.raises(Crash):
            work(shop, original, shop.guarded(Tripwire(fatal, before)))
        shop.settle(2)
        assert len(series(shop, original)) == 2 == len(shop.events("request.recurring"))


def test_two_workers_create_it_once_wherever_they_meet() -> None:
    for position in range(1, 8):
        shop = Recurring()
        original = begin(shop)
        shop.jump(days=2)
        meeting = Interruption(position, lambda shop=shop, original=original: work(shop, original, shop.services))
        work(shop, original, shop.guarded(meeting))
        shop.settle(2)
        assert len(series(shop, original)) == 2 == len(shop.events("request.recurring"))


def work(shop: Recurring, original: Request, services: Any) -> None:
    """The sweep, and its message."""
    running.start_due(services)
    shop.world.advance(timedelta(seconds=1).total_seconds())
    running.execute_recurring(services, json.dumps({"requests": [original.request_id]}))
