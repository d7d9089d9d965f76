"""What calls that were reverted, which cost gas for nothing, delay: the next ones of the same account or payer."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.relayer.records import CallStatus, RelayedCall, RelayedTransaction, Reverts

FREE_REVERTS = 3
"""How many calls for an account may be reverted one after the other before its next ones are made later."""
_SUCCESSES_PER_OPEN_CALL, _MOST_OPEN = 4, 100
_FIRST_DELAY, _LONGEST_DELAY = timedelta(minutes=1), timedelta(hours=6)
_MOST_DOUBLINGS = 10
_PAYER, _DAY = "payer/", timedelta(days=1)
_OPEN_FOR = timedelta(hours=1)
_MOST_DAYS = 2
"""The most that a payer waits: the days of a call with others, and of one alone after it."""


@frozen
class Delay:
    """Why the calls of a payer wait, None if they do not; whether a call for the payer has no other payers; and how
    many more may be open if they may have `many_open`."""

    reason: str | None
    is_alone: bool
    room: int


def payer_name(address: str) -> str:
    """The name under which the reverts of a payer are counted."""
    return f"{_PAYER}{address.lower()}"


def is_open(call: RelayedCall, now: datetime) -> bool:
    """Whether a payer's next calls wait for this one. What became of it is proven only once every node answers: none
    waits longer than an hour for one that may be `many_open`, as those of a payroll, so that a dead node stops no
    recurring payout."""
    return call.status is CallStatus.UNKNOWN and not (call.many_open and now >= call.created_at + _OPEN_FOR)


def count_room(reverts: Reverts | None) -> int:
    """How many more calls of a payer may be open where many are due at once, as those of a payroll: one in all, and one
    for each four that have succeeded since the last that was reverted, up to 100. What can be reverted at once is so
    little beside what has succeeded."""
    if reverts is None:
        return 1
    return min(1 + reverts.successes // _SUCCESSES_PER_OPEN_CALL, _MOST_OPEN) - len(reverts.open_calls)


def delay_of(reverts: Reverts | None, now: datetime) -> str | None:
    """Why the next call waits after others were reverted one after the other, which cost gas for nothing; None if it
    does not. For an account each further revert doubles the delay; a payer's next call is made a day later, as anybody
    can have any number of wallets, and each may cost one reverted call in a day."""
    if reverts is not None and reverts.count and reverts.account_id.startswith(_PAYER):
        until = reverts.until or reverts.last_at + _DAY
        reason = f"the last call for this payer was reverted: the next is made at {until:%Y-%m-%d %H:%M:%S} UTC"
        return None if now >= until else reason
    if reverts is None or reverts.count < FREE_REVERTS:
        return None
    further = min(reverts.count - FREE_REVERTS, _MOST_DOUBLINGS)
    until = reverts.last_at + min(_FIRST_DELAY * 2**further, _LONGEST_DELAY)
    if now >= until:
        return None
    return f"the last {reverts.count} calls of this account were reverted: the next is made at {until:%H:%M:%S} UTC"


def may_follow(reverts: Reverts, call_key: str | None) -> bool:
    """Whether the call after the one with that key is made though that one was reverted: only if no other one was on
    the day before it, so that two reverted calls of a payer use up two days."""
    has_one_day = reverts.until is None or reverts.until - reverts.last_at <= _DAY
    return call_key is not None and reverts.reverted_call == call_key and has_one_day


def is_alone(reverts: Reverts | None, now: datetime) -> bool:
    """Whether a call for a payer has no other payers: for a day after one was reverted, whoever of them caused it."""
    return reverts is not None and reverts.until is not None and now < reverts.until


def after_outcome(
    known: Reverts | None, name: str, transaction: RelayedTransaction, status: CallStatus, now: datetime
) -> Reverts | None:
    """The count of an account's or payer's reverts, by its name, after a call for it has ended; None if it stays as it
    is. A payer's success does not end the day that a revert delays the next call by, unless it follows the reverted
    one: a permit that somebody else has sent first is reverted, and what it allows is taken all the same. That costs a
    payment each time, so that nobody has the service pay for reverts by sending permits first.

    The time never goes back: the clocks of workers differ, and one that is behind would end delays early."""
    now = max(now, transaction.created_at, known.last_at if known is not None else now)
    before = after = known or Reverts(transaction.network, name, 0, now)
    after = after.with_open_calls([each for each in after.open_calls if each != transaction.call_key])
    if status is CallStatus.REVERTED:
        # a call with others that was open beside one of the payer alone does not end the day of that one
        of_many = 0 if after.until is None or now >= after.until else after.count
        count = of_many if len(transaction.reverts_of) > 1 else after.count + 1
        after = replace(after, count=count, last_at=now, reverted_call=transaction.call_key)
        if is_payers(transaction):
            until = max(now, after.until or now) + _DAY
            successes = 0 if count else after.successes  # of several payers it is not known which it was
            after = replace(after, until=min(until, now + _MOST_DAYS * _DAY), successes=successes)
    elif status is CallStatus.SUCCEEDED and is_payers(transaction):
        if transaction.follows is not None and transaction.follows == after.reverted_call:
            after = _without_last_revert(after, is_of_one=True)
        after = replace(after, successes=after.successes + 1, last_at=now)
    elif status is CallStatus.SUCCEEDED:
        after = replace(after, count=0)
    return after if after != before else None


def undo_outcome(
    known: Reverts | None, name: str, transaction: RelayedTransaction, status: CallStatus, now: datetime
) -> Reverts:
    """The count of a payer's reverts after a fork has taken the outcome `status` of a call back, which is open again.
    What `after_outcome` has added for it is subtracted, as its next outcome adds that again."""
    before = known or Reverts(transaction.network, name, 0, now)
    after = before.with_open_calls((*before.open_calls, transaction.call_key))
    if status is CallStatus.SUCCEEDED:
        return replace(after, successes=max(after.successes - 1, 0))
    if status is CallStatus.REVERTED and after.reverted_call == transaction.call_key:
        return _without_last_revert(after, is_of_one=len(transaction.reverts_of) == 1)
    return after


def _without_last_revert(reverts: Reverts, is_of_one: bool) -> Reverts:
    """The count of a payer without the call that was reverted last, which was of that payer alone or with others."""
    until = None if reverts.until is None else reverts.until - _DAY
    return replace(reverts, count=max(reverts.count - is_of_one, 0), until=until, reverted_call=None)


def is_payers(transaction: RelayedTransaction) -> bool:
    """Whether a transaction counts among the reverts of payers, not among those of an account of this service."""
    return transaction.reverts_of[0].startswith(_PAYER)
