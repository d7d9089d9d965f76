"""Reads of the contracts that the conversion proxies take their rates from.

    chainlinkConversionPath  946647f1 of a proxy; returns the address of its ChainlinkConversionPath
    getRate                  97edd4fa | 0x20 | length of the path | its currencies
                             returns the rate, the time of the oldest feed (Unix seconds), and the divisor of the rate

The amount in the payment currency is the amount in the invoice currency times rate, divided by the divisor and rounded
down; both in base units, fiat with 8 decimals. getRate reverts if a feed is absent or its answer negative.
"""

from collections.abc import Sequence

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import WORD, call, read_uint, uint_word
from chalicelib.chains.calldata.conversions.proxy import path_tail
from chalicelib.chains.calldata.transaction import Call

_RATES_CONTRACT = bytes.fromhex("946647f1")
_GET_RATE = bytes.fromhex("97edd4fa")
LATEST_SECOND = 2**33
"""Of the times of feeds: what is later is not a time, and might be one that nothing can count with."""


@frozen
class PathRate:
    """The result of getRate: one unit of the invoice currency is `rate` / `divisor` units of the payment currency.

    `updated_at` is the time of the oldest feed of the path in Unix seconds.
    """

    rate: int
    updated_at: int
    divisor: int


def rates_contract_of(proxy: str) -> Call:
    """Reads from which contract a conversion proxy takes its rates: one address."""
    return Call(proxy, call(_RATES_CONTRACT))


def rate_of(contract: str, path: Sequence[str]) -> Call:
    """Reads the rate of a path: a `PathRate`."""
    return Call(contract, call(_GET_RATE, uint_word(WORD), path_tail(path)))


def as_rate(result: bytes | None) -> PathRate | None:
    """The rate in one result of a multicall; None if the read failed, or a number in it cannot be true."""
    if result is None or len(result) != 3 * WORD:
        return None
    rate, updated_at, divisor = (read_uint(result, WORD * index) for index in range(3))
    return PathRate(rate, updated_at, divisor) if rate and divisor and updated_at < LATEST_SECOND else None
