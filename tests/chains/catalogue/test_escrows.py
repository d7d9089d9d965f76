"""The contracts of commerce payments: those of the catalogue, and those that a setting names."""

from typing import Any

import pytest

from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.escrows import EscrowContracts, escrow_contracts, escrow_networks, read_escrows
from chalicelib.chains.catalogue.networks import ALL_NETWORKS

KEYS = ("escrow", "preApproval", "erc3009", "permit2", "operatorRefund")
NAMES = (
    "AuthCaptureEscrow",
    "PreApprovalPaymentCollector",
    "ERC3009PaymentCollector",
    "Permit2PaymentCollector",
    "OperatorRefundCollector",
)
OTHERS = {key: f"0x{number:040x}" for number, key in enumerate(KEYS, 1)}
COLLECTORS = {key: value for key, value in OTHERS.items() if key != "escrow"}


def test_base_has_all_five_contracts_and_no_other_network_without_a_setting() -> None:
    assert escrow_contracts("base", {}) == EscrowContracts("base", *(address_of(name, "base") for name in NAMES))
    assert [each.name for each in ALL_NETWORKS if escrow_contracts(each.name, {})] == ["base"]
    assert escrow_networks({}) == ("base",)


def test_the_contracts_are_known_by_their_names_and_their_chain() -> None:
    base = escrow_contracts("base", {})
    assert base is not None
    assert base.names == {name: address_of(name, "base") for name in NAMES}
    assert base.chain_id == 8453


def test_a_setting_names_the_collectors_of_sepolia_whose_escrow_is_known() -> None:
    found = read_escrows({"sepolia": COLLECTORS})
    sepolia = EscrowContracts("sepolia", "0xF81E3F293c92CaCfc0d723d2D8183e39Cc3AEdC7", *COLLECTORS.values())
    assert found == {"sepolia": sepolia}
    assert escrow_contracts("sepolia", found) == sepolia
    assert escrow_networks(found) == ("base", "sepolia")


def test_a_setting_replaces_the_contracts_of_the_catalogue_and_takes_aliases_of_networks() -> None:
    found = read_escrows({"base": {"escrow": OTHERS["escrow"], "version": "1.0"}, "polygon": OTHERS})
    base, matic = escrow_contracts("base", found), escrow_contracts("matic", found)
    assert base is not None and matic is not None
    assert (base.escrow, base.pre_approval) == (OTHERS["escrow"], address_of(NAMES[1], "base"))
    assert matic == EscrowContracts("matic", *OTHERS.values())
    assert read_escrows({}) == {}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "a JSON object by network"),
        ({"goerli": OTHERS}, "goerli is not a network"),
        ({"tron": OTHERS}, "tron is not a network"),
        ({"base": "0x00"}, "base: must be an object"),
        ({"base": {"collector": OTHERS["escrow"]}}, "base: must be an object with some of version, escrow"),
        ({"base": {"version": "1.1"}}, "base: version must be 1.0"),
        ({"base": {"version": 1.0}}, "base: version must be 1.0"),
        ({"sepolia": {"escrow": OTHERS["escrow"]}}, "sepolia: preApproval is missing"),
        ({"mainnet": COLLECTORS}, "mainnet: escrow is missing"),
        ({"base": {"escrow": "0x12"}}, "base: escrow is not an address"),
        ({"base": {"permit2": 5}}, "base: permit2 is not an address"),
    ],
)
def test_a_setting_that_is_none_says_what_is_wrong(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_escrows(value)
