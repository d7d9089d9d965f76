"""Numbers of the interface that several packages hold to."""

FEWEST_CHILDREN = 2
MOST_CHILDREN = 1000
"""Children of a multicall; a deployment sets its own limit at or below."""
