"""Which calls are accepted, and what is offered for gas: for any prices, limits and results."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import AccountReading, StepResult
from chalicelib.relayer.records import RelayerAccount, Taking
from chalicelib.relayer.reservations import Limits, reserve
from chalicelib.relayer.rules import (
    COIN_DECIMALS,
    GWEI,
    MOST_BYTES,
    MOST_GAS,
    Budget,
    Call,
    Fees,
    SubmissionStatus,
    counts_of_taken,
    market_fees,
    raise_fees,
    spend_more,
)
from tests.relayer.transactions import NOW, TO, transaction

TODAY = f"{NOW:%Y-%m-%d}"
ACCOUNT = RelayerAccount("sepolia", TO, 5, TODAY, BaseUnits(0))
prices = st.integers(0, 2 * 10**12).map(BaseUnits)
limits = st.integers(1, 10**12)
DAILY = 10**30
"""More than any test spends in a day."""


def reading(base_fee: int = 10**9, tip: int = 10**8, balance: int = 10**18) -> AccountReading:
    return AccountReading(100, 5, BaseUnits(balance), BaseUnits(base_fee), BaseUnits(tip))


def call(key: str = "a", value: int = 0, gas_limit: int | None = None) -> Call:
    return Call(key, "sepolia", TO, "0x12", value, gas_limit, account_id="acct")


@given(base_fee=prices, tip=prices, most=limits)
def test_an_offer_covers_the_present_price_and_never_exceeds_the_highest(base_fee: int, tip: int, most: int) -> None:
    fees = market_fees(reading(base_fee, tip), Budget(most, DAILY))
    if base_fee + tip > most:
        assert fees is None
    else:
        assert fees is not None and base_fee + tip <= fees.max_fee <= most and fees.tip == tip


@given(old=st.integers(1, 10**12), old_tip=st.integers(0, 10**12), base_fee=prices, tip=prices, most=limits)
def test_a_higher_offer_is_one_that_nodes_take_in_place_of_the_old_one(
    old: int, old_tip: int, base_fee: int, tip: int, most: int
) -> None:
    """12.5 % more of both, as Polygon, Erigon and others want it; geth wants 10 %."""
    stuck = transaction(max_fee=BaseUnits(old), tip=BaseUnits(min(old_tip, old)))
    fees = raise_fees(stuck, reading(base_fee, tip), Budget(most, DAILY))
    if fees is None:
        assert old * 9 // 8 + 1 > most
        return
    assert fees.max_fee <= most and fees.tip <= fees.max_fee
    assert fees.max_fee * 8 >= old * 9 and fees.tip * 8 >= stuck.tip * 9
    assert fees.max_fee > stuck.max_fee and fees.tip > stuck.tip


def test_an_offer_holds_while_the_base_fee_doubles() -> None:
    assert market_fees(reading(10, 3), Budget(1000, DAILY)) == Fees(BaseUnits(23), BaseUnits(3))
    assert market_fees(reading(10, 3), Budget(13, DAILY)) == Fees(BaseUnits(13), BaseUnits(3))
    assert market_fees(reading(10, 3), Budget(12, DAILY)) is None


def test_a_higher_offer_is_an_eighth_more_or_that_of_the_market() -> None:
    stuck = transaction(max_fee=BaseUnits(80), tip=BaseUnits(8))
    assert raise_fees(stuck, reading(10, 3), Budget(91, DAILY)) == Fees(BaseUnits(91), BaseUnits(10))
    assert raise_fees(stuck, reading(10, 3), Budget(90, DAILY)) is None
    assert raise_fees(stuck, reading(100, 30), Budget(1000, DAILY)) == Fees(BaseUnits(230), BaseUnits(30))
    assert raise_fees(stuck, reading(100, 30), Budget(200, DAILY)) == Fees(BaseUnits(200), BaseUnits(30))
    assert raise_fees(stuck, reading(10, 300), Budget(200, DAILY)) == Fees(BaseUnits(200), BaseUnits(200))


def test_a_call_may_cost_exactly_what_is_left() -> None:
    cost = 62_500 * (2 * 10**9 + 10**8) + 5
    wanted = [(call(value=5), StepResult(True, None, 50_000))]
    for left in (cost, cost - 1):
        is_enough = left == cost
        for found in (
            reserve(ACCOUNT, wanted, reading(balance=left), Limits(Budget(10**11, DAILY)), NOW),
            reserve(ACCOUNT, wanted, reading(), Limits(Budget(10**11, left)), NOW),
        ):
            assert (found.submissions[0].status is SubmissionStatus.ACCEPTED) == is_enough


def test_what_one_call_may_cost_is_not_there_for_the_next() -> None:
    cost = 62_500 * (2 * 10**9 + 10**8)
    wanted = [(call(key), StepResult(True, None, 50_000)) for key in ("a", "b", "c")]
    found = reserve(ACCOUNT, wanted, reading(balance=2 * cost), Limits(Budget(10**11, DAILY)), NOW)
    assert [each.status.value for each in found.submissions] == ["accepted", "accepted", "postponed"]


def test_offers_for_one_nonce_are_few_however_high_the_limit() -> None:
    """From a tenth of a gwei to a thousand."""
    stuck, offers = transaction(max_fee=BaseUnits(10**8), tip=BaseUnits(1)), 0
    while (fees := raise_fees(stuck, reading(0, 0), Budget(10**12, DAILY))) is not None:
        stuck, offers = replace(stuck, max_fee=fees.max_fee, tip=fees.tip), offers + 1
    assert offers < 80


steps = st.one_of(
    st.integers(21_000, 10**7).map(lambda gas: StepResult(True, None, gas)),
    st.just(StepResult(True)),
    st.just(StepResult(False, "no")),
    st.just(StepResult(None, "unknown")),
)
wanted_calls = st.lists(
    st.tuples(st.integers(0, 10**17), st.one_of(st.none(), st.integers(21_000, 10**6)), steps), max_size=10
)


@given(wanted=wanted_calls, spent=st.integers(0, 10**17), limit=st.integers(0, 2 * 10**17), balance=st.integers(0, 10**18))
def test_accepted_calls_have_consecutive_nonces_and_stay_within_limit_and_balance(
    wanted: list[tuple[int, int | None, StepResult]], spent: int, limit: int, balance: int
) -> None:
    account = replace(ACCOUNT, spent=BaseUnits(spent))
    calls = [(call(f"call/{n}", value, gas), step) for n, (value, gas, step) in enumerate(wanted)]
    found = reserve(account, calls, reading(balance=balance), Limits(Budget(10**11, limit)), NOW)
    assert [each.key for each in found.submissions] == [each.key for each, _ in calls]
    accepted = [each.key for each in found.submissions if each.status is SubmissionStatus.ACCEPTED]
    assert [each.call_key for each in found.calls] == [each.call_key for each in found.transactions] == accepted
    assert [each.nonce for each in found.transactions] == list(range(5, 5 + len(accepted)))
    assert found.account.next_nonce == 5 + len(accepted)
    cost = sum(each.gas_limit * each.max_fee + each.value for each in found.transactions)
    assert found.account.spent == spent + cost and cost <= balance
    assert not accepted or found.account.spent <= limit
    for (each, step), submission in zip(calls, found.submissions, strict=True):
        if step.success is False and each.value <= balance:
            assert (submission.status, submission.reason) == (SubmissionStatus.REFUSED, "no")
        if submission.status is SubmissionStatus.ACCEPTED:
            (made,) = [one for one in found.transactions if one.call_key == each.key]
            assert step.success and made.gas_limit <= each.most_gas
            assert step.gas is None or made.gas_limit >= min(step.gas, each.most_gas)
        else:
            assert submission.reason


def test_a_new_day_begins_with_nothing_spent() -> None:
    full = replace(ACCOUNT, spent=BaseUnits(10**18))
    budget = Budget(10**11, 10**18)
    (today,) = reserve(full, [(call(), StepResult(True, None, 50_000))], reading(), Limits(budget), NOW).submissions
    assert today.status is SubmissionStatus.POSTPONED
    tomorrow = reserve(full, [(call(), StepResult(True, None, 50_000))], reading(), Limits(budget), NOW + timedelta(days=1))
    assert tomorrow.submissions[0].status is SubmissionStatus.ACCEPTED
    assert (tomorrow.account.day, tomorrow.account.spent) == ("2026-03-16", 62_500 * (2 * 10**9 + 10**8))


def test_a_call_without_an_estimate_gets_the_most_gas_it_may_take() -> None:
    found = reserve(ACCOUNT, [(call(), StepResult(True)), (call("b", gas_limit=90_000), StepResult(True))], reading(), Limits(Budget(10**11, DAILY)), NOW)
    assert [each.gas_limit for each in found.transactions] == [MOST_GAS, 90_000]


def test_a_wallet_gives_no_more_to_calls_than_it_has_left() -> None:
    """The second call waits, the third is smaller, and a wallet that no other call takes from is not asked for."""
    wanted = [
        (replace(call(key), takes=Taking("0x" + wallet * 20, TO, TO, BaseUnits(amount))), StepResult(True, None, 50_000))
        for key, wallet, amount in (("a", "aa", 6), ("b", "AA", 5), ("c", "aa", 4), ("d", "bb", 100))
    ]
    left = {Taking("0x" + "aa" * 20, TO, TO, BaseUnits(1)).source: 10}
    found = reserve(ACCOUNT, wanted, reading(), Limits(Budget(10**11, DAILY), left), NOW)
    assert [each.status.value for each in found.submissions] == ["accepted", "waiting", "accepted", "accepted"]
    assert [each.nonce for each in found.transactions] == [5, 6, 7]
    refused = [(call, StepResult(False, "no")) for call, _ in wanted]
    assert reserve(ACCOUNT, refused, reading(), Limits(Budget(10**11, DAILY), left), NOW).submissions[1].status.value == "refused"
    sums = {counter.wallet[-2:]: amounts for counter, amounts in counts_of_taken(found.transactions)}
    assert sums == {"aa": {"under way": 10}, "bb": {"under way": 100}}
    assert [amounts for _, amounts in counts_of_taken(found.transactions, -1)] == [{"under way": -10}, {"under way": -100}]
    assert counts_of_taken([transaction()]) == []


def test_higher_fees_add_what_they_may_cost_more() -> None:
    stuck = transaction(max_fee=BaseUnits(100), tip=BaseUnits(1), gas_limit=10)
    assert spend_more(ACCOUNT, stuck, Fees(BaseUnits(150), BaseUnits(2))).spent == 500


@pytest.mark.parametrize(
    "broken",
    [{"key": ""}, {"key": "k" * 201}, {"data": "0x" + "00" * 24_001}, {"value": -1}],
)
def test_a_call_that_no_node_takes_cannot_be_made(broken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a call has"):
        Call(**{"account_id": "acct", "key": "k", "network": "sepolia", "to": TO, "data": "0x", **broken})  # type: ignore[arg-type]


def test_the_largest_call_has_24_000_bytes_a_key_of_200_characters_and_5_million_gas() -> None:
    largest = Call("k" * 200, "sepolia", TO, "0x" + "00" * 24_000, account_id="acct")
    assert (largest.value, largest.most_gas) == (0, 5_000_000)
    assert (MOST_BYTES, MOST_GAS, GWEI, COIN_DECIMALS) == (24_000, 5_000_000, 1_000_000_000, 18)
