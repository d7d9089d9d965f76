"""When a link may be read or paid, and the fee on its amounts, to the instant and to the unit."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.errors import LinkAwaitingChain, LinkClosed, LinkCompleted, LinkLocked
from chalicelib.payments.links.records import AnnouncedStatus, LinkStatus, PayableLink
from chalicelib.payments.links.rules import (
    check_payable,
    check_unlocked,
    is_payable,
    is_read_past,
    shown_status,
    status_at,
    with_expiry,
    with_next_check,
)
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.access.callers import Owner
from tests.fakes.commerce import new_payment
from tests.fakes.payouts import on_its_way
from tests.fakes.world import FEE_ADDRESS, START, TERMS, draft

MADE = create_link(draft(amount="10"), Owner("acct", None, None), TERMS, START, lambda n: b"\7" * n)
END = START + timedelta(days=7)
JUST_BEFORE = END - timedelta(microseconds=1)


def with_status(status: LinkStatus) -> PayableLink:
    return replace(MADE, link=replace(MADE.link, status=status))


def paid(payable: PayableLink = MADE) -> PayableLink:
    return replace(payable, requests=tuple(replace(each, status=RequestStatus.PAID) for each in payable.requests))


def test_a_pending_link_awaits_the_chain_from_its_expiry_on() -> None:
    assert status_at(MADE.link, JUST_BEFORE) is LinkStatus.PENDING
    assert status_at(MADE.link, END) is LinkStatus.AWAITING_CHAIN


def test_a_network_is_read_past_an_expiry_by_a_later_block_only() -> None:
    assert [is_read_past(END, until and Agreed(until)) for until in (None, JUST_BEFORE, END, END + timedelta(microseconds=1))] == [
        False, False, False, True,
    ]


@pytest.mark.parametrize(
    ("waited", "delay"),
    [(0, 10), (80, 10), (81, 10.125), (800, 100), (4_800, 600), (4_801, 600), (10**7, 600)],
)
def test_the_longer_a_link_waits_for_its_chain_the_later_it_is_checked_again(waited: float, delay: float) -> None:
    now = END + timedelta(seconds=waited)
    later = with_next_check(MADE.link, now)
    assert later.next_due == now + timedelta(seconds=delay)
    assert replace(later, expiry_check_at=None) == MADE.link


def test_responses_show_every_status_but_the_one_that_their_readers_do_not_know() -> None:
    shown = {status: shown_status(status) for status in LinkStatus}
    assert shown.pop(LinkStatus.AWAITING_CHAIN) is LinkStatus.PENDING
    assert all(status is each for status, each in shown.items())


@pytest.mark.parametrize("status", [status for status in LinkStatus if status is not LinkStatus.PENDING])
def test_a_link_that_is_not_pending_keeps_its_status_for_ever(status: LinkStatus) -> None:
    assert status_at(with_status(status).link, END + timedelta(days=1)) is status


def test_a_link_can_be_paid_while_it_is_pending_in_time_unpaid_and_unlocked() -> None:
    assert is_payable(MADE, JUST_BEFORE)
    assert not is_payable(MADE, END)
    assert not is_payable(paid(), START)
    assert not is_payable(on_its_way(MADE), START)
    assert is_payable(on_its_way(MADE, AnnouncedStatus.LAPSED), START)
    assert not is_payable(with_status(LinkStatus.INVALIDATED), START)


def test_a_paid_link_is_completed_before_it_is_anything_else() -> None:
    for payment in (paid(), paid(on_its_way(MADE)), paid(with_status(LinkStatus.INVALIDATED)), with_status(LinkStatus.COMPLETED)):
        with pytest.raises(LinkCompleted):
            check_payable(payment, END)


def test_a_locked_link_is_in_progress_also_after_its_expiry() -> None:
    for now in (START, END):
        with pytest.raises(LinkLocked) as refused:
            check_payable(on_its_way(MADE), now)
    assert refused.value.payable.announcements == on_its_way(MADE).announcements
    with pytest.raises(LinkLocked):
        check_unlocked(on_its_way(MADE))


def test_a_link_that_cannot_be_paid_any_more_says_its_status() -> None:
    check_payable(MADE, JUST_BEFORE)
    for status in (LinkStatus.EXPIRED, LinkStatus.INVALIDATED):
        payment = with_status(status)
        with pytest.raises(LinkClosed) as refused:
            check_payable(payment, END)
        assert (refused.value.link_status, refused.value.payable) == (status, payment)


def test_a_link_that_awaits_the_chain_is_refused_by_an_error_of_its_own() -> None:
    with pytest.raises(LinkAwaitingChain) as refused:
        check_payable(MADE, END)
    assert refused.value.payable == MADE


@pytest.mark.parametrize(
    "payable", [MADE, paid(on_its_way(MADE)), on_its_way(MADE, AnnouncedStatus.REPLACED)], ids=["none", "paid", "over"]
)
def test_nothing_waits_for_an_announced_transaction_that_is_over_or_where_all_is_paid(payable: PayableLink) -> None:
    check_unlocked(payable)


@pytest.mark.parametrize(
    ("percentage", "address", "amount", "fee"),
    [
        ("1", FEE_ADDRESS, 10_000_000, 100_000),
        ("1", FEE_ADDRESS, 199, 1),
        ("1", FEE_ADDRESS, 99, 0),
        ("0", FEE_ADDRESS, 10_000_000, 0),
        (None, FEE_ADDRESS, 10_000_000, 0),
        ("1", None, 10_000_000, 0),
        (None, None, 10_000_000, 0),
    ],
)
def test_a_fee_is_a_share_of_the_amount_rounded_down_where_it_has_an_address(
    percentage: str | None, address: str | None, amount: int, fee: int
) -> None:
    link = replace(MADE.link, fee_percentage=percentage, fee_address=address)
    assert link.fee.on(BaseUnits(amount)) == fee


def test_the_expiry_of_an_open_link_can_be_moved_in_both_directions() -> None:
    for expires_at in (START + timedelta(microseconds=1), END + timedelta(days=900)):
        moved = with_expiry(MADE, expires_at, START)
        assert (moved.expires_at, moved.next_due) == (expires_at, expires_at)
    with pytest.raises(BadRequest, match="in the future"):
        with_expiry(MADE, START, START)


def test_the_expiry_of_a_link_that_has_ended_stays() -> None:
    later = END + timedelta(days=1)
    for ended in (LinkStatus.EXPIRED, LinkStatus.INVALIDATED, LinkStatus.CANCELLED, LinkStatus.COMPLIANCE_FAILED):
        with pytest.raises(Conflict, match=ended.value):
            with_expiry(with_status(ended), later, START)
    with pytest.raises(Conflict, match="completed"):
        with_expiry(paid(), later, START)
    with pytest.raises(Conflict, match="awaiting_chain"):
        with_expiry(MADE, later, END)
    with pytest.raises(Conflict, match="part of its terms"):
        with_expiry(replace(MADE, commerce=new_payment(START)), later, START)
