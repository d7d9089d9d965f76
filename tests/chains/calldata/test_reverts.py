"""What contracts say when they refuse, in words: Solidity's two errors, errors of their own, and nonsense."""

import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.calldata.reverts import MAX_REASON, NOT_DUE_YET, revert_reason

ERROR, PANIC = bytes.fromhex("08c379a0"), bytes.fromhex("4e487b71")

PANICS = {
    0x01: "an assertion failed",
    0x11: "arithmetic overflow",
    0x12: "division by zero",
    0x21: "invalid enum value",
    0x32: "index out of bounds",
    0x41: "out of memory",
    2**256 - 1: "a check of the compiler failed",
}


def error(text: str) -> bytes:
    return ERROR + encode(["string"], [text])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (error("Insufficient allowance"), "Insufficient allowance"),
        (error("a\r\nb\x1b[31m\u202ec\u2028d\0"), "ab[31mcd"),
        (error(""), "reverted with an empty reason"),
        (error("\n"), "reverted with an empty reason"),
        (error("x" * 10_000), "x" * MAX_REASON),
        (error("\0" * 799 + "xy"), "x"),
        (error("no")[:-30] + b"t this", "no"),
        (ERROR + encode(["bytes"], [b"\xff\xfeno"]), "\ufffd\ufffdno"),
        *((PANIC + encode(["uint256"], [code]), f"panic 0x{code:02x}: {text}") for code, text in PANICS.items()),
        (PANIC + encode(["uint256"], [0x99]), "panic 0x99: a check of the compiler failed"),
        (b"", "reverted without a reason"),
        (b"\1\2\3", "reverted without a reason"),
        (bytes.fromhex("e450d38d") + bytes(96), "reverted with the contract's own error 0xe450d38d"),
        (bytes.fromhex("e450d38c") + bytes(96), "the balance of the token is too small"),
        (bytes.fromhex("fb8f41b2") + bytes(96), "the token's allowance is too small"),
        (bytes.fromhex("b39d2709"), NOT_DUE_YET),
        (bytes.fromhex("d5a4f5ea"), "the schedule's signature is not that of its subscriber"),
        (bytes.fromhex("da023c0b"), "the schedule has expired"),
        (bytes.fromhex("061235ef"), "an earlier payment of the schedule was not made, or this one was"),
        (bytes.fromhex("bec060dd"), "the schedule has no such payment"),
        (bytes.fromhex("544db32b"), "the payment of the schedule was already made"),
        (ERROR, "reverted with the contract's own error 0x08c379a0"),
        (PANIC + bytes(31), "reverted with the contract's own error 0x4e487b71"),
    ],
)
def test_a_refusal_in_words(data: bytes, said: str) -> None:
    assert revert_reason(data) == said


@given(st.sampled_from([b"", ERROR, PANIC]), st.binary(max_size=200))
def test_whatever_is_returned_becomes_one_short_printable_line(start: bytes, rest: bytes) -> None:
    said = revert_reason(start + rest)
    assert said.isprintable()
    assert 0 < len(said) <= MAX_REASON
