"""Numbers and hashes of JSON-RPC: which texts are believed to be one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity


@given(st.integers(0, 2**64 - 1))
def test_a_quantity_is_its_number(number: int) -> None:
    assert quantity(hex(number)) == quantity("0x" + hex(number)[2:].upper()) == number


def test_a_quantity_has_an_end_and_may_have_leading_zeros() -> None:
    assert (quantity("0x9", 10), quantity("0x" + "f" * 16), quantity("0x" + "0" * 63 + "7")) == (9, 2**64 - 1, 7)
    assert quantity("0x" + "f" * 64, 2**256) == 2**256 - 1
    for text, end in (("0xa", 10), ("0x1" + "0" * 16, 2**64), ("0x" + "0" * 65, 2**64)):
        with pytest.raises(ValueError):
            quantity(text, end)


@pytest.mark.parametrize("text", ["", "0x", "5", "-0x5", "0x-5", "+0x5", "0x_5", "0x5_0", " 0x5", "0x5\n", "0X5", "0xg", "latest"])
def test_any_other_text_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError):
        quantity(text)


@pytest.mark.parametrize("value", [None, 5, 5.0, True, [], {}])
def test_a_value_that_is_no_text_is_no_quantity_and_no_hash(value: Any) -> None:
    with pytest.raises((TypeError, AttributeError)):
        quantity(value)
    with pytest.raises((TypeError, AttributeError)):
        hash_of(value)


def test_a_hash_is_32_bytes_in_lower_case() -> None:
    assert hash_of("0x" + "aB" * 32) == "0x" + "ab" * 32
    for text in ("0x" + "ab" * 31, "0x" + "ab" * 33, "ab" * 32, "0x" + "zz" * 32, "0x" + "ab" * 32 + "\n", ""):
        with pytest.raises(ValueError):
            hash_of(text)
