"""Reads the rates of the conversion proxies of an EVM chain, and what price feeds answered at a past instant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.conversions import feeds
from chalicelib.chains.calldata.conversions.feeds import Round
from chalicelib.chains.calldata.conversions.rates import PathRate, as_rate, rate_of, rates_contract_of
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import (
    ERC20_CONVERSION_PROXY,
    ERC20_CONVERSION_RATES,
    NATIVE_CONVERSION_PROXY,
    NATIVE_CONVERSION_RATES,
    address_of,
)
from chalicelib.chains.catalogue.conversions import currency_with_hash, on_chain_decimals
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, contract_read, unavailable_if_malformed

_RATES = {ERC20_CONVERSION_PROXY: ERC20_CONVERSION_RATES, NATIVE_CONVERSION_PROXY: NATIVE_CONVERSION_RATES}
_GAS_OF_A_READ = 1_000_000
_MOST_PATHS = 40
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


def read_rates(
    node: JsonRpcClient, paths: Sequence[tuple[str, ...]], block: int | None = None
) -> tuple[PathRate | None, ...]:
    """The rate of each path after a block, for up to 40 paths; None where the proxy could not convert by it.

    Without a block after the newest; nodes keep the state of a limited number of blocks.

    The proxies' owner can give them another contract to take rates from. So the same request asks the proxies for it,
    and the rates are read again if it is not the one of the catalogue. Raises LookupError for a network without
    proxies, ChainUnavailable if a proxy's contract changes between the two requests.
    """
    assert len(paths) <= _MOST_PATHS
    proxies = [_proxy_of(node.network, path) for path in paths]
    contracts = {proxy: address_of(_RATES[proxy], node.network) for proxy in proxies}
    state = "latest" if block is None else hex(block)
    for _ in range(2):
        used, rates = _read(node, contracts, list(zip(proxies, paths, strict=True)), state)
        if used == contracts:
            return rates
        contracts = used
    raise ChainUnavailable(f"A conversion contract on {node.network} is being changed")


@unavailable_if_malformed
def _read(
    node: JsonRpcClient, contracts: Mapping[str, str], paths: Sequence[tuple[str, tuple[str, ...]]], state: str
) -> tuple[dict[str, str], tuple[PathRate | None, ...]]:
    """The contract that each proxy takes its rates from, and the rates of the given contracts."""
    reads = [rates_contract_of(address_of(proxy, node.network)) for proxy in contracts]
    reads += [rate_of(contracts[proxy], path) for proxy, path in paths]
    results = read_aggregated(node, reads, state=state)
    used = {proxy: address_in(result) for proxy, result in zip(contracts, results, strict=False)}
    return used, tuple(as_rate(result) for result in results[len(contracts) :])


def read_aggregated(
    node: JsonRpcClient, reads: Sequence[Call], gas_of_each: int = _GAS_OF_A_READ, state: str = "latest"
) -> tuple[bytes | None, ...]:
    """The results of reads of contracts in one request, None for each that failed. Raises ChainUnavailable."""
    aggregate = multicall3.aggregate(node.network, reads)
    (returned,) = node.results([contract_read(aggregate, state, gas_of_each * len(reads))])
    results = multicall3.decode(returned)
    if len(results) != len(reads):
        raise ChainUnavailable(f"The {node.network} node gave no answer to a multicall")
    return results


def proxy_of(network: str, path: Sequence[str]) -> str:
    """The address of the conversion proxy that a path is for. Raises LookupError if the network has none."""
    return address_of(_proxy_of(network, path), network)


def _proxy_of(network: str, path: Sequence[str]) -> str:
    payment = currency_with_hash(network, path[-1])
    return NATIVE_CONVERSION_PROXY if payment and payment.is_native else ERC20_CONVERSION_PROXY


def address_in(result: bytes | None) -> str:
    """The address that a read returned. Raises ValueError if it did not return one."""
    number = multicall3.as_uint(result)
    if number is None or number >> 160:
        raise ValueError("a conversion contract does not say which contract it uses")
    return evm_address(f"0x{number:040x}")
