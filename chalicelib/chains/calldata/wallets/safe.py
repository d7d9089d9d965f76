"""Safe transactions: several transactions as one call of MultiSendCallOnly, and the hash that the owners sign.

    8d80ff0a | 0x20 | length | packed transactions, one after the other | zeros up to a whole word
    packed:  00 (a call) | to, 20 bytes | value, 32 bytes | length of the data, 32 bytes | data

The Safe calls MultiSendCallOnly by delegatecall (operation 1), so the Safe is the sender of each transaction. If one
fails, all are reverted.
"""

from collections.abc import Sequence
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes, evm_address
from chalicelib.base.frozen import frozen
from chalicelib.base.signatures import digest_of_typed_data
from chalicelib.chains.calldata.abi import WORD, bytes_tail, call, members, read_uint, typed_members, uint_word
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import MULTI_SEND, address_of

CALL, DELEGATECALL = 0, 1

_MULTI_SEND = bytes.fromhex("8d80ff0a")
_CALL = b"\x00"
_HEADER_LENGTH = 1 + 20 + WORD + WORD
_SAFE_TX = typed_members(
    members(
        "address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, "
        "address gasToken, address refundReceiver, uint256 nonce"
    )
)


@frozen
class SafeTransaction:
    """A transaction for a Safe to execute; `operation` is 0 for a call, 1 for a delegatecall."""

    to: str
    value: int
    data: str
    operation: int


@frozen
class SafeTerms:
    """The other signed values: the Safe's nonce, and the terms of a gas refund, which is usually none."""

    nonce: int
    safe_tx_gas: int = 0
    base_gas: int = 0
    gas_price: int = 0
    gas_token: str = ZERO_ADDRESS
    refund_receiver: str = ZERO_ADDRESS


def one_transaction(network: str, transactions: Sequence[Transaction]) -> SafeTransaction:
    """One Safe transaction that makes all transactions in order. LookupError as `bundle`, of several."""
    if len(transactions) > 1:
        return bundle(network, transactions)
    (only,) = transactions
    return SafeTransaction(only.to, only.value, only.data, CALL)


def bundle(network: str, transactions: Sequence[Transaction]) -> SafeTransaction:
    """One Safe transaction that makes all transactions in order. LookupError without MultiSendCallOnly there."""
    packed = b"".join(_pack_transaction(each) for each in transactions)
    data = call(_MULTI_SEND, uint_word(WORD), bytes_tail(packed))
    return SafeTransaction(address_of(MULTI_SEND, network), 0, data, DELEGATECALL)


def unpack_transactions(packed: bytes) -> tuple[Transaction, ...]:
    """The transactions in the argument of multiSend. Raises ValueError if there are none, or one is not a call."""
    transactions, start = [], 0
    while start < len(packed):
        if packed[start : start + 1] != _CALL:
            raise ValueError("a transaction of the bundle is not a call")
        value, length = read_uint(packed, start + 21), read_uint(packed, start + 21 + WORD)
        end = start + _HEADER_LENGTH + length
        if end > len(packed):
            raise ValueError("a transaction of the bundle is shorter than it says")
        to = evm_address("0x" + packed[start + 1 : start + 21].hex())
        transactions.append(Transaction(to, "0x" + packed[start + _HEADER_LENGTH : end].hex(), value))
        start = end
    if not transactions:
        raise ValueError("the bundle is empty")
    return tuple(transactions)


def safe_tx(chain_id: int, safe: str, transaction: SafeTransaction, terms: SafeTerms) -> dict[str, Any]:
    """What the owners of a Safe sign by EIP-712."""
    return {
        "domain": {"chainId": chain_id, "verifyingContract": safe},
        "types": {"SafeTx": _SAFE_TX},
        "primaryType": "SafeTx",
        "message": {
            "to": transaction.to,
            "value": transaction.value,
            "data": transaction.data,
            "operation": transaction.operation,
            "safeTxGas": terms.safe_tx_gas,
            "baseGas": terms.base_gas,
            "gasPrice": terms.gas_price,
            "gasToken": terms.gas_token,
            "refundReceiver": terms.refund_receiver,
            "nonce": terms.nonce,
        },
    }


def safe_tx_hash(chain_id: int, safe: str, transaction: SafeTransaction, terms: SafeTerms) -> str:
    """The EIP-712 hash (0x hex) that the owners of a Safe sign, and that its ExecutionSuccess event contains."""
    return "0x" + digest_of_typed_data(safe_tx(chain_id, safe, transaction, terms)).hex()


def _pack_transaction(transaction: Transaction) -> bytes:
    data = bytes.fromhex(transaction.data.removeprefix("0x"))
    to, value = address_bytes(transaction.to), uint_word(transaction.value)
    return b"".join((_CALL, to, value, uint_word(len(data)), data))
