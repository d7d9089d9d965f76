"""Decides what is done next about a transaction that was accepted, and what became of it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.chain.readings import AccountReading, Receipt
from chalicelib.relayer.records import CallStatus, RelayedCall, RelayedTransaction

SUPERSEDED_AFTER = timedelta(minutes=15)
"""How long the chain must have had another transaction with the nonce before that is believed."""
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
    FINISH = "finish"
    """Its receipt is deep enough."""
    NOTE_UNSEEN = "note unseen"
    """The chain has another transaction with its nonce, which is noted with the time."""
    NOTE_SEEN = "note seen"
    """The chain no longer has another transaction with its nonce."""
    SUPERSEDE = "supersede"
    NEEDS_KEY = "needs key"
    """Only the key of its account could help, which was replaced."""


@frozen
class ChainState:
    """What the node says of an account and of the receipts of its open transactions.

    `receipts` are those in canonical blocks, by hash. Blocks up to `confirmed_to` are deep enough; the account had
    `confirmed_nonce` transactions up to there.
    """

    reading: AccountReading
    receipts: Mapping[str, Receipt]
    confirmed_to: int
    confirmed_nonce: int


def receipt_of(transaction: RelayedTransaction, chain: ChainState) -> Receipt | None:
    """The receipt of one of the transactions with this nonce, of which at most one is in a block."""
    return next((chain.receipts[each] for each in transaction.hashes if each in chain.receipts), None)


def next_step(
    transaction: RelayedTransaction, chain: ChainState, stuck_after: timedelta, now: datetime, can_sign: bool = True
) -> Step:
    """What is done about a transaction; `can_sign` is whether the service still has the key of its account."""
    step = _next_step(transaction, chain, stuck_after, now)
    return Step.NEEDS_KEY if step in (Step.SIGN, Step.REPLACE) and not can_sign else step


def _next_step(transaction: RelayedTransaction, chain: ChainState, stuck_after: timedelta, now: datetime) -> Step:
    receipt = receipt_of(transaction, chain)
    if receipt is not None:
        return Step.FINISH if receipt.block_number <= chain.confirmed_to else Step.WAIT
    if transaction.nonce < chain.confirmed_nonce:
        if transaction.unseen_since is None:
            return Step.NOTE_UNSEEN
        return Step.SUPERSEDE if now - transaction.unseen_since >= SUPERSEDED_AFTER else Step.WAIT
    if transaction.unseen_since is not None:
        return Step.NOTE_SEEN
    if transaction.nonce >= chain.reading.nonce + WINDOW:
        return Step.WAIT
    if transaction.signed_at is None:
        return Step.SIGN if now - transaction.created_at >= UNSIGNED_AFTER else Step.WAIT
    is_next = transaction.nonce == chain.reading.nonce
    is_cheap = transaction.max_fee < chain.reading.base_fee + chain.reading.tip
    if now - transaction.signed_at >= stuck_after and (is_next or is_cheap):
        return Step.REPLACE
    return Step.SEND if now - transaction.signed_at >= SENT_AGAIN_AFTER else Step.WAIT


def finished(transaction: RelayedTransaction, receipt: Receipt, reason: str | None, now: datetime) -> Finished:
    """The final records of a transaction in a block that is deep enough; `reason` says why it reverted, if it did."""
    return _closed(
        transaction,
        now,
        status=CallStatus.SUCCEEDED if receipt.success else CallStatus.REVERTED,
        tx_hash=receipt.tx_hash,
        block_number=receipt.block_number,
        cost=receipt.cost,
        reason=None if receipt.success else reason,
    )


def superseded(transaction: RelayedTransaction, now: datetime) -> Finished:
    """The final records of a transaction whose nonce another one has used."""
    return _closed(transaction, now, status=CallStatus.SUPERSEDED, reason=SUPERSEDED_REASON)


def reopened(transaction: RelayedTransaction, call: RelayedCall, now: datetime) -> Finished:
    """The records of a transaction that a fork has taken out of the chain: the same bytes are to be sent at once."""
    is_open = replace(
        transaction, closed_at=None, signed_at=now - SENT_AGAIN_AFTER, unseen_since=None, call_version=call.version + 1
    )
    return is_open, replace(call, status=CallStatus.UNKNOWN, tx_hash=None, block_number=None, cost=None, reason=None)


def _closed(transaction: RelayedTransaction, now: datetime, **outcome: Any) -> Finished:
    open_call = RelayedCall(
        call_key=transaction.call_key,
        network=transaction.network,
        sender=transaction.sender,
        nonce=transaction.nonce,
        created_at=transaction.created_at,
        version=transaction.call_version,
    )
    return replace(transaction, closed_at=now), replace(open_call, **outcome)
