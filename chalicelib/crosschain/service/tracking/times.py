"""The times of a payment from another chain: by when its outcome is due, and when it is looked at again. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.crosschain.core.records import LONGEST_QUOTE, Stage
from chalicelib.payments.links.records import Intent

UNKNOWN_AFTER = timedelta(minutes=30)
"""How long after its time an outcome may be missing until it is shown as unknown."""
OVERDUE_AFTER = timedelta(hours=2)
OVERDUE_REFUND_AFTER = timedelta(hours=24)
"""How long after its time an outcome may be missing until somebody has to look at it. Refunds are sent by the bridge
some hours after the deadline."""
MIN_DELAY, MAX_DELAY, OVERDUE_DELAY = timedelta(seconds=10), timedelta(minutes=5), timedelta(minutes=30)
"""The delay until the next check: an eighth of the time at the stage, within these bounds; the last one if overdue."""
_CHECKS_PER_AGE = 8


def execution_deadline(intent: Intent) -> datetime:
    """Until when the source chain accepts the deposit; as long as that is not known, the latest that it can be."""
    assert intent.crossing is not None, "it comes from another chain"
    deposit = intent.crossing.deposit
    return deposit.execution_deadline if deposit is not None else intent.created_at + LONGEST_QUOTE


def outcome_due(intent: Intent) -> datetime:
    """By when the outcome of a pending crossing, or its next stage, should be known."""
    crossing = intent.crossing
    assert crossing is not None, "it comes from another chain"
    if crossing.stage is Stage.SOURCE or crossing.deposit is None:
        return execution_deadline(intent)
    return crossing.deposit.fill_deadline if crossing.stage is Stage.BRIDGE else crossing.since


def is_unknown(intent: Intent, now: datetime) -> bool:
    """Whether a pending crossing is shown as unknown: nobody has its transaction, or its time has passed."""
    is_refunding = intent.crossing is not None and intent.crossing.stage is Stage.REFUNDING
    return intent.unseen_since is not None or (not is_refunding and now > outcome_due(intent) + UNKNOWN_AFTER)


def is_overdue(intent: Intent, now: datetime) -> bool:
    """Whether somebody has to find out what became of a pending crossing."""
    is_refunding = intent.crossing is not None and intent.crossing.stage is Stage.REFUNDING
    return now > outcome_due(intent) + (OVERDUE_REFUND_AFTER if is_refunding else OVERDUE_AFTER)


def postponed(intent: Intent, now: datetime) -> Intent:
    """The pending intent with its next check: the longer it has been at its stage, the later."""
    assert intent.crossing is not None, "it comes from another chain"
    delay = min(max((now - intent.crossing.since) / _CHECKS_PER_AGE, MIN_DELAY), MAX_DELAY)
    if is_overdue(intent, now):
        delay = OVERDUE_DELAY
    return replace(intent, check_at=now + delay, crossing=replace(intent.crossing, is_unknown=is_unknown(intent, now)))
