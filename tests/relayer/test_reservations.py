"""Why a call is not accepted, each reason by itself."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import AccountReading, StepResult
from chalicelib.relayer.records import AccountUse, RelayerAccount, Reverts, Role
from chalicelib.relayer.reservations import ALONE, IN_FLIGHT, ONE_AT_A_TIME, Limits, reserve
from chalicelib.relayer.reverts import payer_name
from chalicelib.relayer.rules import Budget, Call, Submission, SubmissionStatus, Use
from tests.relayer.transactions import NOW, TO

GAS, PRICE, LIMIT = 100_000, 21, 10**9
COST = GAS * PRICE
READING = AccountReading(100, 5, BaseUnits(COST), BaseUnits(10), BaseUnits(1))
ACCOUNT = RelayerAccount("base", TO, 5, f"{NOW:%Y-%m-%d}", BaseUnits(0))
CALL = Call("k", "base", TO, "0x", 0, GAS, account_id="shop")
WORKS = StepResult(True, None, GAS)
POOR = replace(READING, balance=BaseUnits(COST - 1))


def submit(
    call: Call = CALL,
    result: StepResult = WORKS,
    reading: AccountReading = READING,
    account: RelayerAccount = ACCOUNT,
    budget: Budget | None = None,
    **limits: Any,
) -> Submission:
    known = Limits(budget or Budget(10**9, LIMIT), **limits)
    (submission,) = reserve(account, [(call, result)], reading, known, NOW).submissions
    return submission


def postponed(reason: str, is_limited: bool = False) -> Submission:
    return Submission("k", SubmissionStatus.POSTPONED, reason, is_limited)


def test_a_call_that_succeeds_and_can_be_paid_for_is_accepted() -> None:
    assert submit() == Submission("k", SubmissionStatus.ACCEPTED)


def test_a_call_of_the_gasless_account_waits_while_another_one_is_in_no_block() -> None:
    ahead = replace(ACCOUNT, next_nonce=6)
    gasless = replace(CALL, role=Role.GASLESS)
    assert submit(gasless, account=ahead) == Submission("k", SubmissionStatus.WAITING, IN_FLIGHT)
    assert submit(gasless).status is submit(account=ahead).status is SubmissionStatus.ACCEPTED


@pytest.mark.parametrize("success", [True, False, None])
def test_a_call_that_sends_more_than_the_account_has_is_postponed_whatever_it_would_do(success: bool | None) -> None:
    sends = replace(CALL, value=COST + 1)
    reason = "the service's account on base does not have what the call sends"
    assert submit(sends, StepResult(success, "no", GAS)) == postponed(reason)


def test_a_call_of_which_nothing_is_known_or_that_the_operator_has_to_allow_is_postponed() -> None:
    for result in (
        StepResult(None, "no answer"),
        StepResult(False, "AccessControl: no role"),
        StepResult(False, "Pausable: paused"),
    ):
        assert submit(result=result) == postponed(str(result.reason))
    assert submit(result=StepResult(False, "no")) == Submission("k", SubmissionStatus.REFUSED, "no")


def test_a_call_of_foreign_code_for_whose_gas_the_account_has_too_little_is_postponed_as_no_node_runs_it() -> None:
    reason = "the service's account on base cannot pay for the gas"
    foreign = replace(CALL, runs_foreign_code=True)
    assert submit(foreign, StepResult(False, "no"), POOR) == postponed(reason)
    assert submit(foreign, StepResult(False, "no")).status is SubmissionStatus.REFUSED
    assert submit(CALL, StepResult(False, "no"), POOR).status is SubmissionStatus.REFUSED
    assert submit(reading=POOR) == postponed(reason)


def test_each_limit_says_whether_it_is_that_of_the_account_alone() -> None:
    dear = replace(READING, base_fee=BaseUnits(10**9))
    assert submit(reading=dear) == postponed("gas on base costs more than RELAYER_MAX_FEE_GWEI allows")
    assert submit(budget=Budget(10**9, COST)).status is SubmissionStatus.ACCEPTED
    assert submit(budget=Budget(10**9, COST - 1)) == postponed("RELAYER_DAILY_LIMITS is reached for today on base")
    used = {"shop": AccountUse("base", "shop", ACCOUNT.day, BaseUnits(LIMIT // 10 - COST))}
    shared = Budget(10**9, LIMIT, 0, 10)
    assert submit(budget=shared, uses=used).status is SubmissionStatus.ACCEPTED
    over = {"shop": replace(used["shop"], spent=BaseUnits(used["shop"].spent + 1))}
    reason = "the share of this account in the gas of today on base is used up"
    assert submit(budget=shared, uses=over) == postponed(reason, is_limited=True)


def test_what_was_counted_before_costs_an_account_no_more_than_a_days_limit() -> None:
    prepaid = replace(CALL, use=Use.PREPAID)
    used = AccountUse("base", "shop", ACCOUNT.day, BaseUnits(0), BaseUnits(LIMIT - COST))
    assert submit(prepaid, uses={"shop": used}).status is SubmissionStatus.ACCEPTED
    over = replace(used, prepaid=BaseUnits(used.prepaid + 1))
    reason = "calls that were counted before cost this account more than a whole day's limit on base"
    assert submit(prepaid, uses={"shop": over}) == postponed(reason)


def test_payers_wait_for_an_open_call_and_pay_alone_after_one_that_was_reverted_with_others() -> None:
    payers = ("0x" + "ab" * 20, "0x" + "cd" * 20)
    name = payer_name(payers[1])
    known = Reverts("base", name, 0, NOW)
    alone, together = replace(CALL, payers=payers[1:]), replace(CALL, payers=payers)
    waits = Submission("k", SubmissionStatus.WAITING, ONE_AT_A_TIME)
    is_open = {name: known.with_open_calls(("before",))}
    assert submit(alone, reverts=is_open) == submit(together, reverts=is_open) == waits
    assert submit(replace(alone, follows="before"), reverts=is_open).status is SubmissionStatus.ACCEPTED
    assert submit(replace(alone, many_open=True), reverts=is_open) == waits
    has_room = {name: replace(is_open[name], successes=4)}
    assert submit(replace(alone, many_open=True), reverts=has_room).status is SubmissionStatus.ACCEPTED
    after_others = {name: replace(known, until=NOW.replace(hour=23))}
    assert submit(together, reverts=after_others) == postponed(ALONE, is_limited=True)
    assert submit(alone, reverts=after_others).status is SubmissionStatus.ACCEPTED
    reverted = {name: replace(known, count=1, reverted_call="before")}
    assert submit(replace(alone, follows="before"), reverts=reverted).status is SubmissionStatus.ACCEPTED
    assert submit(alone, reverts=reverted).status is SubmissionStatus.POSTPONED


def test_a_call_that_sets_the_code_of_the_account_takes_two_nonces() -> None:
    wanted = [(replace(CALL, delegate=TO), WORKS)]
    made = reserve(ACCOUNT, wanted, READING, Limits(Budget(10**9, LIMIT)), NOW)
    assert (made.transactions[0].nonce, made.transactions[0].delegate, made.account.next_nonce) == (5, TO, 7)
    plain = reserve(ACCOUNT, [(CALL, WORKS)], READING, Limits(Budget(10**9, LIMIT)), NOW)
    assert (plain.account.next_nonce, plain.calls[0].nonce, plain.account.spent) == (6, 5, COST)
