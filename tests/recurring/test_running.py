"""Recurring payouts as they run, on a chain in memory."""

from chalicelib.recurring.records import RecurringStatus
from tests.fakes.recurring import Recurring


def test_every_period_is_paid_when_it_is_due_and_then_it_is_completed() -> None:
    shop = Recurring()
    schedule = shop.start()
    shop.settle()
    assert shop.load(schedule).processed == 1
    shop.jump(hours=23)
    shop.settle()
    assert shop.load(schedule).processed == 1
    for processed in (2, 3):
        shop.jump(days=1)
        shop.settle()
        assert shop.load(schedule).processed == processed
    after, periods = shop.find(schedule)
    assert (after.status, after.check_at) == (RecurringStatus.COMPLETED, None)
    assert [each.number for each in periods] == [1, 2, 3]
    assert list(shop.proxy.made.values()) == [1, 1, 1]
    assert [each.payment_reference for each in periods] == shop.proxy.references
