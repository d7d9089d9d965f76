"""Deposits into Across and the messages of MulticallHandler, against eth_abi and the ABI of the deployed contract."""

from dataclasses import astuple, replace

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata.bridges.across import (
    DEPOSIT_PARAMETERS,
    Deposit,
    HandlerMessage,
    decode_deposit,
    decode_message,
    encode_deposit,
    encode_message,
)
from tests.chains.calldata.calls import PAYEE, USDC, WALLET

TYPES = [kind for _, kind in DEPOSIT_PARAMETERS]
MESSAGE = "((address,bytes,uint256)[],address)"
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: evm_address("0x" + raw.hex()))
numbers, seconds = st.integers(0, 2**256 - 1), st.integers(0, 2**32 - 1)
deposits = st.builds(
    Deposit, *(addresses,) * 4, *(numbers,) * 3, addresses, *(seconds,) * 3, st.binary(max_size=200)
)
calls = st.tuples(addresses, st.binary(max_size=100).map(lambda raw: "0x" + raw.hex()), numbers)
messages = st.builds(HandlerMessage, st.lists(calls, max_size=4).map(tuple), addresses)
DEPOSIT = Deposit(WALLET, PAYEE, USDC, USDC, 1_030_000, 1_010_000, 42161, WALLET, 1_790_000_000, 1_790_007_200, 30, b"message")


@given(deposits)
def test_a_deposit_is_encoded_as_eth_abi_does_and_read_back(deposit: Deposit) -> None:
    selector = keccak(text=f"depositV3({','.join(TYPES)})")[:4]
    data = encode_deposit(deposit)
    assert data == "0x" + (selector + encode(TYPES, astuple(deposit))).hex()
    assert decode_deposit(data) == deposit


@given(messages)
def test_a_message_is_encoded_as_eth_abi_does_and_read_back(message: HandlerMessage) -> None:
    inner = [(target, bytes.fromhex(data[2:]), value) for target, data, value in message.calls]
    assert encode_message(message) == encode([MESSAGE], [(inner, message.fallback)])
    assert decode_message(encode_message(message)) == message


@given(deposits, st.data())
def test_what_is_read_is_what_would_be_written_and_other_bytes_are_another_deposit(deposit: Deposit, data: st.DataObject) -> None:
    raw = bytearray.fromhex(encode_deposit(deposit)[2:])
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    read = decode_deposit("0x" + raw.hex())
    assert read is None or (read != deposit and encode_deposit(read) == "0x" + raw.hex())


@given(st.binary(max_size=600))
def test_other_bytes_are_no_deposit_and_no_message(raw: bytes) -> None:
    for data in ("0x" + raw.hex(), "0x7b939232" + raw.hex()):
        read = decode_deposit(data)
        assert read is None or encode_deposit(read) == data
    message = decode_message(raw)
    assert message is None or encode_message(message) == raw


@pytest.mark.parametrize("data", ["", "0x", "0x7b9392", "nonsense", "0x7b93923", encode_deposit(DEPOSIT) + "00", encode_deposit(DEPOSIT)[:-2]])
def test_bytes_that_are_cut_off_or_too_long_are_no_deposit(data: str) -> None:
    assert decode_deposit(data) is None


@pytest.mark.parametrize("name", ["quote_timestamp", "fill_deadline", "exclusivity"])
def test_a_time_that_its_type_cannot_hold_is_not_written(name: str) -> None:
    with pytest.raises(OverflowError):
        encode_deposit(replace(DEPOSIT, **{name: 2**32}))


def test_capital_digits_are_read_too() -> None:
    data = encode_deposit(DEPOSIT)
    assert decode_deposit("0x" + data[2:].upper()) == DEPOSIT
