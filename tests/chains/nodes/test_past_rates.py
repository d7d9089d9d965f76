"""Past answers of price feeds from a node: which round is found, by how many requests. Real contracts: tests/onchain."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from eth_abi import decode, encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.chains.nodes.conversions.rates import read_past_rate
from tests.chains.nodes.nodes import NodeResponses, node_of

RATES = address_of("ChainlinkConversionPath 0.1.0", "mainnet")
NONE = "0x" + "00" * 20
PHASE = 7 << 64


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


USD, EUR, USDC = token("USD"), token("EUR"), token("USDC-mainnet")


@dataclass
class Feed:
    """An aggregator with the rounds of one phase, (answer, update), from number 1 on."""

    decimals: int
    rounds: list[tuple[int, int]]
    missing: frozenset[int] = frozenset()

    def answer(self, data: bytes) -> tuple[bool, bytes]:
        if data.hex() == "313ce567":
            return True, encode(["uint8"], [self.decimals])
        number = len(self.rounds)
        if data.hex() != "feaf968c":
            assert data[:4].hex() == "9a6fc8f5"
            (id,) = decode(["uint80"], data[4:])
            assert id >> 64 == PHASE >> 64, "the search stays in the phase"
            number = id % 2**64
        if not 1 <= number <= len(self.rounds) or number in self.missing:
            return False, b""
        value, updated_at = self.rounds[number - 1]
        return True, encode(["uint80", "int256", "uint256", "uint256", "uint80"], [PHASE + number, value, 1, updated_at, 1])


class Feeds(NodeResponses):
    """A node whose conversion contract knows these feeds, by the hashes of what is priced and in what."""

    def __init__(self, feeds: dict[tuple[str, str], Feed]) -> None:
        super().__init__({"eth_call": self._multicall})
        self.addresses = {pair: f"0x{number:040x}" for number, pair in enumerate(feeds, start=1)}
        self.feeds = {self.addresses[pair]: feed for pair, feed in feeds.items()}
        self.most_gas = 0

    def _multicall(self, call: dict[str, str], block: str) -> str:
        self.most_gas = max(self.most_gas, int(call["gas"], 16))
        (calls,) = decode(["(address,bool,bytes)[]"], bytes.fromhex(call["data"][10:]))
        return "0x" + encode(["(bool,bytes)[]"], [[self._answer(to, data) for to, _, data in calls]]).hex()

    def _answer(self, to: str, data: bytes) -> tuple[bool, bytes]:
        if data.hex() == "946647f1":
            return True, encode(["address"], [RATES])
        if data[:4].hex() == "08d5bc58":
            assert to == RATES.lower()
            return True, encode(["address"], [self.addresses.get(decode(["address", "address"], data[4:]), NONE)])  # type: ignore[arg-type]
        return self.feeds[to].answer(data)


def at(node: NodeResponses, instant: int, invoice: Token = USD) -> PathRate | None:
    path = conversion_path(invoice, USDC)
    assert path is not None
    return read_past_rate(node_of("mainnet", node), path, datetime.fromtimestamp(instant, UTC))


def usdc_in_dollars(*rounds: tuple[int, int], decimals: int = 8) -> Feeds:
    return Feeds({(USDC.hash.lower(), USD.hash): Feed(decimals, list(rounds))})


def in_whole_units(found: PathRate, invoice: Token) -> Fraction:
    assert invoice.is_fiat
    return Fraction(found.rate * 10**8, found.divisor * 10**USDC.decimals)


def test_the_answer_of_the_newest_round_that_is_not_after_the_instant_counts() -> None:
    node = usdc_in_dollars((99_000_000, 1000), (98_000_000, 2000), (50_000_000, 3000))
    for instant, answer, updated_at in ((1000, 99, 1000), (1999, 99, 1000), (2000, 98, 2000), (2999, 98, 2000), (9999, 50, 3000)):
        found = at(node, instant)
        assert found is not None and found.updated_at == updated_at
        assert in_whole_units(found, USD) == Fraction(100, answer)


def test_of_several_feeds_the_oldest_round_tells_the_time() -> None:
    node = Feeds(
        {
            (EUR.hash, USD.hash): Feed(8, [(108_000_000, 1000), (110_000_000, 5000)]),
            (USDC.hash.lower(), USD.hash): Feed(6, [(1_000_000, 2000), (900_000, 2500)]),
        }
    )
    found = at(node, 3000, EUR)
    assert found is not None and found.updated_at == 1000
    assert in_whole_units(found, EUR) == Fraction("1.08") / Fraction("0.9")


def test_a_feed_that_prices_the_other_way_is_inverted() -> None:
    node = Feeds({(USD.hash, USDC.hash.lower()): Feed(8, [(125_000_000, 1000)])})
    found = at(node, 1000)
    assert found is not None and in_whole_units(found, USD) == Fraction("1.25")


@pytest.mark.parametrize(
    "rounds",
    [
        [(100_000_000, 2000)],  # not there yet at that time
        [(0, 900), (100_000_000, 2000)],
        [(-5, 900), (100_000_000, 2000)],
        [(100_000_000, 0), (100_000_000, 2000)],  # a round that is not complete
        [],
    ],
)
def test_without_a_positive_answer_of_that_time_there_is_no_rate(rounds: list[tuple[int, int]]) -> None:
    assert at(usdc_in_dollars(*rounds), 1000) is None


def test_without_a_feed_there_is_no_rate() -> None:
    node = usdc_in_dollars((1, 1))
    node.addresses.clear()
    node.feeds[NONE] = Feed(8, [])
    assert at(node, 1000) is None


@given(
    st.lists(st.integers(1, 10_000), min_size=1, max_size=300),
    st.integers(0, 10**7),
    st.sets(st.integers(1, 300), max_size=3),
)
def test_the_round_that_is_found_is_that_of_a_list(pauses: list[int], instant: int, missing: set[int]) -> None:
    """A round that is missing may hide those before it, but never gives the answer of another time."""
    times = [sum(pauses[: index + 1]) for index in range(len(pauses))]
    node = usdc_in_dollars(*((10**8 + number, time) for number, time in enumerate(times, start=1)))
    (feed,) = node.feeds.values()
    feed.missing = frozenset(missing - {len(times)})
    found, expected = at(node, instant), bisect_right(times, instant)
    if found is None:
        assert expected == 0 or missing
    else:
        assert in_whole_units(found, USD) == Fraction(10**8, 10**8 + expected)
    assert node.requests <= 7


def test_a_round_far_back_is_found_by_seven_requests_of_bounded_gas() -> None:
    node = usdc_in_dollars(*((10**8, 27 * number) for number in range(1, 200_001)))
    found = at(node, 27 * 140_000 + 3)
    assert found is not None and found.updated_at == 27 * 140_000
    assert node.requests <= 7 and node.most_gas <= 30_000_000
    assert at(node, 27 * 80_000) is None, "further back than four requests reach"


def test_a_node_that_answers_otherwise_gives_no_rate() -> None:
    answers: list[Callable[..., Any]] = [
        lambda *_: "0x",
        lambda *_: None,
        lambda *_: "0x" + "ff" * 320,
        lambda *_: "0x" + encode(["(bool,bytes)[]"], [[(True, b"\xff" * 32)]]).hex(),
        lambda *_: "0x" + encode(["(bool,bytes)[]"], [[]]).hex(),
    ]
    for answer in answers:
        with pytest.raises(ChainUnavailable):
            at(NodeResponses({"eth_call": answer}), 1000)


def test_a_feed_that_answers_with_another_round_gives_no_rate() -> None:
    node = usdc_in_dollars(*((10**8, 100 * number) for number in range(1, 20)))
    (feed,) = node.feeds.values()
    honest = feed.answer
    feed.answer = lambda data: honest(bytes.fromhex("feaf968c") if data[:4].hex() == "9a6fc8f5" else data)  # type: ignore[method-assign]
    with pytest.raises(ChainUnavailable, match="another round"):
        at(node, 500)
