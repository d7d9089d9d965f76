"""Decides what is done next about a transaction that was accepted, and what became of it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from chalicelib.base.frozen import frozen, make_from
from chalicelib.chains.nodes.readings import AccountReading, Receipt
from chalicelib.relayer.records import CallStatus, RelayedCall, RelayedTransaction

OVERDUE_AFTER = timedelta(minutes=3)
"""How old a transaction without an outcome is when what any node says of it counts: the first one may hide it."""
SEARCHED_AFTER = timedelta(minutes=1)
"""How long a nonce is used, by what a node says, before its transaction is searched for: receipts may come late."""
UNKNOWN_AFTER = timedelta(minutes=10)
"""How long nothing proves what became of a call whose nonce is used, until somebody has to look at it."""
SUPERSEDED_REASON = "another transaction of the account has the nonce of this one"
UNSIGNED_AFTER = timedelta(seconds=20)
"""How long the worker that accepted a call has to sign it, before tracking does."""
SENT_AGAIN_AFTER = timedelta(seconds=30)
"""How old a transaction in no block is when it is sent again: the node may have forgotten it, or never had it."""
WINDOW = 200
"""How many transactions of an account may be at the node at once; nodes drop those that are too far ahead."""

Finished = tuple[RelayedTransaction, RelayedCall]
"""The final records of a transaction and its call."""


class Step(StrEnum):
    """What is to be done about a transaction that is not finished."""

    WAIT = "wait"
    SIGN = "sign"
    SEND = "send"
    REPLACE = "replace"
    PROVE = "prove"
    """A node has its receipt, deep enough: now every node is asked."""
    NOTE_NONCE_USED = "note nonce used"
    """Its nonce is used, and there is no receipt, which is noted with the time."""
    NOTE_NONCE_FREE = "note nonce free"
    """Its nonce is not used any more."""
    NEEDS_KEY = "needs key"
    """Only the key of its account could help, which was replaced."""


@frozen
class ChainState:
    """What the nodes say of an account and of the receipts of its open transactions: the first one, and of those that
    are overdue any.

    `receipts` are by hash. A block is deep enough with `confirmations`, itself included.
    """

    reading: AccountReading
    receipts: Mapping[str, Receipt]
    confirmations: int

    @property
    def confirmed_to(self) -> int:
        """The newest block that is deep enough."""
        return self.confirmed_below(self.reading.head)

    @property
    def used_at(self) -> int | None:
        """The newest block by which a nonce is used that is used now; None if one node alone of several says so."""
        return None if self.reading.is_of_one else self.reading.newest_head

    def confirmed_below(self, head: int) -> int:
        """The newest block that is deep enough if `head` is the newest of all."""
        return max(head - self.confirmations + 1, 0)


def receipt_of(transaction: RelayedTransaction, chain: ChainState) -> Receipt | None:
    """The receipt of one of the transactions with this nonce, of which at most one is in a block."""
    return next((chain.receipts[each] for each in transaction.hashes if each in chain.receipts), None)


def is_overdue(transaction: RelayedTransaction, now: datetime) -> bool:
    """Whether what any node says of a transaction counts, and not only the first one."""
    return now - transaction.created_at >= OVERDUE_AFTER


def is_nonce_used(transaction: RelayedTransaction, chain: ChainState, now: datetime) -> bool:
    """Whether the nonce of a transaction is used, though there is no receipt of it."""
    return receipt_of(transaction, chain) is None and transaction.nonce < _next_nonce(transaction, chain, now)


def _next_nonce(transaction: RelayedTransaction, chain: ChainState, now: datetime) -> int:
    """The number of transactions of the account that are executed."""
    return chain.reading.executed if is_overdue(transaction, now) else chain.reading.nonce


def next_step(
    transaction: RelayedTransaction, chain: ChainState, stuck_after: timedelta, now: datetime, can_sign: bool = True
) -> Step:
    """What is done about a transaction; `can_sign` is whether the service still has the key of its account."""
    step = _next_step(transaction, chain, stuck_after, now)
    return Step.NEEDS_KEY if step in (Step.SIGN, Step.REPLACE) and not can_sign else step


def _next_step(transaction: RelayedTransaction, chain: ChainState, stuck_after: timedelta, now: datetime) -> Step:
    receipt = receipt_of(transaction, chain)
    if receipt is not None:
        head = chain.reading.newest_head if is_overdue(transaction, now) else chain.reading.head
        return Step.PROVE if receipt.block_number <= chain.confirmed_below(head) else Step.WAIT
    next_nonce = _next_nonce(transaction, chain, now)
    is_used = transaction.nonce < next_nonce
    if is_used != (transaction.nonce_used_since is not None):
        return Step.NOTE_NONCE_USED if is_used else Step.NOTE_NONCE_FREE
    if transaction.nonce >= chain.reading.nonce + WINDOW:
        return Step.WAIT
    if transaction.signed_at is None:
        return Step.SIGN if now - transaction.created_at >= UNSIGNED_AFTER else Step.WAIT
    is_next = transaction.nonce == next_nonce
    is_cheap = transaction.max_fee < chain.reading.base_fee + chain.reading.tip
    if now - transaction.signed_at >= stuck_after and not is_used and (is_next or is_cheap):
        return Step.REPLACE
    return Step.SEND if now - transaction.signed_at >= SENT_AGAIN_AFTER else Step.WAIT


def finish_transaction(
    transaction: RelayedTransaction, receipt: Receipt, reason: str | None, now: datetime
) -> Finished:
    """The final records of a transaction in a block that is deep enough; `reason` says why it reverted, if it did."""
    return _close_transaction(
        transaction,
        now,
        status=CallStatus.SUCCEEDED if receipt.success else CallStatus.REVERTED,
        tx_hash=receipt.tx_hash,
        block_number=receipt.block_number,
        cost=receipt.cost,
        reason=None if receipt.success else reason,
    )


def finish_superseded(transaction: RelayedTransaction, now: datetime) -> Finished:
    """The final records of a transaction of which it is proven that another one has used its nonce."""
    return _close_transaction(transaction, now, status=CallStatus.SUPERSEDED, reason=SUPERSEDED_REASON)


def reopen_transaction(transaction: RelayedTransaction, call: RelayedCall, now: datetime) -> Finished:
    """The records of a transaction that a fork has taken out of the chain: the same bytes are to be sent at once."""
    is_open = replace(
        transaction,
        closed_at=None,
        signed_at=now - SENT_AGAIN_AFTER,
        nonce_used_since=None,
        nonce_used_at=None,
        call_version=call.version + 1,
    )
    return is_open, replace(call, status=CallStatus.UNKNOWN, tx_hash=None, block_number=None, cost=None, reason=None)


def _close_transaction(transaction: RelayedTransaction, now: datetime, **outcome: Any) -> Finished:
    open_call = make_from(RelayedCall, transaction, version=transaction.call_version)
    return replace(transaction, closed_at=now), replace(open_call, **outcome)
