"""Reads of price feeds, which are Chainlink's aggregators, and of which feed prices one currency in another.

    allAggregators   08d5bc58 | hash | hash   of a ChainlinkConversionPath; the address of the feed, 0 if there is none
    decimals         313ce567                 of a feed; the decimals of its answers
    latestRoundData  feaf968c                 of a feed; round, answer, start, update (Unix seconds), round
    getRoundData     9a6fc8f5 | round         the same; reverts, or has 0 as update, if there is no such round

The number of a round is in the low 64 bits of its id and counts up by one. The bits above are the phase, which counts
how often the aggregator behind the feed was replaced.
"""

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import WORD, address_word, call, read_uint, uint_word
from chalicelib.chains.calldata.conversions.rates import LATEST_SECOND
from chalicelib.chains.calldata.transaction import Call

_ALL_AGGREGATORS = bytes.fromhex("08d5bc58")
_DECIMALS = bytes.fromhex("313ce567")
_LATEST_ROUND = bytes.fromhex("feaf968c")
_ROUND = bytes.fromhex("9a6fc8f5")
_SIGN, _PHASE = 2**255, 2**64


@frozen
class Round:
    """One answer of a feed, and when it was given (Unix seconds). An answer may be 0 or negative."""

    id: int
    answer: int
    updated_at: int

    @property
    def number(self) -> int:
        """The number of a round within its phase, from 1."""
        return self.id % _PHASE

    def id_of(self, number: int) -> int:
        """The id of another round of the same phase."""
        return self.id - self.number + number


def feed_of(contract: str, priced: str, currency: str) -> Call:
    """Reads the feed that prices one currency in another, both as hashes: one address."""
    return Call(contract, call(_ALL_AGGREGATORS, address_word(priced), address_word(currency)))


def decimals(feed: str) -> Call:
    """Reads the decimals of a feed's answers: one number."""
    return Call(feed, call(_DECIMALS))


def latest_round(feed: str) -> Call:
    """Reads the newest round of a feed: a `Round`."""
    return Call(feed, call(_LATEST_ROUND))


def round_with(feed: str, id: int) -> Call:
    """Reads a round of a feed by its id: a `Round`."""
    return Call(feed, call(_ROUND, uint_word(id)))


def as_round(result: bytes | None) -> Round | None:
    """The round in one result of a multicall; None if the read failed, or the round is not there or not complete."""
    if result is None or len(result) != 5 * WORD:
        return None
    id, answer, _, updated_at, _ = (read_uint(result, WORD * index) for index in range(5))
    if not id or not 0 < updated_at < LATEST_SECOND:
        return None
    return Round(id, answer - 2 * _SIGN if answer >= _SIGN else answer, updated_at)
