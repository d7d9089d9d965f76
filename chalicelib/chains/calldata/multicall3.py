"""Many contract reads in one eth_call, or several calls in one transaction, through Multicall3 (EVM networks).

The argument of aggregate3 is (address target, bool allowFailure, bytes callData)[], its result (bool success, bytes
data)[]. In an array, offsets count from the word after its length; in a tuple, from its start:

    call:    82ad56cb | 0x20 | n | n offsets | n times: target | allowFailure | 0x60 | length | call, padded
    result:  0x20 | n | n offsets | n times: success | 0x40 | length | data, padded
"""

from collections.abc import Sequence

from chalicelib.chains.calldata.abi import WORD, address_word, bytes_tail, call, read_uint, uint_word
from chalicelib.chains.calldata.transaction import Call, Transaction
from chalicelib.chains.catalogue.contracts import MULTICALL3, address_of

_AGGREGATE3 = bytes.fromhex("82ad56cb")
_GET_ETH_BALANCE = bytes.fromhex("4d2301cc")


def eth_balance(network: str, owner: str) -> Call:
    """Reads the native balance of `owner` from Multicall3: one uint256."""
    return Call(address_of(MULTICALL3, network), call(_GET_ETH_BALANCE, address_word(owner)))


def aggregate(network: str, calls: Sequence[Call]) -> Call:
    """One read that makes all `calls`, of which each may fail. Raises LookupError if the network has no Multicall3."""
    return Call(address_of(MULTICALL3, network), _aggregate3(calls, may_fail=True))


def all_or_nothing(network: str, calls: Sequence[Call]) -> Transaction:
    """One transaction that makes all `calls`, and reverts if one does. Their sender is Multicall3, of which anybody
    makes calls: none of them may give it anything. Raises LookupError if the network has no Multicall3."""
    return Transaction(address_of(MULTICALL3, network), _aggregate3(calls, may_fail=False), 0)


def _aggregate3(calls: Sequence[Call], may_fail: bool) -> str:
    items = [_item(each, may_fail) for each in calls]
    offsets, offset = [], WORD * len(items)
    for item in items:
        offsets.append(uint_word(offset))
        offset += len(item)
    return call(_AGGREGATE3, uint_word(WORD), uint_word(len(items)), *offsets, *items)


def decode(returned: str) -> tuple[bytes | None, ...]:
    """The results in the order of the calls, from the 0x hex of the eth_call; None for a call that failed.

    Raises ValueError if the text is not such a result.
    """
    data = bytes.fromhex(returned.removeprefix("0x"))
    array = read_uint(data, 0)
    count, first = read_uint(data, array), array + WORD
    return tuple(_result(data, first + read_uint(data, first + WORD * index)) for index in range(count))


def as_uint(result: bytes | None) -> int | None:
    """The uint256 of one result; None if the call failed, or returned nothing because the target is not a contract."""
    return None if result is None or len(result) < WORD else read_uint(result, 0)


def _item(each: Call, may_fail: bool) -> bytes:
    return b"".join(
        (
            address_word(each.to),
            uint_word(may_fail),
            uint_word(3 * WORD),
            bytes_tail(bytes.fromhex(each.data.removeprefix("0x"))),
        )
    )


def _result(data: bytes, start: int) -> bytes | None:
    success = read_uint(data, start)
    body = start + read_uint(data, start + WORD)
    begin = body + WORD
    end = begin + read_uint(data, body)
    if end > len(data):
        raise ValueError("the ABI data is shorter than it says")
    return data[begin:end] if success else None
