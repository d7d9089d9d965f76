"""RLP and the roots of tries, compared with PyPI rlp and trie."""

import rlp as oracle
from hypothesis import given
from hypothesis import strategies as st
from trie import HexaryTrie

from chalicelib.chains.proofs.rlp import encode, integer, list_root

ITEMS = st.recursive(st.binary(max_size=70), lambda inner: st.lists(inner, max_size=5), max_leaves=20)


@given(ITEMS)
def test_any_nested_list_is_encoded_as_by_the_library(item: object) -> None:
    assert encode(item) == oracle.encode(item)  # type: ignore[arg-type]


@given(st.integers(0, 2**256))
def test_numbers_are_as_short_as_possible(number: int) -> None:
    assert encode(integer(number)) == oracle.encode(number)


def test_the_lengths_at_which_the_form_changes() -> None:
    for length in (0, 1, 55, 56, 255, 256, 65_535, 65_536):
        assert encode(b"\x80" * length) == oracle.encode(b"\x80" * length)
        assert encode([b"\x01"] * length) == oracle.encode([b"\x01"] * length)


def root_of(values: list[bytes]) -> bytes:
    trie = HexaryTrie({})
    for position, value in enumerate(values):
        trie[oracle.encode(position)] = value
    return bytes(trie.root_hash)


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=40))
def test_the_root_of_any_list_is_that_of_the_library(values: list[bytes]) -> None:
    assert list_root(values) == root_of(values)


def test_roots_of_lists_whose_keys_get_longer() -> None:
    for count in (127, 128, 129, 255, 256, 257, 600):
        values = [bytes([number % 251]) * (1 + number % 90) for number in range(1, count + 1)]
        assert list_root(values) == root_of(values)
