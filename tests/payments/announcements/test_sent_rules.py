"""What becomes of an announced transaction that was sent: how long it locks its link, and who is known to have announced it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import NotFound
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.payments.announcements.rules import (
    GONE_AFTER,
    KEPT_UNLOCKING,
    MAX_ANNOUNCERS,
    MAX_SENT,
    MOST_WAITING,
    SENT_CHECK_DELAY,
    SOON,
    decide,
    gather_announced,
    merge_announced,
    postpone,
    take_turns,
    withdraw_announced,
)
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    LinkAnnouncements,
    LinkStatus,
    Proof,
)
from tests.fakes.world import START
from tests.payments.announcements.test_rules import ANNOUNCED, END, look, new_link

SECOND = timedelta(seconds=1)
SENT = replace(ANNOUNCED, safe_tx_hash=None, transaction_hash="0x" + "ef" * 32, proof=Proof.SENT)


def sent(number: int, **facts: object) -> AnnouncedTransaction:
    """One of several that were sent, announced publicly a second after the one before."""
    known = replace(SENT, announced_id=f"sent{number}", transaction_hash=f"0x{number:064x}", is_public=True)
    return replace(known, **{"created_at": START + number * SECOND, **facts})  # type: ignore[arg-type]


def test_six_public_transactions_that_the_node_has_lock_a_link_and_later_ones_are_shown_as_warnings() -> None:
    record: LinkAnnouncements | None = None
    for number in range(MAX_SENT + 1):
        record = gather_announced(record, [*(record.all if record else ()), sent(number)])
    assert record is not None and record.sent_claims == MAX_SENT + 1
    warnings = [each.announced_id for each in record.all if each.is_open_warning]
    assert (len(record.all), warnings) == (MAX_SENT + 1, [f"sent{MAX_SENT}"])
    assert gather_announced(record, record.all) == record, "what is counted is not counted again"
    vouched = gather_announced(record, [*record.all, sent(8, is_public=False)])
    assert vouched.sent_claims == record.sent_claims and vouched.all[MAX_SENT].announced_id == "sent8"


def test_a_public_transaction_counts_from_when_the_node_has_it() -> None:
    unknown = gather_announced(None, [sent(0, proof=None)])
    assert unknown.sent_claims == 0
    assert gather_announced(unknown, [sent(0)]).sent_claims == 1


def test_of_the_warnings_the_three_newest_are_kept() -> None:
    record = gather_announced(None, [sent(0), *(sent(number, locks=False) for number in range(1, KEPT_UNLOCKING + 2))])
    assert [each.announced_id for each in record.all] == ["sent0", "sent4", "sent3", "sent2"]


@pytest.mark.parametrize(
    ("known", "new", "locks"),
    [
        ({"proof": None}, {"proof": Proof.SENT}, True),
        ({"proof": Proof.SENT}, {"proof": Proof.SENT}, False),
        ({"proof": None}, {"proof": None}, False),
        ({"proof": None}, {"proof": None, "is_public": False}, True),
        ({"proof": None, "locks": True}, {"proof": None}, True),
    ],
)
def test_a_warning_locks_its_link_once_the_node_has_it_or_somebody_vouches_for_it(
    known: dict[str, object], new: dict[str, object], locks: bool
) -> None:
    assert merge_announced(sent(0, **{"locks": False, **known}), sent(1, **new)).locks is locks


def test_a_second_announcement_that_the_node_knows_ends_the_time_in_which_it_is_missing() -> None:
    missing = sent(0, proof=None, missing_since=START)
    assert merge_announced(missing, sent(1)).missing_since is None
    assert merge_announced(missing, sent(1, proof=None)).missing_since == START


def test_of_those_who_announce_a_transaction_the_first_and_the_three_newest_are_known() -> None:
    announced = sent(0)
    for announcer in "abcdef":
        announced = merge_announced(announced, sent(1, announcers=(announcer,)))
    assert announced.announcers == ("a", "d", "e", "f")
    assert merge_announced(announced, sent(1, announcers=("d",))).announcers == ("a", "e", "f", "d")
    assert merge_announced(announced, sent(1, announcers=("a",))).announcers == ("a", "d", "e", "f")
    assert merge_announced(announced, sent(1)).announcers == announced.announcers


def test_a_public_transaction_that_is_in_no_block_locks_its_link_for_ten_minutes() -> None:
    late = START + MOST_WAITING + SECOND
    public, waits = replace(SENT, is_public=True), look(is_waiting=True)
    assert not decide(public, waits, late).locks
    assert decide(public, waits, late - SECOND).locks
    assert decide(public, look(), late).locks
    assert decide(SENT, waits, late).locks


def test_a_transaction_that_the_node_does_not_have_lapses_two_minutes_after_it_went_missing() -> None:
    gone = decide(SENT, look(is_unknown=True), START + MOST_WAITING)
    assert (gone.status, gone.missing_since) == (AnnouncedStatus.PENDING, START + MOST_WAITING)
    end = START + MOST_WAITING + GONE_AFTER
    after = decide(gone, look(is_unknown=True, block_time=end + SECOND), end)
    assert (after.status, after.missing_since) == (AnnouncedStatus.PENDING, gone.missing_since)
    late = look(is_unknown=True, block_time=end + SECOND)
    assert decide(gone, late, end + SECOND).status is AnnouncedStatus.LAPSED
    assert decide(gone, replace(late, block_time=Agreed(end)), end + SECOND).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, look(is_unknown=True), START).missing_since is None, "a multisig transaction is proposed"


def test_a_transaction_that_pays_something_else_has_failed() -> None:
    assert decide(SENT, look(is_foreign=True), START).status is AnnouncedStatus.FAILED


def test_what_was_sent_is_checked_in_each_run_in_its_first_hour() -> None:
    day = replace(SENT, ends_at=START + timedelta(days=1))
    for passed, wait in (
        (timedelta(0), timedelta(seconds=10)),
        (SOON - SECOND, SENT_CHECK_DELAY),
        (SOON, timedelta(minutes=5)),
    ):
        assert postpone(day, START + passed).check_at == START + passed + wait
    assert postpone(replace(day, safe_tx_hash="0x12"), START + SOON - SECOND).check_at > START + SOON + timedelta(minutes=4)


def test_the_owner_ends_what_is_pending_and_nothing_else() -> None:
    settled = replace(SENT, announced_id="paid", status=AnnouncedStatus.FAILED)
    payable = replace(new_link(), announcements=LinkAnnouncements(sent(0), (settled,)))
    found = {each.announced_id: each.status for each in withdraw_announced(payable).all}
    assert found == {"sent0": AnnouncedStatus.LAPSED, "paid": AnnouncedStatus.FAILED}
    ended = replace(payable, announcements=LinkAnnouncements(settled))
    completed = replace(payable, link=replace(payable.link, status=LinkStatus.COMPLETED))
    for each in (ended, completed, replace(payable, announcements=None)):
        with pytest.raises(NotFound, match="No announced transaction is pending"):
            withdraw_announced(each)


def test_of_one_account_the_link_is_checked_first_whose_next_check_was_due_first() -> None:
    later = replace(SENT, check_at=START + 3 * SECOND)
    first = LinkAnnouncements(replace(later, link_token="first"), (replace(sent(1), check_at=START + SECOND),))
    second = LinkAnnouncements(replace(later, link_token="second", check_at=START + 2 * SECOND))
    over = LinkAnnouncements(replace(later, link_token="over", check_at=START, status=AnnouncedStatus.FAILED))
    assert take_turns([second, first, over], per_account=2) == ((over, first), (second,))


def test_the_bounds_of_what_was_sent_are_those_of_the_documentation() -> None:
    assert (MAX_SENT, MAX_ANNOUNCERS, KEPT_UNLOCKING) == (6, 4, 3)
    assert (timedelta(minutes=10), timedelta(minutes=2), timedelta(seconds=45)) == (MOST_WAITING, GONE_AFTER, SENT_CHECK_DELAY)
    assert END == START + SOON
