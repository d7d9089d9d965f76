"""Which transfers in the log are taken back, as no node has them.

They are looked for among those for which one node alone vouched, and those that a later reading does not have. Every
node of the network has to have a receipt without the transfer, or the block without its transaction. A node that does
not answer decides nothing, so the block is read again later; if two answers differ, NodesDisagree is raised.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from chalicelib.chains.nodes.nodes import Node, NodesDisagree
from chalicelib.payments.scanning.checks.comparison import BLOCKS_PER_READING, Said, ask, read_verdicts
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState
from chalicelib.payments.scanning.transfer_log import can_count, is_of_token
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain


def compare_again(
    services: Services, chain: Node, entries: Iterable[LoggedTransfer], deadline: datetime
) -> tuple[list[LoggedTransfer], int | None]:
    """Compares transfers that one node alone vouched for, now that others may answer, in the order of their blocks.

    Returns those that no node has, and the first block that cannot be decided yet, None if all are. Raises
    NodesDisagree if a node has a transfer and another one does not have it, has another block, or says that another
    amount arrived.
    """
    as_chain = cast("Chain", chain)
    by_block = dict[int, list[LoggedTransfer]]()
    for each in entries:
        if can_count(each) and each.state is not TransferState.REVERSED:
            by_block.setdefault(each.block_number, []).append(each)
    gone = list[LoggedTransfer]()
    for number, found in sorted(by_block.items()):
        if services.clock() >= deadline:
            return gone, number
        nodes = (chain, *chain.others)
        said = [ask(node, found) for node in nodes]
        differing = [each.differs for each in said if each.differs]
        if differing:
            reason = f"{differing[0][0]} in the log and {differing[0][1]}"
            if len(differing) < sum(each.answers for each in said):
                raise NodesDisagree(chain.network, reason)
            services.log.error("node contradicts itself", extra={"network": chain.network, "reason": reason})
            continue  # a block that a fork has replaced is read again for that
        for each in found:
            is_denied = any(each.transfer_id in of.left_out for of in said)
            if is_denied or sum(each.transfer_id in of.listed for of in said) < 2:
                not_there, is_open = _to_reverse_in(services, as_chain, number, [each], 2)
                if is_open:
                    return gone, number
                gone += not_there
        moved = [each for each in found if is_of_token(each) and each not in gone]
        _check_arrived(services, list(zip(nodes, said, strict=True)), moved)
    return gone, None


def _check_arrived(services: Services, nodes: Sequence[tuple[Node, Said]], entries: Sequence[LoggedTransfer]) -> None:
    """Compares what arrived of transfers: of each at all nodes that say it, and with the log, which is not changed.
    Raises NodesDisagree. One request to each node for the receipts of what it does not list in full."""
    from chalicelib.payments.scanning.checks.arrivals import (
        shares_at,
    )  # loaded only in ticks that compare transfers again

    said = [(node.host, shares_at(node, entries, of.logs)[0]) for node, of in nodes] if entries else []
    for entry in entries:
        arrived = {host: shares[entry.transfer_id].amount for host, shares in said if entry.transfer_id in shares}
        amounts = set(arrived.values())
        if not amounts or amounts == {entry.amount}:
            continue
        reason = f"of {entry.tx_hash} {entry.amount} arrived in the log and {arrived} by the receipts"
        if len(amounts) > 1:
            raise NodesDisagree(entry.network, reason)
        services.log.error("node contradicts itself", extra={"network": entry.network, "reason": reason})


def to_reverse(
    services: Services, chain: "Chain", missing: Sequence[LoggedTransfer], deadline: datetime
) -> tuple[list[LoggedTransfer], bool]:
    """The transfers that a later reading lacks and that no node has in its receipts; and whether a node
    that did not answer, or the deadline, left some undecided.

    Raises NodesDisagree if one node has a receipt with a transfer and another one a receipt without it.
    """
    by_block = dict[int, list[LoggedTransfer]]()
    for each in missing:
        by_block.setdefault(each.block_number, []).append(each)
    found, is_open = list[LoggedTransfer](), len(by_block) > BLOCKS_PER_READING
    for number, entries in list(by_block.items())[:BLOCKS_PER_READING]:
        if services.clock() >= deadline:
            return found, True
        gone, is_undecided = _to_reverse_in(services, chain, number, entries)
        found, is_open = [*found, *gone], is_open or is_undecided
    return found, is_open


def _to_reverse_in(
    services: Services, chain: "Chain", number: int, entries: Sequence[LoggedTransfer], enough: int = 1
) -> tuple[list[LoggedTransfer], bool]:
    """The transfers of a block that no node has, and whether some are undecided: `enough` nodes have not said that they
    have it."""
    nodes = (chain, *chain.others) if isinstance(chain, Node) else (chain,)
    said = [read_verdicts(node, number, entries)[0] for node in nodes]
    found, is_open = list[LoggedTransfer](), False
    for entry in entries:
        verdicts = [each.get(entry.transfer_id) for each in said]
        facts = {"network": entry.network, "tx_hash": entry.tx_hash, "block": number}
        if set(verdicts) == {False}:
            reason = f"log {entry.log_index} of {entry.tx_hash} is in no receipt of block {number}: it is taken back"
            services.log.error("node contradicts itself", extra={"network": entry.network, "reason": reason})
            found.append(entry)
        elif {True, False} <= set(verdicts):
            reason = f"log {entry.log_index} of {entry.tx_hash} is in the receipt of one node, not in that of another"
            raise NodesDisagree(chain.network, reason)
        else:
            is_open = is_open or verdicts.count(True) < enough
            services.log.warning("transfer not read again", extra={**facts, "is_in_receipts": True in verdicts})
    return found, is_open
