"""The eight networks, and the contracts that are deployed on them."""

import pytest

from chalicelib.base.addresses import address_of_family
from chalicelib.chains.catalogue.contracts import address_of, payment_contracts, payment_proxies
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network, network, network_of_chain
from chalicelib.chains.catalogue.tokens import token_with_id

EXPECTED = {
    "mainnet": (1, "ETHEREUM"),
    "arbitrum-one": (42161, "ARBITRUM"),
    "optimism": (10, "OPTIMISM"),
    "base": (8453, "BASE"),
    "matic": (137, "POLYGON"),
    "bsc": (56, "BNB"),
    "tron": (728126428, "TRON"),
    "sepolia": (11155111, "SEPOLIA"),
}


def test_the_networks_are_the_eight_of_the_interface() -> None:
    assert {each.name: (each.chain_id, each.label) for each in ALL_NETWORKS} == EXPECTED


@pytest.mark.parametrize("each", ALL_NETWORKS, ids=lambda each: each.name)
def test_a_network_is_found_by_name_alias_and_chain_id(each: Network) -> None:
    assert network(each.name) is each
    assert network_of_chain(each.chain_id) is each
    assert all(network(alias) is each for alias in each.aliases)


def test_the_names_others_use_are_aliases() -> None:
    assert network("polygon") is network("matic")
    assert network("ethereum") is network("mainnet")


@pytest.mark.parametrize("name", ["", "fiat", "Base", "BASE", "solana"])
def test_an_unknown_name_is_no_network(name: str) -> None:
    assert network(name) is None


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
    for deployments in load("contracts").values():
        for name, address in deployments.items():
            chain = network(name)
            assert chain is not None
            assert address_of_family(address, chain.family) == address


@pytest.mark.parametrize("each", ALL_NETWORKS, ids=lambda each: each.name)
def test_every_network_has_its_proxies(each: Network) -> None:
    names = ["ERC20FeeProxy"] if each.family == "tron" else ["ERC20FeeProxy", "EthereumFeeProxy"]
    names += ["Erc20ConversionProxy", "EthConversionProxy"] if each.name in ("mainnet", "matic") else []
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
