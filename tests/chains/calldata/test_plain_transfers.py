"""Addresses of plain transfers against ethers and the npm package of the contract, and what is sent to them."""

import hashlib

import pytest
from eth_abi import decode, encode
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import plain_transfers
from chalicelib.chains.calldata.plain_transfers import (
    DEPLOYER,
    PlainTransferTerms,
    creation_code,
    plain_transfer_address,
)
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, MULTICALL3, address_of
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from tests.oracles.node import ask

EVM_NETWORKS = [network.name for network in ALL_NETWORKS if network.family == "evm"]
PAYEE, FEE_ADDRESS = "0xf17f52151EbEF6C7334FAD080c5704D77216b732", "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
TOKEN = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"

addresses = st.binary(min_size=20, max_size=20).filter(any).map(lambda raw: "0x" + raw.hex())
terms = st.builds(
    PlainTransferTerms,
    network=st.sampled_from(EVM_NETWORKS),
    payee=addresses,
    token=addresses,
    reference=st.binary(min_size=8, max_size=8),
    fee_amount=st.integers(1, 2**256 - 1).map(BaseUnits),
    fee_address=addresses,
)


def arguments(of: PlainTransferTerms) -> list[object]:
    fee_address = of.fee_address or ZERO_ADDRESS
    proxy = address_of(ERC20_FEE_PROXY, of.network)
    return [of.payee, of.token, "0x" + of.reference.hex(), fee_address, str(of.fee_amount), proxy]


def test_code_and_address_are_those_of_ethers_and_the_package_on_every_network() -> None:
    made = [
        PlainTransferTerms(network, PAYEE, TOKEN, bytes.fromhex("86dfbccad783599a"), *fee)
        for network in EVM_NETWORKS
        for fee in ((), (BaseUnits(125_000), FEE_ADDRESS))
    ]
    answers = ask([{"ask": "singleRequestProxy", "deployer": DEPLOYER, "of": arguments(each)} for each in made])
    assert [(("0x" + creation_code(each).hex()), plain_transfer_address(each)) for each in made] == [
        (each["creation"], each["address"]) for each in answers
    ]
    assert len({each["address"] for each in answers}) > len(EVM_NETWORKS)


@settings(max_examples=20, deadline=None)
@given(made=st.lists(terms, min_size=1, max_size=5))
def test_any_terms_have_the_code_and_address_of_ethers(made: list[PlainTransferTerms]) -> None:
    answers = ask([{"ask": "singleRequestProxy", "deployer": DEPLOYER, "of": arguments(each)} for each in made])
    for each, answer in zip(made, answers, strict=True):
        assert ("0x" + creation_code(each).hex(), plain_transfer_address(each)) == (answer["creation"], answer["address"])


def test_whatever_decides_who_is_paid_changes_the_address() -> None:
    first = PlainTransferTerms("sepolia", PAYEE, TOKEN, bytes(7) + b"\1", BaseUnits(1), FEE_ADDRESS)
    others = [
        PlainTransferTerms("base", PAYEE, TOKEN, bytes(7) + b"\1", BaseUnits(1), FEE_ADDRESS),
        PlainTransferTerms("sepolia", FEE_ADDRESS, TOKEN, bytes(7) + b"\1", BaseUnits(1), FEE_ADDRESS),
        PlainTransferTerms("sepolia", PAYEE, PAYEE, bytes(7) + b"\1", BaseUnits(1), FEE_ADDRESS),
        PlainTransferTerms("sepolia", PAYEE, TOKEN, bytes(7) + b"\2", BaseUnits(1), FEE_ADDRESS),
        PlainTransferTerms("sepolia", PAYEE, TOKEN, bytes(7) + b"\1", BaseUnits(2), FEE_ADDRESS),
        PlainTransferTerms("sepolia", PAYEE, TOKEN, bytes(7) + b"\1", BaseUnits(1), PAYEE),
        PlainTransferTerms("sepolia", PAYEE, TOKEN, bytes(7) + b"\1"),
    ]
    assert len({plain_transfer_address(each) for each in [first, *others]}) == 1 + len(others)


def test_the_shipped_code_has_the_hash_that_stands_beside_it() -> None:
    shipped = load("single_request_proxy")
    assert hashlib.sha256(bytes.fromhex(shipped["creation"][2:])).hexdigest() == shipped["sha256"]


def test_no_address_is_made_without_who_receives_the_fee_nor_on_tron() -> None:
    with pytest.raises(ValueError, match="needs the address"):
        plain_transfer_address(PlainTransferTerms("sepolia", PAYEE, TOKEN, bytes(8), BaseUnits(1)))
    with pytest.raises(ValueError, match="8 bytes"):
        plain_transfer_address(PlainTransferTerms("sepolia", PAYEE, TOKEN, bytes(9)))


def test_one_transaction_deploys_and_pays_out_or_does_nothing() -> None:
    made = PlainTransferTerms("base", PAYEE, TOKEN, bytes(7) + b"\1")
    both = plain_transfers.deploy_and_pay_out(made)
    assert (both.to, both.value) == (address_of(MULTICALL3, "base"), 0)
    (calls,) = decode(["(address,bool,bytes)[]"], bytes.fromhex(both.data[10:]))
    alone = plain_transfers.deploy(made), plain_transfers.pay_out(plain_transfer_address(made))
    assert calls == tuple((each.to.lower(), False, bytes.fromhex(each.data[2:])) for each in alone)
    assert alone[0].data == "0x" + (bytes(32) + creation_code(made)).hex()
    assert alone[1].data == "0x024c6e72"


def test_a_rescue_names_the_token_or_the_coin() -> None:
    address = plain_transfer_address(PlainTransferTerms("base", PAYEE, TOKEN, bytes(8)))
    assert plain_transfers.rescue(address, None).data == "0x063c27f8"
    assert plain_transfers.rescue(address, TOKEN).data == "0xa986459c" + encode(["address"], [TOKEN]).hex()
