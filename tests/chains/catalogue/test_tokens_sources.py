"""Tokens, native coins and fiat currencies against lists that others keep: one character changed anywhere fails.

The ids, names and the nine fields as a whole are those of Request Network's published token list, of which
request_token_list.json is a copy made from the publication, not from our data. Address, decimals and symbol are
compared with npm packages besides, so that a mistake of that list, or one made in both files, is found too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any

import pytest

from chalicelib.base.addresses import evm_address
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.prices import price_id
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id
from chalicelib.payments.currencies.rules import ConversionFacts, conversion_routes
from tests.chains.catalogue.changes import changes

PUBLISHED = json.loads(Path(__file__).with_name("request_token_list.json").read_text(encoding="utf-8"))
# The one address that the list has in lower case; responses have addresses in EIP-55.
EIP_55 = {"0x55d398326f99059ff775485246999027b3197955": "0x55d398326f99059fF775485246999027B3197955"}
LISTED = {entry[0]: tuple(EIP_55.get(field, field) for field in entry) for entry in PUBLISHED["tokens"]}

# Tokens that no npm package lists: symbol, decimals and address typed from what is named beside each.
REVIEWED = {
    # Sky's contracts on OP Mainnet: L2_OPTIMISM_USDS of its launch spell, and Sky's web application.
    "USDS-optimism": ("USDS", 18, "0x4F13a96EC5C4Cf34e442b46Bbd98a0791F20edC3"),
    # Tether bridged by Base's standard bridge, as Base's token list and its verified contract name it.
    "USDT-base": ("USDT", 6, "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2"),
}
# Tokens that were found plain by `python -m infra.try_token`: the block at which, and the holder.
PLAIN: dict[str, tuple[int, str]] = {}
LISTED_BEFORE = 53
"""ERC-20 and TRC-20 tokens that were listed before there was that command."""
# Symbols that a package writes in another way than the published list.
OTHER_SYMBOLS = {
    "USDT-arbitrum-one": "USDT0",  # Tether's name for it since 2025; the contract is the same
}

Record = tuple[str, int]


def problems_with_the_list(tokens: Iterable[Token]) -> list[str]:
    """Where tokens differ from the published list, in any of the nine fields, or are missing in one of the two.

    Native coins that were not published are those of Request Network's currency package (`native_problems`).
    """
    ours = {token.id: astuple(token) for token in tokens if not token.is_native or token.id in LISTED}
    ids = sorted(ours.keys() | LISTED.keys())
    return [
        f"{id} is {ours.get(id)} in our catalogue and {LISTED.get(id)} in tests/chains/catalogue/request_token_list.json"
        for id in ids
        if ours.get(id) != LISTED.get(id)
    ]


def packaged(sources: Mapping[str, Any], token: Token) -> list[Record]:
    """Symbol and decimals under which packages list the token's network and address; EVM addresses in any case."""
    found = []
    for package in (sources["currencies"][token.network]["tokens"], sources["uniswap"][token.network]):
        for address, entry in package.items():
            if address == token.address or (address[:2] == "0x" and address.lower() == token.address.lower()):
                found.append((entry["symbol"], entry["decimals"]))
    if token.id in REVIEWED:
        symbol, decimals, address = REVIEWED[token.id]
        if address == token.address:
            found.append((symbol, decimals))
    return found


def problems_with_packages(sources: Mapping[str, Any], token: Token) -> list[str]:
    """Where a contract's address, decimals or symbol are not what the packages list."""
    found = packaged(sources, token)
    if not found:
        return [f"{token.id}: no npm package lists {token.address}: give REVIEWED of this file its source"]
    wrong = [f"{token.id}: {decimals} decimals" for _, decimals in found if decimals != token.decimals]
    known = {symbol for symbol, _ in found}
    if token.symbol not in known and OTHER_SYMBOLS.get(token.id) not in known:
        wrong.append(f"{token.id}: {token.symbol} is called {known}")
    return wrong


def contract_tokens() -> list[Token]:
    return [token for token in find_tokens() if token.type in ("ERC20", "TRC20")]


def changed(token: Token, *names: str) -> Iterator[Token]:
    """The token with one character of one of its fields changed, of each field unless some are named."""
    for name in names or [field.name for field in fields(token)]:
        for value in changes(getattr(token, name)):
            yield replace(token, **{name: value})


def test_every_token_is_that_of_the_published_list() -> None:
    assert problems_with_the_list(find_tokens()) == []


def test_addresses_of_tokens_are_written_in_eip_55() -> None:
    """Responses and events repeat them as they are."""
    written = {token.id: token.address for token in find_tokens() if token.type == "ERC20"}
    assert written == {id: evm_address(address) for id, address in written.items()}, "tokens.json has another case"


def test_one_character_changed_in_any_token_differs_from_the_list() -> None:
    tokens = {token.id: token for token in find_tokens()}
    for token in (tokens[id] for id in LISTED):
        for wrong in changed(token):
            assert astuple(wrong) != LISTED[token.id], wrong
            assert astuple(wrong) not in LISTED.values(), wrong
    usdc = tokens["USDC-base"]
    for wrong in changed(usdc):
        assert problems_with_the_list((tokens | {usdc.id: wrong}).values()), wrong
    assert problems_with_the_list([token for token in tokens.values() if token is not usdc])


@pytest.mark.parametrize("token", contract_tokens(), ids=lambda token: token.id)
def test_every_contract_is_listed_by_others_with_its_symbol_and_decimals(sources: dict[str, Any], token: Token) -> None:
    assert problems_with_packages(sources, token) == []


@pytest.mark.parametrize("token", contract_tokens(), ids=lambda token: token.id)
def test_one_digit_changed_in_an_address_or_its_decimals_is_noticed_by_packages_alone(
    sources: dict[str, Any], token: Token
) -> None:
    for wrong in changed(token, "address", "decimals"):
        if wrong.address.lower() != token.address.lower() or wrong.decimals != token.decimals:
            assert problems_with_packages(sources, wrong), wrong


def test_a_token_that_is_added_was_found_plain() -> None:
    ids = {token.id for token in contract_tokens()}
    assert PLAIN.keys() <= ids
    assert len(ids - PLAIN.keys()) == LISTED_BEFORE, "Try the new token by infra.try_token, and add it to PLAIN"


def test_the_reviewed_tokens_are_in_no_package(sources: dict[str, Any]) -> None:
    """Once a package lists one of them the copy here is not needed any more."""
    everywhere = {
        address.lower()
        for part in (*(each["tokens"] for each in sources["currencies"].values()), *sources["uniswap"].values())
        for address in part
    }
    assert [id for id, (_, _, address) in REVIEWED.items() if address.lower() in everywhere] == []


def native_problems(sources: Mapping[str, Any], tokens: Iterable[Token]) -> list[str]:
    wanted = {
        each["network"]: (each["symbol"], each["name"], each["decimals"], sources["chains"][each["network"]]["chainId"])
        for each in sources["native"]
        if each["network"] != "tron"  # nothing is paid in TRX, whose fee proxy does not exist
    }
    ours = {token.network: (token.symbol, token.name, token.decimals, token.chain_id) for token in tokens}
    return [
        f"the currency of {name} in networks.json is {ours.get(name)}, in @requestnetwork/currency {wanted.get(name)}"
        for name in wanted.keys() | ours.keys()
        if ours.get(name) != wanted.get(name)
    ]


def test_native_coins_are_those_of_request_networks_currency_package(sources: dict[str, Any]) -> None:
    coins = [token for token in find_tokens() if token.is_native]
    assert native_problems(sources, coins) == []
    assert len(coins) == len(ALL_NETWORKS) - 1
    for coin in coins:
        others = [each for each in coins if each is not coin]
        for wrong in changed(coin, "symbol", "name", "decimals", "chain_id", "network"):
            assert native_problems(sources, [*others, wrong]), wrong


def fiat_problems(sources: Mapping[str, Any], tokens: Iterable[Token]) -> list[str]:
    wanted = {each["code"]: (each["currency"], each["digits"]) for each in sources["fiat"]}
    ours = {token.symbol: (token.name, token.decimals) for token in tokens}
    return [f"{code}: {ours.get(code)}" for code in wanted.keys() | ours.keys() if ours.get(code) != wanted.get(code)]


def test_fiat_currencies_have_the_names_and_minor_units_of_iso_4217(sources: dict[str, Any]) -> None:
    fiat = [token for token in find_tokens() if token.is_fiat]
    assert fiat_problems(sources, fiat) == []
    yen = next(token for token in fiat if token.id == "JPY")
    for wrong in changed(yen, "symbol", "name", "decimals"):
        assert fiat_problems(sources, [*(token for token in fiat if token is not yen), wrong]), wrong


def test_the_currencies_of_invoices_and_what_they_are_paid_in() -> None:
    """The original's documentation, "Supported chains and currencies": five fiat currencies, four symbols, native coins.

    Where all networks are served and there is a price source, we convert these and more, but for coins that no feed of
    the conversion contracts prices, such as BNB: they have no `priceId` (test_prices_sources.py).
    """
    everywhere = ConversionFacts(frozenset(network.name for network in ALL_NETWORKS), has_price_source=True)
    wanted = {token.id for token in find_tokens() if token.is_native or token.symbol in ("USDC", "USDT", "DAI", "FAU")}
    unpriced = {token.id for token in find_tokens() if token.is_native and price_id(token) is None}
    assert "BNB-bsc" in unpriced
    for code in ("USD", "EUR", "CNY", "GBP", "JPY"):
        invoice = token_with_id(code)
        assert invoice is not None
        assert wanted - unpriced <= {token.id for token, _ in conversion_routes(invoice, None, everywhere)}
