"""What counts of a transfer is what arrived: the token's own Transfer logs say it, at every node that has the transfer.

    its block is proved        the receipts that prove it, and no node
    the logs of its block      which each node is asked for by the payees, in the request in which it is compared
      leave something out      the receipt, in one request for those of all transactions
    another node says another  NodesDisagree: the network is held
    one of them does not say   of this transaction: it is deferred
    nothing arrived            it counts for nothing, and is not entered

A node may leave logs out, so less than the event says is believed by receipts alone. Where the other nodes are silent,
the word of the one that is left is taken for all that the event says and no less.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.arrivals import Arrived, find_arrivals, transfers_to
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.logs import ProxyTransfer
from chalicelib.chains.nodes.nodes import Node, NodesDisagree, first_node_of, host_of
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, logs_in
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId
from chalicelib.payments.scanning.transfer_log import Logs, addresses_of_emptied, is_of_token
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain

Shares = Mapping[TransferId, Arrived]


@frozen
class Witness:
    """Another node and the transfers that it has, with the logs that it lists of their blocks, and those in receipts
    that were read already."""

    node: Node
    has: frozenset[TransferId]
    listed: Logs
    receipts: Logs


@frozen
class ArrivalLogs:
    """What was read of transfers: the logs that the node lists in their blocks, some of its receipts, all logs of
    transactions in blocks that are proved, and what other nodes say."""

    listed: Logs
    receipts: RawReceipts
    proved: Logs = ()
    witnesses: Sequence[Witness] = ()


def transfer_filters(found: Iterable[LoggedTransfer | ProxyTransfer]) -> dict[int, tuple[LogFilter, ...]]:
    """The Transfers to payees and receivers of fees by the blocks of transfers; none in a block without tokens."""
    by_block = dict[int, list[LoggedTransfer | ProxyTransfer]]()
    for each in found:
        by_block.setdefault(each.block_number, []).extend([each] if is_of_token(each) else ())
    return {
        number: transfers_to(
            (each.token_address for each in of_block if each.token_address is not None),
            (to for each in of_block for to in (each.payee, *([each.fee_address] if each.fee_amount else ()))),
        )
        for number, of_block in by_block.items()
    }


def settle(
    services: Services, chain: "Chain", entries: Sequence[LoggedTransfer], logs: ArrivalLogs
) -> tuple[list[LoggedTransfer], list[LoggedTransfer], RawReceipts]:
    """Of transfers of tokens that can count, those of which something arrived, with what that is, and those of which
    that is not known now; and the node's receipts, with those that were read for it.

    Raises NodesDisagree. One request to each node for the receipts of what it does not list in full, and a few more if
    one is too large.
    """
    decided = _shares(chain, logs.proved, entries)
    rest = [each for each in entries if each.transfer_id not in decided]
    own, read = shares_at(chain, rest, logs.listed, logs_in(logs.receipts))
    others = list[tuple[Witness, Shares]]()
    for each in logs.witnesses:
        there = [entry for entry in rest if entry.transfer_id in each.has]
        others.append((each, shares_at(each.node, there, each.listed, each.receipts)[0]))
    known, deferred = list[LoggedTransfer](), list[LoggedTransfer]()
    for entry in entries:
        is_decided = entry.transfer_id in decided
        here = (decided if is_decided else own).get(entry.transfer_id)
        said = {of.node.host: shares.get(entry.transfer_id) for of, shares in others if entry.transfer_id in of.has}
        other = next((host for host, share in said.items() if share and here and share != here), None)
        if other is not None:
            reason = f"of {entry.tx_hash} {here} arrived at {host_of(chain)}, {said[other]} at {other}"
            raise NodesDisagree(chain.network, reason)
        is_alone = not is_decided and isinstance(chain, Node) and bool(chain.others) and not any(said.values())
        if here is None or (is_alone and (said or here.amount != entry.amount)):
            deferred.append(entry)
            continue
        if here.amount != entry.amount:
            amounts = {"token": entry.token_address, "paid": entry.amount, "arrived": here.amount}
            place = {"network": entry.network, "tx_hash": entry.tx_hash}
            services.log.error("less arrived than was paid", extra={**place, **amounts})
        if here.amount:
            known.append(_with_arrived(entry, here))
    return known, deferred, {**logs.receipts, **read}


def shares_at(
    chain: "Chain | Node", entries: Sequence[LoggedTransfer], listed: Logs, receipts: Logs = ()
) -> tuple[Shares, RawReceipts]:
    """What arrived of transfers as a node says: by the logs that it lists if that is all that the event says, else by
    receipts, of which those that are read are returned, too; nothing of those of which it does not say."""
    said = {each.transfer_id: Arrived(each.said_amount, each.fee_amount) for each in entries}
    found = dict[TransferId, Arrived]()
    read: RawReceipts = {}
    with suppress(ChainUnavailable):
        found |= {each: share for each, share in _shares(chain, listed, entries).items() if share == said[each]}
    found |= _shares(chain, receipts, [each for each in entries if each.transfer_id not in found])
    rest = [each for each in entries if each.transfer_id not in found]
    if rest:
        with suppress(ChainUnavailable):
            read = first_node_of(chain).find_receipts(sorted({each.tx_hash for each in rest}))
            found |= _shares(chain, logs_in(read), rest)
    return found, read


def _shares(chain: "Chain | Node", logs: Logs, entries: Sequence[LoggedTransfer]) -> dict[TransferId, Arrived]:
    if not logs or not entries:
        return {}
    said = find_arrivals(chain.network, logs, chain.escrow, addresses_of_emptied(entries))
    ids = {each.transfer_id: (each.block_number, each.block_hash, each.tx_hash, each.event_key) for each in entries}
    return {each: said[known] for each, known in ids.items() if known in said}


def _with_arrived(entry: LoggedTransfer, share: Arrived) -> LoggedTransfer:
    stated = None if share.amount == entry.amount else entry.amount
    return replace(entry, amount=share.amount, fee_amount=share.fee_amount, stated_amount=stated)
