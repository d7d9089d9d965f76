"""Calls of LI.FI's diamond and messages of its receiver, written by eth_abi, and what of them is read."""

from dataclasses import replace
from typing import Any

import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata.bridges.across import Deposit
from chalicelib.chains.calldata.bridges.lifi import ReceiverMessage, decode_diamond, decode_receiver_message
from tests.chains.calldata.calls import PAYEE, USDC, WALLET
from tests.crosschain.service.router.diamond import ACROSS, BRIDGE, ID, ONE, Call, data, encoded, message

STRANGER, THERE = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
DEPOSIT = Deposit(WALLET, PAYEE, USDC, THERE, 12_530_000, 12_500_000, 42161, STRANGER, 1_790_000_000, 1_790_007_200, 30, b"message")
FEES = ((STRANGER, 20_000), (PAYEE, 5_000))
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: evm_address("0x" + raw.hex()))
amounts = st.integers(0, 2**120)
seconds = st.integers(0, 2**32 - 1)
deposits = st.builds(
    Deposit, *(addresses,) * 4, amounts, amounts, st.integers(0, 2**256 - 1), addresses, *(seconds,) * 3, st.binary(max_size=100)
)
fees = st.lists(st.tuples(addresses, st.integers(0, 2**200)), min_size=1, max_size=4).map(tuple)


@given(deposits)
def test_a_deposit_without_swaps_is_read_as_it_was_written(deposit: Deposit) -> None:
    found = decode_diamond(data(Call(deposit)))
    assert found is not None
    assert (found.deposit, found.taken) == (deposit, deposit.input_amount)


@given(deposits, fees, st.integers(0, 2**128 - 1))
def test_a_deposit_after_fees_is_what_they_leave_and_what_the_multiplier_makes_of_it(deposit: Deposit, fees: Any, multiplier: int) -> None:
    found = decode_diamond(data(Call(deposit, fees, multiplier=multiplier)))
    assert found is not None
    assert found.deposit == replace(deposit, output_amount=deposit.input_amount * multiplier // ONE)
    assert found.taken == deposit.input_amount + sum(amount for _, amount in fees)


@pytest.mark.parametrize(
    "change",
    [
        {"more_swaps": 1},
        {"more_swaps": -1},
        {"least": 12_530_001},
        {"least": 12_529_999},
        {"has_swaps": False},
        {"has_call": False},
        {"swap": {"callTo": PAYEE}},
        {"swap": {"approveTo": PAYEE}},
        {"swap": {"sendingAssetId": THERE}},
        {"swap": {"receivingAssetId": THERE}},
        {"swap": {"fromAmount": 12_555_001}},
        {"swap": {"requiresDeposit": False}},
        {"swap": {"callData": b""}},
    ],
    ids=str,
)
def test_any_other_swap_is_not_read(change: dict[str, Any]) -> None:
    call = Call(DEPOSIT, FEES)
    assert decode_diamond(data(call)) is not None
    assert decode_diamond(data(replace(call, **change))) is None


@pytest.mark.parametrize(
    "calldata",
    [
        encoded("forwardERC20Fees", ["address", "(address,uint256)[]"], [THERE, FEES]),
        encoded("forwardNativeFees", ["address", "(address,uint256)[]"], [USDC, FEES]),
        encoded("forwardERC20Fees", ["address", "(address,uint256)[]"], [USDC, FEES]) + "00" * 32,
        encoded("forwardERC20Fees", ["address", "(address,uint256)[]"], [USDC, FEES]) + "00",
        encoded("forwardERC20Fees", ["address", "(address,uint256)[]"], [USDC, FEES])[:-2],
        encoded("forwardERC20Fees", ["address", "(address,uint256)[]"], [USDC, FEES])[:-64],
        encoded("forwardERC20Fees", ["address", "(address,uint256)[]"], [USDC, FEES]).replace(f"{0x40:064x}", f"{0x60:064x}"),
        encoded("forwardERC20Fees", ["address", "(uint256,uint256)[]"], [USDC, [(2**160, 25_000)]]).replace(
            encoded("forwardERC20Fees", ["address", "(uint256,uint256)[]"], [USDC, []])[:10],
            encoded("forwardERC20Fees", ["address", "(address,uint256)[]"], [USDC, []])[:10],
        ),
    ],
    ids=["token", "function", "a word more", "a byte more", "a byte less", "a word less", "offset", "recipient"],
)
def test_fees_in_any_other_form_are_not_read(calldata: str) -> None:
    assert decode_diamond(data(Call(DEPOSIT, FEES, swap={"callData": bytes.fromhex(calldata[2:])}))) is None


def test_a_call_without_swaps_that_says_it_has_some_or_no_destination_call_is_not_read() -> None:
    assert decode_diamond(data(Call(DEPOSIT, has_swaps=True))) is None
    assert decode_diamond(data(Call(DEPOSIT, has_call=False))) is None


@pytest.mark.parametrize("place", [0, 1, 2, 5])
def test_an_address_of_another_kind_of_chain_is_not_read(place: int) -> None:
    bridge = (ID, "across", "x", WALLET, USDC, WALLET, 1, 42161, False, True)
    word = bytes(12) + bytes(20)
    across = [word, word, word, 1, ONE, word, 1, 1, 1, b""]
    assert decode_diamond(encoded("startBridgeTokensViaAcrossV4", [BRIDGE, ACROSS], [bridge, across])) is not None
    across[place] = bytes(11) + b"\x01" + bytes(20)
    assert decode_diamond(encoded("startBridgeTokensViaAcrossV4", [BRIDGE, ACROSS], [bridge, across])) is None


def test_bytes_that_are_cut_off_or_too_long_are_not_read() -> None:
    for call in (Call(DEPOSIT), Call(DEPOSIT, FEES)):
        assert decode_diamond(data(call) + "00") is None
        assert decode_diamond(data(call)[:-2]) is None
        assert decode_diamond("0x00000000" + data(call)[10:]) is None
    assert decode_diamond("nothing") is None


@given(addresses, addresses, st.binary(max_size=100), amounts, addresses)
def test_a_message_is_read_as_it_was_written(token: str, target: str, raw: bytes, amount: int, receiver: str) -> None:
    found = decode_receiver_message(message(token, target, "0x" + raw.hex(), amount, receiver))
    assert found == ReceiverMessage(token, target, "0x" + raw.hex(), amount, receiver)


def test_a_message_that_does_anything_else_is_not_read() -> None:
    assert decode_receiver_message(message(THERE, PAYEE, "0x12", 1, WALLET, times=2)) is None
    assert decode_receiver_message(message(THERE, PAYEE, "0x12", 1, WALLET, times=0)) is None
    assert decode_receiver_message(message(THERE, PAYEE, "0x12", 1, WALLET, spender=WALLET)) is None
    assert decode_receiver_message(message(THERE, PAYEE, "0x12", 1, WALLET) + bytes(32)) is None
    swap = (PAYEE, PAYEE, THERE, USDC, 1, b"", True)
    other = encode(["bytes32", "(address,address,address,address,uint256,bytes,bool)[]", "address"], [ID, [swap], WALLET])
    assert decode_receiver_message(other) is None
