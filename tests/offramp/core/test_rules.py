"""What a merchant is notified of an off-ramp order: every step in order, once; failures; and the end."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.offramp.core import rules
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.core.rules import ENDS, FAILURES, STEPS, Advance, Notification, OrderReport, Pace
from chalicelib.payments.recording.causes.offramps import fiat_status
from chalicelib.payments.requests.records import RequestStatus
from tests.support.rehearsed import parts

NOW = datetime(2026, 3, 15, 10, tzinfo=UTC)
PAUSE = timedelta(minutes=10)
PACE = Pace(PAUSE, timedelta(hours=6), timedelta(days=30))
ORDER = Order("01" + "ab" * 32, "acct", "user", "details", "ord_1", "0", NOW, NOW)
PROGRESS = ["initiated", "pending_internal_assessment", "ongoing_checks", "sending_fiat", "fiat_sent"]


class Following:
    """An order, and what its merchant was notified of it so far."""

    def __init__(self, order: Order = ORDER) -> None:
        self.order, self.sequence, self.notified = order, 0, list[tuple[Notification, OrderStatus]]()

    def _keep(self, advance: Advance) -> list[tuple[str, str]]:
        self.order = advance.order
        new = [(each.notification, each.status) for each in advance.announcements]
        self.notified += new
        return [(notification.removeprefix("payment."), status.value) for notification, status in new]

    def pay(self, is_paid: bool = True) -> list[tuple[str, str]]:
        return self._keep(rules.after_payment(self.order, is_paid, NOW))

    def report(self, status: str, sequence: int | None = None, reason: str | None = None) -> list[tuple[str, str]]:
        self.sequence += 1
        report = OrderReport(sequence or self.sequence, status, reason)
        return self._keep(rules.after_report(self.order, report, NOW, PACE))


def processing(*statuses: str) -> list[tuple[str, str]]:
    return [("processing", status) for status in statuses]


def test_a_paid_order_is_told_of_step_by_step_and_then_as_confirmed() -> None:
    following = Following()
    assert following.pay() == processing("initiated")
    assert following.report("initiated") == []
    for step in PROGRESS[1:4]:
        assert following.report(step) == processing(step)
    assert following.report("fiat_sent") == [*processing("fiat_sent"), ("confirmed", "fiat_sent")]
    assert following.report("fiat_sent") == []


def test_steps_that_the_provider_leaves_out_are_added_in_their_order() -> None:
    following = Following()
    following.pay()
    assert following.report("fiat_sent") == [*processing(*PROGRESS[1:]), ("confirmed", "fiat_sent")]


def test_what_the_provider_says_before_the_payment_is_confirmed_on_chain_waits_for_it() -> None:
    following = Following()
    assert following.report("sending_fiat") == []
    assert following.pay() == processing(*PROGRESS[:4])


def test_a_report_that_is_not_newer_changes_nothing() -> None:
    following = Following()
    following.pay()
    following.report("sending_fiat", 7)
    for sequence in (7, 6, 1):
        assert following.report("fiat_sent", sequence) == []
        assert following.order.status is OrderStatus.SENDING_FIAT
    assert following.report("ongoing_checks", 8) == []


def test_a_step_that_has_to_be_tried_again_is_told_each_time_it_is_entered() -> None:
    following = Following()
    following.pay()
    assert following.report("retry_required") == processing(*PROGRESS[1:3], "retry_required")
    assert following.report("retry_required") == []
    assert following.report("ongoing_checks") == []
    assert following.report("retry_required") == processing("retry_required")
    assert following.report("fiat_sent")[-1] == ("confirmed", "fiat_sent")


@pytest.mark.parametrize("status", ["insufficient_funds", "failed", "cancelled", "refunded"])
def test_a_failure_is_told_once_and_adds_no_steps(status: str) -> None:
    following = Following()
    following.pay()
    assert following.report(status, reason="why") == [("failed", status)]
    assert following.order.reason == "why"
    assert following.report(status) == []


def test_money_that_comes_back_from_the_bank_corrects_the_end() -> None:
    following = Following()
    following.pay()
    following.report("fiat_sent")
    assert following.report("bounced") == [*processing("bounced"), ("failed", "bounced")]
    assert not following.order.is_settled
    assert following.report("refunded") == [("failed", "refunded")]


def test_after_a_failure_the_steps_begin_again() -> None:
    following = Following()
    following.pay()
    following.report("failed")
    assert following.report("sending_fiat") == processing(*PROGRESS[:4])
    assert following.report("fiat_sent") == [*processing("fiat_sent"), ("confirmed", "fiat_sent")]


def test_money_that_bounces_after_a_failure_was_sent_in_between() -> None:
    following = Following()
    following.pay()
    following.report("failed")
    assert following.report("bounced") == [*processing(*PROGRESS[:4], "bounced"), ("failed", "bounced")]
    assert following.report("bounced") == []


def test_an_order_that_is_cancelled_before_it_is_paid_is_told_of() -> None:
    following = Following()
    assert following.report("cancelled") == [("failed", "cancelled")]
    assert following.pay() == [*processing("initiated"), ("failed", "cancelled")]


def test_after_a_fork_removed_the_payment_the_steps_begin_again_when_it_is_back() -> None:
    following = Following()
    following.pay()
    following.report("sending_fiat")
    assert following.pay(False) == []
    assert following.report("fiat_sent") == []
    assert following.pay() == [*processing(*PROGRESS), ("confirmed", "fiat_sent")]


def test_a_status_that_is_not_known_is_kept_and_told_to_nobody() -> None:
    following = Following()
    following.pay()
    assert following.report("teleporting") == []
    assert (following.order.status, following.order.provider_status) == (OrderStatus.UNKNOWN, "teleporting")
    assert following.order.check_at is not None


def test_checks_become_rarer_and_end_two_weeks_after_the_end() -> None:
    following = Following()
    assert following.order.check_at is None
    following.pay()
    assert following.order.check_at == NOW
    order, pauses = following.order, []
    for _ in range(8):
        order = rules.check_order(order, NOW, PACE).order
        assert order.check_at is not None
        pauses.append(order.check_at - NOW)
    assert pauses == sorted(pauses) and pauses[0] > PAUSE and pauses[-1] == rules.LONGEST_PAUSE
    following.report("fiat_sent")
    assert following.order.check_at == NOW + timedelta(days=1)
    assert rules.check_order(following.order, NOW + rules.WATCHED_AFTER_END, PACE).order.check_at is None
    following.report("bounced")
    following.report("refunded")
    assert following.order.check_at is None


def test_an_order_is_late_that_has_no_end_long_after_its_payment() -> None:
    limit = timedelta(days=3)
    following = Following()
    assert not rules.is_late(following.order, NOW + 2 * limit, limit)
    following.pay()
    assert not rules.is_late(following.order, NOW + limit, limit)
    assert rules.is_late(following.order, NOW + limit + PAUSE, limit)
    following.report("fiat_sent")
    assert not rules.is_late(following.order, NOW + 2 * limit, limit)


def test_money_is_under_way_from_the_payment_to_the_end() -> None:
    following = Following()
    assert not rules.is_under_way(following.order)
    following.pay()
    assert rules.is_under_way(following.order)
    following.report("fiat_sent")
    assert not rules.is_under_way(following.order)
    following.report("bounced")
    assert rules.is_under_way(following.order)
    following.report("refunded")
    assert not rules.is_under_way(following.order)


def test_a_request_shows_what_became_of_its_order() -> None:
    following = Following()
    assert fiat_status(following.order) is None
    following.report("cancelled")
    assert fiat_status(following.order) is RequestStatus.FAILED, "it can be paid no more"
    following.report("ongoing_checks")
    assert fiat_status(following.order) is None
    following.pay()
    assert fiat_status(following.order) is RequestStatus.PROCESSING
    following.report("fiat_sent")
    assert fiat_status(following.order) is RequestStatus.PAID
    assert following.order.aside is None
    following.report("bounced")
    assert fiat_status(following.order) is RequestStatus.FAILED


def test_an_order_that_is_not_paid_is_looked_at_once_after_a_day() -> None:
    day = timedelta(days=1)
    for now in (NOW, NOW + day - PAUSE):
        assert rules.next_check(ORDER, now, PACE) == NOW + day
    assert rules.next_check(ORDER, NOW + day, PACE) is None
    assert rules.next_check(given("cancelled", paid=False), NOW, PACE) is None


def test_a_payment_is_looked_at_at_once_and_so_is_its_end() -> None:
    order = replace(ORDER, checks=7, check_at=NOW + PAUSE)
    paid = rules.after_payment(order, True, NOW + timedelta(hours=1)).order
    assert (paid.paid_at, paid.check_at, paid.checks) == (NOW + timedelta(hours=1), NOW + timedelta(hours=1), 0)
    gone = rules.after_payment(paid, False, NOW + timedelta(hours=2)).order
    assert (gone.paid_at, gone.check_at, gone.announced) == (None, NOW + timedelta(hours=2), 0)


def test_each_pause_is_twice_the_last_one_and_at_most_six_hours() -> None:
    order, minutes = given("ongoing_checks"), []
    for number in range(1, 8):
        order = rules.check_order(order, NOW, PACE).order
        assert order.checks == number and order.check_at is not None
        minutes.append((order.check_at - NOW) / timedelta(minutes=1))
    assert minutes == [20, 40, 80, 160, 320, 360, 360]
    fast = replace(PACE, first_check=timedelta(seconds=1))
    assert rules.next_check(replace(order, checks=1000), NOW, fast) == NOW + timedelta(seconds=1024)


def test_a_newer_report_of_the_same_status_is_no_news() -> None:
    order = replace(given("ongoing_checks"), checks=3, changed_at=NOW)
    again = rules.after_report(order, OrderReport(9, "ongoing_checks"), NOW + PAUSE, PACE).order
    assert (again.sequence, again.changed_at, again.checks) == (9, NOW, 3)
    assert again.check_at == NOW + PAUSE + 8 * PAUSE


def test_after_the_end_it_is_read_once_a_day_for_two_weeks() -> None:
    order, day = given("fiat_sent"), timedelta(days=1)
    assert rules.next_check(order, NOW + 14 * day - PAUSE, PACE) == NOW + 15 * day - PAUSE
    assert rules.next_check(order, NOW + 14 * day, PACE) is None


def given(status: str, paid: bool = True, **changes: object) -> Order:
    following = Following()
    if paid:
        following.pay()
    following.report(status)
    return replace(following.order, **changes)  # type: ignore[arg-type]


def miss(order: Order, *hours: float) -> Order:
    for each in hours:
        order = rules.miss_order(order, NOW + timedelta(hours=each), PACE)
    return order


def test_an_order_that_the_provider_does_not_know_is_lost_after_some_hours_and_some_questions() -> None:
    order = given("ongoing_checks", aside=OrderStatus.RETRY_REQUIRED, reason="code")
    once = miss(order, 0)
    assert once == replace(order, missing_since=NOW, misses=1)
    assert miss(order, 0, 7).status is OrderStatus.ONGOING_CHECKS, "asked too seldom"
    assert miss(order, 0, 1, 5.99).status is OrderStatus.ONGOING_CHECKS, "too early"
    lost = miss(order, 0, 1, 6)
    assert (lost.status, lost.provider_status, lost.changed_at) == ("lost", "lost", NOW + timedelta(hours=6))
    assert (lost.aside, lost.reason, lost.announced, lost.missing_since, lost.misses) == (None, None, 3, NOW, 3)
    again = miss(lost, 12)
    assert again == replace(lost, misses=4), "it is lost once"


@pytest.mark.parametrize("status", ["fiat_sent", *(each.value for each in FAILURES)])
def test_an_order_that_has_ended_is_not_missed(status: str) -> None:
    assert miss(given(status), 0, 1, 100) == given(status)


def test_an_order_that_is_not_paid_is_not_missed() -> None:
    assert miss(given("initiated", paid=False), 0, 1, 100) == given("initiated", paid=False)


def test_an_order_that_is_known_after_all_goes_on_where_it_was_and_is_told_nothing_twice() -> None:
    following = Following()
    following.pay()
    following.report("sending_fiat", 4)
    following.order = miss(following.order, 0, 3, 6)
    assert following.report("ongoing_checks", 3) == []
    assert following.order.status is OrderStatus.LOST, "an older report than the last one taken says nothing"
    assert following.report("sending_fiat", 4) == []
    assert (following.order.status, following.order.missing_since, following.order.misses) == ("sending_fiat", None, 0)
    assert following.report("fiat_sent", 5) == [*processing("fiat_sent"), ("confirmed", "fiat_sent")]


def test_a_question_that_is_answered_again_ends_the_miss() -> None:
    missing = miss(given("ongoing_checks"), 0, 1)
    report = OrderReport(missing.sequence, "ongoing_checks")
    assert rules.after_report(missing, report, NOW, PACE) == Advance(replace(missing, missing_since=None, misses=0))


def test_only_this_service_says_that_an_order_is_lost() -> None:
    assert OrderReport(1, "lost").status is OrderStatus.UNKNOWN


def test_an_order_without_news_is_given_up_and_one_with_news_later() -> None:
    for order in (given("sending_fiat"), given("teleporting"), miss(given("initiated"), -6, -1, 0)):
        end = order.changed_at + PACE.given_up_after
        assert rules.next_check(order, end - timedelta(seconds=1), PACE) is not None
        assert rules.next_check(order, end, PACE) is None
        given_up = rules.check_order(order, end, PACE).order
        assert rules.is_open(given_up) and not rules.is_under_way(given_up)
        resumed = rules.after_report(given_up, OrderReport(99, "retry_required"), end, PACE).order
        assert rules.is_under_way(resumed) and resumed.check_at == end + PAUSE
    late = given("sending_fiat", changed_at=NOW - timedelta(days=90))
    assert rules.next_check(late, NOW, PACE) is not None, "the payment counts as news"


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("before", ["created", "ongoing_checks", "retry_required", "teleporting", "lost", "bounced"])
def test_an_operator_settles_an_order_as_the_provider_would_have(end: OrderStatus, before: str) -> None:
    order = miss(given("ongoing_checks"), 0, 3, 6) if before == "lost" else given(before)
    later = NOW + timedelta(days=2)
    settled = rules.after_settlement(replace(order, checks=9), end, later)
    reported = rules.after_report(order, OrderReport(order.sequence + 1, end.value), later, PACE)
    assert settled.announcements == reported.announcements != ()
    assert settled.order == replace(
        reported.order, sequence=order.sequence, reason="settled_by_operator", check_at=None
    )
    assert not rules.is_under_way(settled.order)
    assert rules.after_settlement(settled.order, end, later).announcements == ()


def test_without_its_payment_the_end_is_told_by_the_next_check() -> None:
    following = Following()
    following.pay()
    advance = rules.after_report(following.order, OrderReport(9, "fiat_sent"), NOW, PACE)
    waiting = rules.before_end(advance, NOW)
    assert waiting.announcements == advance.announcements[:-1]
    assert waiting.order == replace(advance.order, is_settled=False, check_at=NOW)
    assert rules.is_under_way(waiting.order)
    notified = rules.check_order(waiting.order, NOW, PACE)
    assert notified.announcements == advance.announcements[-1:] and notified.order.is_settled
    assert rules.before_end(Advance(ORDER), NOW) == Advance(ORDER)


def test_amount_and_fee_are_those_that_the_provider_told_last() -> None:
    following = Following()
    following._keep(rules.after_report(following.order, OrderReport(1, "initiated", None, "12.5", "0.5"), NOW, PACE))
    assert (following.order.amount, following.order.fee) == ("12.5", "0.5")
    following.report("ongoing_checks", 2)
    assert (following.order.amount, following.order.fee) == ("12.5", "0.5")


class Expected:
    """What must have been told, kept as lists per attempt. An attempt begins with a payment, or after a failure."""

    def __init__(self) -> None:
        self.paid, self.status, self.notified = False, OrderStatus.CREATED, list[tuple[Notification, OrderStatus]]()
        self.attempt: list[OrderStatus] = []
        self.is_confirmed = False

    def pay(self, is_paid: bool) -> None:
        if is_paid and not self.paid:
            self.attempt, self.is_confirmed = [], False
            self.paid = True
            self._tell(is_entered=True)
        self.paid = is_paid

    def report(self, status: OrderStatus) -> None:
        before, self.status = self.status, status
        if before in FAILURES and before is not status and (status not in FAILURES or status is OrderStatus.BOUNCED):
            self.attempt, self.is_confirmed = [], False
        self._tell(is_entered=before is not status)

    def _tell(self, is_entered: bool) -> None:
        reached = {OrderStatus.RETRY_REQUIRED: OrderStatus.ONGOING_CHECKS, OrderStatus.BOUNCED: OrderStatus.SENDING_FIAT}
        goal = reached.get(self.status, self.status)
        if self.paid:
            wanted = STEPS[: STEPS.index(goal) + 1] if goal in STEPS else STEPS[:1]
            for step in wanted:
                if step not in self.attempt:
                    self.attempt.append(step)
                    self.notified.append((Notification.PROCESSING, step))
            if self.status is OrderStatus.FIAT_SENT and not self.is_confirmed:
                self.is_confirmed = True
                self.notified.append((Notification.CONFIRMED, self.status))
        if not is_entered:
            return
        if self.paid and self.status in reached:
            self.notified.append((Notification.PROCESSING, self.status))
        if self.status in FAILURES:
            self.notified.append((Notification.FAILED, self.status))


@pytest.mark.parametrize("part", parts(8))
def test_random_walks_of_30_steps_tell_every_event_once_and_none_is_missing(part: int) -> None:
    """2,000 of them."""
    statuses = [each for each in OrderStatus if each not in (OrderStatus.UNKNOWN, OrderStatus.LOST)]
    seen = set[OrderStatus]()
    for seed in range(part, 2000, 8):
        chance = random.Random(seed)
        following, expected = Following(), Expected()
        reports = [OrderReport(0, "created")]
        for _ in range(30):
            match chance.choices(["news", "old", "pay", "undo"], [6, 3, 2, 1])[0]:
                case "news":
                    reports.append(OrderReport(reports[-1].sequence + chance.choice([1, 1, 5]), chance.choice(statuses)))
                    following._keep(rules.after_report(following.order, reports[-1], NOW, PACE))
                    expected.report(reports[-1].status)
                case "old":
                    following._keep(rules.after_report(following.order, chance.choice(reports), NOW, PACE))
                case "pay":
                    following.pay()
                    expected.pay(True)
                case "undo":
                    following.pay(False)
                    expected.pay(False)
            assert following.notified == expected.notified, seed
            seen.add(following.order.status)
            assert rules.after_payment(following.order, expected.paid, NOW).announcements == ()
    assert seen == set(statuses)


def test_lost_reports_are_made_up_for_by_the_next_one_whatever_their_order() -> None:
    """The provider goes through every step; any of its reports is lost, late or repeated, except the last."""
    for seed in range(500):
        chance = random.Random(seed)
        reports = [OrderReport(number, step) for number, step in enumerate(PROGRESS, 1)]
        arriving = [chance.choice(reports) for _ in range(chance.randrange(12))] + [reports[-1]]
        arriving += [chance.choice(reports) for _ in range(3)]
        following = Following()
        paid_at = chance.randrange(len(arriving))
        for number, report in enumerate(arriving):
            if number == paid_at:
                following.pay()
            following._keep(rules.after_report(following.order, report, NOW, PACE))
        assert [each for _, each in following.notified] == [*STEPS, OrderStatus.FIAT_SENT]


def test_the_order_id_names_its_request() -> None:
    assert replace(ORDER, request_id="01ff").order_id == "offramp_01ff"
