"""Payouts in a batch: how many calls they cost, how they are converted, and what happens beside other writes."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.checkout.payouts import flows
from chalicelib.checkout.payouts.flows import BatchDraft
from chalicelib.checkout.rules import PayOptions
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.rates.rules import RateUnavailable
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.callers import Owner
from tests.bench.calls import counted
from tests.checkout.payouts.test_batch import amounts
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import store_request
from tests.fakes.world import PAYEE, World, in_process_aws

OWNER, VIEWER = Owner("acct", None, None), Viewer("acct", None)


def drafts(count: int, invoice: str = "fUSDC-sepolia", payment: str = "fUSDC-sepolia", amount: str = "1") -> BatchDraft:
    one = Draft(Item(amount, None, PAYEE, invoice, payment))
    return BatchDraft((one,) * count, (), None, Fee())


def named(*requests: Request) -> BatchDraft:
    return BatchDraft((), tuple(each.request_id for each in requests), None, Fee())


def in_memory(**settings: Any) -> World:
    world = World(client=object(), **settings)
    world.services = replace(world.services, store=MemoryStore())
    return world


def test_creating_two_hundred_takes_five_transactions() -> None:
    with in_process_aws() as client:
        world = World(client)
        with counted(client) as calls:
            flows.pay_batch(world.services, OWNER, VIEWER, drafts(200))
        assert dict(calls.by_operation) == {"TransactWriteItems": 5}


def test_creating_two_hundred_by_a_quoted_rate_takes_no_more_and_reads_one_rate() -> None:
    with in_process_aws() as client:
        world = World(client)
        world.prices.set("USD", "USDC", "1.0003")
        with counted(client) as calls:
            made = flows.pay_batch(world.services, OWNER, VIEWER, drafts(200, "USD"))
        assert dict(calls.by_operation) == {"BatchGetItem": 2, "BatchWriteItem": 8, "TransactWriteItems": 5}
        last = made.cart.positions[-1].owed.request.request_id
        (quote,) = world.services.store.query(Quote, Quote.KEY.all(request_id=last))
        assert made.cart.positions[-1].converted is not None and made.cart.positions[-1].converted.ends_at == quote.ends_at


def test_paying_two_hundred_stored_ones_takes_three_transactions() -> None:
    with in_process_aws() as client:
        world = World(client)
        requests = [store_request(world.services) for _ in range(200)]
        with counted(client) as calls:
            flows.pay_batch(world.services, OWNER, VIEWER, named(*requests))
        assert dict(calls.by_operation) == {"BatchGetItem": 2, "TransactWriteItems": 3}


def test_direct_quoted_and_converted_payments_are_mixed() -> None:
    """mainnet converts what has a path of feeds; sepolia, which has none, holds rates."""
    world = in_memory()
    world.prices.set("USD", "USDC", "1.0003")
    world.prices.set("USD", "ETH", "0.0004")
    items = [
        Item("10", None, PAYEE, "USD", "USDC-mainnet"),
        Item("1", None, PAYEE, "USDC-mainnet", "USDC-mainnet"),
        Item("0.1", None, PAYEE, "ETH-mainnet", "ETH-mainnet"),
        Item("5", None, PAYEE, "USD", "ETH-mainnet"),
    ]
    draft = BatchDraft(tuple(map(Draft, items)), (), None, Fee())
    on_mainnet = flows.pay_batch(world.services, OWNER, VIEWER, draft)
    assert [each.converted.way if each.converted else None for each in on_mainnet.cart.positions] == [
        "on_chain",
        None,
        None,
        "on_chain",
    ]
    (payment,) = on_mainnet.checkout.payments
    assert amounts({"data": payment.data}) == [[10 * 10**8], [10**6], [10**17], [5 * 10**8]]
    items = [Item("10", None, PAYEE, "USD", "fUSDC-sepolia"), Item("5", None, PAYEE, "USD", "ETH-sepolia-sepolia")]
    draft = BatchDraft(tuple(map(Draft, items)), (), None, Fee())
    (payment,) = flows.pay_batch(world.services, OWNER, VIEWER, draft).checkout.payments
    assert amounts({"data": payment.data}) == [[10_003_000], [2 * 10**15]]


def test_more_than_fits_into_one_transaction_is_refused_with_how_many_fit() -> None:
    world = in_memory()
    world.prices.set("USD", "USDC", "1")
    with pytest.raises(BadRequest, match="Only the first 85 of these 100 payments fit into one transaction"):
        flows.pay_batch(world.services, OWNER, VIEWER, drafts(100, "USD", "USDC-mainnet"))
    assert len(flows.pay_batch(world.services, OWNER, VIEWER, drafts(85, "USD", "USDC-mainnet")).checkout.payments) == 1


def test_without_a_rate_nothing_is_written() -> None:
    world = in_memory()
    world.prices.set("USD", "USDC", "1")
    world.prices.api.is_down = True
    with pytest.raises(RateUnavailable):
        flows.pay_batch(world.services, OWNER, VIEWER, drafts(3, "USD"))
    with pytest.raises(RateUnavailable):
        flows.pay_out(world.services, OWNER, drafts(1, "USD").drafts[0], PayOptions(None), Fee())
    assert not world.services.store._records  # type: ignore[attr-defined]


def test_a_payment_that_is_recorded_meanwhile_is_not_paid_again() -> None:
    world = in_memory()
    requests = [store_request(world.services) for _ in range(3)]
    store, write, overtaken = world.services.store, world.services.store.write, list[Request]()

    def late(*writes: Any) -> None:
        if not overtaken:
            overtaken.append(requests[1])
            write(replace(requests[1], paid=BaseUnits(12_000_000)))
        write(*writes)

    store.write = late  # type: ignore[method-assign]
    made = flows.pay_batch(world.services, OWNER, VIEWER, named(*requests))
    assert [each.due.amount for each in made.cart.positions] == [12_500_000, 500_000, 12_500_000]
