"""The limits of the interface that several packages use, as the specification states them."""

from chalicelib.base.limits import FEWEST_CHILDREN, MOST_CHILDREN


def test_a_multicall_has_two_to_a_thousand_children() -> None:
    assert (FEWEST_CHILDREN, MOST_CHILDREN) == (2, 1000)
