"""Interoperable addresses and destination ids: vectors, what is refused, and what counts as the same."""

from typing import Any

import base58
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import BadRequest
from chalicelib.chains.catalogue.interop import (
    Destination,
    checksum,
    destination_id,
    interop_address,
    interop_binary,
    parse_destination_id,
)

from .interop_vectors import entries, folder

WALLET = "0x742d35Cc6634C0532925a3b844Bc454e4438f44e"
USDC_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
ON_BASE = f"{WALLET}@eip155:8453#B4FD67BB:{USDC_BASE}"
TRON_WALLET = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
USDT_TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
TRON = 728126428

evm_addresses = st.binary(min_size=20, max_size=20).map(lambda raw: evm_address("0x" + raw.hex()))
tron_addresses = st.binary(min_size=20, max_size=20).map(
    lambda raw: base58.b58encode_check(b"\x41" + raw).decode()
)


def refused(text: str, strict: bool) -> bool:
    try:
        parse_destination_id(text, strict)
    except BadRequest as error:
        assert error.message == "Invalid destination ID format"
        return True
    return False


def spelled_alike(a: str, b: str) -> bool:
    """Whether two interop addresses agree in all but the case of an EVM wallet."""
    (wallet_a, _, rest_a), (wallet_b, _, rest_b) = a.partition("@"), b.partition("@")
    return rest_a == rest_b and same_address(wallet_a, wallet_b)


def test_the_folder_holds_vectors_that_are_checked() -> None:
    assert entries("cases") or entries("destinationIds"), f"{folder()} holds no interop vector"


@pytest.mark.parametrize("case", entries("cases"))
def test_an_interop_address_is_rebuilt_to_the_byte(case: dict[str, Any]) -> None:
    chain_id = int(case["chainReference"])
    binary = interop_binary(case["address"], chain_id)
    assert "0x" + binary.hex() == case["binary"]
    assert checksum(binary) == case["checksum"]
    assert spelled_alike(interop_address(case["address"], chain_id), case["name"])


@pytest.mark.parametrize("entry", entries("destinationIds"))
def test_a_destination_id_is_written_and_read_back(entry: dict[str, Any]) -> None:
    destination = Destination(entry["wallet"], entry["chainId"], entry["token"])
    written, _, token = destination_id(destination).rpartition(":")
    assert token == entry["token"]
    assert written == interop_address(entry["wallet"], entry["chainId"])
    assert spelled_alike(written, entry["interopAddress"])
    assert "0x" + interop_binary(entry["wallet"], entry["chainId"]).hex() == entry["binary"]
    parsed = parse_destination_id(entry["destinationId"], strict=True)
    assert parsed.checksum_ok
    assert parsed.destination == destination


@pytest.mark.parametrize("entry", entries("rejectList"))
def test_a_malformed_id_is_refused_and_a_wrong_checksum_at_least_noticed(entry: dict[str, str]) -> None:
    assert refused(entry["input"], strict=True)
    if not refused(entry["input"], strict=False):
        assert not parse_destination_id(entry["input"], strict=False).checksum_ok


def test_a_wrong_checksum_is_flagged_and_refused_only_when_strict() -> None:
    text = ON_BASE.replace("B4FD67BB", "A1B2C3D4")
    parsed = parse_destination_id(text, strict=False)
    assert parsed.destination == Destination(WALLET, 8453, USDC_BASE)
    assert not parsed.checksum_ok
    assert refused(text, strict=True)


@pytest.mark.parametrize("written", ["b4fd67bb", "b4FD67bB"])
def test_a_checksum_is_accepted_in_either_case_and_comes_back_in_upper_case(written: str) -> None:
    parsed = parse_destination_id(ON_BASE.replace("B4FD67BB", written), strict=True)
    assert parsed.checksum_ok
    assert destination_id(parsed.destination) == ON_BASE


def test_a_wrong_checksum_in_lower_case_is_flagged_too() -> None:
    text = ON_BASE.replace("B4FD67BB", "1f969856")
    assert not parse_destination_id(text, strict=False).checksum_ok
    assert refused(text, strict=True)


@pytest.mark.parametrize("strict", [True, False])
def test_a_missing_checksum_is_accepted(strict: bool) -> None:
    parsed = parse_destination_id(ON_BASE.replace("#B4FD67BB", ""), strict)
    assert parsed.checksum_ok
    assert destination_id(parsed.destination) == ON_BASE


def test_a_lower_case_evm_id_means_the_same_and_comes_back_checksummed() -> None:
    parsed = parse_destination_id(f"{WALLET.lower()}@eip155:8453#B4FD67BB:{USDC_BASE.lower()}", strict=True)
    assert destination_id(parsed.destination) == ON_BASE


def test_a_tron_id_in_another_case_is_refused() -> None:
    text = f"{TRON_WALLET}@eip155:{TRON}#17734355:{USDT_TRON}"
    assert destination_id(parse_destination_id(text, strict=True).destination) == text
    assert refused(text.replace(TRON_WALLET, TRON_WALLET.lower()), strict=False)
    assert refused(text.replace(USDT_TRON, USDT_TRON.upper()), strict=False)


def test_the_native_coin_is_named_by_its_hash() -> None:
    text = f"{WALLET}@eip155:11155111:0xbb3546497a53cd710beb11b84c5240327f145bcb"
    parsed = parse_destination_id(text, strict=True).destination
    assert parsed.token_address == "0xbb3546497a53cd710beb11b84c5240327f145bcb"


def test_destinations_are_equal_when_they_mean_the_same() -> None:
    same = Destination(WALLET.lower(), 8453, USDC_BASE.lower())
    assert same == Destination(WALLET, 8453, USDC_BASE)
    assert hash(same) == hash(Destination(WALLET, 8453, USDC_BASE))
    assert same != Destination(WALLET, 10, USDC_BASE)
    assert Destination(TRON_WALLET, TRON, USDT_TRON) != Destination(TRON_WALLET.lower(), TRON, USDT_TRON)


@given(
    wallet=evm_addresses, token=evm_addresses, chain_id=st.integers(1, 10**31).filter(lambda id: id != TRON)
)
def test_every_evm_destination_survives_being_written_and_read(
    wallet: str, token: str, chain_id: int
) -> None:
    destination = Destination(wallet, chain_id, token)
    parsed = parse_destination_id(destination_id(destination), strict=True)
    assert (parsed.destination, parsed.checksum_ok) == (destination, True)


@given(wallet=tron_addresses, token=tron_addresses)
def test_every_tron_destination_survives_being_written_and_read(wallet: str, token: str) -> None:
    destination = Destination(wallet, TRON, token)
    assert parse_destination_id(destination_id(destination), strict=True).destination == destination


@given(text=st.text(alphabet="0123456789abcdefxT@:#eip155ABCDEF", max_size=140))
def test_any_other_text_is_refused_in_one_way(text: str) -> None:
    assert refused(text, strict=True)
