"""Sends signed Tron transactions to the network, only those that pay a link."""

from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.checkout import MAX_FEE_LIMIT
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.tron import (
    RESULT_BYTES,
    TronTransaction,
    decode_raw,
    encode_signed_transaction,
    recover_signer,
    tx_id,
)
from chalicelib.chains.nodes.tron import BroadcastResult
from chalicelib.checkout.flows import signable_transactions
from chalicelib.checkout.resources.flows import check_energy
from chalicelib.checkout.resources.rules import Step
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.services import Services


@frozen
class SignedTransaction:
    """A signed transaction: the signed bytes, its signatures of 65 bytes, and its id in lower-case hex if sent."""

    raw: bytes
    signatures: tuple[bytes, ...]
    tx_id: str | None = None


def broadcast(services: Services, token: str, viewer: Viewer, signed: SignedTransaction) -> BroadcastResult:
    """Sends a transaction that pays the link; returns the node's result, also if the node refuses.

    Raises BadRequest for any other transaction, OutOfEnergy for one that would burn TRX and fail, ChainUnavailable if
    no node says whether it would, what `signable_transactions` raises, and BadGateway if it is unknown whether a node
    received it, now or by an earlier call: sending the same bytes again is safe, because the network accepts them only
    once.
    """
    if signed.tx_id not in (None, tx_id(signed.raw)):
        raise BadRequest("txID is not the SHA-256 of raw_data_hex")
    try:
        call = decode_raw(signed.raw)
    except ValueError:
        raise BadRequest("raw_data_hex is not a transaction with one TriggerSmartContract and nothing else") from None
    called = Transaction(call.contract, call.data, call.call_value)
    expected = signable_transactions(services, token, viewer, call.owner)
    if called not in expected:
        raise BadRequest("The transaction is none of those that pay this link now: take them from /pay and sign anew")
    _check_terms(call, services.clock())
    _check_signatures(call, signed)
    chain, made = services.chains.tron(), encode_signed_transaction(signed.raw, signed.signatures)
    id_, size, signatures = tx_id(signed.raw), len(made) + RESULT_BYTES, len(signed.signatures)
    step = Step({called: 1}, 0, size, call.fee_limit, True, has_memo=bool(call.memo), signatures=signatures)
    check_energy(chain, call.owner, step, id_)
    return replace(chain.broadcast(made), txid=id_)


def _check_terms(call: TronTransaction, now: datetime) -> None:
    if call.fee_limit > MAX_FEE_LIMIT:
        raise BadRequest(f"fee_limit is above the {MAX_FEE_LIMIT} sun that the network allows")
    if call.expiration <= now.timestamp() * 1000:
        raise BadRequest("The transaction has expired: take a newer block as its reference and sign anew")


def _check_signatures(call: TronTransaction, signed: SignedTransaction) -> None:
    """Raises BadRequest for an invalid signature, or a single one that is not by the owner.

    Other permissions and several signatures are not checked here: the node checks the account's permissions.
    """
    signers = [recover_signer(signed.raw, signature) for signature in signed.signatures]
    if None in signers:
        raise BadRequest("A signature is of no key")
    if call.permission_id == 0 and len(signers) == 1 and signers[0] != call.owner:
        raise BadRequest(f"The signature is not of {call.owner}, whose transaction this is")
