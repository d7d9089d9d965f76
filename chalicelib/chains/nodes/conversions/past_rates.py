"""Reads what the price feeds of a conversion path answered at a past instant, from their rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.conversions import feeds
from chalicelib.chains.calldata.conversions.feeds import Round
from chalicelib.chains.calldata.conversions.rates import PathRate, rates_contract_of
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.conversions import currency_with_hash, on_chain_decimals
from chalicelib.chains.nodes.conversions.rates import address_in, proxy_of, read_aggregated
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, unavailable_if_malformed

_SEARCHES = 4
"""Requests for the rounds of one instant. They reach back 65,000 rounds, some weeks of the busiest feeds."""
_AT_ONCE = 32
_GAS_OF_A_ROUND = 200_000
_MOST_DECIMALS = 36


@dataclass
class _Search:
    """The search of one feed for its newest round that is not after an instant.

    The round is `found` if `first` is followed by `last`, the number of the oldest round known to be after it.
    """

    feed: str
    inverted: bool
    decimals: int
    newest: Round
    found: Round | None
    first: int
    last: int
    is_narrowed: bool = False

    @property
    def is_done(self) -> bool:
        return self.first + 1 >= self.last

    def numbers(self) -> list[int]:
        """The rounds to ask for next: at first those at growing distances, then evenly between first and last."""
        if self.is_done:
            return []
        if not self.is_narrowed:
            distances = (2**power for power in range(_AT_ONCE))
            return [self.last - each for each in distances if self.last - each > self.first]
        step = -(-(self.last - self.first) // (_AT_ONCE + 1))
        return list(range(self.last - step, self.first, -step))

    def narrow(self, read: Sequence[tuple[int, Round | None]], instant: int) -> None:
        """Takes over what was read, from newer to older. A round that is not there is older than every other."""
        self.is_narrowed = True
        for number, each in read:
            if each is not None and each.updated_at > instant:
                self.last = number
            else:
                self.first, self.found = number, each
                return

    @property
    def price(self) -> Fraction | None:
        """What one currency of the pair costs in the next one; None without a round whose answer is above 0."""
        if self.found is None or self.found.answer <= 0 or not self.is_done:
            return None
        price = Fraction(self.found.answer, 10**self.decimals)
        return 1 / price if self.inverted else price


@unavailable_if_malformed
def read_past_rate(node: JsonRpcClient, path: Sequence[str], instant: datetime) -> PathRate | None:
    """The rate of a path by the newest round of each feed that is not after the instant.

    None where a feed has no such round since its aggregator was last replaced, or is not found by a few requests.
    """
    searches = _begin_searches(node, path, int(instant.timestamp()))
    if searches is None:
        return None
    for _ in range(_SEARCHES):
        if all(search.is_done for search in searches):
            break
        _search(node, searches, int(instant.timestamp()))
    rate, updated_at = Fraction(1), 2**64
    for search in searches:
        if search.price is None or search.found is None:
            return None
        rate, updated_at = rate * search.price, min(updated_at, search.found.updated_at)
    invoice, payment = (currency_with_hash(node.network, hash) for hash in (path[0], path[-1]))
    assert invoice is not None and payment is not None, "paths are made of currencies of the catalogue"
    rate *= Fraction(10**payment.decimals, 10 ** on_chain_decimals(invoice))
    return PathRate(rate.numerator, updated_at, rate.denominator)


def _begin_searches(node: JsonRpcClient, path: Sequence[str], instant: int) -> list[_Search] | None:
    """The searches of all feeds of a path, with their newest rounds read; None if a feed is missing or has no round."""
    (used,) = read_aggregated(node, [rates_contract_of(proxy_of(node.network, path))])
    contract = address_in(used)
    pairs = [pair for one, other in pairwise(path) for pair in ((one, other), (other, one))]
    addresses = [address_in(each) for each in read_aggregated(node, [feeds.feed_of(contract, *pair) for pair in pairs])]
    known = [
        (forward, False) if forward != ZERO_ADDRESS else (backward, True)
        for forward, backward in zip(addresses[::2], addresses[1::2], strict=True)
    ]
    reads: list[Call] = [read for feed, _ in known for read in (feeds.decimals(feed), feeds.latest_round(feed))]
    results = read_aggregated(node, reads)
    searches = []
    for (feed, inverted), scale, latest in zip(known, results[::2], results[1::2], strict=True):
        decimals, newest = multicall3.as_uint(scale), feeds.as_round(latest)
        if decimals is None or decimals > _MOST_DECIMALS or newest is None:
            return None
        is_after = newest.updated_at > instant
        first, last = (0, newest.number) if is_after else (newest.number, newest.number + 1)
        searches.append(_Search(feed, inverted, decimals, newest, None if is_after else newest, first, last))
    return searches


def _search(node: JsonRpcClient, searches: Sequence[_Search], instant: int) -> None:
    """Narrows all searches by one request."""
    asked = [(search, search.numbers()) for search in searches]
    ids = [(search.feed, search.newest.id_of(number)) for search, numbers in asked for number in numbers]
    rounds = [
        feeds.as_round(each) for each in read_aggregated(node, [feeds.round_with(*id) for id in ids], _GAS_OF_A_ROUND)
    ]
    if any(each is not None and each.id != id for each, (_, id) in zip(rounds, ids, strict=True)):
        raise ChainUnavailable(f"A price feed on {node.network} answers with another round")
    read = iter(rounds)
    for search, numbers in asked:
        search.narrow([(number, next(read)) for number in numbers], instant)
