"""Addresses of EVM chains and Tron: spelling, checksums, comparison."""

import base58
import pytest
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import (
    DEAD_ADDRESS,
    ZERO_ADDRESS,
    address_bytes,
    address_of_family,
    address_of_log,
    evm_address,
    hex_address,
    same_address,
    tron_address,
    tron_address_of,
    tron_to_evm,
)
from chalicelib.base.errors import BadRequest

CHECKSUMMED = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
USDT_TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"

twenty_bytes = st.binary(min_size=20, max_size=20)


@given(raw=twenty_bytes)
def test_every_spelling_without_a_checksum_becomes_the_checksummed_one(raw: bytes) -> None:
    expected = to_checksum_address(raw)
    assert evm_address("0x" + raw.hex()) == expected
    assert evm_address("0x" + raw.hex().upper()) == expected
    assert evm_address(expected) == expected
    assert address_bytes(expected) == raw


def test_a_wrong_mixed_case_checksum_is_refused() -> None:
    with pytest.raises(BadRequest, match="EIP-55"):
        evm_address("0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        CHECKSUMMED[2:],
        CHECKSUMMED[:-1],
        CHECKSUMMED + "0",
        "0X" + CHECKSUMMED[2:],
        f" {CHECKSUMMED}",
    ]
    + [f"{CHECKSUMMED}\n", "0x" + "g" * 40, "0x" + "１" * 40, USDT_TRON, "vitalik.eth"],
)
def test_what_is_not_an_evm_address_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="Invalid EVM address"):
        evm_address(text)


@given(raw=twenty_bytes)
def test_a_tron_address_holds_20_bytes(raw: bytes) -> None:
    text = base58.b58encode_check(b"\x41" + raw).decode()
    assert tron_address(text) == text
    assert tron_address_of(raw) == text
    assert tron_to_evm(text) == "0x" + raw.hex()
    assert address_bytes(text) == raw


@pytest.mark.parametrize(
    "text",
    [
        "",
        "T",
        USDT_TRON.lower(),
        USDT_TRON.upper(),
        USDT_TRON[:-1] + "T",
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T",
        USDT_TRON[:-1],
        USDT_TRON + "t",
        USDT_TRON + "\n",
        "T" + "0" * 33,
        "T" + "é" * 33,
        base58.b58encode_check(b"\x00" + bytes(20)).decode(),
        base58.b58encode_check(b"\x42" + bytes(20)).decode(),
        CHECKSUMMED,
    ],
)
def test_what_is_not_a_tron_address_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="Invalid Tron address"):
        tron_address(text)


def test_evm_addresses_are_compared_without_case_and_tron_addresses_with_it() -> None:
    assert same_address(CHECKSUMMED, CHECKSUMMED.lower())
    assert not same_address(CHECKSUMMED, ZERO_ADDRESS)
    assert same_address(USDT_TRON, USDT_TRON)
    assert not same_address(USDT_TRON, USDT_TRON.lower())
    assert not same_address(USDT_TRON, tron_to_evm(USDT_TRON))


def test_the_family_decides_which_address_is_read() -> None:
    assert address_of_family(CHECKSUMMED.lower(), "evm") == CHECKSUMMED
    assert address_of_family(USDT_TRON, "tron") == USDT_TRON
    with pytest.raises(BadRequest):
        address_of_family(USDT_TRON, "evm")
    with pytest.raises(BadRequest):
        address_of_family(CHECKSUMMED, "tron")


@pytest.mark.parametrize("text", ["0x", "0x" + "00" * 19, "0x" + "00" * 21])
def test_the_bytes_of_an_address_are_always_20(text: str) -> None:
    with pytest.raises(ValueError, match="20 bytes"):
        address_bytes(text)


@pytest.mark.parametrize("raw", [b"", bytes(19), bytes(21)])
def test_a_tron_address_is_made_of_20_bytes(raw: bytes) -> None:
    with pytest.raises(ValueError, match="20 bytes"):
        tron_address_of(raw)


def test_the_two_named_addresses_are_spelled_right() -> None:
    assert evm_address(ZERO_ADDRESS) == ZERO_ADDRESS
    assert evm_address(DEAD_ADDRESS) == DEAD_ADDRESS


def test_the_address_of_a_log_is_spelled_as_callers_of_its_family_write_it() -> None:
    assert address_of_log(CHECKSUMMED.lower(), "evm") == CHECKSUMMED
    assert address_of_log(tron_to_evm(USDT_TRON), "tron") == USDT_TRON


def test_addresses_in_logs_are_lower_case_hex() -> None:
    assert hex_address(CHECKSUMMED) == CHECKSUMMED.lower()
    assert hex_address(USDT_TRON) == tron_to_evm(USDT_TRON)
