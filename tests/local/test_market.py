"""The local price source over HTTP, and the feeds of a local chain: both tell the same, to the real clients."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import requests

from chalicelib.chains.catalogue.conversions import feeds_of, payment_currencies
from chalicelib.chains.catalogue.prices import price_currencies, price_ids
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.payments.rates import flows as rates
from chalicelib.platform.outbound.prices import AROUND, Prices
from chalicelib.platform.services import Services
from infra.local.chain import Chain
from infra.local.market import Market
from tests.fakes.world import World
from tests.support.patience import patience


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with Chain.start("mainnet", block_time=1) as chain:
        yield chain


@pytest.fixture
def market(chain: Chain) -> Iterator[Market]:
    with Market(chain) as market:
        yield market


@pytest.fixture
def services(chain: Chain, market: Market) -> Services:
    """Services with the real clients of the price source and of the node."""

    class Chains:
        networks = ("mainnet", "base", "tron")

        def evm(self, network: str) -> EvmChain:
            return EvmChain(network, chain.url)

    real: dict[str, Any] = {"prices": Prices(market.url), "chains": Chains(), "clock": lambda: datetime.now(UTC)}
    return replace(World(client=object()).services, **real)


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("invoice", "payment"),
    [("USD", "USDC-base"), ("EUR", "USDT-tron"), ("JPY", "ETH-base-base"), ("USDC-base", "DAI-mainnet"), ("GBP", "MKR-mainnet")],
)
def test_both_sources_agree_now(services: Services, invoice: str, payment: str) -> None:
    rate = rates.current(services, token(invoice), token(payment))
    assert (rate.base, rate.quote, rate.source) == (invoice, payment, "chainlink")
    assert abs(rate.at - datetime.now(UTC)) < timedelta(minutes=2)


@pytest.mark.parametrize("back", [timedelta(minutes=20), timedelta(hours=7), timedelta(days=20)])
def test_both_sources_agree_on_the_past(services: Services, back: timedelta) -> None:
    then = datetime.now(UTC) - back
    rate = rates.rate_at(services, token("EUR"), token("USDC-base"), then)
    assert then - timedelta(minutes=1) <= rate.at <= then
    now = rates.current(services, token("EUR"), token("USDC-base"))
    assert abs(rate.fraction - now.fraction) < now.fraction / 10**6


def test_a_price_that_is_set_moves_both(services: Services, market: Market) -> None:
    reply = requests.post(f"{market.url}/prices", json={"USDC": 0.8}, timeout=patience())
    assert reply.json()["USDC"] == 0.8
    assert rates.current(services, token("USD"), token("USDC-base")).fraction == Fraction("1.25")


@pytest.mark.parametrize("body", [{"NOPE": 1}, {"USDC": 0}, {"USDC": -1}, {"USDC": "x"}, {"USDC": None}, [], None, {"USDC": "NaN"}])
def test_what_is_no_price_is_refused(market: Market, body: Any) -> None:
    before = requests.get(f"{market.url}/prices", timeout=patience()).json()
    assert requests.post(f"{market.url}/prices", json=body, timeout=patience()).status_code == 400
    assert requests.get(f"{market.url}/prices", timeout=patience()).json() == before


def test_it_has_every_price_that_the_service_asks_for(market: Market) -> None:
    prices = Prices(market.url)
    for id in price_ids():
        for currency in price_currencies():
            found = prices.now(id, currency)
            assert found is not None and found.value > 0, (id, currency)


def test_past_prices_are_there_by_the_hour(market: Market) -> None:
    then = datetime.now(UTC) - timedelta(days=3)
    found = Prices(market.url).around("usd-coin", "usd", then)
    assert [each.value for each in found] == [Decimal("0.9998")] * len(found)
    assert 2 <= len(found) <= 3 and all(abs(each.at - then) <= AROUND for each in found)


def test_a_coin_that_it_does_not_know_is_404_as_at_coingecko(market: Market) -> None:
    assert requests.get(f"{market.url}/coins/nope/market_chart/range?vs_currency=usd&from=1&to=2", timeout=patience()).status_code == 404
    assert requests.get(f"{market.url}/simple/price?ids=nope&vs_currencies=usd", timeout=patience()).json() == {}


def test_every_feed_of_the_network_is_set(services: Services) -> None:
    for invoice in (priced for priced, other in feeds_of("mainnet") if priced.is_fiat):
        rates.current(services, invoice, token("USDC-mainnet"))
    for payment in payment_currencies(token("USD")):
        if payment.network == "mainnet":
            rates.current(services, token("USD"), payment)
