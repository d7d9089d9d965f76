"""Decides what calls may spend, and what they change in the ledger.

    inward    counted when the call is proven to have succeeded
    outward   counted when the call is accepted; not any more when it is proven to have had no effect

While a fork makes the outcome of a call unknown again, what was counted of it stays counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import TokenBalances
from chalicelib.relayer.holdings.records import TOTAL, Holding, HoldingsTotal, Move
from chalicelib.relayer.records import CallStatus, RelayedTransaction

Place = tuple[str, str]
"""The token and the owner of an entry."""
NOT_ENOUGH = "the service's account does not hold so much for this"
MISSING = "the service's account has less of the token than it holds for others"


@frozen
class Ledger:
    """What is stored of some entries, by their places, and the sums of their tokens; `under_way` are the transactions
    of the account from a nonce on that every node has still to execute, or has executed."""

    entries: Mapping[Place, Holding]
    sums: Mapping[str, int]
    under_way: Sequence[RelayedTransaction]


@frozen
class Booking:
    """What changes in the ledger: entries to be written, and what is added to sums."""

    entries: tuple[Holding, ...]
    sums: tuple[tuple[HoldingsTotal, dict[str, int]], ...]


def is_counted(transaction: RelayedTransaction, status: CallStatus) -> bool:
    """Whether the ledger has what a transaction moves, when its call has this status."""
    if transaction.moves is None:
        return False
    if status is CallStatus.UNKNOWN:
        return transaction.is_counted or not transaction.moves.inward
    return status is CallStatus.SUCCEEDED


def refusal(move: Move, ledger: Ledger, balances: Sequence[TokenBalances]) -> str | None:
    """Why a call may not spend tokens now; None if it may. `balances` are what each node says of the account.

    Of each node's balance everything is owed that is left of the entries, and what calls move out that were not
    executed yet, as that node has it.
    """
    entry, token = ledger.entries.get(move.place), move.token.lower()
    if entry is None or entry.left < move.amount:
        return NOT_ENOUGH
    for each in balances:
        open_ones = (tx.moves for tx in ledger.under_way if tx.nonce >= each.nonce and tx.is_counted)
        owed = sum(tx.amount for tx in open_ones if tx is not None and not tx.inward and tx.token.lower() == token)
        if each.balances[token] < ledger.sums.get(token, 0) + owed:
            return MISSING
    return None


def book_changes(
    entries: Mapping[Place, Holding], changes: Sequence[tuple[RelayedTransaction, bool]], now: datetime
) -> Booking:
    """What changes when transactions of one account begin to be counted (True), or end to be (False)."""
    known, sums = dict(entries), dict[str, int]()
    changed = dict[Place, Holding]()
    for transaction, begins in changes:
        move = transaction.moves
        assert move is not None, "only moves are counted"
        old = known.get(move.place) or Holding(
            transaction.network, transaction.sender, move.token.lower(), move.owner, now
        )
        change = move.amount if begins else -move.amount
        if move.inward:
            new = replace(old, received=BaseUnits(old.received + change), changed_at=now)
        else:
            new = replace(old, spent=BaseUnits(old.spent + change), changed_at=now)
        known[move.place] = changed[move.place] = new
        sums[new.token] = sums.get(new.token, 0) + max(new.left, 0) - max(old.left, 0)
    network, account = (changes[0][0].network, changes[0][0].sender) if changes else ("", "")
    totals = ((HoldingsTotal(network, account, token), {TOTAL: amount}) for token, amount in sums.items() if amount)
    return Booking(tuple(changed.values()), tuple(totals))
