"""Claims to sign: one device at a time is asked for a batch of calls, and nobody holds a link for long."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import Conflict
from chalicelib.base.keccak import keccak256
from chalicelib.payments.links.errors import LinkAwaitingChain, LinkBeingSigned, LinkClosed
from chalicelib.payments.links.records import LinkStatus, PayableLink, SigningClaim
from chalicelib.payments.links.rules import check_payable, is_payable
from chalicelib.payments.links.signing import LEASE, MOST_CLAIMED, RENEWED_IN, calls_id, claim, end_claim
from tests.platform.storage.kept_records import LINK, NOW, REQUEST

ME, OTHER, CALLS, MORE = "a" * 64, "b" * 64, "0x" + "11" * 32, "0x" + "22" * 32
SECOND = timedelta(seconds=1)
PAYABLE = PayableLink((REQUEST,), replace(LINK, expires_at=NOW + timedelta(days=30)))
CLAIMED = claim(PAYABLE, ME, CALLS, NOW)


def with_claim(known: SigningClaim | None) -> PayableLink:
    return replace(PAYABLE, signing=known)


def claimed(known: SigningClaim | None, claimant: str, at: datetime, calls: str = CALLS) -> SigningClaim:
    return claim(with_claim(known), claimant, calls, at)


def test_a_claim_is_for_five_minutes_and_nobody_else_gets_one_meanwhile() -> None:
    assert (CLAIMED.attempt, CLAIMED.ends_at - NOW) == (1, LEASE)
    with pytest.raises(LinkBeingSigned):
        claimed(CLAIMED, OTHER, NOW + LEASE - SECOND)
    theirs = claimed(CLAIMED, OTHER, NOW + LEASE)
    assert (theirs.claimant, theirs.attempt, theirs.claimed_seconds) == (OTHER, 2, 300)


def test_the_same_claim_again_is_the_same_and_is_prolonged_in_its_last_minute() -> None:
    assert claimed(CLAIMED, ME, NOW + SECOND) is CLAIMED
    late = NOW + LEASE - RENEWED_IN
    renewed = claimed(CLAIMED, ME, late)
    assert (renewed.attempt, renewed.ends_at, renewed.claimed_seconds) == (1, late + LEASE, 240)


def test_another_batch_of_the_same_claimant_is_another_attempt_with_another_id() -> None:
    other = claimed(CLAIMED, ME, NOW + SECOND, MORE)
    assert (other.attempt, other.calls) == (2, MORE)
    ids = {calls_id(each) for each in (CLAIMED, other, replace(CLAIMED, attempt=2), replace(CLAIMED, link_token="x"))}
    assert len(ids) == 4
    assert calls_id(CLAIMED) == "0x" + keccak256(f"{LINK.token} 1 {CALLS}".encode()).hex()


def test_a_claim_ends_by_its_claimant_alone() -> None:
    assert end_claim(CLAIMED, OTHER, NOW) is None and end_claim(None, ME, NOW) is None and end_claim(CLAIMED, None, NOW) is None
    mine = end_claim(CLAIMED, ME, NOW + SECOND)
    assert mine is not None and not mine.is_valid(NOW + SECOND)
    assert end_claim(mine, ME, NOW + SECOND) is None
    assert claimed(mine, OTHER, NOW + SECOND).claimed_seconds == 1


def test_a_stranger_holds_a_link_for_a_quarter_of_an_hour_a_day_at_most() -> None:
    now, known = NOW, CLAIMED
    while True:
        now = known.ends_at
        try:
            known = claimed(known, OTHER, now)
        except Conflict:
            break
    assert now - NOW == MOST_CLAIMED
    assert is_payable(with_claim(known), now)
    with pytest.raises(Conflict):
        claimed(known, OTHER, now + timedelta(hours=23))
    assert claimed(known, OTHER, known.vanishes_at).claimed_seconds == 0


def test_who_is_not_asked_cannot_pay_and_who_is_can() -> None:
    taken = with_claim(CLAIMED)
    assert not is_payable(taken, NOW)
    with pytest.raises(LinkBeingSigned):
        check_payable(taken, NOW)
    check_payable(taken, NOW + LEASE)
    check_payable(taken.without_announced_by(ME), NOW)
    with pytest.raises(LinkBeingSigned):
        check_payable(taken.without_announced_by(OTHER), NOW)


@pytest.mark.parametrize("status", [LinkStatus.CANCELLED, LinkStatus.EXPIRED, LinkStatus.INVALIDATED])
def test_a_claim_hides_no_end_of_its_link(status: LinkStatus) -> None:
    over = replace(with_claim(CLAIMED), link=replace(PAYABLE.link, status=status))
    with pytest.raises(LinkClosed) as raised:
        check_payable(over, NOW)
    assert raised.value.link_status is status


def test_from_its_expiry_on_a_link_is_awaited_whoever_has_claimed_it() -> None:
    with pytest.raises(LinkAwaitingChain):
        check_payable(replace(with_claim(CLAIMED), link=replace(PAYABLE.link, expires_at=NOW)), NOW)


ACTS = st.tuples(st.sampled_from("abc"), st.sampled_from(["claim", "end"]), st.integers(0, 400), st.sampled_from([CALLS, MORE]))


@settings(max_examples=300, deadline=None)
@given(st.lists(ACTS, max_size=40))
def test_two_devices_never_both_hold_the_claim(acts: list[tuple[str, str, int, str]]) -> None:
    """Whoever is told of a claim believes in it until the end that they were told, or until they give it back; and all of
    them together hold the link no longer than they may."""
    known, now = None, NOW
    believed = dict[str, datetime]()
    spent = timedelta()
    for device, act, seconds, calls in acts:
        later = now + timedelta(seconds=seconds)
        spent += max(min(later, max(believed.values(), default=now)) - now, timedelta())
        now = later
        if act == "end":
            over = end_claim(known, device, now)
            known = over or known
            believed.pop(device, None)
        else:
            try:
                known = claimed(known, device, now, calls)
            except (LinkBeingSigned, Conflict):
                continue
            believed[device] = known.ends_at
        holders = [name for name, until in believed.items() if now < until]
        assert len(holders) <= 1
        assert known is None or not known.is_valid(now) or holders == [known.claimant]
    assert spent <= MOST_CLAIMED
