"""Which transaction is proposed to a Safe, with which nonce, and by whom."""

from chalicelib.base.errors import BadRequest, Conflict, Forbidden
from chalicelib.base.signatures import recover_digest, signature_bytes, with_large_v
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, safe_tx_hash
from chalicelib.chains.nodes.safes.records import Proposal, SafeState


def check_owner(state: SafeState, owner: str) -> None:
    """Raises Forbidden."""
    if owner not in state.owners:
        raise Forbidden(f"{owner} is not an owner of the Safe: its owners are {', '.join(state.owners)}")


def proposal_of(state: SafeState, safe: str, transaction: SafeTransaction, nonce: int | None) -> Proposal:
    """A proposal without a gas refund: with the nonce after all that are queued, or with the one that was signed.

    Raises Conflict if the same transaction is queued with another nonce, as it would be made twice, or if the nonce is
    used.
    """
    for each in state.queued:
        if each.transaction == transaction and each.terms.nonce != nonce:
            queued = each.terms.nonce
            raise Conflict(f"This was proposed to the Safe already, with nonce {queued}: its owners confirm it there")
    if nonce is None:
        nonce = max((each.terms.nonce for each in state.queued), default=state.nonce - 1) + 1
    if nonce < state.nonce:
        raise Conflict("The Safe has executed another transaction with this nonce meanwhile: sign it anew")
    return Proposal(safe, transaction, SafeTerms(nonce=nonce))


def hash_of(chain_id: int, proposal: Proposal) -> str:
    return safe_tx_hash(chain_id, proposal.safe, proposal.transaction, proposal.terms)


def check_signature(signed: str, owner: str, signature: str) -> bytes:
    """The signature as the Safe reads it. Raises BadRequest unless the owner has signed the hash by EIP-712."""
    read = with_large_v(signature_bytes(signature))
    if recover_digest(bytes.fromhex(signed[2:]), read) != owner:
        raise BadRequest(f"signature: is not that of {owner} for this proposal")
    return read
