"""Every payment keeps what a dollar was in its token when it was paid, and none waits for it."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.rates import flows as rates
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World(client=object())
    world.services = replace(world.services, store=MemoryStore())
    world.chain.clock = world.clock
    world.prices.set("USD", "USDC", "1.0003")
    world.prices.set("USD", "EUR", "0.92")
    world.chain.mine(20)
    world.scan()
    yield world


def scan(world: World) -> None:
    world.advance(15)
    world.scan()


def payment(world: World, request: Request) -> Payment:
    (found,) = payment_store.payments(world.services.store, request.request_id)
    return found


def test_a_payment_in_the_invoices_own_token_keeps_what_a_dollar_was(world: World) -> None:
    request = store_request(world.services)
    world.chain.pay(request)
    scan(world)
    found = payment(world, request)
    assert found.rate is None and found.dollar_rate is not None
    assert (found.dollar_rate.base, found.dollar_rate.quote) == ("USD", "fUSDC-sepolia")
    assert found.dollar_rate.fraction == Fraction("1.0003"), "a stablecoin is no dollar"


def test_one_of_an_invoice_in_euros_keeps_it_beside_the_rate_of_euros(world: World) -> None:
    request = store_request(world.services, invoice_currency="EUR", amount=BaseUnits(1_250_000_000))
    world.chain.pay(request, 5_000_000)
    scan(world)
    found = payment(world, request)
    assert found.rate is not None and found.dollar_rate is not None
    assert (found.rate.base, found.dollar_rate.base) == ("EUR", "USD")


def test_one_of_an_invoice_in_dollars_was_valued_by_it(world: World) -> None:
    request = store_request(world.services, invoice_currency="USD", amount=BaseUnits(1_250_000_000))
    world.chain.pay(request, 5_000_000)
    scan(world)
    found = payment(world, request)
    assert found.rate is not None and found.rate.base == "USD" and found.dollar_rate is None


@pytest.mark.parametrize("source", ["api", "feeds"])
def test_no_payment_waits_for_it(world: World, source: str) -> None:
    getattr(world.prices, source).is_down = True
    request = store_request(world.services)
    world.chain.pay(request)
    scan(world)
    assert load_request(world.services, request).status is RequestStatus.PAID
    assert payment(world, request).dollar_rate is None


def test_what_is_recorded_hours_later_has_the_rate_of_its_time(world: World) -> None:
    request = store_request(world.services)
    world.chain.pay(request)
    world.advance(6 * 3600)
    world.prices.set("USD", "USDC", "1.25")
    world.scan()
    found = payment(world, request)
    assert found.dollar_rate is not None and found.dollar_rate.fraction == Fraction("1.0003")


def test_a_burst_of_payments_asks_the_sources_once_in_a_minute(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    read, readings = rates.show_rate_at, list[object]()
    monkeypatch.setattr(rates, "show_rate_at", lambda *asked: readings.append(asked) or read(*asked))
    requests = [store_request(world.services) for _ in range(40)]
    world.chain.mine()
    for request in requests:
        world.chain.pay_too(request)
    scan(world)
    assert all(payment(world, request).dollar_rate for request in requests)
    assert len(readings) == 1


def test_a_fork_does_not_change_it(world: World) -> None:
    request = store_request(world.services)
    world.chain.pay(request)
    scan(world)
    before = payment(world, request)
    world.prices.set("USD", "USDC", "1.25")
    world.chain.fork(5, moved_by=1)
    world.chain.mine(5)
    scan(world)
    moved = payment(world, request)
    assert moved.block_hash != before.block_hash and moved.status is PaymentStatus.CONFIRMED
    assert moved.dollar_rate == before.dollar_rate is not None


def test_a_transfer_that_does_not_count_asks_for_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "show_rate_at", lambda *_: pytest.fail("nothing is to be valued"))
    request = store_request(world.services)
    world.chain.pay(request, payee="0x" + "22" * 20)
    scan(world)
    assert load_request(world.services, request).other_payee_count == 1
