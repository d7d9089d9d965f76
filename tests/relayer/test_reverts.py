"""What calls that were reverted delay, decided by what is counted of an account or a payer."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.relayer.records import CallStatus, RelayedCall, RelayedTransaction, Reverts
from chalicelib.relayer.reverts import (
    FREE_REVERTS,
    after_outcome,
    count_room,
    delay_of,
    is_alone,
    is_open,
    may_follow,
    payer_name,
    undo_outcome,
)
from tests.relayer.transactions import NOW, transaction

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
PAYER, OTHER = payer_name("0x" + "AB" * 20), payer_name("0x" + "cd" * 20)
OF_PAYER, OF_ACCOUNT = Reverts("sepolia", PAYER, 0, NOW), Reverts("sepolia", "shop", 0, NOW)
PAYERS_CALL = transaction(1, account_id="shop", payers=(PAYER,))
CALL_OF_TWO = transaction(1, account_id="shop", payers=(PAYER, OTHER))
ACCOUNTS_CALL = transaction(1, account_id="shop")


def test_a_payer_is_counted_by_the_address_in_whatever_case() -> None:
    assert payer_name("0xAB") == payer_name("0xab") == "payer/0xab"


@pytest.mark.parametrize(
    ("successes", "room"), [(0, 1), (3, 1), (4, 2), (8, 3), (395, 99), (396, 100), (400, 100), (10_000, 100)]
)
def test_a_payer_may_have_one_open_call_and_one_more_for_each_four_successes(successes: int, room: int) -> None:
    known = replace(OF_PAYER, successes=successes)
    assert count_room(known) == room
    assert count_room(known.with_open_calls(("a", "b"))) == room - 2


def test_a_payer_of_whom_nothing_is_known_may_have_one_open_call_and_does_not_wait() -> None:
    assert (count_room(None), delay_of(None, NOW), is_alone(None, NOW)) == (1, None, False)


def test_recurring_payouts_wait_an_hour_at_most_for_a_call_of_which_nothing_is_proven_and_others_for_good() -> None:
    """One dead node of several keeps anything from being proven."""
    call = RelayedCall("payout/1", "base", "0x1", 0, NOW)
    in_time, late = NOW + timedelta(hours=1) - SECOND, NOW + timedelta(hours=1)
    recurring = replace(call, many_open=True)
    assert is_open(recurring, in_time) and not is_open(recurring, late)
    assert is_open(call, NOW + 100 * DAY)
    assert not is_open(replace(call, status=CallStatus.SUCCEEDED), NOW)


def test_the_next_call_of_a_payer_is_made_a_day_after_one_was_reverted() -> None:
    counted = replace(OF_PAYER, count=1)
    reason = "the last call for this payer was reverted: the next is made at 2026-03-16 10:00:00 UTC"
    assert delay_of(counted, NOW + DAY - SECOND) == reason
    assert delay_of(counted, NOW + DAY) is None and delay_of(OF_PAYER, NOW) is None
    longer = replace(counted, until=NOW + 2 * DAY)
    assert delay_of(longer, NOW + 2 * DAY - SECOND) == reason.replace("16", "17") and delay_of(longer, NOW + 2 * DAY) is None


@pytest.mark.parametrize(("further", "minutes"), [(0, 1), (1, 2), (8, 256), (9, 360), (10, 360), (1_000, 360)])
def test_each_revert_of_an_account_after_the_third_doubles_the_delay_up_to_six_hours(further: int, minutes: int) -> None:
    counted, end = replace(OF_ACCOUNT, count=FREE_REVERTS + further), NOW + timedelta(minutes=minutes)
    made_at = f"the last {FREE_REVERTS + further} calls of this account were reverted: the next is made at {end:%H:%M:%S} UTC"
    assert (delay_of(counted, end - SECOND), delay_of(counted, end)) == (made_at, None)


def test_two_reverts_of_an_account_delay_nothing() -> None:
    assert FREE_REVERTS == 3
    assert delay_of(replace(OF_ACCOUNT, count=2), NOW) is None


def test_a_call_follows_the_reverted_one_that_it_needs_unless_that_is_the_second_in_a_day() -> None:
    reverted = replace(OF_PAYER, count=1, reverted_call="permit", until=NOW + DAY)
    assert may_follow(reverted, "permit") and may_follow(replace(reverted, until=None), "permit")
    assert not may_follow(reverted, "another permit") and not may_follow(OF_PAYER, None)
    assert not may_follow(replace(reverted, until=NOW + DAY + SECOND), "permit")


def test_a_payer_pays_alone_until_the_day_is_over() -> None:
    counted = replace(OF_PAYER, until=NOW + DAY)
    assert is_alone(counted, NOW + DAY - SECOND) and not is_alone(counted, NOW + DAY)
    assert not is_alone(OF_PAYER, NOW)


def test_a_reverted_call_of_one_payer_counts_and_takes_the_successes_and_a_day() -> None:
    later = NOW + timedelta(hours=1)
    known = replace(OF_PAYER, successes=9).with_open_calls(("payout/0", "payout/1", "payout/2"))
    counted = replace(known, count=1, last_at=later, reverted_call="payout/1", until=later + DAY, successes=0)
    expected = counted.with_open_calls(("payout/0", "payout/2"))
    assert after_outcome(known, PAYER, PAYERS_CALL, CallStatus.REVERTED, later) == expected


def test_a_reverted_call_of_several_payers_counts_for_none_of_them_and_takes_a_day_of_each() -> None:
    later = NOW + timedelta(hours=1)
    known = replace(OF_PAYER, count=1, successes=9, until=later)
    expected = replace(known, count=0, last_at=later, reverted_call="payout/1", until=later + DAY)
    assert after_outcome(known, PAYER, CALL_OF_TWO, CallStatus.REVERTED, later) == expected


def test_a_reverted_call_of_several_payers_does_not_end_the_day_of_one_that_counts() -> None:
    later = NOW + timedelta(hours=1)
    known = replace(OF_PAYER, count=1, until=later + SECOND)
    expected = replace(known, last_at=later, reverted_call="payout/1", until=later + SECOND + DAY)
    assert after_outcome(known, PAYER, CALL_OF_TWO, CallStatus.REVERTED, later) == expected
    assert delay_of(expected, later + DAY) is not None


@pytest.mark.parametrize(
    ("until", "after"), [(None, DAY), (-DAY, DAY), (DAY, 2 * DAY), (DAY + SECOND, 2 * DAY), (2 * DAY, 2 * DAY)]
)
def test_a_payer_waits_two_days_at_most(until: timedelta | None, after: timedelta) -> None:
    known = replace(OF_PAYER, until=None if until is None else NOW + until)
    counted = after_outcome(known, PAYER, PAYERS_CALL, CallStatus.REVERTED, NOW)
    assert counted is not None and counted.until == NOW + after


def test_a_success_of_a_payer_ends_no_delay_and_one_of_an_account_does() -> None:
    later = NOW + SECOND
    payers = replace(OF_PAYER, count=1, until=NOW + DAY, successes=3)
    expected = replace(payers, successes=4, last_at=later)
    assert after_outcome(payers, PAYER, PAYERS_CALL, CallStatus.SUCCEEDED, later) == expected
    accounts = replace(OF_ACCOUNT, count=5)
    assert after_outcome(accounts, "shop", ACCOUNTS_CALL, CallStatus.SUCCEEDED, later) == OF_ACCOUNT


def test_a_success_of_the_call_that_follows_the_reverted_one_ends_the_day_of_that_one_alone() -> None:
    """The permit was reverted because somebody else has sent it: what it allows is taken."""
    permit, take = transaction(0, payers=(PAYER,)), transaction(1, payers=(PAYER,), follows="payout/0")
    reverted = after_outcome(replace(OF_PAYER, until=NOW + SECOND), PAYER, permit, CallStatus.REVERTED, NOW)
    assert reverted is not None and delay_of(reverted, NOW) is not None
    taken = after_outcome(reverted, PAYER, take, CallStatus.SUCCEEDED, NOW)
    assert taken is not None and delay_of(taken, NOW) is None
    assert (taken.count, taken.until, taken.reverted_call, taken.successes) == (0, NOW + SECOND, None, 1)
    other = after_outcome(reverted, PAYER, replace(take, follows="payout/2"), CallStatus.SUCCEEDED, NOW)
    again = after_outcome(taken, PAYER, permit, CallStatus.REVERTED, NOW)
    assert other is not None and other.count == 1 and again is not None and again.count == 1


def test_the_first_outcome_of_a_payer_or_account_begins_its_count() -> None:
    assert after_outcome(None, PAYER, PAYERS_CALL, CallStatus.SUCCEEDED, NOW) == replace(OF_PAYER, successes=1)
    assert after_outcome(None, "shop", ACCOUNTS_CALL, CallStatus.SUCCEEDED, NOW) is None
    reverted = replace(OF_ACCOUNT, count=1, reverted_call="payout/1")
    assert after_outcome(None, "shop", ACCOUNTS_CALL, CallStatus.REVERTED, NOW) == reverted


def test_a_call_whose_nonce_another_has_taken_is_open_no_longer_and_counts_as_nothing() -> None:
    known = replace(OF_PAYER, count=1).with_open_calls(("payout/1",))
    ended = after_outcome(known, PAYER, PAYERS_CALL, CallStatus.SUPERSEDED, NOW + DAY)
    assert ended == known.with_open_calls(())
    assert after_outcome(ended, PAYER, PAYERS_CALL, CallStatus.SUPERSEDED, NOW + DAY) is None


@pytest.mark.parametrize("call", [PAYERS_CALL, CALL_OF_TWO])
@pytest.mark.parametrize("status", [CallStatus.SUCCEEDED, CallStatus.REVERTED])
def test_an_outcome_that_a_fork_takes_back_counts_once_when_it_comes_again(
    call: RelayedTransaction, status: CallStatus
) -> None:
    known = replace(OF_PAYER, count=1, successes=9, until=NOW + SECOND).with_open_calls(("payout/1",))
    once = after_outcome(known, PAYER, call, status, NOW)
    assert once is not None
    undone = undo_outcome(once, PAYER, call, status, NOW)
    assert undone.open_calls == ("payout/1",) and undone.count == 1 and undone.until == NOW + SECOND
    assert after_outcome(undone, PAYER, call, status, NOW) == once


def test_an_outcome_of_which_nothing_is_counted_any_more_leaves_an_open_call_alone() -> None:
    expected = OF_PAYER.with_open_calls(("payout/1",))
    assert undo_outcome(None, PAYER, PAYERS_CALL, CallStatus.SUCCEEDED, NOW) == expected
    assert undo_outcome(None, PAYER, PAYERS_CALL, CallStatus.REVERTED, NOW) == expected
    later = replace(OF_PAYER, count=1, reverted_call="payout/2", until=NOW + DAY)
    undone = undo_outcome(later, PAYER, PAYERS_CALL, CallStatus.REVERTED, NOW)
    assert undone == later.with_open_calls(("payout/1",)), "the revert of another call counts as before"


@pytest.mark.parametrize("behind", [DAY, 3 * DAY])
def test_a_worker_whose_clock_is_behind_shortens_no_delay(behind: timedelta) -> None:
    """An outcome is later than its transaction, and than the one that was counted before."""
    first = after_outcome(None, PAYER, PAYERS_CALL, CallStatus.REVERTED, NOW - behind)
    assert first is not None and first.until == NOW + DAY
    for known, until in ((first, NOW + 2 * DAY), (replace(first, until=NOW + 2 * DAY), NOW + 2 * DAY)):
        second = after_outcome(known, PAYER, PAYERS_CALL, CallStatus.REVERTED, NOW - behind)
        assert second is not None and (second.until, second.last_at) == (until, NOW)
    accounts = after_outcome(replace(OF_ACCOUNT, count=9), "shop", ACCOUNTS_CALL, CallStatus.REVERTED, NOW - behind)
    assert accounts is not None and accounts.last_at == NOW
