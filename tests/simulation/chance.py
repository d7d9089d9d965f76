"""Everything that a seed decides: a stream of its own for each name, and which faults happen in which work.

A fault point is enabled in some runs and fires in some of its places there, so that some runs have none of a kind. The
place of a fault is the work that is done (an action, a message, a schedule of a minute) and its number in that work.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from random import Random

ENABLED = 0.4
"""In how many runs a fault point is enabled."""
POINTS = {
    "crash-before": 0.004,  # a process dies before a write
    "crash-after": 0.004,  # and after one
    "half": 0.02,  # it dies within a batch of writes
    "overtaken": 0.02,  # another worker does its work before a write
    "lost": 0.03,  # a message
    "twice": 0.03,
    "late": 0.05,
    "refuses": 0.05,  # a receiver answers 500
    "silent": 0.03,  # or not in time, though it has read the request
    "keys": 0.01,  # KMS throttles
    "node": 0.01,  # a call to a node fails
    "unsent": 0.05,  # a node's answer to a transaction is lost
}
"""Each fault point with how often it fires where it is enabled."""
_WORD = 2**64 - 1


class Chance:
    """`happened` are the names of everything that happened, faults and actions alike, in order. What is in `without`
    does not happen."""

    def __init__(self, seed: int, with_faults: bool = True, without: Collection[str] = ()) -> None:
        self.seed, self.without = seed, without
        self.happened: list[str] = []
        self.points = {
            point: chance for point, chance in POINTS.items() if with_faults and self.share("enabled", point) < ENABLED
        }
        self._work, self._places, self._bytes = "setup", 0, 0
        self._drawn = self._number("setup")

    def stream(self, *name: object) -> Random:
        return Random(self._name(name))

    def share(self, *name: object) -> float:
        """A number from 0 to 1 by a name, which is cheaper than a stream."""
        return self._number(*name) / 2**64

    def happens(self, name: str) -> bool:
        """Notes an action under its name; False if it is to be left out."""
        if name in self.without:
            return False
        self.happened.append(name)
        return True

    def fires(self, point: str) -> bool:
        """Whether a fault happens here."""
        chance = self.points.get(point)
        if chance is None:
            return False
        self._places += 1
        mixed = (self._drawn + self._places * 0x9E3779B97F4A7C15) & _WORD  # splitmix64 (Steele, Lea and Flood, 2014)
        mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _WORD
        return (mixed ^ mixed >> 31) < chance * _WORD and self.happens(f"{point}/{self._work}/{self._places}")

    def entropy(self, count: int) -> bytes:
        """Random bytes, which depend on the work alone."""
        self._bytes += 1
        return blake2b(self._name((self._work, self._bytes)).encode(), digest_size=max(count, 1)).digest()[:count]

    @property
    def work(self) -> str:
        return self._work

    @contextmanager
    def working(self, work: str) -> Iterator[None]:
        """What happens meanwhile is drawn by the name of this work."""
        before = self._work, self._places, self._bytes, self._drawn
        self._work, self._places, self._bytes, self._drawn = work, 0, 0, self._number(work)
        try:
            yield
        finally:
            self._work, self._places, self._bytes, self._drawn = before

    def _number(self, *name: object) -> int:
        return int.from_bytes(blake2b(self._name(name).encode(), digest_size=8).digest())

    def _name(self, name: tuple[object, ...]) -> str:
        return "/".join(map(str, (self.seed, *name)))
