"""Reads what the source chain says of a transaction: whether it is in a block, and what it deposits there.

It ends or frees something, so the nodes of the chain have to agree on it (chains/nodes/agreement.py)."""

from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.records import Uint256
from chalicelib.chains.calldata.transaction import SentTransaction, Transaction
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.nodes.agreement import agree, read_agreed_facts, read_agreed_transaction
from chalicelib.chains.nodes.bridges.deposits import fill_key, relay_hash
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.crosschain.service.router.rules import read_source
from chalicelib.crosschain.service.tracking.chains import newest_deep
from chalicelib.crosschain.service.tracking.deposits import deposits_of, request_of
from chalicelib.crosschain.service.tracking.observations import Source, SourceObservation
from chalicelib.payments.announced.observing import find_execution, with_proposal
from chalicelib.payments.links.records import AnnouncedTransaction, Payable, Proof
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain
    from chalicelib.chains.nodes.readings import Agreed

_REPLAY_GAS = 2_000_000


def read_source_chain(
    services: Services, payable: Payable, announced: AnnouncedTransaction, unavailable: set[str]
) -> tuple[AnnouncedTransaction, SourceObservation]:
    """The announced transaction with what is known of its Safe's transaction, and what the source chain says. Raises
    ChainUnavailable.

    The transaction is read before the time of the chain: what is in no block at a time after its deadline stays so.
    """
    chain = services.chains.evm(announced.network)
    newest, is_unknown, tx_hash = newest_deep(services, chain), False, announced.transaction_hash
    if announced.safe_tx_hash is not None and tx_hash is None:
        announced, is_unknown = with_proposal(services, payable, announced, unavailable)
        before = announced.scanned_to
        announced, last, executed = find_execution(
            services, chain, announced, newest, require_network(announced.network).log_range
        )
        announced = replace(announced, scanned_to=last if executed is None else before)
        tx_hash = executed.value.transaction_hash if executed is not None else None
    sent = read_agreed_transaction(chain, tx_hash, newest).value if tx_hash is not None else None
    if sent is None and announced.safe_tx_hash is not None and tx_hash is not None:
        raise InconsistentNode(chain.network, "it has the event of a Safe, but not its transaction")
    if sent is not None and tx_hash is not None and not sent.is_of_one:
        return announced, _find_destination(
            services, payable, announced, source_observation(chain, payable, newest, sent, tx_hash)
        )
    outcome = Source.WAITING if sent is not None else _missing(chain, announced, newest, is_unknown)
    time = read_agreed_facts(chain, [newest]).map(lambda facts: facts[newest].time)
    return announced, SourceObservation(outcome, time, proof=announced.proof)


def _find_destination(
    services: Services, payable: Payable, announced: AnnouncedTransaction, observation: SourceObservation
) -> SourceObservation:
    """What was read, with the chain that it leads to if that is another one than was thought. Raises ChainUnavailable
    if that is not read here. At most one read."""
    request = request_of(payable.requests, observation.deposit) if observation.deposit is not None else None
    if request is None or announced.bridge_transfer is None or request.network == announced.bridge_transfer.destination:
        return observation
    cursor = scan_store.cursor(services.store, request.network)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {request.network} yet")
    first = max(cursor.scanned_to - require_network(request.network).log_range, 0)
    return replace(observation, destination=request.network, searched_to=first)


def source_observation(
    chain: "EvmChain", payable: Payable, newest: int, sent: SentTransaction, tx_hash: str
) -> SourceObservation:
    """What a transaction that the nodes have says. Raises InconsistentNode if its block is not the canonical one."""
    source = require_network(chain.network)
    is_deep = sent.block is not None and sent.block <= newest
    agreed = read_agreed_facts(chain, [newest, *([sent.block] if is_deep and sent.block is not None else [])])
    facts = agreed.value
    signed = sent if is_deep else replace(sent, block=None)  # what else one node says of it is not agreed on
    paid = deposits_of(source, payable.requests, signed)
    observation = SourceObservation(
        Source.WAITING,
        agreed.map(lambda facts: facts[newest].time),
        in_block=sent.block is not None,
        proof=Proof.SENT if paid else None,
        wallet=sent.sender,
        nonce=sent.nonce,
        tx_hash=tx_hash,
        deposit=paid[0].deposit if paid else None,
        covers=paid[0].is_timely if paid else True,
    )
    if sent.block is None or not is_deep:
        is_of_other = not paid and read_source(source, sent.to or "", sent.data) is not None
        return replace(observation, outcome=Source.FOREIGN) if is_of_other else observation
    if sent.block_hash is not None and facts[sent.block].hash != sent.block_hash:
        raise InconsistentNode(chain.network, f"a receipt is of block {sent.block_hash}, which is not canonical")
    if not sent.success:
        return replace(observation, outcome=Source.REVERTED, reason=_reason(chain, sent, sent.block))
    if not paid or paid[0].logged is None:
        return replace(observation, outcome=Source.FOREIGN)
    logged = paid[0].logged
    return replace(
        observation,
        outcome=Source.DEPOSITED,
        deposit_id=Uint256(logged.deposit_id),
        relay_hash=relay_hash(logged, source.chain_id),
        fill_key=fill_key(logged, source.chain_id),
        block=sent.block,
        deposited_at=facts[sent.block].time,
    )


def _missing(chain: "EvmChain", announced: AnnouncedTransaction, newest: int, is_unknown: bool) -> Source:
    """What is known of a transaction that the node does not have: whether its nonce is used, as far as it is known."""
    if announced.safe_tx_hash is not None:
        safe = announced.wallet
        if safe is not None and announced.nonce is not None:
            count = agree(chain, lambda node: node.safe_nonce(safe, newest))
            if _is_used(announced.nonce, count) and announced.scanned_to >= newest:
                return Source.REPLACED
        return Source.MISSING if is_unknown else Source.WAITING
    if announced.wallet is None or announced.nonce is None:
        return Source.MISSING
    wallet = announced.wallet
    count = agree(chain, lambda node: node.transaction_count(wallet, newest))
    return Source.REPLACED if _is_used(announced.nonce, count) else Source.MISSING


def _is_used(nonce: int, count: "Agreed[int | None] | Agreed[int]") -> bool:
    """Whether a nonce is used by the next one of its wallet, None if there is no such wallet."""
    return count.value is not None and count.value > nonce


def _reason(chain: "EvmChain", sent: SentTransaction, block: int) -> str | None:
    """Why a transaction reverted, if the node says so when it is asked to run it before its block."""
    if sent.to is None:
        return None
    try:
        return chain.replayed(sent.sender, Transaction(sent.to, sent.data, 0), _REPLAY_GAS, block).reason
    except ChainUnavailable:
        return None
