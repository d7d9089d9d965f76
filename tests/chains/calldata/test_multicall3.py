"""Multicall3 questions and answers against an independent ABI coder."""

import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.calldata.multicall3 import aggregate, as_uint, decode, eth_balance
from chalicelib.chains.calldata.transaction import Call

MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
OWNER = "0xf17f52151ebef6c7334fad080c5704d77216b732"

calls = st.builds(
    Call,
    st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex()),
    st.binary(max_size=100).map(lambda raw: "0x" + raw.hex()),
)
answers = st.lists(st.tuples(st.booleans(), st.binary(max_size=100)), max_size=8)


@given(asked=st.lists(calls, max_size=8))
def test_a_question_equals_the_encoding_of_an_abi_library(asked: list[Call]) -> None:
    built = aggregate("sepolia", asked)
    arguments = encode(
        ["(address,bool,bytes)[]"], [[(call.to, True, bytes.fromhex(call.data[2:])) for call in asked]]
    )
    assert built == Call(MULTICALL3, "0x82ad56cb" + arguments.hex())


@given(results=answers)
def test_an_answer_is_read_back_with_none_for_what_failed(results: list[tuple[bool, bytes]]) -> None:
    answer = "0x" + encode(["(bool,bytes)[]"], [results]).hex()
    assert decode(answer) == tuple(data if success else None for success, data in results)


@given(results=answers.filter(bool), cut=st.integers(1, 64))
def test_an_answer_that_was_cut_short_is_refused(results: list[tuple[bool, bytes]], cut: int) -> None:
    results = [*results, (True, b"\x01" * 64)]
    raw = encode(["(bool,bytes)[]"], [results])
    with pytest.raises(ValueError, match="shorter"):
        decode(raw[:-cut].hex())


@pytest.mark.parametrize("answer", ["0x", "", "0x" + "ff" * 32, "0x" + "00" * 31 + "20" + "ff" * 32])
def test_an_answer_that_is_none_is_refused(answer: str) -> None:
    with pytest.raises(ValueError, match="shorter"):
        decode(answer)


def test_the_native_balance_is_asked_of_multicall3_itself() -> None:
    assert eth_balance("base", OWNER) == Call(MULTICALL3, "0x4d2301cc" + OWNER[2:].zfill(64))


def test_a_number_is_read_only_from_a_whole_word() -> None:
    assert as_uint((7).to_bytes(32, "big")) == 7
    assert as_uint(None) is None
    assert as_uint(b"") is None


def test_there_is_no_multicall_on_tron() -> None:
    with pytest.raises(LookupError):
        aggregate("tron", [])
