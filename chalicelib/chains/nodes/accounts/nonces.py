"""Finds the transaction of an account that has used a nonce, and verifies it by its own signature.

    read        the transactions of the account in whole blocks; or what a node finds by account and nonce
    encoded     again, with the chain id of this network: keccak256 of that is the hash it is said to have
    recovered   from the signature over it: the signer is the account

So no node can invent one. Types 0 (EIP-155), 1 and 2 are read; one of another type proves nothing here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import address_bytes, same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import recover_digest
from chalicelib.chains.calldata.transaction import typed_transaction
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.readings import UsedNonce
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, RpcCall, RpcError, unavailable_if_malformed

_UINT256 = 2**256
_LEGACY, _ACCESS_LIST, _FEE_MARKET = 0, 1, 2
_EIP_155 = 35


@unavailable_if_malformed
def read_used_nonces(
    node: JsonRpcClient, sender: str, numbers: Sequence[int], blocks: BlockRange
) -> tuple[UsedNonce, ...]:
    """The transactions of an account in the blocks, and those with the nonces `numbers` if the node finds transactions
    by their nonces. One request. Raises ChainUnavailable if it does not return one of the blocks."""
    calls: list[RpcCall] = [("eth_getTransactionBySenderAndNonce", [sender, hex(number)]) for number in numbers]
    calls += [("eth_getBlockByNumber", [hex(height), True]) for height in range(blocks.first, blocks.last + 1)]
    outcomes = node.outcomes(calls)
    found = [each for each in outcomes[: len(numbers)] if isinstance(each, dict)]
    for block in outcomes[len(numbers) :]:
        if block is None or isinstance(block, RpcError):
            raise ChainUnavailable(f"The {node.network} node does not return a block")
        found += block["transactions"]
    own = [each for each in found if same_address(each["from"], sender) and each.get("blockNumber")]
    verified = [each for each in own if _is_signed_by(node.network, sender, each)]
    return tuple(
        UsedNonce(quantity(each["nonce"]), hash_of(each["hash"]), quantity(each["blockNumber"])) for each in verified
    )


def _is_signed_by(name: str, sender: str, transaction: Mapping[str, Any]) -> bool:
    """Whether the bytes of a transaction have the hash that it is said to have, and the account has signed them."""
    known, kind = find_network(name), quantity(transaction.get("type") or "0x0")
    if known is None or known.chain_id is None or kind not in (_LEGACY, _ACCESS_LIST, _FEE_MARKET):
        return False
    encode = _legacy if kind == _LEGACY else _encode_typed
    parts = encode(transaction, known.chain_id, kind)
    if parts is None or "0x" + keccak256(parts[1]).hex() != hash_of(transaction["hash"]):
        return False
    digest, parity = parts[0], parts[2]
    r, s = (quantity(transaction[name], _UINT256) for name in ("r", "s"))
    signer = recover_digest(digest, r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([27 + parity]))
    return signer is not None and same_address(signer, sender)


Encoded = tuple[bytes, bytes, int]
"""What is signed as a digest, the signed bytes, and the parity of the signature."""


def _encode_typed(transaction: Mapping[str, Any], chain_id: int, kind: int) -> Encoded:
    parity = quantity(transaction.get("yParity") or transaction["v"])
    prices = ("maxFeePerGas", "maxPriorityFeePerGas") if kind == _FEE_MARKET else ("gasPrice",)
    fields: dict[str, Any] = {
        "type": kind,
        "chainId": chain_id,
        "nonce": quantity(transaction["nonce"]),
        "gas": quantity(transaction["gas"]),
        "value": quantity(transaction["value"], _UINT256),
        "data": transaction["input"],
        "accessList": [
            {"address": each["address"], "storageKeys": list(each["storageKeys"])}
            for each in transaction.get("accessList") or ()
        ],
        **{name: quantity(transaction[name], _UINT256) for name in prices},
        **({"to": address_bytes(transaction["to"])} if transaction.get("to") else {}),
    }
    digest = bytes(typed_transaction(fields).hash())
    signature = {"v": parity, **{name: quantity(transaction[name], _UINT256) for name in ("r", "s")}}
    return digest, bytes(typed_transaction({**fields, **signature}).encode()), parity


def _legacy(transaction: Mapping[str, Any], chain_id: int, _: int) -> Encoded | None:
    """None unless it is signed for this chain."""
    v = quantity(transaction["v"], _UINT256)
    if v not in (_EIP_155 + 2 * chain_id, _EIP_155 + 2 * chain_id + 1):
        return None
    numbers = [quantity(transaction[name], _UINT256) for name in ("nonce", "gasPrice", "gas")]
    to = address_bytes(transaction["to"]) if transaction.get("to") else b""
    value, data = quantity(transaction["value"], _UINT256), bytes.fromhex(transaction["input"][2:])
    fields: list[int | bytes] = [*numbers, to, value, data]
    signature = [v, *(quantity(transaction[name], _UINT256) for name in ("r", "s"))]
    return keccak256(_rlp([*fields, chain_id, 0, 0])), _rlp([*fields, *signature]), v - _EIP_155 - 2 * chain_id


def _rlp(fields: Sequence[int | bytes]) -> bytes:
    """A list of numbers and strings of bytes in RLP; numbers are minimal big-endian bytes."""
    raw = [each if isinstance(each, bytes) else each.to_bytes((each.bit_length() + 7) // 8, "big") for each in fields]
    body = b"".join(each if len(each) == 1 and each[0] < 0x80 else _with_length(each, 0x80) for each in raw)
    return _with_length(body, 0xC0)


def _with_length(body: bytes, offset: int) -> bytes:
    if len(body) < 56:
        return bytes([offset + len(body)]) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([offset + 55 + len(length)]) + length + body
