"""The times of a payment from another chain: by when its outcome is due, and when it is looked at again. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.crosschain.core.records import LONGEST_QUOTE, Stage
from chalicelib.payments.links.records import AnnouncedTransaction

UNKNOWN_AFTER = timedelta(minutes=30)
"""How long after its time an outcome may be missing until it is shown as unknown."""
OVERDUE_AFTER = timedelta(hours=2)
OVERDUE_REFUND_AFTER = timedelta(hours=24)
"""How long after its time an outcome may be missing until somebody has to look at it. Refunds are sent by the bridge
some hours after the deadline."""
MIN_DELAY, MAX_DELAY, OVERDUE_DELAY = timedelta(seconds=10), timedelta(minutes=5), timedelta(minutes=30)
"""The delay until the next check: an eighth of the time at the stage, within these bounds; the last one if overdue."""
_CHECKS_PER_AGE = 8


def execution_deadline(announced: AnnouncedTransaction) -> datetime:
    """Until when the source chain accepts the deposit; as long as that is not known, the latest that it can be."""
    assert announced.bridge_transfer is not None, "it comes from another chain"
    deposit = announced.bridge_transfer.deposit
    return deposit.execution_deadline if deposit is not None else announced.created_at + LONGEST_QUOTE


def outcome_due(announced: AnnouncedTransaction) -> datetime:
    """By when the outcome of a pending bridge transfer, or its next stage, should be known."""
    bridge_transfer = announced.bridge_transfer
    assert bridge_transfer is not None, "it comes from another chain"
    if bridge_transfer.stage is Stage.SOURCE or bridge_transfer.deposit is None:
        return execution_deadline(announced)
    return bridge_transfer.deposit.fill_deadline if bridge_transfer.stage is Stage.BRIDGE else bridge_transfer.since


def is_unknown(announced: AnnouncedTransaction, now: datetime) -> bool:
    """Whether a pending bridge transfer is shown as unknown: nobody has its transaction, or its time has passed."""
    is_refunding = announced.bridge_transfer is not None and announced.bridge_transfer.stage is Stage.REFUNDING
    return announced.missing_since is not None or (not is_refunding and now > outcome_due(announced) + UNKNOWN_AFTER)


def is_overdue(announced: AnnouncedTransaction, now: datetime) -> bool:
    """Whether somebody has to find out what became of a pending bridge transfer."""
    is_refunding = announced.bridge_transfer is not None and announced.bridge_transfer.stage is Stage.REFUNDING
    return now > outcome_due(announced) + (OVERDUE_REFUND_AFTER if is_refunding else OVERDUE_AFTER)


def postpone_check(announced: AnnouncedTransaction, now: datetime) -> AnnouncedTransaction:
    """The pending announced transaction with its next check: the longer it has been at its stage, the later."""
    assert announced.bridge_transfer is not None, "it comes from another chain"
    delay = min(max((now - announced.bridge_transfer.since) / _CHECKS_PER_AGE, MIN_DELAY), MAX_DELAY)
    if is_overdue(announced, now):
        delay = OVERDUE_DELAY
    return replace(
        announced,
        check_at=now + delay,
        bridge_transfer=replace(announced.bridge_transfer, is_unknown=is_unknown(announced, now)),
    )
