"""Which announcements are accepted, by who announces them and what proves them, and how a link keeps them."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.payments.announcements.admission import (
    MAX_CLAIMS,
    MAX_COMPUTED,
    MAX_PENDING,
    MAX_PER_SAFE,
    admit_announced,
)
from chalicelib.payments.announcements.rules import KEPT_ENDED, gather_announced
from chalicelib.payments.links.errors import LinkLocked
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    LinkAnnouncements,
    PayableLink,
    Proof,
)
from tests.fakes.world import START
from tests.payments.announcements.test_rules import ANNOUNCED, FINAL, in_currencies

OTHER = "0x" + "cd" * 32
WALLETS = ["0x" + digit * 40 for digit in "123"]
DAY = timedelta(days=1)


def new_announced(**facts: object) -> AnnouncedTransaction:
    return replace(ANNOUNCED, **facts)  # type: ignore[arg-type]


def a_link(announced: AnnouncedTransaction | None = None) -> PayableLink:
    announcements = LinkAnnouncements(announced) if announced is not None else None
    return replace(in_currencies("sepolia", "fUSDC-sepolia"), announcements=announcements)


announcements = st.builds(
    lambda number, public, proof, wallet: new_announced(
        announced_id=f"intent{number}",
        safe_tx_hash=f"0x{number:064x}",
        is_public=public,
        proof=proof,
        wallet=wallet if wallet or not proof else WALLETS[0],
    ),
    st.integers(0, 30),
    st.booleans(),
    st.sampled_from([None, Proof.COMPUTED, Proof.PROPOSED]),
    st.sampled_from([None, *WALLETS]),
)
ends = st.sampled_from([None, *sorted(FINAL - {AnnouncedStatus.SETTLED})])


@settings(max_examples=200)
@given(st.lists(st.tuples(announcements, ends), max_size=30))
def test_public_announcements_are_bounded_by_kind_and_no_pending_announced_transaction_is_dropped(steps: list) -> None:
    payment, accepted = a_link(), list[AnnouncedTransaction]()
    for new, end in steps:
        before = payment.announcements.all if payment.announcements else ()
        pending = {each.announced_id for each in before if each.status is AnnouncedStatus.PENDING}
        with suppress(BadRequest, LinkLocked):
            record, announced = admit_announced(payment, new, DAY)
            assert pending <= {each.announced_id for each in record.all}
            if announced is new:
                accepted.append(new)
            if end is not None:
                lapsed = (
                    replace(each, status=end) if each.announced_id == new.announced_id else each for each in record.all
                )
                record = gather_announced(record, lapsed)
            payment = replace(payment, announcements=record)
        if payment.announcements is not None:
            statuses = [each.status for each in payment.announcements.all]
            assert statuses.count(AnnouncedStatus.PENDING) <= MAX_PENDING
            assert len(statuses) - statuses.count(AnnouncedStatus.PENDING) <= KEPT_ENDED
            assert payment.is_locked == (AnnouncedStatus.PENDING in statuses)
    public = [each for each in accepted if each.is_public]
    assert sum(each.proof is None for each in public) <= MAX_CLAIMS
    assert sum(each.proof is not Proof.PROPOSED for each in public) <= MAX_COMPUTED


def test_claims_leave_room_for_computed_hashes_and_these_for_what_the_service_knows() -> None:
    payment = a_link()
    kinds: list[tuple[Proof | None, bool]] = [(None, True)] * MAX_CLAIMS + [(None, False)]
    kinds += [(Proof.COMPUTED, True)] * (MAX_COMPUTED - MAX_CLAIMS) + [(Proof.COMPUTED, False)]
    kinds += [(Proof.PROPOSED, True)] * MAX_PER_SAFE + [(Proof.PROPOSED, False)]
    for number, (proof, is_accepted) in enumerate(kinds):
        new = new_announced(announced_id=str(number), safe_tx_hash=f"0x{number:064x}", is_public=True, proof=proof)
        if is_accepted:
            record, _ = admit_announced(payment, new, DAY)
            lapsed = (replace(each, status=AnnouncedStatus.LAPSED) for each in record.all)
            payment = replace(payment, announcements=gather_announced(record, lapsed))
            continue
        with pytest.raises(BadRequest, match="its payment is detected all the same"):
            admit_announced(payment, new, DAY)
        admit_announced(payment, replace(new, is_public=False), DAY)
    admit_announced(payment, new_announced(safe_tx_hash=OTHER, is_public=True, proof=Proof.PROPOSED, wallet=WALLETS[0]), DAY)


def test_no_more_are_pending_at_once_than_a_record_holds() -> None:
    payment = a_link()
    for number in range(MAX_PENDING):
        payment = replace(payment, announcements=admit_announced(payment, new_announced(safe_tx_hash=f"0x{number:064x}"), DAY)[0])
    with pytest.raises(LinkLocked):
        admit_announced(payment, new_announced(safe_tx_hash=OTHER), DAY)
    assert admit_announced(payment, new_announced(safe_tx_hash=f"0x{3:064x}"), DAY)[0] == payment.announcements


def test_the_one_that_is_shown_is_pending_then_proved_then_old() -> None:
    ended = new_announced(announced_id="ended", status=AnnouncedStatus.FAILED)
    claim = new_announced(announced_id="claim", safe_tx_hash=OTHER)
    late = START + timedelta(minutes=1)
    young = new_announced(announced_id="young", proof=Proof.COMPUTED, created_at=late, wallet=WALLETS[0])
    old = new_announced(announced_id="old", proof=Proof.PROPOSED, wallet=WALLETS[1])
    record = gather_announced(LinkAnnouncements(ended, version=7, public_claims=2), [ended, claim, young, old])
    assert [each.announced_id for each in record.all] == ["old", "young", "claim", "ended"]
    assert (record.version, record.public_claims) == (7, 2)
    assert record.next_due == min(each.check_at for each in (claim, young, old))


def test_one_that_was_announced_without_its_safe_is_the_same_once_the_safe_is_known() -> None:
    end = ANNOUNCED.ends_at + timedelta(hours=1)
    named = new_announced(announced_id="named", created_at=START + timedelta(seconds=1))
    found = new_announced(announced_id="found", payer_address=None, proof=Proof.PROPOSED, ends_at=end)
    record = gather_announced(None, [named, found])
    assert [each.announced_id for each in record.all] == ["found"]
    record = gather_announced(None, [replace(named, proof=Proof.COMPUTED), replace(found, proof=None, nonce=None)])
    assert [(each.announced_id, each.ends_at, each.nonce) for each in record.all] == [("named", end, 7)]
    assert len(gather_announced(None, [named, replace(found, wallet=None)]).all) == 2


def test_a_second_announcement_never_shortens_the_first_and_prolongs_it_no_further_than_its_lifetime() -> None:
    lifetime, minute = timedelta(hours=2), START + timedelta(minutes=1)
    first = new_announced(is_public=True, deadline=minute, ends_at=minute)
    now = START + timedelta(minutes=30)
    public = new_announced(is_public=True, created_at=now, deadline=None, ends_at=now + lifetime, proof=Proof.COMPUTED)
    _, announced = admit_announced(a_link(first), public, lifetime)
    assert (announced.ends_at, announced.deadline, announced.proof) == (START + lifetime, None, Proof.COMPUTED)
    assert (announced.created_at, announced.is_public) == (START, True)
    _, vouched = admit_announced(a_link(first), replace(public, is_public=False), lifetime)
    assert (vouched.ends_at, vouched.created_at, vouched.is_public) == (now + lifetime, now, False)
    sooner = new_announced(is_public=True, deadline=START, ends_at=START)
    assert admit_announced(a_link(first), sooner, lifetime)[1] == first


def test_a_hash_that_is_done_is_done_for_its_own_safe_alone() -> None:
    payment = a_link(new_announced(status=AnnouncedStatus.FAILED))
    for wallet in (str(ANNOUNCED.wallet), str(ANNOUNCED.wallet).upper().replace("0X", "0x")):
        with pytest.raises(BadRequest, match="executed or replaced already"):
            admit_announced(payment, new_announced(wallet=wallet), DAY)
    for other in (WALLETS[0], None):
        assert admit_announced(payment, new_announced(wallet=other), DAY)[0].is_locking


def test_the_bounds_are_those_of_the_documentation() -> None:
    assert (MAX_CLAIMS, MAX_COMPUTED, MAX_PER_SAFE, MAX_PENDING, KEPT_ENDED) == (3, 6, 3, 12, 8)
