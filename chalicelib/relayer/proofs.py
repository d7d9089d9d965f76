"""Decides whether what nodes say proves what became of a transaction.

    proven         every node has it in the same deep block, with the same receipt, and nothing contradicts that
    open           a node is silent, is behind, or does not know it: null never means anything, so nothing follows
    contradicted   a node says something else: nothing follows, and somebody has to look at it

Of one node alone, what it says in one answer is compared with what it says in others: a receipt with the header of its
block, and with the tokens that the logs of that block say were moved.
"""

from collections.abc import Sequence
from enum import StrEnum

from chalicelib.chains.nodes.readings import Receipt, Sight, Sought, TokenFlow, UsedNonce
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import RelayedTransaction


class Verdict(StrEnum):
    PROVEN = "proven"
    OPEN = "open"
    CONTRADICTED = "contradicted"


def sought(transaction: RelayedTransaction, receipt: Receipt, confirmations: int) -> Sought:
    """What each node is asked for a transaction that has a receipt."""
    move = transaction.moves
    flow = TokenFlow(move.token, transaction.sender, move.inward) if move is not None else None
    return Sought(receipt.tx_hash, receipt.block_number, _deep_block(receipt.block_number, confirmations), flow)


def sought_other(used: UsedNonce, confirmations: int) -> Sought:
    """What each node is asked for another transaction that has a nonce."""
    return Sought(used.tx_hash, used.block_number, _deep_block(used.block_number, confirmations))


def _deep_block(number: int, confirmations: int) -> int:
    return number + max(confirmations, 1) - 1


def of_receipt(receipt: Receipt, move: Move | None, sights: Sequence[Sight | None]) -> Verdict:
    """Whether every node confirms a receipt; None is the sight of a node that did not answer.

    What the transaction has moved has to be the amount if it succeeded, and nothing if it did not.
    """
    expected = move.amount if move is not None and receipt.success else 0
    verdicts = [Verdict.OPEN if each is None else _of_sight(receipt, expected, each) for each in sights]
    return _worst(verdicts)


def _of_sight(receipt: Receipt, expected: int, sight: Sight) -> Verdict:
    if sight.receipt is not None and _facts(sight.receipt) != _facts(receipt):
        return Verdict.CONTRADICTED
    if sight.receipt is None or sight.block_hash is None or not sight.is_deep:
        return Verdict.OPEN
    is_right = sight.block_hash == receipt.block_hash and all(each == expected for each in sight.moved)
    return Verdict.PROVEN if is_right else Verdict.CONTRADICTED


def _facts(receipt: Receipt) -> tuple[int, str, bool]:
    return receipt.block_number, receipt.block_hash, receipt.success


def of_other(used: UsedNonce, sights: Sequence[Sight | None]) -> Verdict:
    """Whether every node has another transaction in a deep block, all in the same one."""
    receipts = [each.receipt for each in sights if each is not None and each.receipt is not None]
    places = {(each.block_number, each.block_hash) for each in receipts}
    if len(places) > 1 or any(number != used.block_number for number, _ in places):
        return Verdict.CONTRADICTED
    return _worst([Verdict.OPEN if each is None else _of_other_sight(each) for each in sights])


def _of_other_sight(sight: Sight) -> Verdict:
    if sight.receipt is None or sight.block_hash is None or not sight.is_deep:
        return Verdict.OPEN
    return Verdict.PROVEN if sight.block_hash == sight.receipt.block_hash else Verdict.CONTRADICTED


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of all nodes together. There is at least one."""
    return next(each for each in (Verdict.CONTRADICTED, Verdict.OPEN, Verdict.PROVEN) if each in verdicts)
