"""Contract addresses and the ERC-6492 validator against npm packages: one digit changed anywhere fails.

The proxies and the batch contract are those that @requestnetwork/smart-contracts names for the newest version of each,
the rates of conversions those of the versions in their names;
Multicall3 is where viem's chains have it. MultiSendCallOnly is where Safe's singleton factory puts the bytecode of
@safe-global/safe-contracts, computed as CREATE2 does. Across and Permit2 are where @across-protocol/contracts has them.
"""

from collections.abc import Mapping
from typing import Any

from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.conversions import conversion_networks
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from tests.chains.catalogue.changes import changed_leaves

PROXIES = ("ERC20FeeProxy", "EthereumFeeProxy", "BatchConversionPayments")
CONVERTING = (
    "Erc20ConversionProxy",
    "EthConversionProxy",
    "ChainlinkConversionPath 0.1.0",
    "ChainlinkConversionPath 0.2.0",
)
EVM_NETWORKS = [network.name for network in ALL_NETWORKS if network.family == "evm"]
BRIDGED = ("mainnet", "arbitrum-one", "optimism", "base", "matic", "bsc")

# No published package has these deployments: typed from the artifacts of Request Network's repository
# (packages/smart-contracts/src/lib/artifacts) and, of the diamond, from lifinance/contracts (deployments/*.json). Tron's were created in blocks 79216121 and 83104290, those of
# ERC20RecurringPaymentProxy 0.1.0 in 22845710, 354140859, 32422496, 73564289, 52840120 and 8689800.
# AuthCaptureEscrow 1.0 was created in 29931650 and 9795220; its collectors are those of base/commerce-payments
# (script/Deploy.s.sol), which names none for sepolia.
REVIEWED = {
    "ERC20FeeProxy": {"tron": "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd"},
    "ERC20BatchPayments": {"tron": "TRZbXXuLd3HW5utzVysA3rpLgU7sVBrd1D"},
    "ERC20RecurringPaymentProxy": {
        "mainnet": "0xF0Bebbc99E26Ba7F651E7Ff14e0D3029B0228880",
        "arbitrum-one": "0xC335f956e91faa1DC103f9B54f7009c470dc6EEf",
        "base": "0xd2c3392e3e70F4CE033Cb39CC80B414aDdD64fFa",
        "matic": "0xD3BD678f219439c2bcf602Beb07e601a91b8Cd3d",
        "bsc": "0xbb0f20890E9e405f9D4c2e707590525ccAA3De16",
        "sepolia": "0xb6C7448458d8616B00eb8f93883d0081Fa2aDec9",
    },
    "AuthCaptureEscrow": {
        "base": "0xBdEA0D1bcC5966192B070Fdf62aB4EF5b4420cff",
        "sepolia": "0xF81E3F293c92CaCfc0d723d2D8183e39Cc3AEdC7",
    },
    "PreApprovalPaymentCollector": {"base": "0x1b77ABd71FCD21fbe2398AE821Aa27D1E6B94bC6"},
    "ERC3009PaymentCollector": {"base": "0x0E3dF9510de65469C4518D7843919c0b8C7A7757"},
    "Permit2PaymentCollector": {"base": "0x992476B9Ee81d52a5BdA0622C333938D0Af0aB26"},
    "OperatorRefundCollector": {"base": "0x934907bffd0901b6A21e398B9C53A4A38F02fa5d"},
    "LiFiReceiverAcrossV4": dict.fromkeys(
        ("arbitrum-one", "base", "bsc"), "0x33b255b5db44A78c34381f89f1a454bc0Ef49871"
    ),
    "LiFiDiamond": dict.fromkeys(BRIDGED, "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"),
}


def deployed(sources: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Where the packages, and the reviewed copy, have each contract on our networks."""
    found = {contract: {name: sources["deployments"][contract][name] for name in EVM_NETWORKS} for contract in PROXIES}
    for contract in CONVERTING:
        found[contract] = {name: sources["deployments"][contract][name] for name in conversion_networks()}
    for contract, at in REVIEWED.items():
        found.setdefault(contract, {}).update(at)
    for contract in ("AcrossSpokePool", "AcrossMulticallHandler"):
        found[contract] = {name: sources["deployments"][contract][name] for name in BRIDGED}
    found["Permit2"] = {name: sources["deployments"]["Permit2"][name] for name in EVM_NETWORKS}
    found["Multicall3"] = {name: sources["chains"][name]["multicall3"] for name in EVM_NETWORKS}
    found["MultiSendCallOnly"] = dict.fromkeys(EVM_NETWORKS, sources["multiSendCallOnly"])
    return found


def contract_problems(sources: Mapping[str, Any], contracts: Mapping[str, Mapping[str, str]]) -> list[str]:
    wanted = deployed(sources)
    return [
        f"{contract} on {network}: {contracts.get(contract, {}).get(network)}"
        for contract in wanted.keys() | contracts.keys()
        for network in wanted.get(contract, {}).keys() | contracts.get(contract, {}).keys()
        if contracts.get(contract, {}).get(network) != wanted.get(contract, {}).get(network)
    ]


def validator_problems(sources: Mapping[str, Any], validator: Mapping[str, str]) -> list[str]:
    known = sources["validator"]
    wanted = {
        "source": f"erc6492SignatureValidatorByteCode of npm viem {known['version']}",
        "license": "MIT, Copyright (c) 2023-present weth, LLC",  # the LICENSE file of viem
        "validator": known["bytecode"],
    }
    return [key for key in wanted.keys() | validator.keys() if wanted.get(key) != validator.get(key)]


def test_every_contract_is_where_the_packages_have_it(sources: dict[str, Any]) -> None:
    assert contract_problems(sources, load("contracts")) == []


def test_one_character_changed_in_any_contract_address_is_noticed(sources: dict[str, Any]) -> None:
    number = 0
    for path, wrong in changed_leaves(load("contracts")):
        number += 1
        assert contract_problems(sources, wrong), path
    assert number > 60 * 34


def test_a_contract_that_is_missing_or_too_many_is_noticed(sources: dict[str, Any]) -> None:
    contracts = load("contracts")
    proxy = contracts["ERC20FeeProxy"]
    assert contract_problems(sources, {**contracts, "ERC20FeeProxy": {**proxy, "goerli": proxy["sepolia"]}})
    assert contract_problems(sources, {name: at for name, at in contracts.items() if name != "Multicall3"})


def test_the_service_reads_these_addresses(sources: dict[str, Any]) -> None:
    for contract, at in deployed(sources).items():
        for network, address in at.items():
            assert address_of(contract, network) == address


def test_the_validator_of_erc_6492_is_the_bytecode_of_viem(sources: dict[str, Any]) -> None:
    assert validator_problems(sources, load("erc6492")) == []


def test_one_character_changed_in_the_validator_is_noticed(sources: dict[str, Any]) -> None:
    for path, wrong in changed_leaves(load("erc6492")):
        assert validator_problems(sources, wrong), path
