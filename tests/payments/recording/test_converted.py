"""From the logs of a chain to totals in the invoice currency: conversions, quotes, rates that move, and forks."""

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.payments.rates.records import RateSource
from chalicelib.payments.rates.rules import RateUnavailable, rate_text
from chalicelib.payments.recording import flows
from chalicelib.payments.recording.matching import MAX_SMALL_PAYMENTS
from chalicelib.payments.recording.valuation_rates import AGREE_WITHIN
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, PaymentKind, PaymentStatus
from chalicelib.payments.requests.quotes import flows as quotes
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState
from chalicelib.platform.outbound.prices import Price
from tests.fakes.memory_store import MemoryStore
from tests.fakes.prices import FakePrices
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World

USD_AMOUNT = BaseUnits(1_250_000_000)
CONTRACTS = {
    "currency": "USDC-mainnet", "invoice_currency": "USD", "amount": USD_AMOUNT, "client_id": World.client_id
}  # fmt: skip
"""A request that the contracts of mainnet can convert."""


def new_world() -> World:
    """A deployment that reads mainnet, where one dollar is 1.0003 USDC."""
    world = World(client=object(), confirmations={"mainnet": 2})
    world.services = replace(world.services, store=MemoryStore())
    world.prices.set("USD", "USDC", "1.0003")
    world.chain = world.services.chains.of("mainnet")
    world.chain.clock = world.clock
    world.chain.mine(20)
    world.scan()
    return world


@pytest.fixture
def world() -> Iterator[World]:
    yield new_world()


def scan(world: World) -> None:
    world.advance(15)
    world.scan()


def payments(world: World, request: Request) -> tuple[Payment, ...]:
    return payment_store.payments(world.services.store, request.request_id)


def logged(world: World) -> list[LoggedTransfer]:
    return scan_store.list_logged(world.services.store, world.chain.network, 0, len(world.chain.blocks))


def test_a_conversion_is_one_payment_of_what_was_asked_for(world: World) -> None:
    world.register_webhook()
    request = store_request(world.services, **CONTRACTS)
    log, _ = world.chain.convert(request, 12_503_750)
    world.chain.payers = {log["transactionHash"]: "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"}
    scan(world)
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid, paid.payment_count) == (RequestStatus.PAID, USD_AMOUNT, 1)
    (payment,) = payments(world, request)
    assert (payment.amount, payment.value, payment.type) == (12_503_750, USD_AMOUNT, PaymentKind.CONVERSION)
    assert payment.rate is not None
    assert (payment.rate.base, payment.rate.quote) == ("USD", "USDC-mainnet")
    assert payment.rate.fraction == Fraction("1.0003")
    assert payment.payer == "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
    assert (payment.currency, payment.invoice_currency) == ("USDC-mainnet", "USD")
    world.drain()
    assert world.receiver.events == ["payment.confirmed", "payment.confirmed.client_id"]


def test_it_is_counted_once_however_often_its_blocks_are_read(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.chain.convert(request, 12_503_750)
    for _ in range(4):
        scan(world)
    world.advance(7 * 3600)
    for _ in range(3):
        scan(world)
    assert load_request(world.services, request).paid == USD_AMOUNT
    assert len(payments(world, request)) == 1


def test_a_conversion_by_a_path_of_the_payers_own_is_worth_the_tokens_that_it_moved(world: World) -> None:
    """A path that goes round through feeds that differ pays half of what its event says (tests/onchain)."""
    request = store_request(world.services, **CONTRACTS)
    world.chain.convert(request, 5_656_983)
    scan(world)
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid) == (RequestStatus.PARTIALLY_PAID, 565_528_641)


def test_a_conversion_whose_path_cannot_be_read_is_valued_by_the_rate_and_holds_nothing_up(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.chain.convert(request, 12_503_750)
    world.prices.feeds.is_down = True
    scan(world)
    assert [each.path_amount for each in logged(world)] == [None]
    assert load_request(world.services, request).paid == 0
    world.prices.feeds.is_down = False
    flows.queue_overdue(world.services)
    world.advance(60)
    flows.queue_overdue(world.services)
    world.record()
    (payment,) = payments(world, request)
    assert (payment.value, payment.type) == (USD_AMOUNT, PaymentKind.CONVERSION)


def test_without_a_price_source_what_the_contracts_convert_is_valued_by_their_feeds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way is offered there, and not every node has the state of the block, or is asked in the fee proxy's place."""
    converted, paid = (store_request(world.services, **CONTRACTS) for _ in range(2))
    monkeypatch.setattr(FakePrices, "is_configured", False)
    world.chain.convert(converted, 12_503_750)
    world.chain.pay(paid, 12_503_750)
    world.prices.feeds.is_down = True
    scan(world)
    assert [each.path_amount for each in logged(world)] == [None, None]
    world.prices.feeds.is_down = False
    world.advance(600)
    flows.queue_overdue(world.services)
    world.record()
    for request in (converted, paid):
        assert load_request(world.services, request).status is RequestStatus.PAID
        assert not scan_store.has_work(world.services.store, [request.payable_id])


def test_what_a_valid_quote_says_pays_the_request_in_full_however_the_rate_has_moved(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    quote = quotes.hold(world.services, [request])[request.request_id]
    world.prices.set("USD", "USDC", "1.2")
    world.advance(200)
    world.chain.pay(request, 12_503_750)
    scan(world)
    (payment,) = payments(world, request)
    assert load_request(world.services, request).status is RequestStatus.PAID
    assert (payment.value, payment.rate) == (USD_AMOUNT, quote.rate)


def test_without_a_quote_the_rate_of_the_block_counts_with_the_stated_tolerance(world: World) -> None:
    early, late = (store_request(world.services, **CONTRACTS) for _ in range(2))
    quotes.hold(world.services, [early])
    world.advance(1000)
    world.prices.set("USD", "USDC", "1.02")
    world.chain.pay(early, 12_503_750)
    scan(world)
    (payment,) = payments(world, early)
    assert load_request(world.services, early).status is RequestStatus.PARTIALLY_PAID, "the quote had ended"
    assert payment.rate is not None
    assert payment.rate.fraction == Fraction("1.02")
    world.prices.set("USD", "USDC", "1.01")
    world.chain.pay(late, 12_503_750)
    scan(world)
    assert load_request(world.services, late).status is RequestStatus.PAID
    assert payments(world, late)[0].value == USD_AMOUNT


@pytest.mark.parametrize("waits", [0, 301, 3600, 20 * 86_400])
def test_once_a_quote_was_given_a_percent_less_than_it_asks_for_is_a_part(world: World, waits: float) -> None:
    world.prices.set("USD", "USDC", "1")
    request = store_request(world.services, **CONTRACTS)
    quotes.hold(world.services, [request])
    world.advance(waits)
    world.chain.pay(request, 12_375_000)
    scan(world)
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid) == (RequestStatus.PARTIALLY_PAID, 1_237_500_000)


def test_a_payment_waits_for_a_rate_and_holds_no_other_payable_up(world: World) -> None:
    waiting, plain = store_request(world.services, **CONTRACTS), store_request(world.services, currency="USDC-mainnet")
    quoted = store_request(world.services, **CONTRACTS)
    quotes.hold(world.services, [quoted])
    world.prices.api.is_down = True
    for request in (waiting, plain, quoted):
        world.chain.pay(request, 12_503_750)
    world.chain.convert(waiting, 12_503_750)
    scan(world)
    assert load_request(world.services, waiting).paid == USD_AMOUNT, "only the conversion, which needs no rate"
    assert load_request(world.services, plain).status is RequestStatus.PAID
    assert load_request(world.services, quoted).status is RequestStatus.PAID
    assert scan_store.has_work(world.services.store, [waiting.payable_id])
    world.advance(60)
    assert flows.queue_overdue(world.services) == 1
    world.record()
    assert scan_store.has_work(world.services.store, [waiting.payable_id]), "there is still no rate"
    world.prices.api.is_down = False
    world.advance(60)
    flows.queue_overdue(world.services)
    world.record()
    after = load_request(world.services, waiting)
    assert after.paid == 2 * USD_AMOUNT
    first, second = sorted(payments(world, waiting), key=lambda each: each.block_number)
    assert (first.is_announced, second.is_announced) == (False, True), "the one that needs no rate did not wait"
    assert not scan_store.has_work(world.services.store, [waiting.payable_id])


def test_a_payment_that_waits_for_a_rate_holds_up_nothing_else_of_its_request(world: World) -> None:
    """Anybody can send a unit while the sources disagree, and there may never be a rate of that time."""
    world.register_webhook()
    request = store_request(world.services, **CONTRACTS)
    quotes.hold(world.services, [request])
    world.chain.pay(request, 6_251_875)
    scan(world)
    world.advance(1000)
    world.prices.api.off_by = Decimal("1.05")
    world.chain.pay(request, 1)
    scan(world)
    world.prices.api.off_by = Decimal(1)
    world.advance(60)
    quotes.hold(world.services, [request])
    world.advance(60)
    world.chain.pay(request, 6_251_875)
    world.prices.feeds.is_down = True
    scan(world)
    assert load_request(world.services, request).status is RequestStatus.PAID
    assert scan_store.has_work(world.services.store, [request.payable_id]), "the unit waits"
    world.chain.fork(4)
    scan(world)
    assert load_request(world.services, request).paid == USD_AMOUNT // 2, "a removed payment waits for no rate"
    world.prices.feeds.is_down = False
    world.advance(60)
    flows.queue_overdue(world.services)
    world.record()
    assert not scan_store.has_work(world.services.store, [request.payable_id])
    assert load_request(world.services, request).paid == USD_AMOUNT // 2 + 99, "the unit is worth 99 of a dollar's 10^8"
    world.drain()
    core = [event for event in world.receiver.events if event.count(".") == 1]
    assert core == ["payment.partial", "payment.confirmed", "payment.failed", "payment.partial"]


def sweep(world: World, seconds: float = 60) -> None:
    world.advance(seconds)
    flows.queue_overdue(world.services)
    world.record()


def asked(world: World, seconds: float = 0) -> list[datetime]:
    """The instants for which the feeds are asked from now on; each answer takes so many seconds."""
    instants, read = list[datetime](), world.chain.read_past_conversion_rate

    def counted(path: tuple[str, ...], instant: datetime) -> PathRate | None:
        instants.append(instant)
        world.advance(seconds)
        return read(path, instant)

    world.chain.read_past_conversion_rate = counted  # type: ignore[method-assign]
    return instants


def test_a_payment_on_whose_time_the_sources_never_agree_counts_after_a_day_for_the_least_that_one_says(
    world: World,
) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.prices.api.off_by = Decimal("1.05")
    world.chain.pay(request, 12_503_750)
    scan(world)
    detected = world.now
    sweep(world, 86_400 - 1)
    assert world.now < detected + AGREE_WITHIN
    assert load_request(world.services, request).paid == 0
    sweep(world, 1)
    (payment,) = payments(world, request)
    assert payment.rate is not None
    assert (rate_text(payment.rate), payment.rate.source) == ("1.050315", RateSource.COINGECKO)
    assert payment.value == USD_AMOUNT * 100 // 105
    assert load_request(world.services, request).status is RequestStatus.PARTIALLY_PAID
    assert not scan_store.has_work(world.services.store, [request.payable_id]), "nothing awaits the chain"


def test_a_payment_waits_on_as_long_as_no_source_says_anything(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.prices.api.is_down = world.prices.feeds.is_down = True
    world.chain.pay(request, 12_503_750)
    scan(world)
    sweep(world, 3 * 86_400)
    assert scan_store.has_work(world.services.store, [request.payable_id])
    world.prices.feeds.is_down = False
    sweep(world)
    assert load_request(world.services, request).status is RequestStatus.PAID


def test_a_rate_that_is_refused_is_asked_for_once_in_a_run(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.prices.api.off_by = Decimal("1.05")
    for _ in range(25):
        world.chain.pay(request, 11_000)
    scan(world)
    world.advance(600)
    instants = asked(world)
    sweep(world)
    assert len(instants) == 1


def test_sources_that_are_slow_and_refuse_leave_every_part_its_turn(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.prices.api.off_by = Decimal("1.05")
    for _ in range(6):
        world.advance(60)
        world.chain.pay(request, 11_000)
        scan(world)
    world.advance(600)
    instants = asked(world, seconds=7)
    for _ in range(30):
        sweep(world)
    assert len(set(instants)) == 6, "a run has time for three"
    assert len(instants) == 90, "and one that gets nowhere is not repeated at once"


def test_what_has_a_rate_does_not_wait_for_what_has_none(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.prices.feeds.is_down = True
    world.chain.pay(request, 3_000_900)
    world.advance(120)
    world.chain.pay(request, 6_001_800)
    scan(world)
    world.advance(600)
    world.prices.feeds.is_down = False
    first, read = world.chain.block_facts([len(world.chain.blocks) - 4]), world.chain.read_past_conversion_rate
    (refused,) = (each.time for each in first.values())
    world.chain.read_past_conversion_rate = lambda path, at: None if at == refused else read(path, at)  # type: ignore[method-assign]
    sweep(world)
    assert load_request(world.services, request).paid == 600_000_000
    sweep(world)
    assert scan_store.has_work(world.services.store, [request.payable_id])
    world.chain.read_past_conversion_rate = read  # type: ignore[method-assign]
    sweep(world)
    assert load_request(world.services, request).paid == 900_000_000
    assert not scan_store.has_work(world.services.store, [request.payable_id])


@pytest.mark.parametrize("moved_by", [None, 1])
def test_a_payment_that_waits_for_a_rate_is_undone_or_moved_by_a_fork(world: World, moved_by: int | None) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.prices.api.is_down = True
    world.chain.pay(request, 12_503_750)
    scan(world)
    assert [each.state for each in logged(world)] == [TransferState.UNVALUED]
    world.chain.fork(4, moved_by=moved_by)
    scan(world)
    assert load_request(world.services, request).paid == 0
    world.prices.api.is_down = False
    world.advance(60)
    flows.queue_overdue(world.services)
    world.record()
    assert not scan_store.has_work(world.services.store, [request.payable_id])
    assert load_request(world.services, request).paid == (0 if moved_by is None else USD_AMOUNT)
    canonical = {block.hash for block in world.chain.blocks}
    assert {each.block_hash for each in payments(world, request)} <= canonical


def test_sources_that_disagree_are_no_rate(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.prices.api.off_by = Decimal("1.05")
    world.chain.pay(request, 12_503_750)
    scan(world)
    assert load_request(world.services, request).paid == 0
    assert scan_store.has_work(world.services.store, [request.payable_id])


def test_a_removed_payment_takes_away_what_it_added_and_a_moved_one_keeps_its_value(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.chain.pay(request, 5_000_000)
    scan(world)
    (before,) = payments(world, request)
    world.prices.set("USD", "USDC", "1.5")
    dropped = world.chain.fork(4, moved_by=1)
    scan(world)
    (moved,) = payments(world, request)
    assert moved.block_hash != before.block_hash
    assert (moved.value, moved.rate) == (before.value, before.rate)
    world.prices.api.is_down = True
    world.chain.fork(8)
    scan(world)
    assert dropped
    after = load_request(world.services, request)
    assert (after.paid, after.status) == (0, RequestStatus.CREATED)
    assert [each.status for each in payments(world, request)] == [PaymentStatus.REVERSED]


def test_a_node_that_has_lost_the_logs_of_a_conversion_but_not_its_receipt_undoes_nothing(world: World) -> None:
    request = store_request(world.services, **CONTRACTS)
    world.chain.convert(request, 12_503_750)
    scan(world)
    world.chain.fork(4, moved_by=1)
    world.chain.hides_logs = True
    world.chain.mine(4)
    with pytest.raises(InconsistentNode):
        scanning.scan(world.services, "mainnet")
    assert load_request(world.services, request).status is RequestStatus.PAID
    world.chain.hides_logs = False
    world.advance(90)
    scan(world)
    assert load_request(world.services, request).paid == USD_AMOUNT
    assert [each.status for each in payments(world, request)] == [PaymentStatus.CONFIRMED]


def test_dust_that_is_worth_nothing_causes_no_event_and_is_not_listed(world: World) -> None:
    world.register_webhook()
    world.prices.set("USD", "DAI", "1")
    request = store_request(world.services, **{**CONTRACTS, "currency": "DAI-mainnet"})
    for _ in range(5):
        world.chain.pay(request, 10**10 - 1)
    scan(world)
    world.drain()
    after = load_request(world.services, request)
    assert (after.paid, after.status, after.dust_count, after.payment_count) == (0, RequestStatus.CREATED, 5, 0)
    assert {each.state for each in logged(world)} == {TransferState.DUST}
    assert world.receiver.events == []


def test_small_payments_are_small_by_their_value(world: World) -> None:
    """A yen has 8 decimals as the contracts count it, and is worth less than a cent."""
    world.prices.set("USD", "JPY", "150")
    request = store_request(
        world.services, **{**CONTRACTS, "invoice_currency": "JPY", "amount": BaseUnits(2_000 * 10**8)}
    )
    for _ in range(MAX_SMALL_PAYMENTS + 3):
        world.chain.pay(request, 10_000)  # a cent, which is about one and a half yen: less than a thousandth
    for _ in range(4):
        scan(world)
    after = load_request(world.services, request)
    assert (after.payment_count, after.dust_count) == (MAX_SMALL_PAYMENTS, 3)
    assert after.paid == sum(each.value for each in payments(world, request)) + after.dust_amount


@given(st.randoms(use_true_random=False), st.integers(2, 12))
def test_totals_are_the_sum_of_what_stands_after_any_history_of_payments_rates_and_forks(
    chance: random.Random, steps: int
) -> None:
    world = new_world()
    request = store_request(world.services, **CONTRACTS)
    silent, read = set[datetime](), world.prices.around

    def around(id: str, currency: str, instant: datetime) -> tuple[Price, ...]:
        return () if instant in silent else read(id, currency, instant)

    world.prices.around = around  # type: ignore[method-assign]
    for _ in range(steps):
        match chance.randrange(8):
            case 0:
                world.chain.convert(request, chance.choice([12_503_750, 6_000_000, 0]), chance.choice([None, 10**8]))
            case 1:
                world.chain.pay(request, chance.choice([1, 11_000, 3_000_000, 12_503_750]))
            case 2:
                with suppress(RateUnavailable):
                    quotes.hold(world.services, [request])
            case 3:
                world.prices.set("USD", "USDC", chance.choice(["0.97", "1", "1.0003", "1.4"]))
            case 4:
                world.chain.fork(chance.randrange(1, 6), moved_by=chance.choice([None, 0, 1]))
            case 5:
                scan(world)
            case 6:
                world.prices.api.is_down = not world.prices.api.is_down
            case 7:
                world.advance(chance.choice([60, 600]))
                silent.add(world.now)
    world.prices.api.is_down = False
    scan(world)
    world.advance(600)
    flows.queue_overdue(world.services)
    world.record()
    silent.clear()
    for _ in range(3):
        scan(world)
        world.advance(60)
        flows.queue_overdue(world.services)
        world.record()
    after, found = load_request(world.services, request), payments(world, request)
    stands = [each for each in found if each.status is PaymentStatus.CONFIRMED]
    assert after.paid == sum(each.value for each in stands) + after.dust_amount
    dust = [each for each in logged(world) if each.state is TransferState.DUST]
    assert after.dust_amount == sum(each.value or 0 for each in dust)
    canonical = {block.hash for block in world.chain.blocks}
    assert {each.block_hash for each in (*stands, *dust)} <= canonical  # type: ignore[attr-defined]
    on_chain = [log for block in world.chain.blocks for log in block.logs if len(log["data"]) == 2 + 5 * 64]
    moved = [log for log in on_chain if int(log["data"][2 + 2 * 64 : 2 + 3 * 64], 16)]
    assert len(moved) == len(stands) + len(dust), "each once"
    world.prices.set("USD", "USDC", "0.5")
    world.chain.fork(len(world.chain.blocks) - 20)
    for _ in range(3):
        scan(world)
    assert load_request(world.services, request).paid == 0
