"""Shrinks a failing run to the few actions and faults that matter, by delta debugging over their names."""

from collections.abc import Callable, Sequence


def shrunk(names: Sequence[str], fails: Callable[[Sequence[str]], bool], most: int = 200) -> list[str]:
    """The fewest of `names` that were found, in their order, without which it would not fail.

    `fails` says whether a run with only these of the names still fails as before; it is called at most `most` times.
    The algorithm is ddmin (Zeller and Hildebrandt, 2002), without its test of the parts alone: people build on what
    others did before.
    """
    kept, parts, runs = list(names), 2, 0
    while len(kept) > 1 and runs < most:
        size = -(-len(kept) // parts)
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            runs += 1
            if fails(fewer):
                kept, parts = fewer, max(parts - 1, 2)
                break
            if runs >= most:
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(kept))
    return kept
