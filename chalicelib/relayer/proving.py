"""Finds out what became of transactions, by what every node of the network says.

An outcome moves money again: what failed is paid in another way, what was taken is spent. So a receipt of one node, or
that it has none, is not an outcome. Each configured node is asked for the receipt, its block and what was moved, and
one that is silent or behind delays the outcome. That another transaction has the nonce is proven by that transaction:
it is searched for in the blocks in which it has to be, and verified by its signature (chains/nodes/accounts/nonces.py).
Without a proof a call stays unknown, with an alarm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.nodes import every_node, host_of
from chalicelib.chains.nodes.readings import Receipt, Sight, Sought, UsedNonce
from chalicelib.platform.services import Services
from chalicelib.relayer import following, proofs
from chalicelib.relayer.dry_runs import REASONS_DIFFER
from chalicelib.relayer.following import ChainState, Finished
from chalicelib.relayer.proofs import Verdict
from chalicelib.relayer.records import RelayedTransaction, RelayerProgress

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

_SEARCHED_AT_ONCE = 10
"""Blocks that one check reads whole: those of two minutes on mainnet, or of three seconds on arbitrum-one."""
_NONCES_AT_ONCE = 10
_UNEXPLAINED = "reverted, and the node does not say why"
_CONTRADICTED, _UNPROVEN = "the nodes contradict each other, or one contradicts itself", "not every node confirms it"


@frozen
class Conclusion:
    """The final records of transactions whose nonces others have used, and the progress of the search."""

    finished: tuple[Finished, ...]
    progress: RelayerProgress


def conclude_deep(
    services: Services, chain: "EvmChain", state: ChainState, transactions: Sequence[RelayedTransaction]
) -> tuple[Finished, ...]:
    """The final records of those transactions with a deep receipt that every node confirms. One request to each."""
    receipts = [(each, receipt) for each in transactions if (receipt := following.receipt_of(each, state)) is not None]
    sought = [proofs.sought(*pair, state.confirmations) for pair in receipts]
    sights = _sights(services, chain, sought)
    finished = []
    for each, receipt in receipts:
        verdict = proofs.of_receipt(receipt, each.moves, sights[receipt.tx_hash])
        if verdict is Verdict.PROVEN:
            finished.append(
                following.finish_transaction(each, receipt, _reason(chain, each, receipt), services.clock())
            )
        else:
            _not_proven(services, state, each, verdict)
    return tuple(finished)


def search_others(
    services: Services,
    chain: "EvmChain",
    state: ChainState,
    progress: RelayerProgress,
    transactions: Sequence[RelayedTransaction],
) -> Conclusion:
    """Searches for other transactions that have the nonces of these, which have no receipt.

    Some blocks at each check, from the first one that may have them to the one at which they were known to be used,
    again and again: a node may have left them out. A request, and one to each node for what was found.
    """
    now = services.clock()
    wanted = {
        each.nonce: each
        for each in transactions
        if each.nonce_used_since is not None and now - each.nonce_used_since >= following.SEARCHED_AFTER
    }
    if not wanted:
        return Conclusion((), replace(progress, searched_to=0))
    wanted = {nonce: _with_block(services, state, each) for nonce, each in wanted.items()}
    used_at = max(each.nonce_used_at or state.reading.newest_head for each in wanted.values())
    end = min(used_at + state.confirmations, state.confirmed_to)  # a fork may have moved it by some blocks
    first = max(progress.searched_to, progress.unused_to) + 1
    first = first if first <= end else progress.unused_to + 1
    last = min(first + _SEARCHED_AT_ONCE - 1, end)
    found: tuple[UsedNonce, ...] = ()
    try:
        found = chain.used_nonces(progress.sender, list(wanted)[:_NONCES_AT_ONCE], BlockRange(first, last))
    except ChainUnavailable as error:
        facts = {"network": progress.network, "first": first, "last": last, "reason": error.message}
        services.log.warning("blocks not searched", extra=facts)
    else:
        progress = replace(progress, searched_to=last)
    finished = _conclude_superseded(services, chain, state, wanted, found)
    for nonce in wanted.keys() - {each.nonce for each, _ in finished}:
        _not_proven(services, state, wanted[nonce], Verdict.OPEN)
    return Conclusion(finished, replace(progress, searched_to=0) if finished else progress)


def _with_block(services: Services, state: ChainState, transaction: RelayedTransaction) -> RelayedTransaction:
    """A transaction with the block by which its nonce is used: by a later reading if one node alone said that, or one
    said a block that no node has now."""
    known = transaction.nonce_used_at
    if state.used_at is None or (known is not None and known <= state.used_at):
        return transaction
    return services.store.write(replace(transaction, nonce_used_at=state.used_at))


def _conclude_superseded(
    services: Services,
    chain: "EvmChain",
    state: ChainState,
    wanted: Mapping[int, RelayedTransaction],
    found: Sequence[UsedNonce],
) -> tuple[Finished, ...]:
    """The final records of transactions whose nonces others have used, as every node confirms.

    One that was found with a hash of the call itself is the call: what its receipt says is not known yet.
    """
    others = {
        each.nonce: each
        for each in found
        if each.nonce in wanted
        and each.tx_hash not in wanted[each.nonce].hashes
        and each.block_number <= state.confirmed_to
    }
    sights = _sights(services, chain, [proofs.sought_other(each, state.confirmations) for each in others.values()])
    finished = []
    for nonce, other in others.items():
        call = wanted[nonce]
        if proofs.of_other(other, sights[other.tx_hash]) is not Verdict.PROVEN:
            continue
        facts = {"network": call.network, "sender": call.sender, "nonce": nonce, "call": call.call_key}
        services.log.error("nonce used by another transaction", extra={**facts, "other": other.tx_hash})
        finished.append(following.finish_superseded(call, services.clock()))
    return tuple(finished)


def _sights(services: Services, chain: "EvmChain", sought: Sequence[Sought]) -> dict[str, list[Sight | None]]:
    """What each node says of transactions, by their hashes; None for a node that does not answer."""
    sights: dict[str, list[Sight | None]] = {each.tx_hash: [] for each in sought}
    for node in every_node(chain) if sought else ():
        try:
            said: Sequence[Sight | None] = node.sights(sought)
        except ChainUnavailable as error:
            facts = {"network": chain.network, "node": host_of(node), "reason": error.message}
            services.log.warning("node confirms no outcome", extra=facts)
            said = [None] * len(sought)
        for each, sight in zip(sought, said, strict=True):
            sights[each.tx_hash].append(sight)
    return sights


def _not_proven(services: Services, state: ChainState, transaction: RelayedTransaction, verdict: Verdict) -> None:
    """Notes since when a call could have an outcome; logs one that is contradicted, or that has none for long."""
    now = services.clock()
    since = transaction.nonce_used_since or now
    if transaction.nonce_used_since is None:
        services.store.write(replace(transaction, nonce_used_since=now, nonce_used_at=state.used_at))
    if verdict is Verdict.CONTRADICTED or now - since >= following.UNKNOWN_AFTER:
        facts = {
            "network": transaction.network,
            "sender": transaction.sender,
            "nonce": transaction.nonce,
            "call": transaction.call_key,
            "minutes": int((now - since).total_seconds() // 60),
            "reason": _CONTRADICTED if verdict is Verdict.CONTRADICTED else _UNPROVEN,
        }
        services.log.error("call outcome unknown", extra=facts)


def _reason(chain: "EvmChain", each: RelayedTransaction, receipt: Receipt) -> str | None:
    """Why a transaction reverted, in words: what the nodes say alike that know when they run it before its block; None
    if it did not."""
    if receipt.success:
        return None
    call = Transaction(each.to, each.data, each.value)
    said = [node.replayed(each.sender, call, each.gas_limit, receipt.block_number).reason for node in every_node(chain)]
    reasons = {reason for reason in said if reason is not None}
    return reasons.pop() if len(reasons) == 1 else REASONS_DIFFER if reasons else _UNEXPLAINED
