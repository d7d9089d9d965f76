"""Networks, the contracts that are deployed on them, and entries of networks.json that are refused."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from chalicelib.base.addresses import address_of_family
from chalicelib.chains.catalogue import networks
from chalicelib.chains.catalogue.contracts import address_of, contracts_on, payment_contracts, payment_proxies
from chalicelib.chains.catalogue.conversions import conversion_networks
from chalicelib.chains.catalogue.data import InvalidData, load, path_of
from chalicelib.chains.catalogue.network_entries import check
from chalicelib.chains.catalogue.networks import (
    ALL_NETWORKS,
    Network,
    canonical_name,
    find_network,
    network_of_chain,
    relayer_limits,
)
from chalicelib.chains.catalogue.tokens import token_with_id

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("each", ALL_NETWORKS, ids=lambda each: each.name)
def test_a_network_is_found_by_name_alias_and_chain_id(each: Network) -> None:
    assert find_network(each.name) is each
    assert network_of_chain(each.chain_id) is each
    assert all(find_network(alias) is each for alias in each.aliases)


def test_the_names_others_use_are_aliases() -> None:
    assert find_network("polygon") is find_network("matic")
    assert find_network("ethereum") is find_network("mainnet")


def test_the_case_of_a_name_or_an_alias_does_not_matter() -> None:
    assert find_network("SEPOLIA") is find_network("sepolia")
    assert find_network("Polygon") is find_network("matic")
    assert [canonical_name(text) for text in ("ARBITRUM-One", "Ethereum", "Fiat")] == ["arbitrum-one", "mainnet", "fiat"]


@pytest.mark.parametrize("name", ["", "fiat", "Base ", "solana"])
def test_an_unknown_name_is_no_network(name: str) -> None:
    assert find_network(name) is None


def test_an_unknown_chain_is_no_network() -> None:
    assert network_of_chain(0) is None
    assert network_of_chain(31337) is None


@pytest.mark.parametrize("each", ALL_NETWORKS, ids=lambda each: each.name)
def test_a_network_waits_and_reads_a_sensible_number_of_blocks(each: Network) -> None:
    assert 1 <= each.confirmations <= 64
    assert each.confirmations < each.log_range <= 10_000


@pytest.mark.parametrize("each", ALL_NETWORKS, ids=lambda each: each.name)
def test_every_network_but_tron_has_a_native_currency(each: Network) -> None:
    if each.family == "tron":
        assert each.native_currency_id is None
        return
    native = token_with_id(each.native_currency_id or "")
    assert native is not None
    assert native.is_native
    assert native.network == each.name


def test_every_contract_address_is_spelled_with_its_checksum() -> None:
    for chain in ALL_NETWORKS:
        for address in contracts_on(chain.name).values():
            assert address_of_family(address, chain.family) == address


@pytest.mark.parametrize("each", ALL_NETWORKS, ids=lambda each: each.name)
def test_every_network_has_its_proxies(each: Network) -> None:
    names = ["ERC20FeeProxy"] if each.family == "tron" else ["ERC20FeeProxy", "EthereumFeeProxy"]
    names += ["Erc20ConversionProxy", "EthConversionProxy"] if each.name in conversion_networks() else []
    assert payment_proxies(each.name) == tuple(address_of(name, each.name) for name in names)


def test_the_contracts_of_sepolia_and_base() -> None:
    assert payment_proxies("sepolia") == (
        "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE",
        "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687",
    )
    assert address_of("BatchConversionPayments", "base") == "0x1aF3f22685AcdDc788B3730ed415912d8f654420"


@pytest.mark.parametrize(
    ("contract", "name"), [("EthereumFeeProxy", "tron"), ("Nothing", "base"), ("Multicall3", "x")]
)
def test_a_contract_that_is_not_deployed_is_a_lookup_error(contract: str, name: str) -> None:
    with pytest.raises(LookupError, match=f"{contract} is not deployed on {name}"):
        address_of(contract, name)


def test_payments_come_through_the_proxies_the_one_batch_contract_and_that_of_recurring_payments() -> None:
    callers = ("BatchConversionPayments", "ERC20RecurringPaymentProxy")
    assert payment_contracts("base") == (*payment_proxies("base"), *(address_of(name, "base") for name in callers))
    assert payment_contracts("mainnet")[2:] == tuple(
        address_of(name, "mainnet") for name in ("Erc20ConversionProxy", "EthConversionProxy", *callers)
    )
    assert payment_contracts("optimism")[2:] == (address_of("BatchConversionPayments", "optimism"),)
    assert payment_contracts("tron") == (*payment_proxies("tron"), address_of("ERC20BatchPayments", "tron"))


def test_no_entry_of_the_networks_is_refused() -> None:
    check(load("networks"))


def test_a_process_does_not_start_with_an_entry_without_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "load", lambda name: entries_with("base", "relayer.dailyLimit", None))
    with pytest.raises(InvalidData, match="networks.json: base has no `relayer.dailyLimit`"):
        networks._networks()


def entries_with(name: str, path: str, value: Any) -> dict[str, Any]:
    """The entries of networks.json with one key of a network changed, or without it for None."""
    changed = deepcopy(load("networks"))
    *way, last = path.split(".")
    place = changed[name]
    for step in way:
        place = place[step]
    if value is None:
        place.pop(last, None)
    else:
        place[last] = value
    return changed


def refusal_of(entries: dict[str, Any]) -> str:
    with pytest.raises(InvalidData) as refused:
        check(entries)
    return str(refused.value)


REQUIRED = [
    *("chainId", "label", "title", "explorer", "rpcUrls", "confirmations", "confirmationsBecause", "blockMilliseconds"),
    *("logRange", "coin.symbol", "currency.symbol", "family"),
    *("relayer.dailyLimit", "relayer.lowBalance", "relayer.maxFeeGwei", "relayer.recurringFee"),
    *("contracts.ERC20FeeProxy", "contracts.Multicall3", "contracts.Permit2", "contracts.AcrossSpokePool"),
]


@pytest.mark.parametrize("key", REQUIRED)
def test_a_network_without_what_the_code_needs_is_refused_by_the_name_of_the_file_and_the_key(key: str) -> None:
    message = refusal_of(entries_with("base", key, None)).splitlines()[0]
    assert message == f"{path_of('networks')}: base has no `{key}`, which a network has to have"
    assert (ROOT / path_of("networks")).is_file()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("confirmations", 0),
        ("confirmations", True),
        ("family", "solana"),
        ("logRange", 64),
        ("relayer.dailyLimit", "0"),
        ("relayer.dailyLimit", 1),
        ("relayer.dailyLimit", "1e3"),
        ("relayer.recurringFee", "-1"),
        ("rpcUrls", "https://node.example"),
        ("explorer", "https://basescan.org/tx"),
        ("hasP256", "yes"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(key: str, value: Any) -> None:
    assert f"base has a `{key}` that cannot be used: {value!r}" in refusal_of(entries_with("base", key, value))


def test_a_misspelt_key_and_what_two_networks_have_in_common_are_refused() -> None:
    assert "base has a `confirmation`, which is not a key" in refusal_of(entries_with("base", "confirmation", 5))
    assert "matic has the same `chainId` as base" in refusal_of(entries_with("matic", "chainId", 8453))


def test_every_evm_network_has_limits_of_the_services_own_account_and_no_other_has() -> None:
    for each in ALL_NETWORKS:
        if each.family == "evm":
            assert relayer_limits(each.name) is each.relayer
        else:
            with pytest.raises(LookupError, match="is not an EVM network of networks.json"):
                relayer_limits(each.name)
