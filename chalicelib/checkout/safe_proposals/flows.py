"""Has an owner of a Safe sign a transaction, and proposes it to the other owners at the Safe Transaction Service.

Nothing is stored here. What the service says of the Safe is a claim: the Safe decides, which executes only what enough
of its owners have signed, with its own nonce.
"""

from collections.abc import Sequence

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import one_transaction
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.checkout.safe_proposals import rules
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.services import Services

_MOST_REQUESTS = 3


@frozen
class Asked:
    """What a wallet wants to propose to a Safe. `nonce` and `signature` are None before it has signed."""

    network: str
    safe: str
    owner: str
    transactions: Sequence[Transaction]
    nonce: int | None
    signature: str | None


@frozen
class Made:
    """A proposal with the hash that the owners sign. `is_proposed` if the service has it."""

    chain_id: int
    proposal: Proposal
    safe_tx_hash: str
    is_proposed: bool


def propose(services: Services, account_id: str, asked: Asked) -> Made:
    """What the owner signs to propose transactions, as one that makes all or none; with the signature it is proposed,
    once however often.

    Two or three requests to the Safe Transaction Service, counted by two or three writes. Raises BadRequest for a
    network without one, if there is no Safe, or if somebody else has signed, Forbidden for a wallet that is no owner,
    Conflict (rules.proposal_of), SafeServiceUnavailable, TooManyRequests.
    """
    network = find_network(asked.network)
    if network is None:
        raise BadRequest("network: is not supported; GET /v2/currencies lists the networks")
    if not services.safes.serves(network.name):
        raise BadRequest(f"network: this deployment has no Safe Transaction Service of {network.name}")
    try:
        transaction = one_transaction(network.name, asked.transactions)
    except LookupError:
        raise BadRequest(f"network: {network.name} has no contract by which a Safe makes several calls") from None
    rate_limits.count_safe_requests(services, account_id, _MOST_REQUESTS)
    state = services.safes.safe(network.name, asked.safe)
    if state is None:
        raise BadRequest(f"safe: there is no Safe at {asked.safe} on {network.name}")
    rules.check_owner(state, asked.owner)
    proposal = rules.proposal_of(state, asked.safe, transaction, asked.nonce)
    safe_tx_hash = rules.hash_of(network.chain_id, proposal)
    if asked.signature is None:
        return Made(network.chain_id, proposal, safe_tx_hash, is_proposed=False)
    signature = rules.check_signature(safe_tx_hash, asked.owner, asked.signature)
    services.safes.propose(network.name, proposal, safe_tx_hash, asked.owner, signature)
    return Made(network.chain_id, proposal, safe_tx_hash, is_proposed=True)
