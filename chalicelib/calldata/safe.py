"""What a Safe executes: several transactions as one MultiSendCallOnly, and the hash its owners sign.

    8d80ff0a | 0x20 | length | transactions, packed one after the other | zeros up to a whole word
    packed:  00 (a call) | to, 20 bytes | value, 32 bytes | length of the data, 32 bytes | data

The Safe runs the code of MultiSendCallOnly as its own (operation 1, a delegatecall), so that the Safe is the sender of
each transaction. One that fails undoes them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes, evm_address
from chalicelib.base.signatures import typed_data_digest
from chalicelib.calldata.abi import WORD, bytes_tail, call, read_uint, uint_word
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.contracts import MULTI_SEND, address_of

DELEGATECALL = 1

_MULTI_SEND = bytes.fromhex("8d80ff0a")
_CALL = b"\x00"
_HEAD = 1 + 20 + WORD + WORD
_SAFE_TX = [
    {"name": "to", "type": "address"},
    {"name": "value", "type": "uint256"},
    {"name": "data", "type": "bytes"},
    {"name": "operation", "type": "uint8"},
    {"name": "safeTxGas", "type": "uint256"},
    {"name": "baseGas", "type": "uint256"},
    {"name": "gasPrice", "type": "uint256"},
    {"name": "gasToken", "type": "address"},
    {"name": "refundReceiver", "type": "address"},
    {"name": "nonce", "type": "uint256"},
]


@dataclass(frozen=True)
class SafeTransaction:
    """What a Safe is asked to execute; `operation` is 0 for a call, 1 for a delegatecall."""

    to: str
    value: int
    data: str
    operation: int


@dataclass(frozen=True)
class SafeTerms:
    """What the owners sign besides: the Safe's nonce, and the refund of gas, which is usually none."""

    nonce: int
    safe_tx_gas: int = 0
    base_gas: int = 0
    gas_price: int = 0
    gas_token: str = ZERO_ADDRESS
    refund_receiver: str = ZERO_ADDRESS


def bundle(network: str, transactions: Sequence[Transaction]) -> SafeTransaction:
    """One Safe transaction that makes all of them, in their order. LookupError where MultiSendCallOnly is not."""
    packed = b"".join(_packed(each) for each in transactions)
    data = call(_MULTI_SEND, uint_word(WORD), bytes_tail(packed))
    return SafeTransaction(address_of(MULTI_SEND, network), 0, data, DELEGATECALL)


def unpack_packed(packed: bytes) -> tuple[Transaction, ...]:
    """The transactions of multiSend's one argument. Raises ValueError when they are none, or not only calls."""
    found, at = [], 0
    while at < len(packed):
        if packed[at : at + 1] != _CALL:
            raise ValueError("a transaction of the bundle is no call")
        value, length = read_uint(packed, at + 21), read_uint(packed, at + 21 + WORD)
        end = at + _HEAD + length
        if end > len(packed):
            raise ValueError("a transaction of the bundle is shorter than it says")
        to = evm_address("0x" + packed[at + 1 : at + 21].hex())
        found.append(Transaction(to, "0x" + packed[at + _HEAD : end].hex(), value))
        at = end
    if not found:
        raise ValueError("the bundle is empty")
    return tuple(found)


def safe_tx_hash(chain_id: int, safe: str, transaction: SafeTransaction, terms: SafeTerms) -> str:
    """The hash (0x hex) that owners sign and that ExecutionSuccess names: EIP-712 in the domain of that one Safe."""
    digest = typed_data_digest(
        {
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
    )
    return "0x" + digest.hex()


def _packed(each: Transaction) -> bytes:
    data = bytes.fromhex(each.data.removeprefix("0x"))
    return b"".join((_CALL, address_bytes(each.to), uint_word(each.value), uint_word(len(data)), data))
