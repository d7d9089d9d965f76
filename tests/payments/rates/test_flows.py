"""Rates from two sources: both have to answer, be fresh, and agree."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.rates import flows
from chalicelib.payments.rates.rules import RateUnavailable, rate_text
from chalicelib.platform.outbound.prices import Price
from tests.fakes.lying_node import Liar, Silent, served
from tests.fakes.prices import FakePrices
from tests.fakes.world import World, in_process_aws

HOUR = timedelta(hours=1)


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


USD, EUR, USDC, FUSDC, DAI = (token(id) for id in ("USD", "EUR", "USDC-base", "fUSDC-sepolia", "DAI-mainnet"))


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        world = World(client)
        world.prices.set("USD", "USDC", "1.0003")
        world.prices.set("USD", "EUR", "0.92")
        world.prices.set("USD", "DAI", "0.9999")
        yield world


def test_a_token_is_priced_by_the_feed_of_the_same_asset_on_a_network_with_feeds(world: World) -> None:
    for payment in (USDC, FUSDC):
        rate = flows.current(world.services, USD, payment)
        assert (rate.base, rate.quote, rate.source, rate.at) == ("USD", payment.id, "chainlink", world.now)
        assert rate.fraction == Fraction("1.0003")
    assert flows.current(world.services, EUR, USDC).fraction == Fraction("1.0003") / Fraction("0.92")
    assert flows.current(world.services, USDC, DAI).fraction == Fraction("0.9999") / Fraction("1.0003")


@pytest.mark.parametrize("source", ["api", "feeds"])
def test_a_source_that_is_silent_or_stale_or_differs_gives_no_rate(world: World, source: str) -> None:
    made_worse = getattr(world.prices, source)
    made_worse.is_down = True
    with pytest.raises(RateUnavailable, match="no exchange rate from every source"):
        flows.current(world.services, USD, USDC)
    made_worse.is_down, made_worse.age = False, timedelta(seconds=601) if source == "api" else 25.1 * HOUR
    with pytest.raises(RateUnavailable, match="out of date"):
        flows.current(world.services, USD, USDC)
    made_worse.age, made_worse.off_by = timedelta(), Decimal("1.011")
    with pytest.raises(RateUnavailable, match="do not agree"):
        flows.current(world.services, USD, USDC)
    made_worse.off_by = Decimal("1.0099")
    flows.current(world.services, USD, USDC)


def test_a_feed_that_has_not_moved_for_a_day_is_fresh_and_a_price_of_the_same_age_is_not(world: World) -> None:
    world.prices.feeds.age = 24 * HOUR
    assert flows.current(world.services, USD, USDC).at == world.now - 24 * HOUR


def test_the_rate_of_a_past_time_is_what_both_sources_say_of_it(world: World) -> None:
    then = world.now
    world.advance(6 * 3600)
    world.prices.set("USD", "USDC", "1.25")
    assert flows.rate_at(world.services, USD, USDC, then).fraction == Fraction("1.0003")
    assert flows.rate_at(world.services, USD, USDC, world.now - timedelta(minutes=4)).fraction == Fraction("1.25")
    world.prices.api.off_by = Decimal("1.02")
    with pytest.raises(RateUnavailable, match="did not agree at that time"):
        flows.rate_at(world.services, USD, USDC, then)


class Lines:
    """A log that keeps the messages of errors and warnings, and the last `extra`."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.errors: list[str] = []
        self.extra: dict[str, Any] = {}

    def error(self, message: str, extra: dict[str, Any] | None = None, **_: object) -> None:
        self.errors.append(message)
        self.warning(message, extra)

    def warning(self, message: str, extra: dict[str, Any] | None = None, **_: object) -> None:
        self.messages.append(message)
        self.extra = extra or {}


@pytest.mark.parametrize(
    ("off_by", "now", "lowest"),
    [("1.05", "1", "1.050315"), ("0.9", "1", "1.0003"), ("1.05", "1.2", "1.2"), ("1", "1.2", "1.0003")],
    ids=["price source", "feeds", "now", "agreed"],
)
def test_where_sources_do_not_agree_the_lowest_is_the_rate_that_gives_the_least_of_the_invoice_currency(
    world: World, off_by: str, now: str, lowest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A payment of one USDC is worth less, the more USDC one dollar is."""
    lines, then = Lines(), world.now
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    world.advance(6 * 3600)
    world.prices.set("USD", "USDC", now)
    around = world.prices.around

    def differing(id: str, currency: str, instant: datetime) -> tuple[Price, ...]:
        return tuple(replace(each, value=each.value / Decimal(off_by)) for each in around(id, currency, instant))

    monkeypatch.setattr(world.prices, "around", differing)
    assert rate_text(flows.at_or_lowest(services, USD, USDC, then)) == lowest
    if off_by == "1":
        assert lines.messages == []
    else:
        assert lines.messages == ["no exchange rate", "payment valued by the rate by which it is worth the least"]
        assert lines.extra["rates"] == {
            "feeds": "1.0003", "prices": f"{Decimal('1.0003') * Decimal(off_by):f}".rstrip("0"), "now": now
        }  # fmt: skip


@pytest.mark.parametrize("silent", ["api", "feeds"])
def test_the_lowest_of_what_one_source_says_is_what_it_says_and_of_nothing_there_is_none(
    world: World, silent: str
) -> None:
    then = world.now
    world.advance(6 * 3600)
    getattr(world.prices, silent).is_down = True
    assert rate_text(flows.at_or_lowest(world.services, USD, USDC, then)) == "1.0003"
    world.prices.api.is_down = world.prices.feeds.is_down = True
    with pytest.raises(RateUnavailable, match="No source gives an exchange rate"):
        flows.at_or_lowest(world.services, USD, USDC, then)
    with pytest.raises(RateUnavailable):
        flows.at_or_lowest(world.services, USD, token("BNB-bsc"), then)


def test_a_feed_that_was_out_of_date_says_nothing_of_that_time(world: World) -> None:
    then = world.now
    world.advance(6 * 3600)
    world.prices.set("USD", "USDC", "0.9")
    world.prices.feeds.age = 26 * HOUR
    world.prices.feeds.off_by = Decimal("1.5")
    assert rate_text(flows.at_or_lowest(world.services, USD, USDC, then)) == "1.0003"


def test_tokens_without_a_feed_have_no_rate_and_raise_no_alarm(world: World) -> None:
    lines = Lines()
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    for payment in (token("BNB-bsc"), token("LINK-mainnet"), token("USDC-mainnet")):
        with pytest.raises(RateUnavailable, match=f"no exchange rate of USDC-base in {payment.id}"):
            flows.current(services, USDC, payment)
    assert lines.messages == []


def test_without_a_price_source_there_is_no_rate(world: World) -> None:
    with in_process_aws() as client, pytest.raises(RateUnavailable, match="This deployment has no exchange rate"):
        flows.current(World(client).services, USD, USDC)


def test_without_a_price_source_the_contracts_feeds_alone_value_what_was_paid(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines()
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    expected = flows.current(world.services, USD, USDC).fraction
    monkeypatch.setattr(FakePrices, "is_configured", False)
    on_mainnet = token("USDC-mainnet")
    assert flows.rate_at(services, USD, on_mainnet, world.now).fraction == expected
    with pytest.raises(RateUnavailable, match="This deployment has no exchange rate"):
        flows.current(services, USD, on_mainnet)
    assert flows.current_or_none(services, USD, on_mainnet) is None
    assert lines.messages == []
    world.prices.feeds.age = timedelta(days=2)
    with pytest.raises(RateUnavailable, match="was out of date at that time"):
        flows.rate_at(services, USD, on_mainnet, world.now)
    assert lines.messages == ["no exchange rate"]


def test_no_node_alone_says_what_was_paid_where_the_contracts_feeds_alone_value_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePrices, "is_configured", False)
    on_mainnet, honest = token("USDC-mainnet"), world.services.chains.evm("mainnet")
    expected, true = flows.rate_at(world.services, USD, on_mainnet, world.now), honest.read_past_conversion_rate

    def halved(path: tuple[str, ...], instant: datetime) -> PathRate | None:
        found = true(path, instant)
        return found and replace(found, rate=found.rate // 2)

    lied_to = served(world.services, "mainnet", Liar(honest, read_past_conversion_rate=halved), honest)
    for read in (flows.rate_at, flows.at_or_lowest):
        with pytest.raises(RateUnavailable):
            read(lied_to, USD, on_mainnet, world.now)
    assert flows.rate_at(served(world.services, "mainnet", honest, honest), USD, on_mainnet, world.now) == expected


def test_no_node_alone_makes_a_payment_worth_less_on_whose_time_the_sources_do_not_agree(world: World) -> None:
    then, honest = world.now, world.services.chains.evm("mainnet")
    world.advance(6 * 3600)

    def a_thousand_times_as_much(path: tuple[str, ...], instant: datetime) -> PathRate | None:
        found = honest.read_past_conversion_rate(path, instant)
        return found and replace(found, rate=found.rate * 1000)

    lied_to = served(world.services, "mainnet", Liar(honest, read_past_conversion_rate=a_thousand_times_as_much), honest)
    assert rate_text(flows.at_or_lowest(lied_to, USD, USDC, then)) == "1.0003"


def test_no_node_alone_moves_a_rate_by_what_the_sources_may_differ(world: World) -> None:
    """Neither that of a quote nor that by which a payment is valued, soon or later."""
    then, honest = world.now, world.services.chains.evm("mainnet")
    world.advance(6 * 3600)

    def raised(found: PathRate | None) -> PathRate | None:
        return found and replace(found, rate=found.rate * 1005, divisor=found.divisor * 1000)

    liar = Liar(
        honest,
        read_conversion_rates=lambda paths: tuple(map(raised, honest.read_conversion_rates(paths))),
        read_past_conversion_rate=lambda path, instant: raised(honest.read_past_conversion_rate(path, instant)),
    )
    for nodes in ((liar, honest), (honest, liar), (honest, liar, Silent(honest))):
        lied_to = served(world.services, "mainnet", *nodes)
        for instant in (then, world.now):
            with pytest.raises(RateUnavailable, match="from every source"):
                flows.rate_at(lied_to, USD, USDC, instant)
        with pytest.raises(RateUnavailable, match="from every source"):
            flows.current(lied_to, USD, USDC)


def test_while_all_nodes_but_one_are_silent_its_rates_are_confirmed_by_the_price_source(world: World) -> None:
    then, honest = world.now, world.services.chains.evm("mainnet")
    world.advance(6 * 3600)
    for nodes in ((honest, Silent(honest)), (Silent(honest), honest, Silent(honest))):
        left_alone = served(world.services, "mainnet", *nodes)
        for instant in (then, world.now):
            assert rate_text(flows.rate_at(left_alone, USD, USDC, instant)) == "1.0003"
        assert rate_text(flows.current(left_alone, USD, USDC)) == "1.0003"


def test_what_is_only_shown_is_read_once_in_twenty_seconds_whether_there_is_a_rate_or_not(world: World) -> None:
    """Whoever polls a request waits for a stalled node once."""
    lines = Lines()
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    world.prices.feeds.is_down = True
    assert [flows.current_or_none(services, USD, USDC) for _ in range(3)] == [None] * 3
    assert lines.messages == ["a source of exchange rates gives none", "no exchange rate to show"]
    assert not lines.errors
    world.prices.feeds.is_down = False
    world.advance(20)
    shown = flows.current_or_none(services, USD, USDC)
    world.prices.set("USD", "USDC", "1.002")
    assert shown is not None and flows.current_or_none(services, USD, USDC) == shown
    assert flows.current(services, USD, USDC).fraction == Fraction("1.002"), "what is signed is read anew"
    world.advance(20)
    renewed = flows.current_or_none(services, USD, USDC)
    assert renewed is not None and renewed.fraction == Fraction("1.002")


def test_a_rate_that_fails_is_logged_with_the_source_that_gave_none(world: World) -> None:
    lines = Lines()
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    world.prices.api.is_down = True
    with pytest.raises(RateUnavailable):
        flows.current(services, USD, USDC)
    assert lines.messages == ["a source of exchange rates gives none", "no exchange rate"]


def test_a_payment_that_waits_for_a_rate_nobody_has_is_logged(world: World) -> None:
    lines = Lines()
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    with pytest.raises(RateUnavailable, match="This deployment has no exchange rate"):
        flows.rate_at(services, USD, token("BNB-bsc"), world.now - 2 * HOUR)
    with pytest.raises(RateUnavailable, match="This deployment has no exchange rate"):
        flows.rate_at(services, USD, token("BNB-bsc"), world.now)
    assert lines.messages == ["no exchange rate"] * 2
