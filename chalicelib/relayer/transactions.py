"""Encodes and hashes the transactions of EIP-1559, and those of EIP-7702 by which an account delegates to a contract.

    digest      keccak256( 02 | rlp(chain id, nonce, tip, max fee, gas, to, value, data, access list) )
    signed      02 | rlp(the same fields, y parity, r, s); its keccak256 is the transaction's hash

An account that delegates sends a transaction of type 4, which has the authorization besides:

    authorization   keccak256( 05 | rlp(chain id, delegate, nonce + 1) ): the transaction itself has used its nonce then

It is always for one chain: with 0 as chain id it would be valid on all of them.
"""

from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import Signature
from chalicelib.chains.calldata.transaction import typed_transaction
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.proofs import rlp
from chalicelib.relayer.keys.signer import Signer
from chalicelib.relayer.records import RelayedTransaction

_TYPE, _DELEGATING_TYPE = 2, 4
_AUTHORIZATION = b"\x05"


@frozen
class Signed:
    """A signed transaction: its hash, and its bytes as 0x hex."""

    tx_hash: str
    raw: str


def sign(transaction: RelayedTransaction, signer: Signer) -> Signed:
    """The transaction with its present fees, signed."""
    fields = _fields(transaction)
    if transaction.delegate is not None:
        authorization = _authorization(fields["chainId"], transaction.delegate, transaction.nonce + 1, signer)
        fields |= {"type": _DELEGATING_TYPE, "authorizationList": [authorization]}
    return _sign_fields(fields, signer.sign(typed_transaction(fields).hash()))


def authorization_digest(chain_id: int, delegate: str, nonce: int) -> bytes:
    """What an account signs to delegate to a contract on one chain, with the nonce that it has then.

    Raises ValueError for the chain id 0.
    """
    if chain_id <= 0:
        raise ValueError("an authorization is for one chain")
    fields = [rlp.integer(chain_id), address_bytes(delegate), rlp.integer(nonce)]
    return keccak256(_AUTHORIZATION + rlp.encode(fields))


def _authorization(chain_id: int, delegate: str, nonce: int, signer: Signer) -> dict[str, Any]:
    signature = signer.sign(authorization_digest(chain_id, delegate, nonce))
    return {
        "chainId": chain_id,
        "address": address_bytes(delegate),
        "nonce": nonce,
        "yParity": signature.recovery_id,
        "r": signature.r,
        "s": signature.s,
    }


def _fields(transaction: RelayedTransaction) -> dict[str, Any]:
    known = find_network(transaction.network)
    assert known is not None, "it was accepted for this network"
    return {
        "type": _TYPE,
        "chainId": known.chain_id,
        "nonce": transaction.nonce,
        "maxPriorityFeePerGas": transaction.tip,
        "maxFeePerGas": transaction.max_fee,
        "gas": transaction.gas_limit,
        "to": address_bytes(transaction.to),
        "value": transaction.value,
        "data": transaction.data,
        "accessList": (),
    }


def _sign_fields(fields: dict[str, Any], signature: Signature) -> Signed:
    raw = typed_transaction({**fields, "v": signature.recovery_id, "r": signature.r, "s": signature.s}).encode()
    return Signed("0x" + keccak256(raw).hex(), "0x" + raw.hex())
