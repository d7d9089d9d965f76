"""Encodes and hashes the transactions of EIP-1559, which all EVM networks of the catalogue accept.

    digest      keccak256( 02 | rlp(chain id, nonce, tip, max fee, gas, to, value, data, access list) )
    signed      02 | rlp(the same fields, y parity, r, s); its keccak256 is the transaction's hash
"""

from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import Signature
from chalicelib.chains.catalogue.networks import network
from chalicelib.relayer.keys.signer import Signer
from chalicelib.relayer.records import RelayedTransaction

_TYPE = 2


@frozen
class Signed:
    """A signed transaction: its hash, and its bytes as 0x hex."""

    tx_hash: str
    raw: str


def sign(transaction: RelayedTransaction, signer: Signer) -> Signed:
    """The transaction with its present fees, signed."""
    fields = _fields(transaction)
    return _signed(fields, signer.sign(_typed(fields).hash()))


def _fields(transaction: RelayedTransaction) -> dict[str, Any]:
    known = network(transaction.network)
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


def _signed(fields: dict[str, Any], signature: Signature) -> Signed:
    raw = _typed({**fields, "v": signature.recovery_id, "r": signature.r, "s": signature.s}).encode()
    return Signed("0x" + keccak256(raw).hex(), "0x" + raw.hex())


def _typed(fields: dict[str, Any]) -> Any:
    from eth_account.typed_transactions.typed_transaction import TypedTransaction

    return TypedTransaction.from_dict(fields)
