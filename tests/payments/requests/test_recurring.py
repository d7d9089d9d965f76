"""Requests that recur: which dates get a new request, and when the recurrence is stopped, resumed or late."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.payments.requests.calendar import due_at, start_of, start_recurrence
from chalicelib.payments.requests.records import CustomerInfo, Frequency, Recurrence, Request, RequestStatus
from chalicelib.payments.requests.recurring import copy_of, recur, with_recurrence
from tests.payments.requests.test_rules import request as plain

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
_COUNTER = itertools.count(1)


def entropy(length: int) -> bytes:
    return next(_COUNTER).to_bytes(length, "big")


def recurring(start: str = "2030-01-31", frequency: Frequency = Frequency.MONTHLY, **changes: Any) -> Request:
    recurrence = start_recurrence(Recurrence(start, frequency), NOW)
    return replace(plain(), recurrence=recurrence, created_at=NOW, account_id="acct", **changes)


def at(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


def test_the_request_itself_is_that_of_the_first_date() -> None:
    assert recur(recurring(), NOW, entropy) is None
    assert recurring().next_due == at("2030-02-28")


def test_each_later_date_has_a_new_request_for_the_same_with_an_id_of_its_own() -> None:
    info = CustomerInfo("John", "Doe")
    paid = {"status": RequestStatus.PAID, "paid": BaseUnits(10), "tx_hash": "0x12", "payment_count": 3}
    original = recurring(customer_info=info, reference="INV-1", payer="0x" + "22" * 20, version=4, **paid)
    found = recur(original, at("2030-02-28"), entropy)
    assert found is not None
    new = found.request
    assert (new.payee, new.amount, new.currency, new.customer_info) == (original.payee, original.amount, original.currency, info)
    assert (new.reference, new.payer, new.account_id) == ("INV-1", original.payer, "acct")
    assert (new.status, new.paid, new.tx_hash, new.payment_count, new.version) == (RequestStatus.CREATED, 0, None, 0, 0)
    assert (new.original_request_id, new.original_payment_reference) == (original.request_id, original.payment_reference)
    assert new.request_id not in (original.request_id, "") and new.payable_id == new.request_id
    assert new.payment_reference != original.payment_reference
    assert new.recurrence is None and new.created_at == at("2030-02-28")
    assert found.original == replace(original, recurrence=replace(original.recurrence, period=2, next_at=at("2030-03-31")))


@pytest.mark.parametrize("invoice", [None, "USD", "FAU-sepolia"])
def test_a_new_request_is_in_the_same_currencies_with_the_same_fee_for_the_same_recurring_payout(invoice: str | None) -> None:
    fee = {"fee_percentage": "1", "fee_address": "0x" + "33" * 20, "recurring_payment_id": "01J"}
    original = recurring(invoice_currency=invoice, **fee)
    new = copy_of(original, NOW, entropy)
    assert (new.currency, new.invoice_currency, new.position) == (original.currency, invoice, 0)
    assert {name: getattr(new, name) for name in fee} == fee


def test_missed_dates_are_made_up_for_one_by_one() -> None:
    original, dates = recurring(frequency=Frequency.DAILY), []
    while (found := recur(original, at("2030-02-03"), entropy)) is not None:
        original = found.original
        dates.append(found.request.created_at)
    assert len(dates) == 3 and original.next_due == at("2030-02-04")


def test_dates_that_pass_while_it_is_stopped_are_not_made_up_for() -> None:
    stopped = with_recurrence(recurring(frequency=Frequency.DAILY), True, NOW)
    assert stopped.next_due is None and recur(stopped, at("2031-01-01"), entropy) is None
    resumed = with_recurrence(stopped, False, at("2030-03-05"))
    assert resumed.next_due == at("2030-03-06")
    assert recur(resumed, at("2030-03-05"), entropy) is None
    found = recur(resumed, at("2030-03-06"), entropy)
    assert found is not None and found.original.next_due == at("2030-03-07")


def test_stopping_or_resuming_twice_changes_nothing() -> None:
    original = recurring()
    assert with_recurrence(original, False, at("2035-01-01")) == original
    stopped = with_recurrence(original, True, NOW)
    assert with_recurrence(stopped, True, at("2035-01-01")) == stopped


def test_without_a_recurrence_there_is_nothing_to_stop() -> None:
    with pytest.raises(BadRequest, match="This request has no recurrence, so there is nothing to stop or to resume"):
        with_recurrence(plain(), True, NOW)


def test_after_the_year_9999_there_is_no_date() -> None:
    original = recurring("9999-12-31", Frequency.DAILY)
    assert original.next_due is None and recur(original, datetime(9999, 12, 31, 23, tzinfo=UTC), entropy) is None


@given(
    frequency=st.sampled_from(Frequency),
    start=st.datetimes(datetime(2030, 2, 1), datetime(2032, 3, 1)),
    waits=st.lists(st.integers(0, 200), min_size=1, max_size=12),
)
def test_whenever_it_is_looked_at_each_date_up_to_then_has_one_request(
    frequency: Frequency, start: datetime, waits: list[int]
) -> None:
    original, now, made = recurring(start.isoformat(), frequency), NOW, 1
    for days in waits:
        now += timedelta(days=days)
        while (found := recur(original, now, entropy)) is not None:
            original, made = found.original, made + 1
        first = start_of(start.isoformat())
        wanted = sum(due_at(first, frequency, period) <= now for period in range(2, made + 3))
        assert made == 1 + wanted
