"""Reads what the source chain says: whether a transaction is in a block, what it deposits, what the bridge returned.

It ends or frees something, so the nodes of the chain have to agree on it (chains/nodes/agreement.py)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.records import Uint256
from chalicelib.chains.calldata.transaction import SentTransaction, Transaction
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.chains.nodes.agreement import agree, read_agreed_facts, read_agreed_transaction
from chalicelib.chains.nodes.bridges.deposits import LoggedReturn, fill_key, relay_hash
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.crosschain.core.bridged_calls import read_source
from chalicelib.crosschain.core.records import BridgeTransfer, Returned
from chalicelib.payments.announcements.bridges.deposits import deposits_of, request_of
from chalicelib.payments.announcements.bridges.observations import RefundObservation, Source, SourceObservation
from chalicelib.payments.announcements.observing import find_execution, newest_deep, with_proposal
from chalicelib.payments.links.records import AnnouncedTransaction, Payable, Proof
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain
    from chalicelib.chains.nodes.readings import Agreed

T = TypeVar("T")
RANGES_PER_CHECK = 5
"""How many ranges of blocks are searched for one event in one check."""
_REPLAY_GAS = 2_000_000


def search_blocks(read: Callable[[BlockRange], T], last: int, newest: int, span: int) -> Iterator[tuple[BlockRange, T]]:
    """What `read` finds in the blocks after `last`, at most RANGES_PER_CHECK ranges of up to `span` blocks, each with
    its range.

    A range that the node refuses is halved: anybody can fill the deposits of others with worthless tokens, so that a
    range has more fills than a node returns. Raises RangeTooLarge if a single block is refused.
    """
    for _ in range(RANGES_PER_CHECK):
        if last >= newest:
            return
        blocks = BlockRange(last + 1, min(last + span, newest))
        found = None
        while found is None:
            try:
                found = (read(blocks),)
            except RangeTooLarge:
                if blocks.count == 1:
                    raise
                blocks = blocks.first_half
        span, last = blocks.count, blocks.last
        yield blocks, found[0]


def read_source_chain(
    services: Services, payable: Payable, announced: AnnouncedTransaction, unavailable: set[str]
) -> tuple[AnnouncedTransaction, SourceObservation]:
    """The announced transaction with what is known of its Safe's transaction, and what the source chain says. Raises
    ChainUnavailable.

    The transaction is read before the time of the chain: what is in no block at a time after its deadline stays so.
    Of a Safe it is the time of the last block in which its events were looked for.
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
    read_to = newest if announced.safe_tx_hash is None else announced.scanned_to
    time = read_agreed_facts(chain, [read_to]).map(lambda facts: facts[read_to].time)
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


def read_refund(
    services: Services, announced: AnnouncedTransaction, bridge_transfer: BridgeTransfer
) -> RefundObservation:
    """What the bridge returned on the source chain after the deadline, as its nodes agree. Raises ChainUnavailable,
    RangeTooLarge."""
    chain, deposit = services.chains.evm(announced.network), bridge_transfer.deposit
    assert deposit is not None, "it was deposited"
    token = require_token(deposit.input_token)
    newest = newest_deep(services, chain)
    last = bridge_transfer.refund_searched_to
    if last is None:
        last = _last_block_until(chain, deposit.fill_deadline, bridge_transfer.deposited_block or 0, newest)
    span = max(require_network(announced.network).log_range // 2, 1)

    def read(blocks: BlockRange) -> tuple[LoggedReturn, ...]:
        terms = (token.address, deposit.depositor, deposit.input_amount, blocks)
        return agree(chain, lambda node: node.returns(*terms)).value

    for blocks, found in search_blocks(read, last, newest, span):
        for each in found:
            facts = read_agreed_facts(chain, [each.block_number]).value[each.block_number]
            if facts.hash != each.block_hash:
                raise InconsistentNode(chain.network, f"a refund is of block {each.block_hash}, not canonical")
            if facts.time > deposit.fill_deadline:
                return RefundObservation(
                    last, each.tx_hash, Returned(deposit.depositor, token.id, deposit.input_amount)
                )
        last = blocks.last
    return RefundObservation(last)


def _last_block_until(chain: "EvmChain", instant: datetime, first: int, newest: int) -> int:
    """The last block up to an instant among those from `first` to `newest`; `first` if all are later."""
    while first < newest:
        middle = (first + newest + 1) // 2
        if read_agreed_facts(chain, [middle]).value[middle].time <= instant:
            first = middle
        else:
            newest = middle - 1
    return first
