"""Recomputes the receipts root of a block from all of its receipts, as a node answers them.

    receipt    type || rlp([status or state root, cumulative gas, bloom, [[address, topics, data], ...]])

without the type if it is 0. What is told of gas, prices and the parent chain besides is not hashed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.keccak import keccak256
from chalicelib.chains.proofs.rlp import Rlp, encode, integer, list_root

_DEPOSIT = 0x7E
"""The type of a deposit on an OP Stack chain. Since Canyon its nonce and a version are hashed; a receipt without the
version is of before, when neither was, whatever a node answers (op-geth, Receipts.EncodeIndex)."""
STATE_SYNC_HASHED_FROM = 80_084_800
"""Of matic: the block of the Madhugiri fork (PIP-74). Before it, nodes answer a receipt for the transaction by which
bor receives state, which is in neither the root nor the bloom."""


def receipts_root(receipts: Sequence[Mapping[str, Any]]) -> bytes:
    """The root of the receipts that are hashed in a block, in the order of their transactions.

    Raises ValueError, TypeError, LookupError or AttributeError if a receipt does not have the documented form.
    """
    return list_root([encode_receipt(each) for each in receipts])


def select_proved(
    network: str, number: int, block_hash: str, receipts: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """The receipts of a block that are in its root. Raises as `receipts_root`."""
    if network != "matic" or number >= STATE_SYNC_HASHED_FROM:
        return receipts
    left_out = _state_sync_hash(number, block_hash)
    return [each for each in receipts if each["transactionHash"].lower() != left_out]


def _state_sync_hash(number: int, block_hash: str) -> str:
    """The hash that bor gives to the transaction by which it receives state (bor, GetDerivedBorTxHash)."""
    return "0x" + keccak256(b"matic-bor-receipt-" + number.to_bytes(8, "big") + bytes.fromhex(block_hash[2:])).hex()


def encode_receipt(receipt: Mapping[str, Any]) -> bytes:
    """What is hashed of a receipt. Raises as `receipts_root`."""
    status = receipt.get("status")
    first = _raw(receipt["root"]) if status is None else integer(int(status, 16))
    logs: list[Rlp] = [
        [_raw(log["address"]), [_raw(topic) for topic in log["topics"]], _raw(log["data"])] for log in receipt["logs"]
    ]
    fields: list[Rlp] = [first, integer(int(receipt["cumulativeGasUsed"], 16)), _raw(receipt["logsBloom"]), logs]
    kind = int(receipt.get("type") or "0x0", 16)
    if kind == _DEPOSIT and receipt.get("depositReceiptVersion") is not None:
        fields += [integer(int(receipt[name], 16)) for name in ("depositNonce", "depositReceiptVersion")]
    return (bytes([kind]) if kind else b"") + encode(fields)


def _raw(text: str) -> bytes:
    if text[:2] != "0x":
        raise ValueError("not hexadecimal")
    return bytes.fromhex(text[2:])
