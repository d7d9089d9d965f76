"""Events of the fee proxies: which logs count, and the transfer that each becomes."""

from typing import Any

import pytest
from base58 import b58decode_check
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.keccak import keccak256
from chalicelib.catalogue.contracts import address_of
from chalicelib.chain.logs import ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC, ProxyTransfer, decode_transfer

ADDRESS = st.binary(min_size=20, max_size=20).map(lambda b: "0x" + b.hex())
AMOUNT = st.integers(0, 2**256 - 1)


def log_of(contract: str, topic: str, data: bytes, network: str = "sepolia") -> dict[str, Any]:
    return {
        "address": address_of(contract, network).lower(),
        "topics": [topic, "0x" + "ab" * 32],
        "data": "0x" + data.hex(),
        "transactionHash": "0x" + "01" * 32,
        "logIndex": "0x5",
        "blockNumber": "0x10",
        "blockHash": "0x" + "02" * 32,
    }


@given(ADDRESS, ADDRESS, AMOUNT, AMOUNT, ADDRESS)
def test_an_erc20_transfer_is_decoded_as_an_abi_library_encodes_it(
    token: str, payee: str, amount: int, fee: int, fee_address: str
) -> None:
    data = encode(["address", "address", "uint256", "uint256", "address"], [token, payee, amount, fee, fee_address])
    found = decode_transfer("sepolia", log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, data))
    assert found is not None
    assert (found.token_address, found.payee, found.fee_address) == (token, payee, fee_address)
    assert (found.amount, found.fee_amount) == (amount, fee)
    assert (found.log_index, found.block_number) == (5, 16)


@given(ADDRESS, AMOUNT, AMOUNT, ADDRESS)
def test_a_native_transfer_has_no_token(payee: str, amount: int, fee: int, fee_address: str) -> None:
    data = encode(["address", "uint256", "uint256", "address"], [payee, amount, fee, fee_address])
    found = decode_transfer("sepolia", log_of("EthereumFeeProxy", NATIVE_TRANSFER_TOPIC, data))
    assert found is not None
    assert (found.token_address, found.payee, found.amount, found.fee_amount) == (None, payee, amount, fee)


def test_a_tron_transfer_is_that_of_its_proxy_in_hex_and_its_hash_has_no_0x() -> None:
    token, payee = "0x" + "11" * 20, "0x" + "22" * 20
    data = encode(["address", "address", "uint256", "uint256", "address"], [token, payee, 5, 0, "0x" + "00" * 20])
    log = log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, data, "tron")
    log["address"] = "0x" + b58decode_check(address_of("ERC20FeeProxy", "tron"))[1:].hex()
    found = decode_transfer("tron", log)
    assert found is not None
    assert (found.token_address, found.payee, found.amount) == (token, payee, 5)
    assert (found.tx_hash, found.block_hash) == ("01" * 32, "0x" + "02" * 32)
    assert decode_transfer("tron", {**log, "address": "0x" + "11" * 20}) is None
    native = log_of("ERC20FeeProxy", NATIVE_TRANSFER_TOPIC, data[32:], "tron")
    assert decode_transfer("tron", {**native, "address": log["address"]}) is None


def test_the_topics_are_the_hashes_of_the_published_events() -> None:
    erc20 = b"TransferWithReferenceAndFee(address,address,uint256,bytes,uint256,address)"
    native = b"TransferWithReferenceAndFee(address,uint256,bytes,uint256,address)"
    assert "0x" + keccak256(erc20).hex() == ERC20_TRANSFER_TOPIC
    assert "0x" + keccak256(native).hex() == NATIVE_TRANSFER_TOPIC


GOOD = log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, bytes(160))


@pytest.mark.parametrize(
    "change",
    [
        {"address": "0x" + "99" * 20},
        {"address": address_of("EthereumFeeProxy", "sepolia")},
        {"address": address_of("ERC20FeeProxy", "base")},
        {"topics": [NATIVE_TRANSFER_TOPIC, "0x" + "ab" * 32]},
        {"topics": [ERC20_TRANSFER_TOPIC]},
        {"topics": [ERC20_TRANSFER_TOPIC, "0x" + "ab" * 32, "0x" + "ab" * 32]},
        {"topics": []},
        {"data": "0x"},
        {"data": "0x" + "00" * 128},
        {"data": "0x" + "00" * 192},
        {"removed": True},
    ],
)
def test_a_log_that_is_not_exactly_the_proxys_is_nothing(change: dict[str, Any]) -> None:
    assert decode_transfer("sepolia", GOOD) is not None
    assert decode_transfer("sepolia", GOOD | change) is None


def test_every_field_of_a_log_has_its_place_in_the_transfer() -> None:
    token, payee, fee_address = (f"0x{digit * 40}" for digit in "def")
    data = encode(["address", "address", "uint256", "uint256", "address"], [token, payee, 10**9, 10**7, fee_address])
    log = log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, data) | {
        "topics": [ERC20_TRANSFER_TOPIC, "0x" + "AB" * 32],
        "transactionHash": "0x" + "CD" * 32,
        "blockHash": "0x" + "EF" * 32,
        "logIndex": "0x1f",
        "blockNumber": "0xab12",
        "removed": False,
    }
    assert decode_transfer("sepolia", log) == ProxyTransfer(
        network="sepolia",
        token_address=token,
        payee=payee,
        amount=10**9,  # type: ignore[arg-type]
        fee_amount=10**7,  # type: ignore[arg-type]
        fee_address=fee_address,
        reference_topic="0x" + "ab" * 32,
        tx_hash="0x" + "cd" * 32,
        log_index=31,
        block_number=0xAB12,
        block_hash="0x" + "ef" * 32,
    )


def test_a_network_that_the_catalogue_does_not_have_has_no_transfers() -> None:
    assert decode_transfer("moon", GOOD) is None
