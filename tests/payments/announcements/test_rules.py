"""What becomes of a multisig announced transaction, by what is seen of it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.payments.announcements.admission import (
    AnnouncedStart,
    Announcement,
    check_draft,
    create_announced_transaction,
)
from chalicelib.payments.announcements.rules import (
    MAX_CHECK_DELAY,
    MIN_CHECK_DELAY,
    UNKNOWN_AFTER,
    UNREAD_GRACE,
    Execution,
    Observation,
    decide,
    decide_unobserved,
    narrow_span,
    postpone,
    span_of,
    widen_span,
)
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, PayableLink, Proof
from tests.fakes.world import START
from tests.payments.recording.test_matching import link_of
from tests.payments.recording.test_matching import new_link as new_payable

END = START + timedelta(hours=1)
HASH = "0x" + "ab" * 32
ANNOUNCED = AnnouncedTransaction(
    account_id="acct",
    link_token="01M0000000000000000000000A",
    announced_id="01M0000000000000000000000B",
    network="sepolia",
    safe_tx_hash=HASH,
    wallet="0x" + "5a" * 20,
    nonce=7,
    deadline=END,
    payer_address=None,
    status=AnnouncedStatus.PENDING,
    created_at=START,
    ends_at=END,
    check_at=START + MIN_CHECK_DELAY,
    scanned_to=100,
)
SUCCESS, FAILURE = Agreed(Execution(True, 110, "0x01")), Agreed(Execution(False, 110, "0x01"))
FINAL = set(AnnouncedStatus) - {AnnouncedStatus.PENDING}

times = st.timedeltas(timedelta(0), timedelta(days=10)).map(lambda passed: START + passed)
ANNOUNCEMENT = Announcement(None, HASH, None, "SEPOLIA", "USDC", None)

looks = st.builds(
    Observation,
    block=st.integers(0, 200),
    block_time=times.map(Agreed),
    detected_to=times.map(Agreed),
    execution=st.sampled_from([None, SUCCESS, FAILURE]),
    nonce=st.one_of(st.none(), st.integers(0, 20).map(Agreed)),
    is_completed=st.booleans(),
    is_unknown=st.booleans(),
)


def look(**facts: object) -> Observation:
    agreed = {name: Agreed(facts.pop(name)) for name in ("block_time", "detected_to", "nonce") if name in facts}
    return replace(Observation(120, Agreed(START), Agreed(START), None, None, False), **agreed, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("observation", "status"),
    [
        (look(), AnnouncedStatus.PENDING),
        (look(nonce=7), AnnouncedStatus.PENDING),
        (look(execution=SUCCESS, is_completed=True), AnnouncedStatus.SETTLED),
        (look(is_completed=True), AnnouncedStatus.SETTLED),
        (look(execution=SUCCESS), AnnouncedStatus.FAILED),
        (look(execution=FAILURE, nonce=8), AnnouncedStatus.FAILED),
        (look(nonce=8), AnnouncedStatus.REPLACED),
    ],
)
def test_what_was_seen_decides(observation: Observation, status: AnnouncedStatus) -> None:
    assert decide(ANNOUNCED, observation, START + MIN_CHECK_DELAY).status is status


def test_an_execution_is_kept_with_its_block_and_transaction() -> None:
    after = decide(ANNOUNCED, look(execution=FAILURE), START + MIN_CHECK_DELAY)
    assert (after.executed_block, after.transaction_hash, after.scanned_to) == (110, "0x01", 120)


def test_it_lapses_when_both_the_chains_time_and_ours_are_past_the_end() -> None:
    late = END + timedelta(seconds=1)
    assert decide(ANNOUNCED, look(block_time=END), late).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, look(block_time=late), END).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, look(block_time=late), late).status is AnnouncedStatus.LAPSED


def test_where_the_events_stay_unread_it_lapses_after_a_grace_by_what_detection_has_read() -> None:
    late, much_later = END + timedelta(seconds=1), END + UNREAD_GRACE + timedelta(seconds=1)
    assert decide(ANNOUNCED, look(detected_to=late), much_later - timedelta(seconds=1)).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, look(detected_to=END), much_later).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, look(detected_to=late), much_later).status is AnnouncedStatus.LAPSED


def test_without_a_node_it_settles_with_its_link_and_else_comes_later() -> None:
    assert decide_unobserved(ANNOUNCED, True, START).status is AnnouncedStatus.SETTLED
    assert decide_unobserved(ANNOUNCED, False, START + MAX_CHECK_DELAY) == postpone(ANNOUNCED, START + MAX_CHECK_DELAY)


def test_the_span_of_one_safe_halves_down_to_a_block_and_grows_back() -> None:
    announced = ANNOUNCED
    assert (span_of(announced, 1000), widen_span(announced, 1000)) == (1000, announced)
    spans = list[int]()
    while not spans or spans[-1] > 1:
        announced = narrow_span(announced, span_of(announced, 1000))
        spans.append(span_of(announced, 1000))
    assert spans == [500, 250, 125, 62, 31, 15, 7, 3, 1]
    assert (narrow_span(announced, 1).span, span_of(replace(announced, span=50), 20)) == (1, 20)
    before = 0
    while announced.span is not None:
        assert before < announced.span < 1000
        before, announced = announced.span, widen_span(announced, 1000)
    assert span_of(announced, 1000) == 1000


def test_one_that_the_service_does_not_know_lapses_by_both_clocks_after_ten_minutes() -> None:
    end, late = START + UNKNOWN_AFTER, START + UNKNOWN_AFTER + timedelta(seconds=1)
    unheard_of = look(is_unknown=True, block_time=late)
    assert decide(ANNOUNCED, unheard_of, late).status is AnnouncedStatus.LAPSED
    assert decide(ANNOUNCED, replace(unheard_of, is_unknown=False), late).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, replace(unheard_of, block_time=Agreed(end)), late).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, unheard_of, end).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, replace(unheard_of, execution=FAILURE), late).status is AnnouncedStatus.FAILED
    soon = replace(ANNOUNCED, ends_at=START + timedelta(minutes=1))
    assert decide(soon, replace(unheard_of, block_time=Agreed(end)), end).status is AnnouncedStatus.LAPSED


def test_a_public_one_lapses_so_also_where_no_service_answers_unless_one_has_told_that_it_is_proposed() -> None:
    end, late = START + UNKNOWN_AFTER, START + UNKNOWN_AFTER + timedelta(seconds=1)
    for unheard in (replace(ANNOUNCED, is_public=True), replace(ANNOUNCED, is_public=True, proof=Proof.COMPUTED)):
        assert decide(unheard, look(block_time=late), late).status is AnnouncedStatus.LAPSED
        assert decide(unheard, look(block_time=end), late).status is AnnouncedStatus.PENDING
        assert decide(unheard, look(block_time=late), end).status is AnnouncedStatus.PENDING
        paid = look(execution=SUCCESS, is_completed=True, block_time=late)
        assert decide(unheard, paid, late).status is AnnouncedStatus.SETTLED
    in_public = replace(ANNOUNCED, is_public=True, proof=Proof.PROPOSED)
    assert decide(in_public, look(block_time=late), late).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, look(block_time=late), late).status is AnnouncedStatus.PENDING


def test_an_execution_that_is_seen_after_the_end_still_counts() -> None:
    late = END + timedelta(days=1)
    assert decide(ANNOUNCED, look(execution=SUCCESS, is_completed=True, block_time=late), late).status is AnnouncedStatus.SETTLED


def test_without_a_known_nonce_nothing_is_taken_for_a_replacement() -> None:
    assert decide(replace(ANNOUNCED, nonce=None), look(nonce=9), START).status is AnnouncedStatus.PENDING


def test_blocks_are_not_counted_as_read_while_the_safe_is_unknown() -> None:
    assert decide(replace(ANNOUNCED, wallet=None), look(), START).scanned_to == 100


@settings(max_examples=200)
@given(st.sampled_from(sorted(FINAL)), looks, times)
def test_what_has_ended_never_changes_again(status: AnnouncedStatus, observation: Observation, now: object) -> None:
    ended = replace(ANNOUNCED, status=status)
    assert decide(ended, observation, now) == ended  # type: ignore[arg-type]


@settings(max_examples=200)
@given(st.lists(st.tuples(looks, times), max_size=8))
def test_whatever_is_seen_in_whatever_order_it_ends_once_and_names_what_it_is_by(steps: list) -> None:
    announced, ended = ANNOUNCED, None
    for observation, now in steps:
        before, announced = announced, decide(announced, observation, now)
        if ended is not None:
            assert announced == ended
            continue
        assert replace(announced, status=before.status, scanned_to=0, check_at=START) == replace(
            before, scanned_to=0, check_at=START,
            executed_block=announced.executed_block, transaction_hash=announced.transaction_hash,
        )
        if announced.status in FINAL:
            ended = announced
            assert (announced.status is AnnouncedStatus.SETTLED) == observation.is_completed
            assert announced.status is not AnnouncedStatus.FAILED or observation.execution is not None
        else:
            assert announced.check_at > now


@settings(max_examples=100)
@given(times)
def test_it_is_looked_at_ever_less_often_but_soon_after_its_end(now: object) -> None:
    after = postpone(ANNOUNCED, now)  # type: ignore[arg-type]
    assert MIN_CHECK_DELAY <= after.check_at - now <= MAX_CHECK_DELAY  # type: ignore[operator]
    assert after.check_at <= max(END, now) + MIN_CHECK_DELAY  # type: ignore[type-var]


def test_the_wait_grows_with_its_age() -> None:
    day = replace(ANNOUNCED, ends_at=START + timedelta(days=1))
    waits = [postpone(day, START + timedelta(minutes=m)).check_at - START - timedelta(minutes=m) for m in (0, 8, 16, 60)]
    assert waits == [timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=5)]


def new_link() -> PayableLink:
    payable = new_payable()
    return PayableLink(payable.requests, link_of(payable))


def in_currencies(network: str, *currencies: str) -> PayableLink:
    payment = new_link()
    requests = (replace(payment.requests[0], network=network, currency=currency) for currency in currencies)
    return replace(payment, requests=tuple(requests))


@pytest.mark.parametrize(
    ("network", "currency", "chain", "token"),
    [
        ("sepolia", "fUSDC-sepolia", "SEPOLIA", "USDC"),
        ("sepolia", "fUSDC-sepolia", "SEPOLIA", "fUSDC"),
        ("sepolia", "FAU-sepolia", "SEPOLIA", "FAU"),
        ("base", "USDC-base", "BASE", "USDC"),
        ("arbitrum-one", "USDT-arbitrum-one", "ARBITRUM", "USDT0"),
        ("matic", "USDCn-matic", "POLYGON", "USDC"),
    ],
)
def test_a_currency_is_known_by_its_symbol_and_by_the_names_of_the_interface(
    network: str, currency: str, chain: str, token: str
) -> None:
    found = check_draft(in_currencies(network, currency), replace(ANNOUNCEMENT, chain=chain, token=token), START)
    assert found.name == network


def test_a_batch_is_announced_in_any_of_its_currencies() -> None:
    payment = in_currencies("sepolia", "fUSDC-sepolia", "FAU-sepolia")
    for token in ("USDC", "FAU"):
        assert check_draft(payment, replace(ANNOUNCEMENT, token=token), START).name == "sepolia"


def test_tron_has_no_multisig_payments_and_what_was_sent_is_announced() -> None:
    payment, on_tron = in_currencies("tron", "USDT-tron"), replace(ANNOUNCEMENT, chain="TRON", token="USDT")
    with pytest.raises(BadRequest, match="Multisig payments are not supported on Tron"):
        check_draft(payment, on_tron, START)
    assert check_draft(payment, replace(on_tron, safe_tx_hash=None, tx_hash="0x" + "ab" * 32), START).name == "tron"


def test_a_deadline_has_to_be_later_than_this_very_moment() -> None:
    payment = new_link()
    assert check_draft(payment, replace(ANNOUNCEMENT, deadline=START + timedelta(microseconds=1)), START).name == "sepolia"
    for deadline in (START, START - timedelta(seconds=1)):
        with pytest.raises(BadRequest, match="safePaymentDeadline must be in the future"):
            check_draft(payment, replace(ANNOUNCEMENT, deadline=deadline), START)


@pytest.mark.parametrize(
    ("payable", "chain", "token"),
    [
        (in_currencies("sepolia", "fUSDC-sepolia"), "BASE", "USDC"),
        (in_currencies("sepolia", "fUSDC-sepolia"), "SEPOLIA", "FAU"),
        (in_currencies("sepolia", "fUSDC-sepolia"), "sepolia", "USDC"),
    ],
    ids=["chain", "token", "spelling"],
)
def test_what_would_have_to_be_bridged_is_not_announced(payable: PayableLink, chain: str, token: str) -> None:
    with pytest.raises(BadRequest, match="Unsupported crosschain configuration"):
        check_draft(payable, replace(ANNOUNCEMENT, chain=chain, token=token), START)


def test_what_is_paid_on_two_networks_is_not_announced() -> None:
    here, there = in_currencies("sepolia", "fUSDC-sepolia"), in_currencies("base", "USDC-base")
    with pytest.raises(BadRequest, match="Unsupported crosschain configuration"):
        check_draft(replace(here, requests=(*here.requests, *there.requests)), ANNOUNCEMENT, START)


def test_a_new_announced_transaction_is_looked_at_after_ten_seconds() -> None:
    origin = AnnouncedStart(None, None, 100, timedelta(hours=1))
    announced = create_announced_transaction(new_link(), ANNOUNCEMENT, origin, START, lambda n: b"\1" * n)
    assert announced.check_at == START + timedelta(seconds=10)


@pytest.mark.parametrize(("span", "wider"), [(1, 2), (15, 16), (16, 18), (31, 33), (98, None), (93, 99), (94, None)])
def test_a_span_grows_by_a_sixteenth_and_one_until_it_is_everybodys(span: int, wider: int | None) -> None:
    assert widen_span(replace(ANNOUNCED, span=span), 100).span == wider


def test_what_is_unknown_is_given_up_after_ten_minutes_and_what_stays_unread_after_an_hour() -> None:
    assert (timedelta(minutes=10), timedelta(hours=1)) == (UNKNOWN_AFTER, UNREAD_GRACE)
    assert (timedelta(seconds=10), timedelta(minutes=5)) == (MIN_CHECK_DELAY, MAX_CHECK_DELAY)


def test_an_announced_transaction_is_the_pages_only_where_that_is_said() -> None:
    made = create_announced_transaction(new_link(), ANNOUNCEMENT, AnnouncedStart(None, None, 100, timedelta(hours=1)), START, lambda n: b"\1" * n)
    assert not made.is_public
