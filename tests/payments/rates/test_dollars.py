"""What a dollar was in a token: read once for each token and minute, never taken for granted, and never waited for."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.payments.rates import dollars, flows
from chalicelib.payments.rates.dollars import dollar_rate
from chalicelib.payments.rates.records import Rate
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import World
from tests.payments.rates.test_flows import DAI, USDC, Lines, token

MINUTE = timedelta(minutes=1)


@pytest.fixture
def world() -> Iterator[World]:
    world = World(client=object())
    world.services = replace(world.services, store=MemoryStore())
    world.prices.set("USD", "USDC", "1.0003")
    world.prices.set("USD", "DAI", "0.9999")
    yield world


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens whose rates were read from the sources."""
    read, made = flows.show_rate_at, list[str]()

    def counted(*asked: Any) -> Rate | None:
        made.append(asked[2].id)
        return read(*asked)

    monkeypatch.setattr(flows, "show_rate_at", counted)
    return made


def test_a_dollar_is_what_the_sources_say_of_that_time(world: World) -> None:
    then = world.now
    world.advance(6 * 3600)
    world.prices.set("USD", "USDC", "1.25")
    for instant, expected in ((then, "1.0003"), (world.now, "1.25"), (then, "1.0003")):
        rate = dollar_rate(world.services, USDC, instant)
        assert rate is not None and rate.fraction == Fraction(expected), "a stablecoin is no dollar"
        assert (rate.base, rate.quote) == ("USD", "USDC-base")


def test_however_many_payments_it_is_read_once_for_each_token_and_minute(world: World, readings: list[str]) -> None:
    start = world.now.replace(second=0)
    for second in range(120):
        assert dollar_rate(world.services, USDC, start + timedelta(seconds=second)) is not None
        assert dollar_rate(world.services, DAI, start) is not None
    assert sorted(readings) == ["DAI-mainnet", "USDC-base", "USDC-base"]


def test_a_container_keeps_a_limited_number_of_rates(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dollars, "_MOST_KEPT", 3)
    for minutes in range(5):
        dollar_rate(world.services, USDC, world.now - minutes * MINUTE)
    assert len(world.services.dollar_rates) == 3


def test_without_a_rate_there_is_none_and_it_is_asked_for_again_after_twenty_seconds(
    world: World, readings: list[str]
) -> None:
    world.prices.api.is_down = True
    assert [dollar_rate(world.services, USDC, world.now) for _ in range(9)] == [None] * 9
    assert readings == ["USDC-base"]
    world.prices.api.is_down, then = False, world.now
    world.advance(20)
    assert dollar_rate(world.services, USDC, then) is not None


def test_a_rate_that_is_only_kept_to_be_shown_is_missed_with_a_warning_and_no_error(world: World) -> None:
    """Errors of rates raise the alarm that nothing is quoted, which direct payments are no sign of."""
    lines = Lines()
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    world.prices.api.is_down = True
    assert dollar_rate(services, USDC, world.now) is None
    assert lines.messages == ["a source of exchange rates gives none", "no exchange rate to show"]
    assert not lines.errors


def stalled(world: World, seconds: float) -> Callable[..., Any]:
    """Instead of a reading of feeds: one that fails after some time."""

    def read(paths: Any) -> Any:
        world.advance(seconds)
        raise ChainUnavailable("The mainnet node does not answer")

    return read


@pytest.mark.parametrize(("seconds", "asked"), [(6, 1), (0.1, 3)], ids=["slow", "fast"])
def test_sources_that_stall_hold_a_container_up_once_in_twenty_seconds(
    world: World, readings: list[str], monkeypatch: pytest.MonkeyPatch, seconds: float, asked: int
) -> None:
    monkeypatch.setattr(world.services.chains.of("mainnet"), "read_conversion_rates", stalled(world, seconds))
    then = world.now
    for minutes in range(3):
        assert dollar_rate(world.services, USDC, then - minutes * MINUTE) is None
    assert len(readings) == asked
    world.advance(20)
    assert dollar_rate(world.services, DAI, then) is None
    assert len(readings) == asked + 1


def test_of_a_token_that_nothing_prices_no_rate_is_asked_for(world: World, readings: list[str]) -> None:
    lines = Lines()
    services = replace(world.services, log=lines)  # type: ignore[arg-type]
    for instant in (world.now, world.now - 60 * MINUTE):
        assert dollar_rate(services, token("BNB-bsc"), instant) is None
    assert (readings, lines.messages) == ([], [])


def test_without_a_price_source_the_feeds_that_contracts_convert_by_say_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(world.prices), "is_configured", False)
    then: datetime = world.now
    assert dollar_rate(world.services, USDC, then) is None
    rate = dollar_rate(world.services, DAI, then)
    assert rate is not None and rate.fraction == Fraction("0.9999")
