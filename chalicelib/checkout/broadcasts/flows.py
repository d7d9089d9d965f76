"""Signed transactions on Tron, handed on to the network: only those that pay a link, so that nobody relays others."""

from dataclasses import dataclass, replace
from datetime import datetime

from chalicelib.base.errors import BadRequest
from chalicelib.calldata.checkout import MAX_FEE_LIMIT
from chalicelib.calldata.transaction import Transaction
from chalicelib.calldata.tron import TronTransaction, decode_raw, recover_signer, signed_transaction, tx_id
from chalicelib.chain.tron import BroadcastResult
from chalicelib.checkout.flows import signable
from chalicelib.links.flows import Reader
from chalicelib.services import Services


@dataclass(frozen=True)
class SignedTransaction:
    """What a wallet made: the bytes that it signed, its signatures of 65 bytes, and the id (lower-case hex) it gave."""

    raw: bytes
    signatures: tuple[bytes, ...]
    tx_id: str | None = None


def broadcast(services: Services, token: str, reader: Reader, signed: SignedTransaction) -> BroadcastResult:
    """Sends one of the link's own transactions and tells what the node said; a refusal of the node is a result, too.

    Raises BadRequest for any other transaction, what `signable` raises of the link, BadGateway when nobody can say
    whether it was sent: the same bytes may be sent again, the network takes them once.
    """
    if signed.tx_id not in (None, tx_id(signed.raw)):
        raise BadRequest("txID is not the SHA-256 of raw_data_hex")
    try:
        call = decode_raw(signed.raw)
    except ValueError:
        raise BadRequest("raw_data_hex is not a transaction with one TriggerSmartContract and nothing else") from None
    expected = signable(services, token, reader, call.owner)
    if Transaction(call.contract, call.data, call.call_value) not in expected:
        raise BadRequest("The transaction is none of those that pay this link now: take them from /pay and sign anew")
    _check_terms(call, services.clock())
    _check_signatures(call, signed)
    result = services.chains.tron().broadcast(signed_transaction(signed.raw, signed.signatures))
    return replace(result, txid=tx_id(signed.raw))


def _check_terms(call: TronTransaction, now: datetime) -> None:
    if call.fee_limit > MAX_FEE_LIMIT:
        raise BadRequest(f"fee_limit is above the {MAX_FEE_LIMIT} sun that the network allows")
    if call.expiration <= now.timestamp() * 1000:
        raise BadRequest("The transaction has expired: take a newer block as its reference and sign anew")


def _check_signatures(call: TronTransaction, signed: SignedTransaction) -> None:
    """One signature is the owner's own. Who else may sign for an account, alone or together, its permissions say, and
    the node knows those."""
    signers = [recover_signer(signed.raw, signature) for signature in signed.signatures]
    if None in signers:
        raise BadRequest("A signature is of no key")
    if call.permission_id == 0 and len(signers) == 1 and signers[0] != call.owner:
        raise BadRequest(f"The signature is not of {call.owner}, whose transaction this is")
