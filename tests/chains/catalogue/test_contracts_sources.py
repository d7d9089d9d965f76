"""Contract addresses and shipped bytecode against npm packages: one digit changed anywhere fails.

The proxies and the batch contract are those that @requestnetwork/smart-contracts names for the newest version of each,
the rates of conversions those of the versions in their names;
Multicall3 is where viem's chains have it. MultiSendCallOnly is where Safe's singleton factory puts the bytecode of
@safe-global/safe-contracts, computed as CREATE2 does. Across and Permit2 are where @across-protocol/contracts has them.
Simple7702Account is where the deterministic deployer puts the bytecode of @account-abstraction/contracts.
"""

import json
from collections.abc import Mapping
from typing import Any

from chalicelib.base.addresses import evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.bridges import source_networks
from chalicelib.chains.catalogue.contracts import DELEGATE, DELEGATE_CODE_HASH, address_of, contracts_on
from chalicelib.chains.catalogue.conversions import conversion_networks
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from infra.local.bytecode import MODULES
from tests.chains.catalogue.changes import changed_leaves
from tests.chains.catalogue.reviewed_networks import NETWORKS

DELEGATE_ARTEFACT = json.loads((MODULES / "@account-abstraction/contracts/artifacts/Simple7702Account.json").read_text())
PROXIES = ("ERC20FeeProxy", "EthereumFeeProxy", "BatchConversionPayments")
CONVERTING = (
    "Erc20ConversionProxy",
    "EthConversionProxy",
    "ChainlinkConversionPath 0.1.0",
    "ChainlinkConversionPath 0.2.0",
)
ACROSS = ("AcrossSpokePool", "AcrossMulticallHandler")
EVM_NETWORKS = [network.name for network in ALL_NETWORKS if network.family == "evm"]


def by_contract() -> dict[str, dict[str, str]]:
    """Where networks.json has each contract."""
    found: dict[str, dict[str, str]] = {}
    for network in ALL_NETWORKS:
        for contract, address in contracts_on(network.name).items():
            found.setdefault(contract, {})[network.name] = address
    return found


def deployed(sources: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Where the packages, and the reviewed copy, have each contract on our networks."""
    bridged = [each.name for each in source_networks()]
    asked = dict.fromkeys((*PROXIES, "Permit2"), EVM_NETWORKS)
    asked |= dict.fromkeys(CONVERTING, conversion_networks()) | dict.fromkeys(ACROSS, bridged)
    packages = sources["deployments"]
    found = {contract: {n: packages[contract][n] for n in at if n in packages[contract]} for contract, at in asked.items()}
    for name, reviewed in NETWORKS.items():
        for contract, address in reviewed.contracts.items():
            found.setdefault(contract, {})[name] = address
    found["Multicall3"] = {name: sources["chains"][name]["multicall3"] for name in EVM_NETWORKS}
    found["MultiSendCallOnly"] = dict.fromkeys(EVM_NETWORKS, sources["multiSendCallOnly"])
    found[DELEGATE] = dict.fromkeys(EVM_NETWORKS, delegate_address())
    return found


def delegate_address() -> str:
    """Where the deterministic deployer puts the delegate's creation code, with the salt 0 (CREATE2)."""
    created = bytes.fromhex(DELEGATE_ARTEFACT["bytecode"][2:])
    deployer = bytes.fromhex("4e59b44847b379578588920ca78fbf26c0b4956c")
    return evm_address("0x" + keccak256(b"\xff" + deployer + bytes(32) + keccak256(created))[-20:].hex())


def contract_problems(sources: Mapping[str, Any], contracts: Mapping[str, Mapping[str, str]]) -> list[str]:
    wanted = deployed(sources)
    return [
        f"{contract} on {network} is {contracts.get(contract, {}).get(network)} in networks.json and "
        f"{wanted.get(contract, {}).get(network)} in the packages and `contracts` of tests/chains/catalogue/reviewed_networks.py"
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


def single_request_proxy_problems(sources: Mapping[str, Any], shipped: Mapping[str, str]) -> list[str]:
    known = sources["singleRequestProxy"]
    package = f"npm @requestnetwork/smart-contracts {known['version']}"
    wanted = {
        "source": f"_bytecode of ERC20SingleRequestProxy__factory of {package}",
        "license": "MIT, Copyright (c) 2018 requestnetwork",  # the LICENSE file of the package
        "sha256": known["sha256"],
        "creation": known["creation"],
    }
    return [key for key in wanted.keys() | shipped.keys() if wanted.get(key) != shipped.get(key)]


def test_every_contract_is_where_the_packages_have_it(sources: dict[str, Any]) -> None:
    assert contract_problems(sources, by_contract()) == []


def test_one_character_changed_in_any_contract_address_is_noticed(sources: dict[str, Any]) -> None:
    number = 0
    for path, wrong in changed_leaves(by_contract()):
        number += 1
        assert contract_problems(sources, wrong), path
    assert number > 60 * 34


def test_a_contract_that_is_missing_or_too_many_is_noticed(sources: dict[str, Any]) -> None:
    contracts = by_contract()
    proxy = contracts["ERC20FeeProxy"]
    assert contract_problems(sources, {**contracts, "ERC20FeeProxy": {**proxy, "goerli": proxy["sepolia"]}})
    assert contract_problems(sources, {name: at for name, at in contracts.items() if name != "Multicall3"})


def test_the_service_reads_these_addresses(sources: dict[str, Any]) -> None:
    for contract, at in deployed(sources).items():
        for network, address in at.items():
            assert address_of(contract, network) == address, f"networks.json: {contract} on {network} is not the npm package's"


def test_the_validator_of_erc_6492_is_the_bytecode_of_viem(sources: dict[str, Any]) -> None:
    assert validator_problems(sources, load("erc6492")) == []


def test_one_character_changed_in_the_validator_is_noticed(sources: dict[str, Any]) -> None:
    for path, wrong in changed_leaves(load("erc6492")):
        assert validator_problems(sources, wrong), path


def test_the_contract_of_plain_transfers_is_the_bytecode_of_its_package(sources: dict[str, Any]) -> None:
    shipped = load("single_request_proxy")
    assert single_request_proxy_problems(sources, shipped) == []
    for path, wrong in changed_leaves({key: value[:200] for key, value in shipped.items()}):
        assert single_request_proxy_problems(sources, {**shipped, **wrong}), path


def test_the_hash_of_the_delegates_code_is_that_of_the_package() -> None:
    code = bytes.fromhex(DELEGATE_ARTEFACT["deployedBytecode"][2:])
    assert "0x" + keccak256(code).hex() == DELEGATE_CODE_HASH
