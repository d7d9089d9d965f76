"""Calldata is read up to its end, never beyond."""

import pytest

from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.explanations.decode import NUMBERS, Array, Kind, read


@pytest.mark.parametrize("kind", ["bytes", Array("uint256"), Array(Array("address"))])
def test_a_length_beyond_the_data_is_refused_at_once(kind: Kind) -> None:
    with pytest.raises(ValueError, match="shorter"):
        read((kind,), (32).to_bytes(32, "big") + MAX_UINT256.to_bytes(32, "big"))


def test_bytes_may_fill_the_data_to_its_end_but_not_exceed_it() -> None:
    head = (32).to_bytes(32, "big")
    assert read(("bytes",), head + (32).to_bytes(32, "big") + b"x" * 32) == (b"x" * 32,)
    with pytest.raises(ValueError, match="shorter"):
        read(("bytes",), head + (33).to_bytes(32, "big") + b"x" * 32)
    with pytest.raises(ValueError, match="an argument is not where it belongs"):
        read(("bytes",), (64).to_bytes(32, "big") + (32).to_bytes(32, "big") + b"x" * 32)


@pytest.mark.parametrize("kind", [*NUMBERS, "address"])
def test_a_word_may_be_the_largest_of_its_type_and_no_larger(kind: Kind) -> None:
    bits = 160 if kind == "address" else 1 if kind == "bool" else 256 if kind == "bytes32" else int(str(kind)[4:])
    largest = 2**bits - 1
    assert read((kind,), largest.to_bytes(32, "big")) == (b"\xff" * 20 if kind == "address" else largest,)
    for word in (2**bits, MAX_UINT256) if bits < 256 else ():
        with pytest.raises(ValueError, match=f"a word is too large for {kind}"):
            read((kind,), word.to_bytes(32, "big"))
