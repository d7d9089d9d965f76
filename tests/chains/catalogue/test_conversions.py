"""Conversion paths: which currencies they connect, and how the contracts count an amount."""

import pytest

from chalicelib.chains.catalogue.conversions import (
    conversion_networks,
    conversion_path,
    conversion_proxy,
    currency_with_hash,
    on_chain_decimals,
    on_chain_units,
    payment_currencies,
)
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id

CURRENCIES = [token for token in find_tokens() if token.is_fiat or token.network in conversion_networks()]


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


def path_ids(invoice: str, payment: str) -> list[str] | None:
    path = conversion_path(token(invoice), token(payment))
    if path is None:
        return None
    known = [currency_with_hash(token(payment).network, hash) for hash in path]
    return [each.id if each else "unknown" for each in known]


def test_a_path_has_a_feed_from_each_currency_to_the_next() -> None:
    assert path_ids("USD", "USDC-mainnet") == ["USD", "USDC-mainnet"]
    assert path_ids("EUR", "USDC-mainnet") == ["EUR", "USD", "USDC-mainnet"]
    assert path_ids("JPY", "MKR-mainnet") == ["JPY", "USD", "ETH-mainnet", "MKR-mainnet"]
    assert path_ids("GBP", "MATIC-matic") == ["GBP", "USD", "MATIC-matic"]
    assert path_ids("USDC-mainnet", "ETH-mainnet") == ["USDC-mainnet", "ETH-mainnet"]


@pytest.mark.parametrize(
    ("invoice", "payment"),
    [
        ("USD", "USDC-base"),  # no contract of ours converts there
        ("XAU", "USDC-mainnet"),  # no feed
        ("USD", "EUR"),  # nothing is paid in fiat
        ("USDC-mainnet", "USDC-mainnet"),  # nothing to convert
        ("USDC-mainnet", "USDT-matic"),  # another network's token
        ("MATIC-matic", "USDT-matic"),  # the contract would take MATIC for fiat
        ("USD", "USDT-tron"),
    ],
)
def test_what_cannot_be_converted_has_no_path(invoice: str, payment: str) -> None:
    assert conversion_path(token(invoice), token(payment)) is None


def test_a_network_alias_names_the_same_currencies() -> None:
    matic = token("MATIC-matic")
    assert currency_with_hash("polygon", matic.hash.upper().replace("0X", "0x")) == matic
    assert currency_with_hash("mainnet", matic.hash) is None


def test_what_an_invoice_currency_is_paid_in_is_what_has_a_path() -> None:
    dollars = {each.id for each in payment_currencies(token("USD"))}
    assert {"USDC-mainnet", "USDT-mainnet", "DAI-matic", "ETH-mainnet", "MATIC-matic"} <= dollars
    assert payment_currencies(token("XAU")) == ()
    for invoice in CURRENCIES:
        with_path = {each for each in CURRENCIES if conversion_path(invoice, each)}
        assert set(payment_currencies(invoice)) == with_path


def test_a_path_begins_with_the_invoice_currency_ends_with_the_payment_currency_and_repeats_none() -> None:
    number = 0
    for invoice in CURRENCIES:
        for payment in payment_currencies(invoice):
            path = conversion_path(invoice, payment)
            assert path is not None
            assert (path[0], path[-1]) == (invoice.hash.lower(), payment.hash.lower())
            assert len(set(path)) == len(path) <= 4
            number += 1
    assert number > 400


def test_the_contract_of_a_conversion_is_that_of_the_kind_of_coin() -> None:
    assert conversion_proxy(token("USDC-mainnet")) == "0xe72Ecea44b6d8B2b3cf5171214D9730E86213cA2"
    assert conversion_proxy(token("MATIC-matic")) == "0x7Ebf48a26253810629C191b56C3212Fd0D211c26"
    with pytest.raises(LookupError, match="Erc20ConversionProxy is not deployed on base"):
        conversion_proxy(token("USDC-base"))


@pytest.mark.parametrize(
    ("id", "units", "on_chain"),
    [
        ("USD", 1250, 1_250_000_000),
        ("JPY", 1250, 125_000_000_000),
        ("USDC-mainnet", 1250, 1250),
        ("ETH-mainnet", 10**18, 10**18),
    ],
)
def test_the_contracts_count_fiat_with_eight_decimals_and_tokens_with_their_own(
    id: str, units: int, on_chain: int
) -> None:
    assert on_chain_units(token(id), units) == on_chain


def test_no_currency_of_a_path_has_more_decimals_than_the_contracts_count() -> None:
    invoices = [each for each in CURRENCIES if payment_currencies(each)]
    assert all(on_chain_decimals(each) >= each.decimals for each in invoices)
