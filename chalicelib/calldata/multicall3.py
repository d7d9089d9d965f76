"""Many reads in one question to a node, through Multicall3 (EVM networks).

aggregate3((address target, bool allowFailure, bytes callData)[]) and its answer (bool success, bytes data)[]
are both an array of dynamic tuples; offsets count from the word after the array's length, in a tuple from the
tuple's start:

    82ad56cb | 0x20 | n | n offsets | n times: target | 1 | 0x60 | length | call, padded
    answer:    0x20 | n | n offsets | n times: success | 0x40 | length | data, padded
"""

from collections.abc import Sequence

from chalicelib.calldata.abi import WORD, address_word, bytes_tail, call, read_uint, uint_word
from chalicelib.calldata.transaction import Call
from chalicelib.catalogue.contracts import MULTICALL3, address_of

_AGGREGATE3 = bytes.fromhex("82ad56cb")
_GET_ETH_BALANCE = bytes.fromhex("4d2301cc")


def eth_balance(network: str, owner: str) -> Call:
    """Asks Multicall3 how much of the native coin `owner` holds; the answer is one uint256."""
    return Call(address_of(MULTICALL3, network), call(_GET_ETH_BALANCE, address_word(owner)))


def aggregate(network: str, calls: Sequence[Call]) -> Call:
    """One read that asks all of `calls`; a failing one does not fail the others. LookupError without Multicall3."""
    items = [_item(each) for each in calls]
    offsets, position = [], WORD * len(items)
    for item in items:
        offsets.append(uint_word(position))
        position += len(item)
    data = call(_AGGREGATE3, uint_word(WORD), uint_word(len(items)), *offsets, *items)
    return Call(address_of(MULTICALL3, network), data)


def decode(answer: str) -> tuple[bytes | None, ...]:
    """The answers in the order asked, from the 0x hex a node returned; None for a call that failed.

    Raises ValueError when the text is not such an answer.
    """
    data = bytes.fromhex(answer.removeprefix("0x"))
    array = read_uint(data, 0)
    count, first = read_uint(data, array), array + WORD
    if count > len(data) // WORD:
        raise ValueError("the ABI data is shorter than it says")
    return tuple(_result(data, first + read_uint(data, first + WORD * index)) for index in range(count))


def as_uint(answer: bytes | None) -> int | None:
    """The uint256 of one answer; None when the call failed or the target is no contract and said nothing."""
    return None if answer is None or len(answer) < WORD else read_uint(answer, 0)


def _item(each: Call) -> bytes:
    return b"".join(
        (
            address_word(each.to),
            uint_word(True),
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
