"""Limits of the interface that several packages use."""

FEWEST_CHILDREN = 2
MOST_CHILDREN = 1000
"""The number of children of a multicall. A deployment may set a lower maximum."""
