"""A bridge transfer ends only when its money cannot pay any more, whatever the nodes leave out, delay or get wrong."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.crosschain.core.records import LONGEST_QUOTE, BridgeTransfer, Deposit, Returned, Stage
from chalicelib.payments.announcements.bridges.observations import (
    Arrival,
    ArrivalObservation,
    Observation,
    RefundObservation,
    Source,
    SourceObservation,
)
from chalicelib.payments.announcements.bridges.rules import (
    GONE_AFTER,
    MAX_DELAY,
    MIN_DELAY,
    OVERDUE_AFTER,
    OVERDUE_DELAY,
    OVERDUE_REFUND_AFTER,
    REFUSED_AFTER,
    decide,
    is_failure,
    is_overdue,
    is_unknown,
    least_input,
)
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, Proof
from tests.fakes.world import START

WALLET = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
TX, FILL, REFUND = "0x" + "ab" * 32, "0x" + "cd" * 32, "0x" + "ef" * 32
DEPOSIT = Deposit(
    depositor=WALLET,
    fallback=WALLET,
    input_token="USDC-base",
    input_amount=BaseUnits(12_630_000),
    output_amount=BaseUnits(12_625_000),
    payment_reference="0x" + "11" * 8,
    amount=BaseUnits(12_500_000),
    execution_deadline=START + timedelta(hours=1),
    fill_deadline=START + timedelta(hours=3),
)
RETURNED = Returned(WALLET, "USDC-arbitrum-one", BaseUnits(12_625_000))
ANNOUNCED = AnnouncedTransaction(
    account_id="acct",
    link_token="01M0000000000000000000000A",
    announced_id="01M0000000000000000000000B",
    network="base",
    safe_tx_hash=None,
    wallet=None,
    nonce=None,
    deadline=None,
    payer_address=None,
    status=AnnouncedStatus.PENDING,
    created_at=START,
    ends_at=START + LONGEST_QUOTE,
    check_at=START + MIN_DELAY,
    scanned_to=0,
    transaction_hash=TX,
    bridge_transfer=BridgeTransfer("arbitrum-one", START, 100),
)
DEPOSITED = SourceObservation(
    Source.DEPOSITED, Agreed(START), True, Proof.SENT, WALLET, 7, TX, DEPOSIT, 5, "0x" + "77" * 32, 90, START
)
ON_ITS_WAY = decide(ANNOUNCED, Observation(DEPOSITED), START + timedelta(minutes=1))
LATE = DEPOSIT.fill_deadline + timedelta(minutes=1)


def observed_source(outcome: Source, time: datetime = START, **facts: object) -> Observation:
    return Observation(SourceObservation(outcome, Agreed(time), **facts))  # type: ignore[arg-type]


def observed_arrival(outcome: Arrival, refund: RefundObservation | None = None, **facts: object) -> Observation:
    return Observation(arrival=ArrivalObservation(outcome, 200, **facts), refund=refund)  # type: ignore[arg-type]


def bridge_transfer_of(announced: AnnouncedTransaction) -> BridgeTransfer:
    assert announced.bridge_transfer is not None
    return announced.bridge_transfer


@pytest.mark.parametrize(
    ("observation", "status"),
    [
        (Observation(), AnnouncedStatus.PENDING),
        (observed_source(Source.WAITING), AnnouncedStatus.PENDING),
        (observed_source(Source.MISSING), AnnouncedStatus.PENDING),
        (observed_source(Source.REPLACED), AnnouncedStatus.PENDING),
        (observed_source(Source.REVERTED, reason="too late"), AnnouncedStatus.FAILED),
        (observed_source(Source.FOREIGN), AnnouncedStatus.FAILED),
        (Observation(DEPOSITED), AnnouncedStatus.PENDING),
        (Observation(DEPOSITED, ArrivalObservation(Arrival.PAID, 120, FILL)), AnnouncedStatus.SETTLED),
        (observed_arrival(Arrival.PAID), AnnouncedStatus.PENDING),
    ],
)
def test_what_the_source_chain_says_decides_until_it_has_the_deposit(observation: Observation, status: AnnouncedStatus) -> None:
    assert decide(ANNOUNCED, observation, START + timedelta(minutes=1)).status is status


def test_a_transaction_in_the_source_chain_tells_its_wallet_its_deposit_and_its_deadline() -> None:
    bridge_transfer = bridge_transfer_of(ON_ITS_WAY)
    assert (ON_ITS_WAY.wallet, ON_ITS_WAY.nonce, ON_ITS_WAY.proof, ON_ITS_WAY.executed_block) == (WALLET, 7, Proof.SENT, 90)
    assert (bridge_transfer.stage, bridge_transfer.deposit, bridge_transfer.deposit_id) == (Stage.BRIDGE, DEPOSIT, 5)
    assert ON_ITS_WAY.ends_at == DEPOSIT.fill_deadline


@pytest.mark.parametrize(
    ("observation", "status", "stage"),
    [
        (observed_arrival(Arrival.OPEN), AnnouncedStatus.PENDING, Stage.BRIDGE),
        (observed_arrival(Arrival.UNCLEAR), AnnouncedStatus.PENDING, Stage.BRIDGE),
        (observed_arrival(Arrival.EXPIRED), AnnouncedStatus.PENDING, Stage.REFUNDING),
        (observed_arrival(Arrival.PAID, tx_hash=FILL), AnnouncedStatus.SETTLED, Stage.DESTINATION),
        (observed_arrival(Arrival.BOUNCED, tx_hash=FILL, returned=RETURNED), AnnouncedStatus.PARTIAL, Stage.DESTINATION),
        (observed_arrival(Arrival.EXPIRED, RefundObservation(300)), AnnouncedStatus.PENDING, Stage.REFUNDING),
        (observed_arrival(Arrival.EXPIRED, RefundObservation(300, REFUND, RETURNED)), AnnouncedStatus.REFUNDED, Stage.RETURNED),
        (observed_arrival(Arrival.OPEN, RefundObservation(300, REFUND, RETURNED)), AnnouncedStatus.PENDING, Stage.BRIDGE),
        (observed_source(Source.REVERTED), AnnouncedStatus.PENDING, Stage.BRIDGE),
    ],
)
def test_after_the_deposit_the_destination_decides(observation: Observation, status: AnnouncedStatus, stage: Stage) -> None:
    after = decide(ON_ITS_WAY, observation, LATE)
    assert (after.status, bridge_transfer_of(after).stage) == (status, stage)


def test_each_end_says_in_words_why_nothing_was_paid() -> None:
    over = START + LONGEST_QUOTE + REFUSED_AFTER + timedelta(minutes=1)
    waiting = replace(ON_ITS_WAY, bridge_transfer=replace(bridge_transfer_of(ON_ITS_WAY), stage=Stage.SOURCE, deposit=None))
    missed = replace(waiting, missing_since=START, wallet=WALLET, nonce=7)
    used = replace(missed, bridge_transfer=replace(bridge_transfer_of(missed), nonce_used_since=START))
    reverted = "The transaction failed on the chain that it was to pay from, and nothing was taken"
    for before, observation, words in (
        (ANNOUNCED, observed_source(Source.FOREIGN), "The transaction does not pay this link"),
        (ANNOUNCED, observed_source(Source.REVERTED), reverted),
        (ANNOUNCED, observed_source(Source.REVERTED, reason="too late"), f"{reverted}: too late"),
        (waiting, observed_source(Source.WAITING, over), "It was in no block before its deadline"),
        (missed, observed_source(Source.MISSING, over), "It was in no block before its deadline"),
        (used, observed_source(Source.REPLACED), "Its wallet sent another transaction in its place"),
        (
            ON_ITS_WAY,
            observed_arrival(Arrival.BOUNCED, tx_hash=FILL, returned=RETURNED),
            "The payment failed on the chain of the request, and the payer has the tokens there",
        ),
        (
            ON_ITS_WAY,
            observed_arrival(Arrival.EXPIRED, RefundObservation(300, REFUND, RETURNED)),
            "Nobody brought the payment to the chain of the request in time, and the payer has it back",
        ),
    ):
        after = decide(before, observation, over)
        assert after.status is not AnnouncedStatus.PENDING
        assert (bridge_transfer_of(after).reason, bridge_transfer_of(after).since) == (words, over)
    paid = decide(ON_ITS_WAY, observed_arrival(Arrival.PAID, tx_hash=FILL), over)
    assert bridge_transfer_of(paid).reason is None


def test_what_was_searched_is_not_searched_again_and_what_was_found_is_kept() -> None:
    for searched, kept in ((200, 200), (50, 100)):
        after = bridge_transfer_of(decide(ON_ITS_WAY, Observation(arrival=ArrivalObservation(Arrival.OPEN, searched)), START))
        assert (after.searched_to, after.refund_searched_to) == (kept, None)
    paid = bridge_transfer_of(decide(ON_ITS_WAY, observed_arrival(Arrival.PAID, tx_hash=FILL), LATE))
    assert (paid.destination_hash, paid.returned) == (FILL, None)
    bounced = bridge_transfer_of(decide(ON_ITS_WAY, observed_arrival(Arrival.BOUNCED, tx_hash=FILL, returned=RETURNED), LATE))
    assert (bounced.destination_hash, bounced.returned) == (FILL, RETURNED)
    refunding = bridge_transfer_of(decide(ON_ITS_WAY, observed_arrival(Arrival.EXPIRED, RefundObservation(300)), LATE))
    assert (refunding.refund_searched_to, refunding.refund_hash, refunding.since) == (300, None, LATE)
    back = bridge_transfer_of(decide(ON_ITS_WAY, observed_arrival(Arrival.EXPIRED, RefundObservation(300, REFUND, RETURNED)), LATE))
    assert (back.refund_searched_to, back.refund_hash, back.returned) == (300, REFUND, RETURNED)
    later = LATE + timedelta(minutes=1)
    again = decide(decide(ON_ITS_WAY, observed_arrival(Arrival.EXPIRED), LATE), observed_arrival(Arrival.EXPIRED), later)
    assert bridge_transfer_of(again).since == LATE, "since it began"


def test_a_chain_refuses_what_is_later_than_its_deadline_and_some_time_by_both_clocks() -> None:
    waiting = replace(ANNOUNCED, missing_since=START)
    limit, second = START + LONGEST_QUOTE + REFUSED_AFTER, timedelta(seconds=1)
    for chain, now, is_over in (
        (limit + second, limit + second, True),
        (limit, limit + second, False),
        (limit + second, limit, False),
    ):
        for outcome in (Source.MISSING, Source.WAITING):
            after = decide(waiting, observed_source(outcome, chain), now)
            assert (after.status is AnnouncedStatus.LAPSED) is is_over


def test_ten_minutes_without_a_proof_and_no_second_less_change_something() -> None:
    over, second = START + LONGEST_QUOTE + REFUSED_AFTER + timedelta(minutes=1), timedelta(seconds=1)
    for since, status in ((over - GONE_AFTER, AnnouncedStatus.LAPSED), (over - GONE_AFTER + second, AnnouncedStatus.PENDING)):
        assert decide(replace(ANNOUNCED, missing_since=since), observed_source(Source.MISSING, over), over).status is status
    claim = replace(ANNOUNCED, is_public=True)
    for now, locks in ((START + GONE_AFTER, False), (START + GONE_AFTER - second, True)):
        for outcome in (Source.MISSING, Source.WAITING):
            assert decide(claim, observed_source(outcome), now).locks is locks
        assert decide(replace(claim, proof=Proof.SENT), observed_source(Source.WAITING), now).locks


def test_a_transaction_that_leads_elsewhere_is_followed_there_from_the_block_that_was_read() -> None:
    elsewhere = observed_source(Source.WAITING, deposit=DEPOSIT, destination="optimism", searched_to=55)
    assert (bridge_transfer_of(ANNOUNCED).destination, bridge_transfer_of(ANNOUNCED).searched_to) == ("arbitrum-one", 100)
    after = bridge_transfer_of(decide(ANNOUNCED, elsewhere, START))
    assert (after.destination, after.searched_to, after.deposit) == ("optimism", 55, DEPOSIT)


def test_while_the_bridge_refunds_a_fill_that_was_overlooked_still_decides() -> None:
    refunding = decide(ON_ITS_WAY, observed_arrival(Arrival.EXPIRED), LATE)
    assert decide(refunding, observed_arrival(Arrival.PAID, tx_hash=FILL), LATE).status is AnnouncedStatus.SETTLED
    assert decide(refunding, Observation(refund=RefundObservation(300, REFUND, RETURNED)), LATE).status is AnnouncedStatus.PENDING


def test_what_no_node_has_ends_by_two_readings_and_by_the_chains_clock() -> None:
    first = decide(ANNOUNCED, observed_source(Source.MISSING), START + timedelta(minutes=1))
    assert first.missing_since == START + timedelta(minutes=1)
    over = START + LONGEST_QUOTE + REFUSED_AFTER + timedelta(minutes=1)
    assert decide(first, observed_source(Source.MISSING, START), over).status is AnnouncedStatus.PENDING, "the chain's clock"
    assert decide(first, observed_source(Source.MISSING, over), START + timedelta(minutes=20)).status is AnnouncedStatus.PENDING
    assert decide(ANNOUNCED, observed_source(Source.MISSING, over), over).status is AnnouncedStatus.PENDING, "one reading"
    assert decide(first, observed_source(Source.MISSING, over), over).status is AnnouncedStatus.LAPSED
    assert decide(first, observed_source(Source.WAITING), over).missing_since is None


def test_a_used_nonce_counts_after_some_time() -> None:
    known = decide(ANNOUNCED, observed_source(Source.WAITING, deposit=DEPOSIT, wallet=WALLET, nonce=7), START)
    once = decide(known, observed_source(Source.REPLACED), START + timedelta(minutes=1))
    assert once.status is AnnouncedStatus.PENDING
    assert decide(once, observed_source(Source.REPLACED), START + timedelta(minutes=1) + GONE_AFTER).status is AnnouncedStatus.REPLACED


def test_one_that_waits_for_a_block_beyond_its_deadline_is_refused_by_every_block() -> None:
    waiting = decide(ANNOUNCED, observed_source(Source.WAITING, deposit=DEPOSIT), START)
    late = DEPOSIT.execution_deadline + REFUSED_AFTER + timedelta(seconds=1)
    assert decide(waiting, observed_source(Source.WAITING, late, in_block=True), late).status is AnnouncedStatus.PENDING
    assert decide(waiting, observed_source(Source.WAITING, late), late).status is AnnouncedStatus.LAPSED


def test_the_merchant_is_notified_of_proven_payments_alone() -> None:
    proven = decide(ANNOUNCED, observed_source(Source.REVERTED, deposit=DEPOSIT), START)
    assert is_failure(ANNOUNCED, proven)
    assert not is_failure(ANNOUNCED, decide(ANNOUNCED, observed_source(Source.REVERTED), START))
    assert not is_failure(ANNOUNCED, decide(ANNOUNCED, observed_source(Source.FOREIGN), START))
    assert not is_failure(ON_ITS_WAY, decide(ON_ITS_WAY, observed_arrival(Arrival.PAID), START))
    assert not is_failure(proven, proven)


def test_the_longer_it_takes_the_later_it_is_checked_and_it_is_shown_as_unknown_and_overdue() -> None:
    soon = decide(ON_ITS_WAY, Observation(), START + timedelta(minutes=1))
    assert soon.check_at == START + timedelta(minutes=1) + MIN_DELAY
    assert not is_unknown(soon, DEPOSIT.fill_deadline)
    later = DEPOSIT.fill_deadline + OVERDUE_AFTER
    assert decide(soon, Observation(), later).check_at == later + MAX_DELAY
    assert is_unknown(soon, later) and not is_overdue(soon, later)
    after = later + timedelta(seconds=1)
    assert is_overdue(soon, after)
    assert decide(soon, Observation(), after).check_at == after + OVERDUE_DELAY


def test_a_deposit_that_nobody_would_fill_is_known_by_its_amounts() -> None:
    assert least_input(BaseUnits(1_000_000), 6, 18) == 99 * 10**16
    assert least_input(BaseUnits(10**18), 18, 6) == 990_000


@dataclass
class Truth:
    """Both chains as they are. `tx` is waiting, gone (never seen again), used (its nonce), failed or deposited."""

    now: datetime = START
    tx: str = "waiting"
    fill: str | None = None
    is_refunded: bool = False
    hidden_since: datetime | None = None

    def can_pay(self) -> bool:
        if self.tx in ("waiting", "gone"):
            return self.now <= DEPOSIT.execution_deadline
        return self.tx == "deposited" and self.fill is None and self.now <= DEPOSIT.fill_deadline

    def do(self, step: str) -> None:
        if step in ("a minute", "20 minutes", "2 hours"):
            self.now += {"a minute": timedelta(minutes=1), "20 minutes": timedelta(minutes=20)}.get(step, timedelta(hours=2))
        elif step in ("deposited", "failed") and self.tx in ("waiting", "gone"):
            self.tx = step if self.now <= DEPOSIT.execution_deadline else "failed"
        elif step in ("gone", "used") and self.tx == "waiting":
            self.tx = step
        elif step in ("paid", "bounced") and self.can_pay() and self.tx == "deposited":
            self.fill = step
        elif step == "refunded" and self.tx == "deposited" and self.fill is None and not self.can_pay():
            self.is_refunded = True

    def read(self, how: str) -> Observation:
        """What the nodes answer: nothing, an old state, a wrong one, or the truth."""
        time = self.now - timedelta(seconds=30)
        if how == "no answer":
            return Observation()
        if how.startswith("says it is missing") and self.lag():
            is_used = self.tx not in ("waiting", "gone") and how.endswith("nonce used")
            return Observation(SourceObservation(Source.REPLACED if is_used else Source.MISSING, Agreed(time)))
        if how == "says it expired":
            return Observation(arrival=ArrivalObservation(Arrival.EXPIRED, 200), refund=self._refund())
        if how == "does not have the fill":
            return Observation(arrival=ArrivalObservation(Arrival.OPEN, 150))
        if how == "the destination is down":
            return Observation(self._source(time))
        self.hidden_since = None
        return Observation(self._source(time), self._arrival(time), self._refund())

    def lag(self) -> bool:
        """Whether a node may still be behind: not for long."""
        self.hidden_since = self.hidden_since or self.now
        return self.now - self.hidden_since < GONE_AFTER

    def _source(self, time: datetime) -> SourceObservation:
        if self.tx == "deposited":
            return replace(DEPOSITED, time=Agreed(time))
        outcome = {"waiting": Source.WAITING, "gone": Source.MISSING, "used": Source.REPLACED, "failed": Source.REVERTED}
        return SourceObservation(outcome[self.tx], Agreed(time), deposit=None if self.tx in ("gone", "used") else DEPOSIT)

    def _arrival(self, time: datetime) -> ArrivalObservation | None:
        if self.tx != "deposited":
            return None
        if self.fill is not None:
            return ArrivalObservation(Arrival.PAID if self.fill == "paid" else Arrival.BOUNCED, 200, FILL, RETURNED)
        return ArrivalObservation(Arrival.EXPIRED if time > DEPOSIT.fill_deadline else Arrival.OPEN, 200)

    def _refund(self) -> RefundObservation:
        return RefundObservation(300, REFUND, RETURNED) if self.is_refunded else RefundObservation(300)

    @property
    def ends(self) -> set[AnnouncedStatus]:
        """What the announced transaction may end as, now."""
        if self.tx in ("waiting", "gone"):
            return {AnnouncedStatus.LAPSED}
        if self.tx == "deposited":
            filled = {"paid": AnnouncedStatus.SETTLED, "bounced": AnnouncedStatus.PARTIAL}
            return {filled[self.fill]} if self.fill else {AnnouncedStatus.REFUNDED}
        return {AnnouncedStatus.FAILED, AnnouncedStatus.LAPSED} if self.tx == "failed" else {AnnouncedStatus.REPLACED, AnnouncedStatus.LAPSED}


EVENTS = (
    "a minute", "20 minutes", "2 hours", "deposited", "failed", "gone", "used", "paid", "bounced", "refunded"
)
readings = st.sampled_from(
    ["the truth", "no answer", "says it is missing", "says it is missing, its nonce used", "says it expired",
     "does not have the fill", "the destination is down"]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(EVENTS), readings), max_size=25))
def test_it_ends_only_as_the_chains_ended_and_never_while_the_money_can_still_pay(steps: list[str]) -> None:
    truth, announced = Truth(), ANNOUNCED
    for step in steps:
        if step in EVENTS:
            truth.do(step)
            if truth.hidden_since is not None and not truth.lag():
                announced = decide(announced, truth.read("the truth"), truth.now)
        else:
            announced = decide(announced, truth.read(step), truth.now)
        if announced.status is not AnnouncedStatus.PENDING:
            assert not truth.can_pay()
            assert announced.status in truth.ends
            return
        assert announced.is_locking
    truth.do("failed" if truth.tx == "waiting" else "nothing")
    truth.now += timedelta(days=1)
    truth.do("refunded")
    for _ in range(4):
        announced = decide(announced, truth.read("the truth"), truth.now)
        truth.now += timedelta(minutes=20)
    assert announced.status in truth.ends


def test_an_outcome_is_unknown_from_half_an_hour_after_its_time_on_and_known_again_at_its_end() -> None:
    last = DEPOSIT.fill_deadline + timedelta(minutes=30)
    assert not is_unknown(ON_ITS_WAY, last)
    assert is_unknown(ON_ITS_WAY, last + timedelta(seconds=1))
    unknown = replace(ON_ITS_WAY, bridge_transfer=replace(bridge_transfer_of(ON_ITS_WAY), is_unknown=True))
    assert not bridge_transfer_of(decide(unknown, observed_arrival(Arrival.PAID, tx_hash=FILL), LATE)).is_unknown


def test_a_refund_is_never_unknown_and_is_overdue_only_after_a_day() -> None:
    refunding = decide(ON_ITS_WAY, observed_arrival(Arrival.EXPIRED), LATE)
    last = bridge_transfer_of(refunding).since + OVERDUE_REFUND_AFTER
    assert bridge_transfer_of(refunding).stage is Stage.REFUNDING
    assert not is_unknown(refunding, last + timedelta(days=1))
    assert not is_overdue(refunding, last)
    assert is_overdue(refunding, last + timedelta(seconds=1))
