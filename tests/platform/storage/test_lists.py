"""Lists: which records an index has, in which order they are read, and counts that are added to without being read."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.lists import Named, Span, below, list_of, place_at
from chalicelib.base.records import Counts
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import DailyCount
from chalicelib.platform.storage.store import Add, Store, WriteConflict
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PREFIX, World
from tests.platform.storage.kept_records import ACCOUNT, NOW, PAYMENT, REQUEST_ID

DAY = DailyCount(ACCOUNT, "ACCOUNT", "2026-03-01", "", 0)
ALL = Named("by_account", list_of(ACCOUNT, "PAYMENT"))


def payment(number: int, **changes: object) -> Payment:
    at = NOW + timedelta(seconds=number)
    facts = {"account_id": ACCOUNT, "currency": "USDC-base", "payee": "0xAb", "paid_at": at, "tx_hash": f"0x{number:x}"}
    return replace(PAYMENT, **{**facts, **changes})


@pytest.fixture(params=["memory", "moto", "memory store"])
def store(request: pytest.FixtureRequest, client_of_moto: Any) -> Store:
    if request.param == "memory store":
        return MemoryStore()
    world: World = request.getfixturevalue(request.param)
    return world.services.store


def test_a_list_has_its_records_from_the_newest_to_the_oldest_and_goes_on_below_the_last(store: Store) -> None:
    stored = [payment(number) for number in range(7)]
    for each in [*stored, payment(3, account_id="another", tx_hash="0x9")]:
        store.write(each)
    seen, span = [], Span(ALL)
    for size in (3, 3, 1):
        page = store.newest(Payment, span, 3)
        assert len(page.records) == size
        seen += [each.tx_hash for each in page.records]
        if page.end is not None:
            span = replace(span, last=below(page.end))
    assert page.end is None
    assert seen == [each.tx_hash for each in reversed(stored)]


def test_a_span_has_both_of_its_ends(store: Store) -> None:
    for number in range(7):
        store.write(payment(number))
    first, last = (place_at(NOW + timedelta(seconds=number)) for number in (2, 4))
    found = store.newest(Payment, Span(ALL, first, last + "~"), 10)
    assert [each.at for each in found.records] == [NOW + timedelta(seconds=number) for number in (4, 3, 2)]
    assert store.count_listed(Payment, Span(ALL, first, last + "~"), 1) == (3, True)


def test_a_span_that_ends_before_it_begins_is_empty(store: Store) -> None:
    store.write(payment(1))
    span = Span(ALL, place_at(NOW + timedelta(seconds=3)), place_at(NOW))
    assert store.newest(Payment, span, 10).records == ()
    assert store.count_listed(Payment, span, 1) == (0, True)


def test_what_is_in_none_of_the_other_lists_is_left_out(store: Store) -> None:
    for number in range(8):
        store.write(payment(number, payee="0xAb" if number % 2 else "0xcd", payer="0xee" if number % 4 else None))
    payee, payer = (Named(index, list_of(ACCOUNT, "PAYMENT", value)) for index, value in (("by_payee", "0xab"), ("by_payer", "0xee")))
    span = Span(ALL, within=((payee, payer),))
    assert len(store.newest(Payment, span, 10).records) == store.count_listed(Payment, span, 1)[0] == 6
    both = Span(ALL, within=((payee,), (payer,)))
    assert len(store.newest(Payment, both, 10).records) == store.count_listed(Payment, both, 1)[0] == 4


def test_a_reversed_payment_leaves_its_lists(store: Store) -> None:
    store.write(payment(1))
    (found,) = store.newest(Payment, Span(ALL), 5).records
    store.write(replace(found, status=PaymentStatus.REVERSED))
    assert store.newest(Payment, Span(ALL), 5).records == ()
    assert len(store.query(Payment, Payment.KEY.all(request_id=REQUEST_ID))) == 1


def test_amounts_are_added_to_a_record_that_nobody_read(store: Store) -> None:
    for amounts in ({"USDC|USD": 2}, {"USDC|USD": 3, "DAI|EUR: #": 1}, {"USDC|USD": -1}):
        store.write(Add(DAY, amounts))
    found = store.get(DailyCount, DAY.key)
    assert found is not None
    assert found == replace(DAY, counts=Counts({"USDC|USD": 4, "DAI|EUR: #": 1}))


def test_amounts_are_added_with_all_the_other_writes_of_a_transaction_or_not_at_all(store: Store) -> None:
    store.write(payment(1), Add(DAY, {"a": 1}))
    with pytest.raises(WriteConflict):
        store.write(payment(1), Add(DAY, {"a": 1}))
    found = store.get(DailyCount, DAY.key)
    assert found is not None and found.counts == {"a": 1}


def test_one_query_is_made_for_each_page_that_leaves_nothing_out_and_no_more_than_are_allowed(world: World) -> None:
    store = Store(PREFIX, world.client)
    for number in range(60):
        store.write(payment(number, payee="0xAb" if number == 0 else "0xcd"))
    rare = Span(ALL, within=((Named("by_payee", list_of(ACCOUNT, "PAYMENT", "0xab")),),))
    found = store.newest(Payment, rare, 4, queries=1)
    assert found.records == () and found.end is not None, "it looked at 20 records and says where it stopped"
    assert len(store.newest(Payment, replace(rare, last=below(found.end)), 4, queries=2).records) == 1


def test_a_list_that_ends_amid_what_it_leaves_out_names_no_record_of_that_and_passes_over_none(world: World) -> None:
    store = Store(PREFIX, world.client)
    for number in range(60):
        store.write(replace(payment(number), payer="0xAb" if number in (0, 30) else "0xcd", payee="0xAb"))
    span, found = Span(ALL, equal=("payee", "payer")), list[str]()
    while True:
        page = store.newest(Payment, span, 4, queries=1)
        found += [each.payment_id for each in page.records]
        if page.end is None:
            break
        assert "#" not in page.end, "a place has the id of its record"
        span = replace(span, last=below(page.end))
    assert found == [payment(30).payment_id, payment(0).payment_id]
