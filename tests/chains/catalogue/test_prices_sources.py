"""Ids of the price source against a list of others: one character changed anywhere fails.

The list is an extract (coingecko_ids.json), because the npm package with all tokens has 120 MB.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chalicelib.chains.catalogue.conversions import conversion_networks, payment_currencies
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.prices import (
    feed_path,
    has_prices,
    price_currencies,
    price_currency,
    price_id,
    price_ids,
)
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id
from tests.chains.catalogue.changes import changed_leaves
from tests.chains.catalogue.reviewed_networks import NETWORKS

LISTED: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("coingecko_ids.json").read_text())["ids"]
SINCE = {
    "USDT-arbitrum-one": "usdt0",
    "USDT-matic": "usdt0",
    "DAI-matic": "polygon-pos-bridged-dai-polygon-pos",
    "MATIC-matic": "polygon-ecosystem-token",
}
"""Changed after the list was made: Tether's contracts on Arbitrum and Polygon became USDT0, Polygon's coin is POL, and
its bridged DAI has an id of its own, as on the other networks."""
ISSUED = {"USDCn-optimism": "usd-coin", "USDC-tron": "usd-coin", "USDT-tron": "tether"}
"""Not in the list: issued by Circle and Tether themselves on these networks."""
STANDS_FOR = {
    "fUSDC-sepolia": "USDC-mainnet",
    "fUSDT-sepolia": "USDT-mainnet",
    "FAU-sepolia": "DAI-mainnet",
    "ETH-sepolia-sepolia": "ETH-mainnet",
}
"""Tokens of a test network, and what they are priced as."""
OF_COINGECKO = (
    "usd aed ars aud bdt bhd bmd brl cad chf clp cny czk dkk eur gbp gel hkd huf idr ils inr jpy krw kwd lkr mmk mxn myr "
    "ngn nok nzd php pkr pln rub sar sek sgd thb try twd uah vef vnd zar"
)
"""The fiat currencies of CoinGecko's /simple/supported_vs_currencies."""


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


def listed_id(currency: Token) -> str | None:
    known = {**SINCE, **ISSUED}
    if currency.id in STANDS_FOR:
        return listed_id(token(STANDS_FOR[currency.id]))
    if currency.id in known:
        return known[currency.id]
    reviewed = NETWORKS[currency.network].native
    if currency.is_native and currency.network not in LISTED and reviewed is not None:
        return reviewed[2]
    return LISTED.get(currency.network, {}).get("native" if currency.is_native else currency.address.lower())


def id_problems(ids: Mapping[str, Any]) -> list[str]:
    return [
        f"{id} has the priceId {found}, which tests/chains/catalogue/coingecko_ids.json does not have for it"
        for id, found in ids.items()
        if token_with_id(id) is None or found != listed_id(token(id))
    ]


def test_every_id_is_that_of_the_list() -> None:
    ids = {each.id: id for each in find_tokens() if (id := price_id(each)) is not None}
    assert id_problems(ids) == []
    for path, wrong in changed_leaves(ids):
        assert id_problems(wrong), path
    assert set(price_ids()) == set(ids.values())


def test_what_the_contracts_convert_has_a_price_at_both_sources() -> None:
    """So every token that a feed prices is quoted on every network where the price source has it."""
    everywhere = [network.name for network in ALL_NETWORKS]
    dollar = token("USD")
    for payment in find_tokens():
        by = feed_path(dollar, payment, everywhere) if not payment.is_fiat else None
        known = f"{payment.id} has {'a' if by else 'no'} feed in conversions.json: it needs {'a' if by else 'no'} priceId"
        assert has_prices(dollar, payment) == (by is not None), f"{known} in tokens.json"
    for payment in payment_currencies(dollar):
        assert price_id(payment) is not None, payment.id


def test_the_fiat_currencies_are_those_with_a_feed_that_coingecko_has() -> None:
    with_feeds = {each.symbol for each in find_tokens("fiat") if payment_currencies(each)}
    assert set(load("prices")["currencies"]) == {code for code in with_feeds if code.lower() in OF_COINGECKO.split()} == with_feeds
    assert price_currencies() == tuple(code.lower() for code in load("prices")["currencies"])
    assert price_currency(token("AED")) is None and price_currency(token("USDC-base")) is None


@pytest.mark.parametrize("network", [network.name for network in ALL_NETWORKS])
def test_a_token_is_priced_by_the_feed_of_the_same_asset(network: str) -> None:
    """By its symbol, but for ether, whose symbols differ, and for tokens of a test network."""
    for payment in find_tokens(network=network):
        for served in conversion_networks():
            by = feed_path(token("USD"), payment, [served])
            if by is None:
                continue
            if payment.network == served:
                assert by.payment == payment
            elif payment.is_native:
                assert (by.payment.id, price_id(payment)) == ("ETH-mainnet", "ethereum")
            else:
                expected = token(STANDS_FOR[payment.id]).symbol if payment.id in STANDS_FOR else payment.symbol
                assert (by.payment.network, by.payment.symbol) == (served, expected)


def test_the_network_of_the_payment_is_asked_first() -> None:
    both = ["mainnet", "matic"]
    for id, network in (("USDCn-matic", "matic"), ("USDC-mainnet", "mainnet"), ("USDC-base", "mainnet")):
        by = feed_path(token("USD"), token(id), both)
        assert by is not None and by.network == network
    only_matic = feed_path(token("USD"), token("USDC-base"), ["matic", "base"])
    assert only_matic is not None and only_matic.payment.id == "USDCn-matic"
    assert feed_path(token("USD"), token("ETH-base-base"), ["matic", "base"]) is None, "matic has no feed of ether"
    assert feed_path(token("USD"), token("USDC-base"), ["base"]) is None
