"""Recurring payouts over two years on a real chain: each period is paid once, when the calendar's model says.

`make chaos` pays every week of them.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.payments.requests.records import Frequency
from chalicelib.recurring.records import RecurringStatus
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from tests.fakes.world import PlainSigningKeys
from tests.onchain.payouts import NETWORK, PayoutsOnChain
from tests.payments.requests.calendar_model import dues_until, first_dues
from tests.support.signing import keys_in

START = datetime(2047, 1, 30, 12, 0, tzinfo=UTC)
END = datetime(2049, 3, 1, tzinfo=UTC)
"""Two years and a month: both ends of February, of a leap year too."""
WEEKS = int(os.environ.get("RECURRING_WEEKS", "12"))
PLANS = [
    (Frequency.DAILY, "2047-02-20T23:59:59Z", 30),
    (Frequency.WEEKLY, "2047-01-31", WEEKS),
    (Frequency.MONTHLY, "2047-01-31T10:00:00Z", 26),
    (Frequency.MONTHLY, "2047-12-30T00:00:01Z", 15),
    (Frequency.YEARLY, "2048-02-29", 2),
    (Frequency.YEARLY, "2047-03-01T10:00:00Z", 3),
]


SIGNED_BY_KMS = [(Frequency.MONTHLY, "2047-01-31T10:00:00Z", 3), (Frequency.DAILY, "2047-02-27", 3)]
"""What production signs with costs more time: a few periods, at the end of a February."""


@pytest.fixture
def running() -> Iterator[Chain]:
    """A chain of its own, because its clock is moved by years."""
    with Chain.start(NETWORK) as chain:
        yield chain


def test_every_period_of_two_years_is_paid_once_on_its_day(running: Chain) -> None:
    payouts = PayoutsOnChain(running, START)
    assert_paid_on_their_days(payouts, PLANS)
    payouts.node.stop()


def test_every_period_that_kms_signs_is_paid_once_on_its_day(running: Chain, cloud: Cloud) -> None:
    payouts = PayoutsOnChain(running, START, keys=keys_in(cloud))
    assert_paid_on_their_days(payouts, SIGNED_BY_KMS)
    assert {each.sender for each in payouts.transactions()} == {payouts.address} != {PlainSigningKeys.address}
    payouts.node.stop()


def assert_paid_on_their_days(payouts: PayoutsOnChain, plans: list[tuple[Frequency, str, int]]) -> None:
    begun = [
        (payouts.begin(start_date=start, frequency=frequency, total_payments=total), frequency, start, total)
        for frequency, start, total in plans
    ]
    moments = set[datetime]()
    for _, frequency, start, total in begun:
        moments |= set(first_dues(at(start), frequency.value, total))
    for moment in sorted(each for each in moments if each <= END):
        payouts.jump_to(moment - timedelta(seconds=70))
        payouts.run_past(moment)
    assert payouts.failed == {}
    for schedule, frequency, start, total in begun:
        expected = dues_until(at(start), frequency.value, END)[:total]
        made = payouts.executions(schedule)
        late = [time - due.timestamp() for (time, _), due in zip(made, expected, strict=True)]
        assert 0 <= min(late) <= max(late) < 300
        assert len({topic for _, topic in made}) == len(made)
        assert payouts.bitmap(schedule) == sum(2**number for number in range(1, len(made) + 1))
        found, periods = payouts.find(schedule)
        assert found.processed == len(made) == sum(each.paid_at is not None for each in periods)
        assert found.status is (RecurringStatus.COMPLETED if len(made) == total else RecurringStatus.ACTIVE)


def at(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
