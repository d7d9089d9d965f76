"""Several calls of one account at once or none of them, by the code that it delegates to (EIP-7702).

The code is Simple7702Account of version 0.8. Nobody but the account itself, or the EntryPoint with an operation that
the account's key has signed, may have it make calls; one that fails undoes all of them.

executeBatch((address target, uint256 value, bytes data)[]):

    34fcd5be | 0x20 | number of calls | offset of each call, from here on | the calls:
               target | value | 0x60 | length of the data | data
"""

from collections.abc import Sequence

from chalicelib.base.addresses import address_bytes
from chalicelib.chains.calldata.abi import WORD, address_word, bytes_tail, call, uint_word
from chalicelib.chains.calldata.transaction import Transaction

_EXECUTE_BATCH = bytes.fromhex("34fcd5be")
_DELEGATED = bytes.fromhex("ef0100")


def execute_batch(account: str, calls: Sequence[Transaction]) -> Transaction:
    """All calls as one transaction that a delegated account sends to itself."""
    encoded = [_call(each) for each in calls]
    offsets, at = list[bytes](), WORD * len(encoded)
    for each in encoded:
        offsets.append(uint_word(at))
        at += len(each)
    words = (uint_word(WORD), uint_word(len(encoded)), *offsets, *encoded)
    return Transaction(account, call(_EXECUTE_BATCH, *words), 0)


def delegated_code(delegate: str) -> bytes:
    """The code of an account that delegates to a contract: ef0100 and its address."""
    return _DELEGATED + address_bytes(delegate)


def _call(each: Transaction) -> bytes:
    data = bytes_tail(bytes.fromhex(each.data[2:]))
    return address_word(each.to) + uint_word(each.value) + uint_word(3 * WORD) + data
