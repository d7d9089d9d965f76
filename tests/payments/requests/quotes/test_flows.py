"""Rates that are locked for payers: how often a new one is made, by how many processes, and which held at a time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import find_tokens
from chalicelib.payments.rates.rules import RateUnavailable
from chalicelib.payments.requests.quotes import flows
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.outbound.prices import Price
from chalicelib.platform.storage.store import Write, WriteConflict
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import START, World

USD, FUSDC = (find_tokens(network, symbol)[0] for network, symbol in (("fiat", "USD"), ("sepolia", "fUSDC")))


@pytest.fixture
def world() -> World:
    return new_world()


def new_world() -> World:
    world = World(client=object())
    world.services = replace(world.services, store=MemoryStore())
    world.prices.set("USD", "USDC", "1.0003")
    return world


REQUEST = Request(
    payable_id="01R",
    position=0,
    request_id="01R",
    account_id="acct",
    created_at=START,
    salt="salt",
    payment_reference="0x86dfbccad783599a",
    payee="0x" + "11" * 20,
    network="sepolia",
    currency="fUSDC-sepolia",
    amount=BaseUnits(1250000000),
    status=RequestStatus.CREATED,
    paid=BaseUnits(0),
    tx_hash=None,
    invoice_currency="USD",
)


def hold(world: World, request: Request = REQUEST) -> Quote:
    return flows.hold(world.services, [request])[request.request_id]


def test_a_quote_is_kept_while_it_holds_for_half_of_its_time(world: World) -> None:
    first = hold(world)
    assert (first.number, first.at, first.ends_at) == (0, world.now, world.now + timedelta(seconds=300))
    world.prices.set("USD", "USDC", "1.01")
    world.advance(150)
    assert hold(world).number == 0
    world.advance(1)
    second = hold(world)
    assert (second.number, second.rate.fraction) == (1, Fraction("1.01"))


def test_without_a_rate_there_is_no_quote_and_one_that_holds_is_still_given(world: World) -> None:
    world.prices.api.is_down = True
    with pytest.raises(RateUnavailable):
        hold(world)
    world.prices.api.is_down = False
    first = hold(world)
    world.prices.api.is_down = True
    assert hold(world).number == first.number


@given(st.lists(st.integers(0, 200), max_size=60))
def test_whoever_asks_in_a_loop_makes_one_quote_in_half_of_its_time(pauses: list[int]) -> None:
    world = new_world()
    start = world.now
    for pause in pauses:
        world.advance(pause)
        locked = hold(world)
        assert locked.ends_at - world.now >= timedelta(seconds=150)
        assert locked.number <= (world.now - start).total_seconds() // 150


@pytest.mark.parametrize(("pause", "rate"), [(300, "1.0003"), (301, "1.2")])
def test_a_resumed_call_takes_the_rate_of_a_written_quote_only_while_it_holds(
    world: World, pause: int, rate: str
) -> None:
    written = hold(world)
    world.prices.set("USD", "USDC", "1.2")
    world.advance(pause)
    made = flows.first(world.services, [REQUEST, replace(REQUEST, request_id="01S")])
    assert made["01R"].rate == written.rate
    assert made["01S"].rate.fraction == Fraction(rate)
    assert made["01S"].at == world.now
    assert made["01S"].ends_at == (written.ends_at if pause == 300 else world.now + timedelta(seconds=300))


def test_two_processes_that_hold_at_once_give_the_same_quote(world: World) -> None:
    """The other process writes its quote while this one reads the rate."""
    other: list[Quote] = []
    read = world.prices.now

    def overtaken(id: str, currency: str) -> Price | None:
        if not other:
            other.append(Quote("", 0, None, world.now, world.now))  # type: ignore[arg-type]
            other[0] = hold(world)
        return read(id, currency)

    world.prices.now = overtaken  # type: ignore[method-assign]
    ours = hold(world)
    assert (ours.number, ours.at, ours.rate) == (other[0].number, other[0].at, other[0].rate)
    assert len(world.services.store.query(Quote, Quote.KEY.all(request_id="01R"))) == 1


def test_a_quote_that_is_never_written_first_is_tried_ten_times(world: World) -> None:
    tries: list[Sequence[Write]] = []

    def overtaken(_: object, writes: Sequence[Write]) -> None:
        tries.append(writes)
        raise WriteConflict

    world.services = replace(world.services, store=world.services.store.with_join(overtaken))
    with pytest.raises(WriteConflict):
        hold(world)
    assert len(tries) == 10


def test_a_payment_is_valued_by_the_quote_that_held_at_its_time(world: World) -> None:
    """The clock of a block may be 15 seconds behind ours."""
    start = world.now
    hold(world)
    world.advance(1000)
    hold(world)
    store = world.services.store
    before_the_first = ((-16, None), (-15, 0), (0, 0))
    for seconds, number in (*before_the_first, (300, 0), (301, None), (984, None), (985, 1), (1300, 1), (1301, None)):
        found = flows.find_given(store, "01R", start + timedelta(seconds=seconds)).valid
        assert (found.number if found else None) == number, seconds
    assert flows.find_given(store, "another", start).valid is None


@pytest.mark.parametrize(("later_rate", "number"), [("0.99", 1), ("1.01", 0)])
def test_of_two_quotes_that_hold_at_once_the_payer_has_the_better_one(
    world: World, later_rate: str, number: int
) -> None:
    hold(world)
    world.advance(160)
    world.prices.set("USD", "USDC", later_rate)
    hold(world)
    found = flows.find_given(world.services.store, "01R", world.now + timedelta(seconds=60)).valid
    assert found is not None and found.number == number


def test_the_last_quote_is_known_long_after_it_has_ended(world: World) -> None:
    start, first = world.now, hold(world)
    world.advance(200)
    second, store = hold(world), world.services.store
    for seconds, last in ((-16, None), (0, first), (184, first), (185, second), (600, second), (5 * 86_400, second)):
        found = flows.find_given(store, "01R", start + timedelta(seconds=seconds)).last
        assert (found and found.number) == (last and last.number), seconds


def test_an_old_quote_is_found_behind_many_newer_ones(world: World) -> None:
    start, first = world.now, hold(world)
    for _ in range(250):
        world.advance(151)
        hold(world)
    found = flows.find_given(world.services.store, "01R", start).valid
    assert found is not None and found.number == first.number == 0
