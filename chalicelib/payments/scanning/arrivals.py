"""What counts of a transfer is what arrived: the token's own Transfer logs say it, at every node that has the transfer.

    the receipt                one request for those of all transactions
      is not returned          the logs of the block to the payee; they can be incomplete, so only if nothing is missing
    another node says another  NodesDisagree: the network is held
    one of them does not say   of this transaction: it is deferred
    nothing arrived            it counts for nothing, and is not entered

Where the other nodes are silent, the word of the one that is left is taken for all that the event says and no less.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.arrivals import Arrived, find_arrivals, transfers_to
from chalicelib.chains.nodes.nodes import Node, NodesDisagree, first_node_of, host_of
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId
from chalicelib.payments.scanning.transfer_log import addresses_of_emptied
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain

Shares = Mapping[TransferId, Arrived]


def settle(
    services: Services,
    chain: "Chain",
    entries: Sequence[LoggedTransfer],
    witnesses: Iterable[tuple[Node, frozenset[TransferId]]],
    receipts: Sequence[Mapping[str, Any]],
) -> tuple[list[LoggedTransfer], list[LoggedTransfer]]:
    """Of transfers of tokens that can count, those of which something arrived, with what that is, and those of which
    that is not known now. `witnesses` are the other nodes, each with the transfers that it has, and `receipts` the logs
    in those receipts of the node that were read already.

    Raises NodesDisagree. One request to each node, and a few more if a receipt is too large for one.
    """
    own = shares_at(chain, entries, receipts)
    others = [
        (node, has, shares_at(node, [each for each in entries if each.transfer_id in has])) for node, has in witnesses
    ]
    known, deferred = list[LoggedTransfer](), list[LoggedTransfer]()
    for entry in entries:
        here = own.get(entry.transfer_id)
        said = {node.host: shares.get(entry.transfer_id) for node, has, shares in others if entry.transfer_id in has}
        other = next((host for host, share in said.items() if share and here and share != here), None)
        if other is not None:
            reason = f"of {entry.tx_hash} {here} arrived at {host_of(chain)}, {said[other]} at {other}"
            raise NodesDisagree(chain.network, reason)
        is_alone = isinstance(chain, Node) and bool(chain.others) and not any(said.values())
        if here is None or (is_alone and (said or here.amount != entry.amount)):
            deferred.append(entry)
            continue
        if here.amount != entry.amount:
            amounts = {"token": entry.token_address, "paid": entry.amount, "arrived": here.amount}
            place = {"network": entry.network, "tx_hash": entry.tx_hash}
            services.log.error("less arrived than was paid", extra={**place, **amounts})
        if here.amount:
            known.append(_with_arrived(entry, here))
    return known, deferred


def shares_at(chain: "Chain", entries: Sequence[LoggedTransfer], receipts: Sequence[Mapping[str, Any]] = ()) -> Shares:
    """What arrived of transfers as a node says; nothing of those of which it does not say."""
    found = _shares(chain, receipts, entries)
    rest = [each for each in entries if each.transfer_id not in found]
    if not rest:
        return found
    with suppress(ChainUnavailable):  # what they have of the payee alone may be read all the same
        found |= _shares(
            chain, first_node_of(chain).logs_of_transactions(sorted({each.tx_hash for each in rest})), rest
        )
    rest = [each for each in rest if each.transfer_id not in found]
    listed = _in_blocks(chain, rest) if rest else {}
    amounts = {each.transfer_id: each.amount for each in rest}
    return found | {each: share for each, share in listed.items() if share.amount == amounts[each]}


def _in_blocks(chain: "Chain", entries: Sequence[LoggedTransfer]) -> Shares:
    """The same by the logs of the blocks, of which a node may leave some out."""
    by_block = dict[int, list[LoggedTransfer]]()
    for each in entries:
        by_block.setdefault(each.block_number, []).append(each)
    wanted = {
        number: transfers_to(
            (each.token_address for each in of_block if each.token_address is not None),
            (address for each in of_block for address in (each.payee, each.fee_address)),
        )
        for number, of_block in by_block.items()
    }
    try:
        blocks = chain.read_transfers(wanted)
        return _shares(chain, [log for each in blocks.values() for log in each.logs or ()], entries)
    except ChainUnavailable:
        return {}


def _shares(
    chain: "Chain", logs: Iterable[Mapping[str, Any]], entries: Sequence[LoggedTransfer]
) -> dict[TransferId, Arrived]:
    said = find_arrivals(chain.network, logs, chain.escrow, addresses_of_emptied(entries))
    ids = {each.transfer_id: (each.block_number, each.block_hash, each.tx_hash, each.event_key) for each in entries}
    return {each: said[known] for each, known in ids.items() if known in said}


def _with_arrived(entry: LoggedTransfer, share: Arrived) -> LoggedTransfer:
    stated = None if share.amount == entry.amount else entry.amount
    return replace(entry, amount=share.amount, fee_amount=share.fee_amount, stated_amount=stated)
